//! Nothing is lost: what cleaning, removing and copying must never do to what people have.

use crate::answers::checked;
use crate::world::{plain, repository};
use agar_testkit::{Tree, World, wait};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// A sandbox that changed a file, and is finished. Gives its id.
pub(crate) fn changed(world: &World, name: &str) -> String {
    world.agar(["create", "--name", name]).success();
    let script = format!("echo {name} > made-by-{name}.txt");
    world
        .agar(["exec", name, "--", "sh", "-c", &script])
        .success();
    world.agar(["stop", name]).success();
    let told = checked("inspect", &world.agar(["inspect", name, "--json"]));
    told["sandbox"]["id"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn directory(world: &World, id: &str) -> PathBuf {
    world.state().join("agar/sandboxes").join(id)
}

/// Everything goes that may go at all.
const ALL: [&str; 5] = ["prune", "--idle", "0s", "--keep-last", "0"];

#[test]
fn a_sandbox_in_the_trash_comes_back_whole() {
    let world = repository();
    changed(&world, "calm-fern");
    let gone = world.agar(["rm", "calm-fern"]).success();
    assert!(gone.stdout.contains("trash"), "{}", gone.stdout);
    assert_eq!(world.agar(["ls", "-q"]).success().stdout, "");
    assert_eq!(
        world.agar(["ls", "-q", "--trash"]).success().stdout,
        "calm-fern\n"
    );
    // Cleaning leaves it there: its grace period is not over.
    world.agar(ALL).success();
    checked("restore", &world.agar(["restore", "--trash", "--json"]));
    let names = world.agar(["diff", "calm-fern", "--names"]).success();
    assert_eq!(names.stdout.trim(), "made-by-calm-fern.txt");
    let again = world
        .agar(["restore", "--trash", "calm-fern"])
        .expect_code(4);
    assert!(again.stderr.contains("it is finished"), "{}", again.stderr);
    world.agar(["restore", "--trash"]).expect_code(3);
    world.agar(["rm"]).success();
    world.agar(["prune", "--empty-trash"]).success();
    world
        .agar(["restore", "--trash", "calm-fern"])
        .expect_code(3);
    assert_eq!(
        world
            .state()
            .join("agar/sandboxes")
            .read_dir()
            .map_or(0, Iterator::count),
        0
    );
}

#[test]
fn the_name_of_one_in_the_trash_can_be_given_again_and_both_stay() {
    let world = repository();
    changed(&world, "api");
    world.agar(["rm", "api"]).success();
    let refused = world.agar(["exec", "api", "--", "true"]).expect_code(125);
    assert!(
        refused.stderr.contains("agar restore --trash api"),
        "{refused}"
    );
    world.agar(["create", "--name", "api"]).success();
    let told = checked(
        "restore",
        &world.agar(["restore", "--trash", "api", "--json"]),
    );
    assert_eq!(told["renamed_from"], "api");
    let alias = told["sandbox"]["alias"].as_str().unwrap_or_default();
    let names = world.agar(["diff", alias, "--names"]).success();
    assert_eq!(names.stdout.trim(), "made-by-api.txt");
    world.agar(["exec", "api", "--", "true"]).success();
    world.agar(["rm", alias]).success();
    changed(&world, "other");
    world.agar(["rm", "other"]).success();
    let which = world.agar(["restore", "--trash"]).expect_code(2);
    assert!(
        which.stderr.contains("in the trash") && which.stderr.contains("agar ls --trash"),
        "{which}"
    );
}

#[test]
fn a_dry_run_says_what_would_go_and_why() {
    let world = repository();
    let id = changed(&world, "calm-fern");
    let words = [&ALL[..], &["--dry-run"]].concat();
    let told = world.agar(&words).success().stdout;
    assert!(
        told.contains("would remove") && told.contains("calm-fern · idle for"),
        "{told}"
    );
    assert!(told.contains("to the trash"), "{told}");
    let words = [&words[..], &["--json"]].concat();
    let told = checked("prune", &world.agar(&words));
    assert_eq!(told["removed"][0]["in_trash"], true);
    assert!(directory(&world, &id).exists());
    assert_eq!(world.agar(["ls", "-q"]).success().stdout, "calm-fern\n");
}

#[test]
fn an_idle_jail_is_taken_down_and_one_in_which_something_runs_is_not() {
    let world = repository();
    world.agar(["create", "--name", "idle-one"]).success();
    world.agar(["create", "--name", "busy-one"]).success();
    world
        .agar([
            "exec",
            "busy-one",
            "--",
            "sh",
            "-c",
            "sleep 1000 >/dev/null 2>&1 &",
        ])
        .success();
    let told = checked("prune", &world.agar([&ALL[..], &["--json"]].concat()));
    assert_eq!(told["stopped"][0]["alias"], "idle-one");
    assert_eq!(told["stopped"].as_array().map(Vec::len), Some(1));
    assert_eq!(told["removed"], serde_json::json!([]));
    let listed = checked("ls", &world.agar(["ls", "--json"]));
    let states: Vec<_> = listed["sandboxes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| {
            (
                it["alias"].as_str().unwrap_or(""),
                it["state"].as_str().unwrap_or(""),
            )
        })
        .collect();
    assert_eq!(states, [("idle-one", "finished"), ("busy-one", "running")]);
    // It is put up again when it is needed.
    let said = world
        .agar(["exec", "idle-one", "--", "echo", "here"])
        .success();
    assert_eq!(said.stdout, "here\n");
    world.agar(["rm", "--all", "--force"]).success();
}

#[test]
fn a_sandbox_beyond_its_time_goes_although_it_is_among_the_newest() {
    let world = repository();
    world
        .agar(["create", "--name", "short-one", "--ttl", "1s"])
        .success();
    world
        .agar(["create", "--name", "long-one", "--ttl", "1h"])
        .success();
    world.agar(["stop", "--all"]).success();
    wait::until("its time is over", || {
        let told = world.agar(["prune", "--dry-run"]).success().stdout;
        told.contains("short-one · time to live over")
    });
    world.agar(["prune"]).success();
    assert_eq!(world.agar(["ls", "-q"]).success().stdout, "long-one\n");
}

#[test]
fn a_repository_that_lies_where_a_sandbox_was_is_not_touched() {
    let world = repository();
    let theirs = world.root().join("theirs");
    let git = world.invoke("git").args(["init", "-q"]).arg(&theirs).run();
    git.success();
    fs_err::write(theirs.join("thesis.txt"), "years of work").unwrap();
    let before = Tree::read(&theirs);
    // Moved there, and linked there.
    for link in [false, true] {
        let name = if link { "linked-one" } else { "moved-one" };
        let place = directory(&world, &changed(&world, name));
        fs_err::rename(&place, world.root().join(name)).unwrap();
        if link {
            std::os::unix::fs::symlink(&theirs, &place).unwrap();
        } else {
            world
                .sh(&format!(
                    "cp -a '{}' '{}'",
                    theirs.display(),
                    place.display()
                ))
                .success();
        }
        let there = Tree::read(&place);
        let refused = world.agar(["prune", "--empty-trash", "--idle", "0s", "--keep-last", "0"]);
        assert!(refused.success().stdout.contains("skipped"), "{name}");
        world.agar(["rm", "--force", name]).expect_code(1);
        there.assert_unchanged(&place, "a clean-up");
        before.assert_unchanged(&theirs, "a clean-up");
    }
}

#[test]
fn a_name_that_is_given_again_is_another_sandbox() {
    let world = repository();
    let first = changed(&world, "calm-fern");
    world.agar(["rm", "calm-fern"]).success();
    world.agar(["prune", "--empty-trash"]).success();
    let second = changed(&world, "calm-fern");
    assert_ne!(first, second);
    // The old one, by its id, is gone; whatever is asked of it does nothing to the new one.
    world.agar(["rm", "--force", &first]).expect_code(4);
    world.agar(["restore", "--trash", &first]).expect_code(4);
    assert_eq!(
        world.agar(["diff", "--names"]).success().stdout.trim(),
        "made-by-calm-fern.txt"
    );
    assert!(directory(&world, &second).exists());
}

#[test]
fn two_clean_ups_at_once_do_the_work_of_one() {
    let world = repository();
    let ids: Vec<String> = (0..6)
        .map(|n| changed(&world, &format!("one-{n}")))
        .collect();
    let spared = changed(&world, "spared-one");
    world
        .agar([
            "exec",
            "spared-one",
            "--",
            "sh",
            "-c",
            "sleep 1000 >/dev/null 2>&1 &",
        ])
        .success();
    let cleaning: Vec<_> = (0..4)
        .map(|_| {
            world
                .command([&ALL[..], &["--empty-trash"]].concat())
                .spawn()
        })
        .collect();
    for clean_up in cleaning {
        clean_up.finish().success();
    }
    // What one gave up at first, none may have collected in the same breath.
    let waiting = world.agar(["ls", "-q", "--trash"]).success().stdout;
    let left = ids
        .iter()
        .filter(|id| directory(&world, id).exists())
        .count();
    assert_eq!(waiting.lines().count(), left);
    assert!(directory(&world, &spared).exists());
    assert!(world.agar(["ps"]).success().stdout.contains("sleep 1000"));
    world.agar(["prune", "--empty-trash"]).success();
    assert!(ids.iter().all(|id| !directory(&world, id).exists()));
    world.agar(["rm", "--force", "spared-one"]).success();
}

#[test]
fn a_sandbox_with_another_inside_that_still_runs_is_left_alone() {
    let world = repository();
    world
        .agar(["create", "--nested", "--name", "outer-one"])
        .success();
    let inner = "unshare -Ur sh -c 'touch inner; sleep 1000' >/dev/null 2>&1 &";
    world
        .agar(["exec", "outer-one", "--", "sh", "-c", inner])
        .success();
    wait::until("the inner one runs", || {
        world.agar(["ps"]).stdout.contains("sleep 1000")
    });
    world.agar(ALL).success();
    world.agar(["rm", "outer-one"]).expect_code(4);
    assert!(world.agar(["ps"]).success().stdout.contains("sleep 1000"));
    world.agar(["rm", "--force", "outer-one"]).success();
    wait::until("the inner one is gone with it", || {
        agar_testkit::leaks::processes_in(world.root()).is_empty()
    });
}

/// A file or a socket that is there for a moment. Which of several wins does not matter.
fn come_and_go(directory: &Path, number: u32) {
    let place = &directory.join(format!("vanishing-{}", number % 7));
    if number.is_multiple_of(2) {
        drop(fs_err::write(place, "soon gone"));
    } else {
        drop(UnixListener::bind(place));
    }
    drop(fs_err::remove_file(place));
}

#[test]
fn files_that_vanish_and_sockets_that_appear_during_a_copy_do_not_spoil_it() {
    let world = plain();
    for number in 0..300 {
        world.write(format!("kept/{number}.txt"), format!("content {number}\n"));
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let places = (0..).take_while(|_| !over.load(Ordering::SeqCst));
            for number in places {
                come_and_go(&world.project().join("kept"), number);
            }
        });
        for round in 0..4 {
            world.write("round.txt", round.to_string());
            let name = format!("copy-{round}");
            let made = world.agar(["create", "--base", "frozen", "--name", &name]);
            let script = "cat round.txt; for n in $(seq 0 299); do \
                          test \"$(cat kept/$n.txt)\" = \"content $n\" || echo lost $n; done";
            let said = world.agar(["exec", &name, "--", "sh", "-c", script]);
            over.store(round == 3, Ordering::SeqCst);
            made.success();
            assert_eq!(said.success().stdout, round.to_string());
        }
    });
    world.agar(["rm", "--all", "--force"]).success();
}
