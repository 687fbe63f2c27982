//! `try`, `diff`, `apply` and `undo`.

use crate::desk::{Desk, capture};
use agar_core::fault::{Fault as _, Kind};
use agar_core::state::State;
use agar_engine::apply::{ApplyRequest, Destination, Merge, Side, apply};
use agar_engine::diff::{DiffRequest, diff};
use agar_engine::try_change::{TryRequest, try_change};
use agar_engine::undo::{UndoRequest, undo};
use agar_engine::{ChangeKind, Command};

fn tried(desk: &Desk, script: &str) -> Vec<(String, ChangeKind)> {
    let request = TryRequest {
        command: Command::new(["sh", "-c", script]),
        ..TryRequest::default()
    };
    let mut heading = None;
    let answer = try_change(
        &desk.engine(),
        &request,
        capture(&mut Vec::new()),
        &mut |begun| heading = Some(begun.sandbox.alias.clone()),
    )
    .unwrap();
    assert_eq!(heading, Some(answer.sandbox.alias));
    let files = answer.changes.unwrap().files;
    files
        .into_iter()
        .map(|file| (file.path, file.kind))
        .collect()
}

#[test]
fn a_change_is_shown_applied_and_taken_back() {
    let desk = Desk::new();
    desk.write("a.txt", "one\ntwo\nthree\n");
    desk.write("gone.txt", "x\n");
    let changes = tried(
        &desk,
        "sed -i s/two/2/ a.txt; rm gone.txt; echo new > new.txt",
    );
    let expected = [
        ("a.txt", ChangeKind::Modified),
        ("gone.txt", ChangeKind::Deleted),
        ("new.txt", ChangeKind::Added),
    ];
    assert_eq!(
        changes,
        expected.map(|(path, kind)| (path.to_owned(), kind))
    );
    let request = DiffRequest {
        patch: true,
        ..DiffRequest::default()
    };
    let patch = diff(&desk.engine(), &request).unwrap().patch.unwrap();
    assert!(patch.contains("-two\n+2\n"), "{patch}");
    let applied = apply(&desk.engine(), &ApplyRequest::default()).unwrap();
    assert!(applied.applied && applied.promotion.is_some());
    assert_eq!(applied.sandbox.state, State::Promoted);
    assert_eq!(desk.read("a.txt"), "one\n2\nthree\n");
    assert!(!desk.project().join("gone.txt").exists());
    let undone = undo(&desk.engine(), &UndoRequest::default()).unwrap();
    assert!(undone.undone);
    assert_eq!(desk.read("a.txt"), "one\ntwo\nthree\n");
    assert_eq!(desk.read("gone.txt"), "x\n");
    assert!(!desk.project().join("new.txt").exists());
}

#[test]
fn hunks_that_were_numbered_for_another_plan_are_not_applied() {
    let desk = Desk::new();
    let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    desk.write("a.txt", text);
    tried(&desk, "sed -i 's/2/two/; s/8/eight/' a.txt");
    let look = ApplyRequest {
        dry_run: true,
        ..ApplyRequest::default()
    };
    let planned = || apply(&desk.engine(), &look).unwrap();
    let first = planned();
    assert_eq!(first.files[0].hunks.len(), 2);
    assert_eq!(planned().plan, first.plan, "looking changes nothing");
    // The first hunk is in the project already, so the second is now the first.
    desk.write("a.txt", &text.replace('2', "two"));
    let chosen = |plan: Option<String>| ApplyRequest {
        hunks: [("a.txt".to_owned(), vec![1])].into(),
        plan,
        ..ApplyRequest::default()
    };
    let error = apply(&desk.engine(), &chosen(first.plan)).unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict, "{error}");
    assert_eq!(desk.read("a.txt"), text.replace('2', "two"));
    let applied = apply(&desk.engine(), &chosen(planned().plan)).unwrap();
    assert!(applied.applied);
    assert_eq!(applied.plan, None);
    let both = text.replace('2', "two").replace('8', "eight");
    assert_eq!(desk.read("a.txt"), both);
}

#[test]
fn an_edit_made_meanwhile_is_merged_and_one_on_the_same_line_asks() {
    let desk = Desk::new();
    desk.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    tried(&desk, "sed -i s/8/eight/ a.txt");
    desk.write("a.txt", "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n");
    let applied = apply(&desk.engine(), &ApplyRequest::default()).unwrap();
    assert_eq!(applied.files[0].merge, Merge::Merged, "{applied:#?}");
    assert_eq!(desk.read("a.txt"), "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n");

    let desk = Desk::new();
    desk.write("a.txt", "1\n2\n3\n");
    tried(&desk, "sed -i s/2/two/ a.txt");
    desk.write("a.txt", "1\nzwei\n3\n");
    let refused = apply(&desk.engine(), &ApplyRequest::default()).unwrap();
    assert!(!refused.applied);
    assert_eq!(refused.conflicts().count(), 1);
    assert_eq!(desk.read("a.txt"), "1\nzwei\n3\n", "nothing is written");
    let request = ApplyRequest {
        side: Some(Side::Theirs),
        ..ApplyRequest::default()
    };
    assert!(apply(&desk.engine(), &request).unwrap().applied);
    assert_eq!(desk.read("a.txt"), "1\ntwo\n3\n");
}

#[test]
fn a_dry_run_writes_nothing_and_shows_the_hunks() {
    let desk = Desk::new();
    desk.write("a.txt", "one\n");
    tried(&desk, "echo two >> a.txt");
    let request = ApplyRequest {
        dry_run: true,
        ..ApplyRequest::default()
    };
    let planned = apply(&desk.engine(), &request).unwrap();
    assert!(!planned.applied);
    assert_eq!(planned.files[0].hunks.len(), 1);
    assert_eq!(desk.read("a.txt"), "one\n");
}

#[test]
fn what_changed_outside_the_project_is_listed_apart_and_not_applied() {
    let desk = Desk::new();
    let changes = tried(&desk, "echo x > ~/elsewhere; echo y > here");
    assert_eq!(changes.len(), 1);
    let shown = diff(&desk.engine(), &DiffRequest::default()).unwrap();
    let outside: Vec<&str> = shown
        .changes
        .outside
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    let elsewhere = desk.home().join("elsewhere");
    assert_eq!(outside, [elsewhere.to_str().unwrap()]);
    apply(&desk.engine(), &ApplyRequest::default()).unwrap();
    assert!(desk.project().join("here").exists());
    assert!(!elsewhere.exists());
}

#[test]
fn a_conflict_outside_the_project_leaves_the_project_alone_as_well() {
    let desk = Desk::new();
    let elsewhere = desk.home().join("elsewhere");
    fs_err::write(&elsewhere, "base\n").unwrap();
    tried(&desk, "echo theirs > ~/elsewhere; echo y > here");
    fs_err::write(&elsewhere, "mine\n").unwrap();
    let mut request = ApplyRequest {
        outside: vec![elsewhere.to_str().unwrap().to_owned()],
        ..ApplyRequest::default()
    };
    let answer = apply(&desk.engine(), &request).unwrap();
    assert!(!answer.applied);
    assert!(!desk.project().join("here").exists());
    assert_eq!(fs_err::read_to_string(&elsewhere).unwrap(), "mine\n");
    request.side = Some(Side::Theirs);
    assert!(apply(&desk.engine(), &request).unwrap().applied);
    assert!(desk.project().join("here").exists());
    assert_eq!(fs_err::read_to_string(&elsewhere).unwrap(), "theirs\n");
}

fn git(desk: &Desk, words: &[&str]) -> String {
    let output = std::process::Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"])
        .args(words)
        .current_dir(desk.project())
        .env("HOME", desk.home())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_commit_holds_exactly_what_was_applied() {
    let desk = Desk::new();
    desk.write("a.txt", "one\n");
    desk.write("mine.txt", "mine\n");
    git(&desk, &["init", "--quiet"]);
    git(&desk, &["add", "--all"]);
    git(&desk, &["commit", "--quiet", "--message=begin"]);
    git(&desk, &["config", "user.name", "Ann"]);
    git(&desk, &["config", "user.email", "ann@example.com"]);
    tried(&desk, "echo two >> a.txt");
    desk.write("mine.txt", "edited\n");
    let request = ApplyRequest {
        destination: Destination::Commit { message: None },
        ..ApplyRequest::default()
    };
    let answer = apply(&desk.engine(), &request).unwrap();
    assert!(answer.commit.is_some(), "{answer:#?}");
    let shown = git(&desk, &["show", "--format=", "--name-only"]);
    assert_eq!(shown, "a.txt\n");
    assert_eq!(git(&desk, &["status", "--short"]), " M mine.txt\n");
}

#[test]
fn a_commit_has_the_side_that_was_chosen_and_only_the_hunks_that_were_picked() {
    let desk = Desk::new();
    let lines = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n8\n{last}\n");
    desk.write("a.txt", &lines("1", "9"));
    desk.write("b.txt", "b\n");
    git(&desk, &["init", "--quiet"]);
    git(&desk, &["add", "--all"]);
    git(&desk, &["commit", "--quiet", "--message=begin"]);
    git(&desk, &["config", "user.name", "Ann"]);
    git(&desk, &["config", "user.email", "ann@example.com"]);
    tried(
        &desk,
        "sed -i -e s/1/one/ -e s/9/nine/ a.txt; echo theirs > b.txt",
    );
    desk.write("b.txt", "mine\n");
    git(&desk, &["commit", "--quiet", "--all", "--message=mine"]);
    let request = ApplyRequest {
        destination: Destination::Commit { message: None },
        choices: [("b.txt".to_owned(), Side::Markers)].into(),
        hunks: [("a.txt".to_owned(), vec![2])].into(),
        ..ApplyRequest::default()
    };
    let answer = apply(&desk.engine(), &request).unwrap();
    assert!(answer.commit.is_some(), "{answer:#?}");
    assert_eq!(git(&desk, &["show", "HEAD:a.txt"]), lines("1", "nine"));
    let both = git(&desk, &["show", "HEAD:b.txt"]);
    assert!(both.contains("mine\n") && both.contains("theirs\n") && both.contains("<<<<"));
    assert_eq!(git(&desk, &["status", "--short"]), "");
}

#[test]
fn commits_made_inside_are_carried_under_a_reference_of_their_own() {
    let desk = Desk::new();
    desk.write("a.txt", "one\n");
    git(&desk, &["init", "--quiet", "--initial-branch=main"]);
    git(&desk, &["add", "--all"]);
    git(&desk, &["commit", "--quiet", "--message=begin"]);
    tried(
        &desk,
        "echo two >> a.txt; git -c user.name=x -c user.email=x@x commit -qam inside",
    );
    let shown = diff(&desk.engine(), &DiffRequest::default()).unwrap();
    assert_eq!(shown.changes.commits[0].subject, "inside");
    let answer = apply(&desk.engine(), &ApplyRequest::default()).unwrap();
    assert_eq!(answer.references.len(), 1, "{answer:#?}");
    let subject = git(&desk, &["log", "-1", "--format=%s", &answer.references[0]]);
    assert_eq!(subject, "inside\n");
    assert_eq!(git(&desk, &["log", "-1", "--format=%s"]), "begin\n");
}
