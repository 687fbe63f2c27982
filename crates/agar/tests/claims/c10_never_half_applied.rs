//! C10: a promotion is never half applied, also after `kill -9` at any moment.
//!
//! The command, the keeper of the sandbox and process 1 inside are killed, each at a hundred random
//! moments of apply and undo; after the next command the project is wholly as before or wholly as
//! after, and nothing else is left.

use crate::AGAR;
use crate::kill::{KILLS, Ordeal, Victim, assert_collected};
use agar_testkit::{Tree, World};
use std::cell::Cell;

const FILES: usize = 40;

fn world_with_changes() -> World {
    let world = World::with_repository(AGAR);
    for n in 0..FILES {
        world.write(format!("data/file-{n}"), format!("old {n}\n"));
    }
    let script = "cd data; for f in file-*; do echo new >>$f; done; rm file-7; mkdir deep; \
                  echo x >deep/x; ln -s x deep/link; chmod 755 file-8";
    world.agar(["create"]).success();
    world
        .agar(["exec", "--", "/bin/sh", "-ec", script])
        .success();
    world
}

/// Kills the victim of a command that goes from one side to the other.
#[track_caller]
fn kill(command: &str, victim: Victim, seed: u64) {
    let world = world_with_changes();
    let project = world.project();
    let look = || Tree::read(&project).without_times();
    let before = look();
    world.agar(["apply"]).success();
    let after = look();
    world.agar(["undo"]).success();
    assert_eq!(before.difference(&look()), "");

    let (back, from) = match command {
        "apply" => ("undo", &before),
        _ => ("apply", &after),
    };
    let met = Cell::new([0_u32; 2]);
    let prepare = || {
        if *from != look() {
            world.agar([back]).success();
            assert_eq!(from.difference(&look()), "");
        }
        if victim != Victim::Client {
            // Puts the jail up again.
            world.agar(["exec", "--", "/bin/true"]).success();
        }
    };
    let judge = || {
        let now = look();
        let sides = [before.difference(&now), after.difference(&now)];
        let mut counts = met.get();
        for (count, side) in counts.iter_mut().zip(&sides) {
            *count += u32::from(side.is_empty());
        }
        met.set(counts);
        if sides.iter().any(String::is_empty) {
            return Ok(());
        }
        let nearer = sides.iter().min_by_key(|text| text.len());
        Err(format!("neither before nor after:\n{}", nearer.unwrap()))
    };
    Ordeal {
        world: &world,
        victim,
        words: &[command],
        prepare: &prepare,
        judge: &judge,
        seed,
        kills: KILLS,
    }
    .endure();
    if victim == Victim::Client {
        let met = met.get();
        assert!(met[0] > 0 && met[1] > 0, "one end was never met: {met:?}");
    }
    assert_collected(&world);
}

#[test]
fn an_apply_whose_command_is_killed_is_whole() {
    kill("apply", Victim::Client, 1001);
}

#[test]
fn an_apply_whose_keeper_is_killed_is_whole() {
    kill("apply", Victim::Keeper, 1002);
}

#[test]
fn an_apply_whose_init_is_killed_is_whole() {
    kill("apply", Victim::Init, 1003);
}

#[test]
fn an_undo_whose_command_is_killed_is_whole() {
    kill("undo", Victim::Client, 1004);
}

#[test]
fn an_undo_whose_keeper_is_killed_is_whole() {
    kill("undo", Victim::Keeper, 1005);
}

#[test]
fn an_undo_whose_init_is_killed_is_whole() {
    kill("undo", Victim::Init, 1006);
}
