//! Projects that are moved or deleted under their sandboxes.

use crate::answers::checked;
use crate::keeping::changed;
use crate::world::repository;
use agar_testkit::{Outcome, Tree, World};
use std::path::{Path, PathBuf};

#[test]
fn a_project_that_moved_or_is_gone_takes_no_changes_with_it() {
    let world = repository();
    changed(&world, "calm-fern");
    let moved = world.root().join("home/moved");
    fs_err::rename(world.project(), &moved).unwrap();
    let at = |directory: &Path, words: &[&str]| at(&world, directory, words);
    let elsewhere = world.outside();
    let names = at(&moved, &["diff", "calm-fern", "--names"]).success();
    assert_eq!(names.stdout.trim(), "made-by-calm-fern.txt");
    assert_eq!(at(&moved, &["ls", "-q"]).success().stdout, "calm-fern\n");
    // Gone altogether: the changes are there as long as the sandbox is.
    fs_err::remove_dir_all(&moved).unwrap();
    at(
        &elsewhere,
        &["prune", "-a", "--idle", "0s", "--keep-last", "0"],
    )
    .success();
    let trash = at(&elsewhere, &["ls", "-a", "-q", "--trash"]).success();
    assert_eq!(trash.stdout, "calm-fern\n");
    at(&elsewhere, &["restore", "--trash", "calm-fern"]).success();
    let names = at(&elsewhere, &["diff", "calm-fern", "--names"]).success();
    assert_eq!(names.stdout.trim(), "made-by-calm-fern.txt");
    let applied = at(&elsewhere, &["apply", "calm-fern"]);
    assert_ne!(applied.code(), 0);
    assert!(!moved.exists() && !world.project().exists());
}

/// A sandbox of a live base that made a file and changed another, in a project that was then moved
/// to the place that is given back.
fn moved_after_a_change(world: &World) -> PathBuf {
    world
        .agar(["create", "--base", "live", "--name", "calm-fern"])
        .success();
    let script = "echo new > new.txt; echo more >> base.txt";
    world
        .agar(["exec", "calm-fern", "--", "sh", "-c", script])
        .success();
    world.agar(["stop", "calm-fern"]).success();
    let moved = world.root().join("home/moved");
    let mv = world.invoke("mv").current_dir("/");
    mv.arg(world.project()).arg(&moved).run().success();
    moved
}

/// Runs agar in a directory.
fn at(world: &World, directory: &Path, words: &[&str]) -> Outcome {
    let words = [&["-C", directory.to_str().unwrap_or("/")], words].concat();
    world.command(words).current_dir("/").run()
}

/// Somebody else's repository where the project was, with a file of the same name.
fn stranger(world: &World) -> Tree {
    let git = world.invoke("git").args(["init", "-q"]);
    git.arg(world.project()).current_dir("/").run().success();
    world.write("base.txt", "base\n");
    Tree::read(&world.project())
}

fn text(directory: &Path, name: &str) -> String {
    fs_err::read_to_string(directory.join(name)).unwrap_or_default()
}

#[test]
fn changes_follow_a_project_that_moved_and_so_does_their_undoing() {
    let world = repository();
    world.write("base.txt", "base\n");
    let moved = moved_after_a_change(&world);
    let names = at(&world, &moved, &["diff", "--names"]).success();
    assert_eq!(names.stdout, "base.txt\nnew.txt\n");
    let patch = at(&world, &moved, &["diff"]).success();
    assert!(patch.stdout.contains("+more") && !patch.stdout.contains("+base"));
    at(&world, &moved, &["apply", "--dry-run"]).success();
    let applied = checked("apply", &at(&world, &moved, &["apply", "--json"]));
    assert_eq!(applied["notes"], serde_json::json!([]));
    assert_eq!(text(&moved, "base.txt"), "base\nmore\n");
    assert_eq!(text(&moved, "new.txt"), "new\n");
    // And once more, between the two.
    let again = world.root().join("home/again");
    fs_err::rename(&moved, &again).unwrap();
    let undone = at(&world, &again, &["undo"]).success();
    assert!(undone.stderr.contains("2 files"), "{}", undone.stderr);
    assert_eq!(text(&again, "base.txt"), "base\n");
    assert!(!again.join("new.txt").exists() && !world.project().exists());
}

#[test]
fn a_sandbox_of_a_project_that_moved_still_runs_on_it() {
    let world = repository();
    world.write("base.txt", "base\n");
    let moved = moved_after_a_change(&world);
    fs_err::write(moved.join("late.txt"), "late\n").unwrap();
    let script = "cat base.txt late.txt";
    let words = ["exec", "calm-fern", "--", "sh", "-c", script];
    let said = at(&world, &moved, &words).success();
    assert_eq!(said.stdout, "base\nmore\nlate\n");
    at(&world, &moved, &["stop", "calm-fern"]).success();
    let told = checked("diff", &at(&world, &moved, &["diff", "--json"]));
    assert_eq!(told["changes"]["outside"], serde_json::json!([]));
    assert!(!world.project().exists(), "nothing is made outside for it");
    stranger(&world);
    let said = at(&world, &moved, &words).success();
    assert_eq!(said.stdout, "base\nmore\nlate\n");
    at(&world, &moved, &["rm", "--all", "--force"]).success();
}

#[test]
fn what_lies_where_a_project_was_is_never_written_to() {
    let world = repository();
    world.write("base.txt", "base\n");
    let moved = moved_after_a_change(&world);
    let theirs = stranger(&world);
    let before = Tree::read(&moved);
    // Nobody has seen yet where it went.
    let elsewhere = world.outside();
    for words in [
        &["apply", "calm-fern"][..],
        &["apply", "calm-fern", "--dry-run"],
        &["merge", "calm-fern"],
        &["exec", "calm-fern", "true"],
    ] {
        let refused = at(&world, &elsewhere, words);
        let expected = if words[0] == "exec" { 125 } else { 4 };
        let refused = refused.expect_code(expected);
        assert!(refused.stderr.contains("no longer at"), "{words:?}");
    }
    before.assert_unchanged(&moved, "an application that was refused");
    let projects = world.state().join("agar/projects");
    let begun = world.sh(&format!(
        "find '{}' -path '*promotions/*'",
        projects.display()
    ));
    assert_eq!(begun.success().stdout, "", "nothing was begun either");
    let told = at(&world, &elsewhere, &["diff", "calm-fern", "--names"]).success();
    assert_eq!(told.stdout, "base.txt\nnew.txt\n");
    at(&world, &moved, &["apply", "calm-fern"]).success();
    assert_eq!(text(&moved, "base.txt"), "base\nmore\n");
    theirs.assert_unchanged(&world.project(), "an application");
    at(&world, &moved, &["undo"]).success();
    assert_eq!(text(&moved, "base.txt"), "base\n");
    theirs.assert_unchanged(&world.project(), "an undo");
}

#[test]
fn a_repository_made_anew_where_a_project_was_deleted_gets_none_of_its_changes() {
    let world = repository();
    world.write("base.txt", "base\n");
    let moved = moved_after_a_change(&world);
    at(&world, &moved, &["apply", "calm-fern"]).success();
    at(&world, &moved, &["create", "--name", "other-one"]).success();
    let script = "echo other > other.txt";
    at(
        &world,
        &moved,
        &["exec", "other-one", "--", "sh", "-c", script],
    )
    .success();
    at(&world, &moved, &["stop", "other-one"]).success();
    fs_err::remove_dir_all(&moved).unwrap();
    fs_err::create_dir(&moved).unwrap();
    fs_err::write(moved.join("base.txt"), "base\nmore\n").unwrap();
    let theirs = Tree::read(&moved);
    at(&world, &moved, &["apply", "other-one"]).expect_code(4);
    at(&world, &moved, &["undo"]).expect_code(4);
    theirs.assert_unchanged(&moved, "an undo that was refused");
}

#[test]
fn changes_go_to_the_worktree_they_were_made_from() {
    let world = repository();
    let linked = world.root().join("home/linked");
    world
        .sh(&format!(
            "git commit -q --allow-empty -m one; git worktree add -q '{}'",
            linked.display()
        ))
        .success();
    at(&world, &linked, &["create", "--name", "calm-fern"]).success();
    let script = "echo new > new.txt";
    at(
        &world,
        &linked,
        &["exec", "calm-fern", "--", "sh", "-c", script],
    )
    .success();
    at(&world, &linked, &["stop", "calm-fern"]).success();
    let before = Tree::read(&world.project());
    let place = linked.to_str().unwrap_or_default();
    let applied = world.agar(["apply", "calm-fern"]).success();
    assert!(applied.stderr.contains(place), "{}", applied.stderr);
    assert_eq!(text(&linked, "new.txt"), "new\n");
    let undone = world.agar(["undo"]).success();
    assert!(undone.stderr.contains(place), "{}", undone.stderr);
    assert!(!linked.join("new.txt").exists());
    before.assert_unchanged(&world.project(), "an application in a linked worktree");
}

#[test]
fn snapshots_and_forks_of_a_project_that_moved_rest_on_its_live_bulk_where_it_is() {
    let world = repository();
    for number in 0..1200 {
        world.write(format!("node_modules/f{number}"), "x");
    }
    world.write(".gitignore", "node_modules/\n");
    world.agar(["create", "--name", "calm-fern"]).success();
    let told = checked("inspect", &world.agar(["inspect", "--json"]));
    let live = &told["sandbox"]["base"]["live_below"];
    assert_eq!(live, &serde_json::json!(["node_modules"]), "{told}");
    let remove = "rm node_modules/f0; echo a > a";
    let words = ["exec", "calm-fern", "--", "sh", "-c", remove];
    world.agar(words).success();
    world
        .agar(["snapshot", "calm-fern", "--name", "one"])
        .success();
    world.agar(["stop", "calm-fern"]).success();
    let moved = world.root().join("home/moved");
    let mv = world.invoke("mv").current_dir("/");
    mv.arg(world.project()).arg(&moved).run().success();
    // What lies there now holds nothing of what was removed inside.
    stranger(&world);
    let at = |words: &[&str]| at(&world, &moved, words);
    let seen = |name: &str| {
        let script = "cat a; ls node_modules | wc -l";
        at(&["exec", name, "--", "sh", "-c", script])
            .success()
            .stdout
    };
    at(&["fork", "calm-fern@one", "--name", "copy"]).success();
    assert_eq!(seen("copy"), "a\n1199\n");
    at(&["restore", "calm-fern@one"]).success();
    assert_eq!(seen("calm-fern"), "a\n1199\n");
    for number in 0..10 {
        let script = format!("echo {number} > a; rm node_modules/f{}", number + 1);
        at(&["exec", "calm-fern", "--", "sh", "-c", &script]).success();
        let taken = checked("snapshot", &at(&["snapshot", "calm-fern", "--json"]));
        assert_eq!(taken["snapshot"]["taken"], "idle");
        assert_eq!(taken["jail_ended"], false);
    }
    // The removals are joined, and still hide what lies in the project's own directory.
    at(&["stop", "calm-fern"]).success();
    at(&["upkeep"]).success();
    assert_eq!(seen("calm-fern"), "9\n1189\n");
    at(&["rm", "--all", "--force"]).success();
}
