//! What a failure, a crash or a race cuts short is not taken for finished, and so is not given up.

use crate::desk::{Desk, capture};
use crate::returning::OthersTurn;
use crate::travelling::Yard;
use agar_core::fault::{Fault as _, Kind};
use agar_core::run::End;
use agar_core::state::State;
use agar_engine::apply::{ApplyRequest, Destination, apply};
use agar_engine::diff::{DiffRequest, diff};
use agar_engine::exec::{ExecAnswer, ExecRequest, exec};
use agar_engine::fork::{ForkRequest, fork};
use agar_engine::list::{ListRequest, Listed, list};
use agar_engine::remove::{RemoveRequest, remove};
use agar_engine::restore::{RestoreRequest, restore};
use agar_engine::run::{Afterwards, RunRequest, run};
use agar_engine::{Command, EngineError};
use agar_testkit::{keepers, wait};
use rustix::process::{Signal, kill_process};
use std::process::Stdio;

fn git(desk: &Desk, words: &[&str]) {
    let status = std::process::Command::new("git")
        .args([
            "-c",
            "user.name=Tester",
            "-c",
            "user.email=tester@example.org",
        ])
        .args(words)
        .current_dir(desk.project())
        .env("HOME", desk.home())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.unwrap().success(), "git {words:?}");
}

/// Removes the only sandbox. Whether it went to the trash.
fn is_trashed(desk: &Desk) -> bool {
    let removed = remove(&desk.engine(), &RemoveRequest::default()).unwrap();
    removed.removed[0].in_trash
}

fn listed(desk: &Desk) -> Vec<Listed> {
    let answer = list(&desk.engine(), &ListRequest::default()).unwrap();
    answer.sandboxes
}

#[test]
fn an_application_that_failed_half_way_does_not_count_as_the_whole() {
    let desk = Desk::new();
    git(&desk, &["init", "--quiet"]);
    desk.write("a", "a\n");
    git(&desk, &["add", "--all"]);
    git(&desk, &["commit", "--quiet", "--message=begin"]);
    let outside = desk.home().join("w.txt");
    desk.run("echo b >> a; echo w > ~/w.txt");
    // The files are written before git is asked, which then refuses.
    desk.write(".git/MERGE_HEAD", &format!("{}\n", "0".repeat(40)));
    let request = ApplyRequest {
        destination: Destination::Commit { message: None },
        outside: vec![outside.to_string_lossy().into_owned()],
        ..ApplyRequest::default()
    };
    apply(&desk.engine(), &request).unwrap_err();
    assert_eq!(desk.read("a"), "a\nb\n");
    assert!(!outside.exists(), "it comes after the commit");
    assert_eq!(listed(&desk)[0].sandbox.state, State::Promoted);
    assert!(is_trashed(&desk));
}

#[test]
fn what_a_branch_left_out_is_not_lost_with_the_rest() {
    let desk = Desk::new();
    git(&desk, &["init", "--quiet"]);
    desk.write(".gitignore", "secret\n");
    let identity = "[user]\n\tname = Tester\n\temail = tester@example.org\n";
    fs_err::write(desk.home().join(".gitconfig"), identity).unwrap();
    git(&desk, &["add", "--all"]);
    git(&desk, &["commit", "--quiet", "--message=begin"]);
    let outside = desk.home().join("w.txt");
    desk.run("echo a > a; echo s > secret; echo w > ~/w.txt");
    let request = ApplyRequest {
        destination: Destination::Branch {
            name: "tried".to_owned(),
            message: None,
        },
        outside: vec![outside.to_string_lossy().into_owned()],
        ..ApplyRequest::default()
    };
    let answer = apply(&desk.engine(), &request).unwrap();
    assert!(answer.commit.is_some() && outside.exists(), "{answer:?}");
    assert!(answer.notes.iter().any(|note| note.contains("secret")));
    assert!(is_trashed(&desk));
}

#[test]
fn refs_that_cannot_be_read_count_as_work() {
    let desk = Desk::new();
    for directory in [".git/objects", ".git/refs", ".git/reftable"] {
        fs_err::create_dir_all(desk.project().join(directory)).unwrap();
    }
    desk.write(".git/HEAD", "ref: refs/heads/.invalid\n");
    desk.write(".git/reftable/tables.list", "one\n");
    let keep = |script: &str| {
        let request = RunRequest {
            command: Command::new(["sh", "-c", script]),
            afterwards: Afterwards::Keep,
            ..RunRequest::default()
        };
        run(&desk.engine(), &request, capture(&mut Vec::new())).unwrap();
    };
    keep("echo two >> .git/reftable/tables.list");
    assert!(is_trashed(&desk));
    keep("echo two >> .git/reftable/tables.list; echo a > a");
    let answer = apply(&desk.engine(), &ApplyRequest::default()).unwrap();
    assert!(answer.applied && !answer.notes.is_empty(), "{answer:?}");
    assert_eq!(desk.read("a"), "a\n");
    assert!(is_trashed(&desk), "what was committed is nowhere else");
    keep("echo index > .git/index");
    assert!(!is_trashed(&desk), "no ref was written");
}

#[test]
fn what_stands_on_a_sandbox_that_is_removed_at_the_end_of_its_run_keeps_its_layers() {
    let desk = Desk::new();
    let request = RunRequest {
        command: Command::new([
            "sh",
            "-c",
            "echo x > x; until [ -e go ]; do sleep 0.01; done",
        ]),
        afterwards: Afterwards::Remove,
        ..RunRequest::default()
    };
    let ran = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&desk.engine(), &request, capture(&mut Vec::new())));
        wait::until("the command to run", || {
            listed(&desk).iter().any(|it| it.changed_files == Some(1))
        });
        let copy = ForkRequest {
            alias: Some("brave-otter".to_owned()),
            ..ForkRequest::default()
        };
        fork(&desk.engine(), &copy).unwrap();
        let alias = running_alias(&desk);
        say(&desk, &alias, "touch go").unwrap();
        running.join().unwrap().unwrap()
    });
    assert_eq!(ran.run.end, Some(End::Exited { code: 0 }));
    let mut output = Vec::new();
    let look = ExecRequest {
        sandbox: Some("brave-otter".to_owned()),
        command: Command::new(["cat", "x"]),
        ..ExecRequest::default()
    };
    exec(&desk.engine(), &look, capture(&mut output)).unwrap();
    assert_eq!(output, b"x\n");
}

/// The alias of the sandbox that is not the fork.
fn running_alias(desk: &Desk) -> String {
    let all = listed(desk);
    let found = all.iter().find(|it| it.sandbox.alias != "brave-otter");
    found.unwrap().sandbox.alias.clone()
}

fn say(desk: &Desk, sandbox: &str, script: &str) -> Result<ExecAnswer, EngineError> {
    let request = ExecRequest {
        sandbox: Some(sandbox.to_owned()),
        command: Command::new(["sh", "-c", script]),
        ..ExecRequest::default()
    };
    exec(&desk.engine(), &request, capture(&mut Vec::new()))
}

/// Set in the process that is to be killed; names its desk.
const VICTIM: &str = "AGAR_TEST_VICTIM_OUTSIDE";

#[test]
fn a_killed_command_that_changed_only_what_is_outside_the_project_leaves_it_to_be_seen() {
    if let Some(root) = std::env::var_os(VICTIM) {
        let desk = Desk::at(root.into());
        desk.run_into("echo w > ~/w.txt; sleep 300", capture(&mut Vec::new()));
        return;
    }
    let desk = Desk::new();
    let this = "keeping::a_killed_command_that_changed_only_what_is_outside_the_project_leaves_it_to_be_seen";
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", this])
        .env(VICTIM, desk.root())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait::until("the command to have written", || {
        let shown = diff(&desk.engine(), &DiffRequest::default());
        shown.is_ok_and(|shown| !shown.changes.outside.is_empty())
    });
    victim.kill().unwrap();
    victim.wait().unwrap();
    let left = listed(&desk);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].sandbox.state, State::Finished);
    assert!(is_trashed(&desk));
}

#[test]
fn the_end_of_a_command_that_was_started_again_in_the_next_jail_is_its_own() {
    let yard = Yard::new();
    yard.create("calm-fern");
    let state = yard.desk.home().join(".local/state/agar");
    let directory = state.join("sandboxes").join(yard.id("calm-fern"));
    let keeper = keepers::of_sandbox(&state, &directory).unwrap();
    kill_process(keeper, Signal::STOP).unwrap();
    let said = std::thread::scope(|scope| {
        let saying = scope.spawn(|| say(&yard.desk, "calm-fern", "exit 3"));
        let run = directory.join("runs/1");
        wait::until("the run to be made", || run.exists());
        kill_process(keeper, Signal::KILL).unwrap();
        saying.join().unwrap().unwrap()
    });
    assert!(said.started, "in a jail of its own");
    assert_eq!(said.run.end, Some(End::Exited { code: 3 }));
    assert_eq!(
        listed(&yard.desk)[0].last_run.as_ref().unwrap().end,
        Some(End::Exited { code: 3 })
    );
}

#[test]
fn what_was_started_while_an_application_waited_is_not_ended_by_it() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.say("calm-fern", "echo x > x");
    let turn = OthersTurn::take(&yard, "calm-fern");
    std::thread::scope(|scope| {
        let desk = &yard.desk;
        let applying = scope.spawn(|| apply(&desk.engine(), &ApplyRequest::default()));
        turn.await_next("it to wait for its turn");
        yard.say("calm-fern", "sleep 1000 >/dev/null 2>&1 &");
        turn.give_up();
        let refused = applying.join().unwrap().unwrap_err();
        assert_eq!(refused.kind(), Kind::Conflict, "{refused}");
    });
    assert_eq!(yard.say("calm-fern", "pgrep sleep | wc -l"), "1\n");
    assert!(!yard.desk.project().join("x").exists());
}

#[test]
fn a_fork_of_whom_every_ancestor_is_gone_descends_from_nothing() {
    let yard = Yard::new();
    yard.create("calm-fern");
    for name in ["first", "second", "third"] {
        yard.say("calm-fern", &format!("echo {name} > {name}"));
        yard.snapshot("calm-fern", name);
    }
    yard.fork("calm-fern@third", "brave-otter");
    // Twice: to the trash, and out of it.
    yard.remove("calm-fern");
    let emptied = agar_engine::prune::PruneRequest {
        empty_trash: true,
        ..agar_engine::prune::PruneRequest::default()
    };
    agar_engine::prune::prune(&yard.engine, &emptied).unwrap();
    let request = RestoreRequest {
        snapshot: Some("brave-otter".to_owned()),
    };
    let refused = restore(&yard.engine, &request).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "brave-otter has no snapshot yet",
        "{refused:?}"
    );
    assert_eq!(yard.say("brave-otter", "cat third"), "third\n");
}
