//! C9: a promotion is applied once.

use crate::AGAR;
use agar_testkit::{Tree, World};

#[test]
fn applying_again_changes_nothing() {
    let world = World::with_repository(AGAR);
    let script = "echo more >>notes.txt; echo new >new.txt";
    world
        .agar(["run", "--keep", "--", "/bin/sh", "-ec", script])
        .success();
    world.agar(["apply"]).success();
    let once = Tree::read(&world.project());
    let again = world.agar(["apply"]);
    once.assert_unchanged(&world.project(), &format!("a second apply: {again}"));
    assert_eq!(world.read("notes.txt").matches("more").count(), 1);
}

#[test]
fn two_applies_at_once_apply_once() {
    let world = World::with_repository(AGAR);
    let script = "for n in $(seq 200); do echo $n >file-$n; done; echo more >>notes.txt";
    world
        .agar(["run", "--keep", "--", "/bin/sh", "-ec", script])
        .success();
    let racing: Vec<_> = (0..6).map(|_| world.command(["apply"]).spawn()).collect();
    let outcomes: Vec<_> = racing
        .into_iter()
        .map(agar_testkit::invocation::Running::finish)
        .collect();
    assert!(
        outcomes.iter().any(|outcome| outcome.code() == 0),
        "{}",
        outcomes[0]
    );
    assert_eq!(world.read("notes.txt").matches("more").count(), 1);
    assert_eq!(world.read("file-200"), "200\n");
    world.agar(["undo"]).success();
    assert!(!world.has("file-1") && !world.has("file-200"));
    assert_eq!(world.read("notes.txt").matches("more").count(), 0);
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

#[test]
fn undoing_twice_takes_back_once() {
    let world = World::with_repository(AGAR);
    world
        .agar([
            "run",
            "--keep",
            "--",
            "/bin/sh",
            "-ec",
            "echo more >>notes.txt",
        ])
        .success();
    world.agar(["apply"]).success();
    world.agar(["undo"]).success();
    let before = Tree::read(&world.project());
    let again = world.agar(["undo"]);
    assert_ne!(again.code(), 0, "{again}");
    before.assert_unchanged(&world.project(), "a second undo");
}
