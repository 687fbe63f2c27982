//! `agar try` without a terminal, whole outputs.

use crate::world::{assert_told, repository, told};

#[test]
fn a_try_that_works_says_what_changed_and_how_to_apply_it() {
    let world = repository();
    let script = "echo working; echo sixth >> notes.txt; rm README.md; mkdir d; echo x > d/new";
    let outcome = world.agar(["try", "--", "sh", "-c", script]);
    assert_told!(told(&world, &outcome), @"
    working
    --- stderr
    ok    exit 0 · [TIME]
          4 files changed  +2 −3
          README.md  +0 −3  deleted
          d  (directory)  new
          d/new  +1 −0  new
          notes.txt  +1 −0
    kept  [NAME]
    hint  apply it with `agar apply [NAME]`
          see the changes with `agar diff [NAME]`
    ");
    assert!(
        world.has("README.md") && !world.has("d"),
        "nothing was applied"
    );
}

#[test]
fn a_try_that_fails_leaves_the_project_untouched_and_can_be_looked_at() {
    let world = repository();
    let script = "echo half > half.txt; echo broken >&2; exit 3";
    let outcome = world.agar(["try", "--", "sh", "-c", script]);
    assert_told!(told(&world, &outcome), @"
    --- stderr
    broken
    failed  exit 3 · [TIME]
            1 file changed   half.txt  +1 −0  new
            nothing was applied; your project is untouched

    look around:  agar attach [NAME]     see the changes:  agar diff [NAME]
    --- exit 1
    ");
    assert!(!world.has("half.txt"));
}

#[test]
fn a_try_that_changes_nothing_leaves_nothing() {
    let world = repository();
    let outcome = world.agar(["try", "--", "echo", "hello"]);
    assert_told!(told(&world, &outcome), @"
    hello
    --- stderr
    ok    exit 0 · [TIME]
          no changes to the project
    ");
    assert_eq!(world.agar(["ls", "-q"]).stdout, "");
}

#[test]
fn yes_applies_and_undo_takes_it_back() {
    let world = repository();
    let outcome = world.agar(["try", "--yes", "--", "sh", "-c", "echo sixth >> notes.txt"]);
    assert_told!(told(&world, &outcome), @"
    --- stderr
    ok    exit 0 · [TIME]
          1 file changed   notes.txt  +1 −0
    applied  1 file · undo with `agar undo`
    ");
    assert!(world.read("notes.txt").ends_with("fifth\nsixth\n"));
    assert_told!(told(&world, &world.agar(["undo"])), @"
    --- stderr
    undone  1 file of [NAME]
    ");
    assert!(world.read("notes.txt").ends_with("fifth\n"));
}

#[test]
fn yes_does_not_apply_what_failed() {
    let world = repository();
    let script = "echo half > half.txt; exit 1";
    let outcome = world.agar(["try", "--yes", "--", "sh", "-c", script]);
    assert_eq!(outcome.code(), 1);
    assert!(!world.has("half.txt"));
}

#[test]
fn discard_throws_it_away() {
    let world = repository();
    let outcome = world.agar(["try", "--discard", "--", "rm", "-rf", "src"]);
    assert_told!(told(&world, &outcome), @"
    --- stderr
    ok    exit 0 · [TIME]
          3 files changed  +0 −8
          src  (directory)  deleted
          src/lib.rs  +0 −5  deleted
          src/main.rs  +0 −3  deleted
    discarded  [NAME] · your project is untouched
    ");
    assert!(world.has("src/main.rs"));
    assert_eq!(world.agar(["ls", "-q"]).stdout, "");
}

#[test]
fn a_conflict_is_shown_and_nothing_is_written() {
    let world = repository();
    let script = "sed -i 's/third/THEIRS/' notes.txt; echo more >> src/lib.rs";
    world
        .agar(["try", "--keep", "--", "sh", "-c", script])
        .success();
    world.sh("sed -i 's/third/MINE/' notes.txt").success();
    let outcome = world.agar(["apply"]);
    assert_told!(told(&world, &outcome), @"
    --- stderr
    conflict  notes.txt    you and the sandbox both changed line 3
    clean     src/lib.rs
    note  nothing has been written
    hint  choose with `--mine`, `--theirs` or `--markers`, for all paths or for some
    --- exit 4
    ");
    assert!(world.read("notes.txt").contains("MINE"));
    let outcome = world.agar(["apply", "--theirs=notes.txt"]);
    assert_told!(told(&world, &outcome), @"
    --- stderr
    chosen  notes.txt
    clean   src/lib.rs
    applied  2 files · undo with `agar undo`
    ");
    assert!(world.read("notes.txt").contains("THEIRS"));
}

#[test]
fn a_diff_can_be_fed_to_git() {
    let world = repository();
    let script = "sed -i 's/second/changed/' notes.txt; echo x > fresh.txt; rm README.md";
    world
        .agar(["try", "--keep", "--", "sh", "-c", script])
        .success();
    let outcome = world.agar(["diff"]).success();
    assert_told!(told(&world, &outcome), @"
    diff --git a/README.md b/README.md
    deleted file mode 100644
    --- a/README.md
    +++ /dev/null
    @@ -1,3 +0,0 @@
    -# sample
    -
    -A project to try things in.
    diff --git a/fresh.txt b/fresh.txt
    new file mode 100644
    --- /dev/null
    +++ b/fresh.txt
    @@ -0,0 +1 @@
    +x
    diff --git a/notes.txt b/notes.txt
    --- a/notes.txt
    +++ b/notes.txt
    @@ -1,5 +1,5 @@
     first
    -second
    +changed
     third
     fourth
     fifth
    ");
    world.write("../change.patch", &outcome.stdout);
    world.git(["apply", "../change.patch"]);
    assert!(world.has("fresh.txt") && !world.has("README.md"));
}
