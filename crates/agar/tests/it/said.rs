//! What the listing commands print, whole outputs.

use crate::world::{assert_told, plain, repository, told};

#[test]
fn run_keeps_what_changed_and_says_nothing_into_a_pipe() {
    let world = repository();
    let outcome = world.agar(["run", "--", "sh", "-c", "echo out; echo x > fresh.txt"]);
    assert_eq!(told(&world, &outcome), "out\n");
    assert_eq!(
        world.agar(["diff", "--names"]).success().stdout,
        "fresh.txt\n"
    );
    world
        .agar(["run", "--rm", "--", "touch", "other.txt"])
        .success();
    assert_eq!(world.agar(["ls", "-q"]).success().stdout.lines().count(), 1);
}

#[test]
fn logs_show_both_streams_of_the_last_run() {
    let world = plain();
    let script = "echo one; echo two >&2; echo three";
    world
        .agar(["run", "--keep", "--", "sh", "-c", script])
        .success();
    let logs = world.agar(["logs"]).success().stdout;
    let mut lines: Vec<&str> = logs.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["one", "three", "two"]);
    let last = world.agar(["logs", "--tail", "1"]).success().stdout;
    assert_eq!(last.lines().count(), 1);
}

#[test]
fn logs_that_are_followed_show_what_comes_and_end_with_the_run() {
    let world = plain();
    world.agar(["create", "--name", "calm-fern"]).success();
    let script = "echo begun; until [ -e /tmp/go ]; do sleep 0.02; done; echo going; echo ended";
    let words = ["exec", "calm-fern", "--", "sh", "-c", script];
    let mut running = world.command(words).spawn();
    running.expect("begun");
    let mut following = world.command(["logs", "-f", "calm-fern"]).spawn();
    following.expect("begun");
    assert!(!following.has_ended());
    let go = ["exec", "calm-fern", "--", "touch", "/tmp/go"];
    world.agar(go).success();
    running.finish().success();
    let shown = following.finish().success().stdout;
    assert_eq!(shown, "begun\ngoing\nended\n");
}

#[test]
fn a_process_left_behind_is_listed_and_ends_with_the_sandbox() {
    let world = plain();
    world.agar(["create", "--name", "calm-fern"]).success();
    world
        .agar(["exec", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 &"])
        .success();
    let listed = world.agar(["ps"]).success().stdout;
    assert!(listed.contains("sleep 1000"), "{listed}");
    world.agar(["rm", "--force"]).success();
    assert_eq!(world.agar(["ps"]).success().stdout, "");
}

#[test]
fn files_are_copied_both_ways() {
    let world = repository();
    world.agar(["create", "--name", "calm-fern"]).success();
    world.write("../input.txt", "from outside\n");
    world
        .agar(["cp", "../input.txt", "calm-fern:src/"])
        .success();
    let read = world.agar(["exec", "--", "cat", "src/input.txt"]).success();
    assert_eq!(read.stdout, "from outside\n");
    world.agar(["cp", ":src/main.rs", "../out.rs"]).success();
    assert_eq!(world.read("../out.rs"), world.read("src/main.rs"));
    world.agar(["rm", "--force"]).success();
}

#[test]
fn colours_are_only_where_they_are_wanted() {
    let world = repository();
    world.agar(["try", "--keep", "--", "touch", "x"]).success();
    assert!(!world.agar(["ls"]).stdout.contains('\x1b'));
    let forced = world
        .command(["ls", "--color", "always"])
        .env("NO_COLOR", "1")
        .run();
    assert!(forced.stdout.contains("\x1b[36m"));
}

#[test]
fn the_directory_can_be_named() {
    let world = repository();
    let project = world.project();
    let outcome = world
        .command(["-C", &*project.to_string_lossy(), "run", "--", "pwd"])
        .current_dir(world.root())
        .run()
        .success();
    assert_eq!(outcome.stdout.trim(), project.to_string_lossy());
}

#[test]
fn a_settings_file_is_written_once() {
    let world = repository();
    world.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let outcome = world.agar(["init"]).success();
    assert_told!(told(&world, &outcome), @"
    --- stderr
    wrote  [WORLD]/home/project/agar.toml · cargo
           check  cargo check --all-targets
           check  cargo test --no-fail-fast
    ");
    let again = world.agar(["init"]);
    assert_eq!(again.code(), 4, "{}", again.stderr);
    assert!(
        world
            .agar(["config", "show", "limits", "--origin"])
            .success()
            .stdout
            .contains("limits.")
    );
}

#[test]
fn a_return_without_any_snapshot_says_how_to_take_one() {
    let world = repository();
    world.agar(["create", "--name", "calm-fern"]).success();
    let refused = world.agar(["restore"]).expect_code(3);
    assert_told!(told(&world, &refused), @r"
    --- stderr
    error  calm-fern has no snapshot yet
    fix    `agar snapshot calm-fern`
    --- exit 3
    ");
    world.agar(["rm", "--force"]).success();
}

#[test]
fn the_tree_shows_how_snapshots_descend_and_a_fork_knows_what_it_was() {
    let world = repository();
    world.agar(["create", "--name", "calm-fern"]).success();
    let change = |text: &str| {
        let script = format!("echo {text} > made");
        let words = ["exec", "calm-fern", "--", "sh", "-c", &script];
        world.agar(words).success();
    };
    let snapshot = |name| {
        change(name);
        world.agar(["snapshot", "--name", name]).success();
    };
    snapshot("one");
    snapshot("two");
    world.agar(["restore", "calm-fern@one"]).success();
    snapshot("three");
    world
        .agar(["fork", "calm-fern@two", "--name", "brave-otter"])
        .success();
    let drawn = world.agar(["tree"]).success();
    assert_told!(drawn.stdout, @r"
    calm-fern  running
    └ @one
      ├ @two
      │ └ brave-otter  finished
      └ @three *
    ");
    let fork = world.agar(["inspect", "brave-otter"]).success();
    assert!(
        fork.stdout
            .contains("\nforked from  calm-fern@two, depth 1\n"),
        "{fork}"
    );
    world.agar(["rm", "--all", "--force"]).success();
}
