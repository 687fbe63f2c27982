//! C10: a promotion is never half applied, also after `kill -9` at any moment.
//!
//! The command is killed at random moments of apply and undo; after the next command the project is
//! wholly as before or wholly as after.

use crate::AGAR;
use agar_testkit::random::Random;
use agar_testkit::{Tree, World, wait};
use std::time::{Duration, Instant};

const FILES: usize = 120;

fn world_with_changes() -> World {
    let world = World::with_repository(AGAR);
    for n in 0..FILES {
        world.write(format!("data/file-{n}"), format!("old {n}\n"));
    }
    let script = "cd data; for f in file-*; do echo new >>$f; done; rm file-7; mkdir deep; \
                  echo x >deep/x; ln -s x deep/link; chmod 755 file-8";
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
    world
}

/// Starts the command, kills it after a while, and says whether it had ended by itself.
fn kill_after(world: &World, words: &[&str], moment: Duration) -> bool {
    let mut running = world.command(words).spawn();
    let start = Instant::now();
    wait::holds_within(Duration::from_secs(20), || {
        start.elapsed() >= moment || running.has_ended()
    });
    let ended = running.has_ended();
    running.kill();
    ended
}

/// How long the command takes when it is left alone.
fn duration(world: &World, words: &[&str]) -> Duration {
    let start = Instant::now();
    world.agar(words).success();
    start.elapsed()
}

#[test]
fn a_killed_apply_or_undo_is_whole_after_the_next_command() {
    let world = world_with_changes();
    let project = world.project();
    let before = Tree::read(&project).without_times();
    let long = duration(&world, &["apply"]) * 5 / 4;
    let after = Tree::read(&project).without_times();
    duration(&world, &["undo"]);
    assert_eq!(before.difference(&Tree::read(&project).without_times()), "");

    let mut random = Random::new(20_260_301);
    let mut met = [0_u32; 2];
    for round in 0..50 {
        for words in [["apply"], ["undo"]] {
            let share = u32::try_from(random.below(1000)).unwrap_or(0);
            let ended = kill_after(&world, &words, long * share / 1000);
            // Any command recovers.
            world.agar(["ls"]).success();
            let now = Tree::read(&project).without_times();
            let whole = [before.difference(&now), after.difference(&now)];
            assert!(
                whole.iter().any(String::is_empty),
                "round {round}: {words:?} killed after {share}/1000 of {long:?} (ended: {ended}) \
                 left neither:\n{}",
                whole.iter().min_by_key(|text| text.len()).unwrap()
            );
            met[usize::from(whole[1].is_empty())] += 1;
            // Whatever was decided, the other direction starts from the right side.
            finish(&world, &words, whole[1].is_empty());
        }
    }
    assert!(
        met[0] > 0 && met[1] > 0,
        "only one end was ever met: {met:?}"
    );
}

/// Brings the project to the side that the killed command was going to.
fn finish(world: &World, words: &[&str; 1], is_after: bool) {
    match (words[0], is_after) {
        ("apply", false) => drop(world.agar(["apply"]).success()),
        ("undo", true) => drop(world.agar(["undo"]).success()),
        _ => {}
    }
}
