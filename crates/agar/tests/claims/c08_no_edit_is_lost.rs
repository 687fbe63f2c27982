//! C8: a promotion never loses an edit that a person made meanwhile.
//!
//! End to end; the cases of the merge itself are scenarios of the crate that does it.

use crate::AGAR;
use agar_testkit::random::{self, Operation, Random};
use agar_testkit::{Tree, World};
use std::path::{Path, PathBuf};

/// Changes the project inside a sandbox and keeps it.
#[track_caller]
fn change_inside(world: &World, script: &str) {
    world
        .agar([
            "run",
            "--keep",
            "--base=frozen",
            "--",
            "/bin/sh",
            "-ec",
            script,
        ])
        .success();
}

#[test]
fn edits_on_both_sides_of_one_file_are_both_kept() {
    let world = World::with_repository(AGAR);
    change_inside(&world, "sed -i 's/fifth/FIFTH/' notes.txt");
    world.write("notes.txt", "FIRST\nsecond\nthird\nfourth\nfifth\n");
    world.agar(["apply"]).success();
    assert_eq!(
        world.read("notes.txt"),
        "FIRST\nsecond\nthird\nfourth\nFIFTH\n"
    );
}

/// They have no picture of the project to compare with, so a file that moved on both sides is a
/// conflict there, never a guess.
#[test]
fn weaker_tiers_lose_no_edit_either() {
    for tier in ["--tier=helper", "--tier=landlock", "--tier=none"] {
        let world = World::with_repository(AGAR);
        let script = "sed -i 's/fifth/FIFTH/' notes.txt; rm README.md; mkdir d; echo new >d/new";
        let words = ["run", "--keep", tier, "--", "/bin/sh", "-ec", script];
        world.agar(words).success();
        world.write("src/lib.rs", "mine\n");
        let before = Tree::read(&world.project());
        world.agar(["apply"]).success();
        assert!(world.read("notes.txt").contains("FIFTH"), "{tier}");
        assert_eq!(world.read("src/lib.rs"), "mine\n", "{tier}");
        assert!(!world.has("README.md") && world.has("d/new"), "{tier}");
        world.agar(["undo"]).success();
        let after = Tree::read(&world.project()).contents();
        assert_eq!(before.contents().difference(&after), "", "{tier}");
        world.write("notes.txt", "FIRST\nsecond\nthird\nfourth\nfifth\n");
        let before = Tree::read(&world.project());
        world.agar(["apply"]).expect_code(4);
        before.assert_unchanged(&world.project(), tier);
    }
}

/// Changes the project inside a sandbox that uses it live.
#[track_caller]
fn change_live(world: &World, script: &str) {
    let words = ["run", "--keep", "--base=live", "--", "/bin/sh", "-ec"];
    world.agar(words.into_iter().chain([script])).success();
}

#[test]
fn what_was_deleted_here_does_not_come_back_from_a_live_base() {
    for (inside, here) in [
        ("echo more >>notes.txt", "rm notes.txt"),
        ("chmod 755 notes.txt", "rm notes.txt"),
        ("echo new >n; mv n notes.txt", "rm notes.txt"),
        ("echo more >>src/lib.rs", "rm -r src"),
        ("echo new >n; mv n src/lib.rs", "rm -r src"),
    ] {
        let world = World::with_repository(AGAR);
        change_live(&world, inside);
        world.sh(here).success();
        let before = Tree::read(&world.project());
        let outcome = world.agar(["apply"]).expect_code(4);
        assert!(outcome.stderr.contains("deleted it"), "{inside}: {outcome}");
        before.assert_unchanged(&world.project(), inside);
    }
}

#[test]
fn what_is_new_in_a_live_base_is_taken_where_nothing_moved() {
    let world = World::with_repository(AGAR);
    change_live(
        &world,
        "echo x >new; mkdir d; echo y >d/deep; echo z >src/new.rs",
    );
    // An edit in place does not touch the directory.
    world.write("notes.txt", "mine\n");
    world.agar(["apply"]).success();
    assert_eq!(world.read("d/deep"), "y\n");
    assert_eq!(world.read("src/new.rs"), "z\n");
    assert_eq!(world.read("notes.txt"), "mine\n");
}

#[test]
fn a_conflict_writes_nothing_at_all() {
    let world = World::with_repository(AGAR);
    change_inside(
        &world,
        "sed -i 's/third/THEIRS/' notes.txt; echo new >new.txt; rm README.md",
    );
    world.write("notes.txt", "first\nsecond\nMINE\nfourth\nfifth\n");
    let before = Tree::read(&world.project());
    world.agar(["apply"]).expect_code(4);
    before.assert_unchanged(&world.project(), "a conflict");
}

#[test]
fn a_file_edited_here_and_removed_inside_is_a_conflict() {
    let world = World::with_repository(AGAR);
    change_inside(&world, "rm notes.txt");
    world.write("notes.txt", "my edit\n");
    world.agar(["apply"]).expect_code(4);
    assert_eq!(world.read("notes.txt"), "my edit\n");
}

#[test]
fn a_file_made_on_both_sides_is_a_conflict() {
    let world = World::with_repository(AGAR);
    change_inside(&world, "echo theirs >new.txt");
    world.write("new.txt", "mine\n");
    world.agar(["apply"]).expect_code(4);
    assert_eq!(world.read("new.txt"), "mine\n");
}

#[test]
fn an_edit_made_after_an_apply_survives_its_undoing() {
    let world = World::with_repository(AGAR);
    change_inside(&world, "sed -i 's/fifth/FIFTH/' notes.txt; echo x >new.txt");
    world.agar(["apply"]).success();
    world.write("notes.txt", "FIRST\nsecond\nthird\nfourth\nFIFTH\n");
    world.agar(["undo"]).success();
    assert_eq!(
        world.read("notes.txt"),
        "FIRST\nsecond\nthird\nfourth\nfifth\n"
    );
    assert!(!world.has("new.txt"));
}

#[test]
fn untouched_files_keep_their_inode_and_time() {
    let world = World::with_repository(AGAR);
    let before = Tree::read_without(&world.project(), &[Path::new("notes.txt")]);
    change_inside(&world, "echo more >>notes.txt");
    world.agar(["apply"]).success();
    let after = Tree::read_without(&world.project(), &[Path::new("notes.txt")]);
    assert_eq!(before.difference(&after), "");
}

/// Operations on paths that begin with one of two letters, so that the sides do not meet.
fn side(random: &mut Random, paths: &[PathBuf], letter: char) -> Vec<Operation> {
    let own: Vec<PathBuf> = paths
        .iter()
        .map(|path| Path::new(&letter.to_string()).join(path))
        .collect();
    let stay = |path: &PathBuf| path.starts_with(letter.to_string());
    random::operations(random, &own, 12)
        .into_iter()
        .filter(|operation| match operation {
            Operation::Write { path, .. }
            | Operation::Append { path, .. }
            | Operation::Remove { path }
            | Operation::Mode { path, .. }
            | Operation::Symlink { path, .. }
            | Operation::Directory { path } => stay(path),
            Operation::Rename { from, to } => stay(from) && stay(to),
        })
        .collect()
}

/// Random work on both sides: after the apply each side's work is there, and after the undo only
/// this side's.
#[test]
fn random_work_on_both_sides_is_all_there_and_undo_takes_back_only_one() {
    for seed in 1..=6_u64 {
        let world = World::new(AGAR);
        let mut random = Random::new(seed);
        for letter in ['a', 'b'] {
            random::tree(
                &mut random.clone(),
                &world.project().join(letter.to_string()),
                30,
            );
        }
        let paths = random::tree(&mut random.clone(), &world.outside().join("names"), 30);
        let theirs = side(&mut random, &paths, 'a');
        let mine = side(&mut random, &paths, 'b');

        // The same work on a copy inside, through a program that only replays it: the tree made
        // outside is copied over the one inside.
        let model = world.outside().join("model");
        world.sh(&format!("cp -a . {}", model.display())).success();
        for operation in &theirs {
            operation.apply(&model);
        }
        let replay = format!(
            "rm -rf a && if test -e {0}/a; then cp -a {0}/a a; fi",
            model.display()
        );
        change_inside(&world, &replay);
        for operation in &mine {
            operation.apply(&world.project());
            operation.apply(&model);
        }
        let before = Tree::read(&world.project()).without_times();
        let applied = world.agar(["apply"]);
        assert!(applied.code() == 0, "seed {seed}: {applied}");
        let model = Tree::read(&model).without_times();
        let after = Tree::read(&world.project()).without_times();
        assert_eq!(model.difference(&after), "", "seed {seed}");
        world.agar(["undo"]).success();
        let undone = Tree::read(&world.project()).without_times();
        assert_eq!(before.difference(&undone), "", "seed {seed}");
        world.agar(["rm", "--all", "--force"]).success();
    }
}
