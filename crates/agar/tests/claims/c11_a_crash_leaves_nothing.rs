//! C11: a crash leaves nothing that is not gone after the next command: no mount, process, control
//! group, lock, socket or directory.
//!
//! The command, the keeper and process 1 inside are killed, each at a hundred random moments of
//! create, run and remove (apply and undo: C10). What is left must be on record, so that a person can
//! go on with it or give it up, or in the trash, which `prune` collects.

use crate::AGAR;
use crate::kill::{KILLS, Ordeal, Victim, assert_collected, listed_at_rest};
use agar_testkit::{Tree, World, keepers, wait};

/// A limit that needs a control group, where there are any.
const MEMORY: &str = "--memory=256M";

/// Kills the victim of a command that does not touch the project.
#[track_caller]
fn kill(words: &[&str], prepare: impl Fn(&World), victim: Victim, seed: u64) {
    kill_often(words, prepare, (victim, KILLS), seed);
}

#[track_caller]
fn kill_often(
    words: &[&str],
    prepare: impl Fn(&World),
    (victim, kills): (Victim, usize),
    seed: u64,
) {
    let world = World::with_repository(AGAR);
    let before = Tree::read(&world.project());
    let judge = || {
        let difference = before.difference(&Tree::read(&world.project()));
        if difference.is_empty() {
            Ok(())
        } else {
            Err(format!("the project is not as it was:\n{difference}"))
        }
    };
    Ordeal {
        world: &world,
        victim,
        words,
        prepare: &|| prepare(&world),
        judge: &judge,
        seed,
        kills,
    }
    .endure();
    assert_collected(&world);
}

fn create(victim: Victim, seed: u64) {
    let words = ["create", "--name", "crash-test", MEMORY];
    // What the last round made, if it came to anything.
    let prepare = |world: &World| drop(world.agar(["rm", "--all", "--force"]));
    kill(&words, prepare, victim, seed);
}

fn run(victim: Victim, seed: u64) {
    let script = "echo x >inside; read line; sleep 0.02";
    let words = ["run", "--rm", MEMORY, "--", "/bin/sh", "-c", script];
    let prepare = |world: &World| drop(world.agar(["rm", "--all", "--force"]));
    kill(&words, prepare, victim, seed);
}

fn remove(victim: Victim, seed: u64) {
    let prepare = |world: &World| {
        drop(world.agar(["rm", "--all", "--force"]));
        world.agar(["create", MEMORY]).success();
        let script = "mkdir d; for n in $(seq 50); do echo $n >d/$n; done";
        let words = ["exec", "--", "/bin/sh", "-c", script];
        world.agar(words).success();
    };
    kill(&["rm", "--all", "--force"], prepare, victim, seed);
}

#[test]
fn a_create_whose_command_is_killed_leaves_nothing() {
    create(Victim::Client, 1101);
}

#[test]
fn a_create_whose_keeper_is_killed_leaves_nothing() {
    create(Victim::Keeper, 1102);
}

#[test]
fn a_create_whose_init_is_killed_leaves_nothing() {
    create(Victim::Init, 1103);
}

#[test]
fn a_run_whose_command_is_killed_leaves_nothing() {
    run(Victim::Client, 1104);
}

#[test]
fn a_run_whose_keeper_is_killed_leaves_nothing() {
    run(Victim::Keeper, 1105);
}

#[test]
fn a_run_whose_init_is_killed_leaves_nothing() {
    run(Victim::Init, 1106);
}

#[test]
fn a_removal_whose_command_is_killed_leaves_nothing() {
    remove(Victim::Client, 1107);
}

#[test]
fn a_removal_whose_keeper_is_killed_leaves_nothing() {
    remove(Victim::Keeper, 1108);
}

#[test]
fn a_removal_whose_init_is_killed_leaves_nothing() {
    remove(Victim::Init, 1109);
}

/// Fewer: what differs from the full tier is who starts process 1.
#[test]
fn a_run_in_a_weaker_tier_that_is_killed_leaves_nothing() {
    let prepare = |world: &World| drop(world.agar(["rm", "--all", "--force"]));
    let script = "echo x >inside; read line; sleep 0.02";
    for (tier, seed) in [("--tier=helper", 1110), ("--tier=landlock", 1113)] {
        let words = ["run", "--rm", tier, MEMORY, "--", "/bin/sh", "-c", script];
        for (victim, more) in [(Victim::Client, 0), (Victim::Keeper, 1)] {
            kill_often(&words, prepare, (victim, KILLS / 5), seed + more);
        }
    }
}

/// Many are looked at in the kernel's list of locks, few one by one.
#[test]
fn one_that_dies_among_many_is_found_by_the_next_command() {
    let world = World::with_repository(AGAR);
    let names: Vec<String> = (0..12).map(|n| format!("one-of-many-{n}")).collect();
    for name in &names {
        world.agar(["create", "--name", name]).success();
    }
    let states = || -> Vec<(String, String)> {
        let listed = serde_json::from_str(&listed_at_rest(&world));
        let listed: serde_json::Value = listed.unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let sandboxes = listed["sandboxes"].as_array().into_iter().flatten();
        sandboxes
            .map(|sandbox| (text(&sandbox["id"]), text(&sandbox["state"])))
            .collect()
    };
    let before = states();
    assert_eq!(before.len(), names.len());
    let (dead, _) = &before[5];
    let state = world.state().join("agar");
    let keeper = keepers::of_sandbox(&state, &state.join("sandboxes").join(dead)).unwrap();
    let dying = keepers::kill_with_children(keeper);
    wait::until("the dead to be gone", || {
        dying.iter().all(|it| !keepers::is_there(*it))
    });
    let after = states();
    for ((id, was), (_, is)) in before.iter().zip(&after) {
        let expected = if id == dead { "finished" } else { "running" };
        assert_eq!((was.as_str(), is.as_str()), ("running", expected), "{id}");
    }
    assert_collected(&world);
}
