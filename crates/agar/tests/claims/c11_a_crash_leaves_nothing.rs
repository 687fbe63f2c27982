//! C11: a crash leaves nothing that is not gone after the next command: no mount, process, control
//! group, lock or directory.

use crate::AGAR;
use agar_testkit::random::Random;
use agar_testkit::{Tree, World, leaks, wait};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Who is killed.
#[derive(Debug, Clone, Copy)]
enum Victim {
    /// The command that a person typed.
    Client,
    /// The keeper of the sandbox.
    Keeper,
    /// Process 1 inside.
    Init,
}

/// Kills the victim if it is there: the keeper is the outermost program that agar wrote to its
/// state, the init its first child.
fn kill(world: &World, victim: Victim, client: &agar_testkit::invocation::Running) {
    let state = world.state().join("agar");
    let holders = leaks::processes_in(&state);
    let mut keepers = holders.iter().filter(|holder| holder.because == "exe");
    let chosen = match victim {
        Victim::Client => {
            client.signal(rustix::process::Signal::KILL);
            None
        }
        Victim::Keeper => keepers.next(),
        Victim::Init => keepers.nth(1).or_else(|| holders.last()),
    };
    if let Some(holder) = chosen {
        holder.kill();
    }
}

/// Lets a command run for a while, kills somebody, and sees what the next command leaves.
#[track_caller]
fn crash(world: &World, words: &[&str], victim: Victim, moment: Duration) {
    let mut running = world.command(words).spawn();
    let start = Instant::now();
    wait::holds_within(Duration::from_secs(20), || {
        start.elapsed() >= moment || running.has_ended()
    });
    kill(world, victim, &running);
    if !wait::holds_within(Duration::from_secs(20), || running.has_ended()) {
        let hung = running.kill();
        panic!("{words:?} hangs after its {victim:?} was killed at {moment:?}: {hung}");
    }
    drop(running);
}

fn longest(world: &World, words: &[&str]) -> Duration {
    let start = Instant::now();
    drop(world.agar(words));
    start.elapsed().max(Duration::from_millis(20))
}

#[test]
fn killing_anybody_at_any_moment_leaves_nothing() {
    let world = World::with_repository(AGAR);
    let before = Tree::read(&world.project());
    let mut random = Random::new(11);
    let run = [
        "run",
        "--rm",
        "--",
        "/bin/sh",
        "-c",
        "echo x >inside; sleep 0.02",
    ];
    let created = ["create", "--name", "crash-test"];
    let cases: [&[&str]; 2] = [&run, &created];
    for words in cases {
        let long = longest(&world, words) * 5 / 4;
        world.agar(["rm", "--all", "--force"]);
        for victim in [Victim::Client, Victim::Keeper, Victim::Init] {
            for _ in 0..34 {
                let share = u32::try_from(random.below(1000)).unwrap_or(0);
                crash(&world, words, victim, long * share / 1000);
                world.agar(["ls"]).success();
                world.agar(["rm", "--all", "--force"]);
            }
        }
        world.agar(["ls"]).success();
        leaks::assert_gone(world.root());
    }
    before.assert_unchanged(&world.project(), "three hundred crashes");
    assert_state_is_empty(&world);
}

#[test]
fn a_removal_that_was_killed_is_finished_by_the_next_command() {
    let world = World::with_repository(AGAR);
    let mut random = Random::new(12);
    for _ in 0..25 {
        world
            .agar([
                "run",
                "--keep",
                "--",
                "/bin/sh",
                "-c",
                "mkdir d; for n in $(seq 50); do echo $n >d/$n; done",
            ])
            .success();
        let share = u64::try_from(random.below(30)).unwrap_or(0);
        crash(
            &world,
            &["rm", "--all", "--force"],
            Victim::Client,
            Duration::from_millis(share),
        );
        world.agar(["ls"]).success();
    }
    world.agar(["rm", "--all", "--force"]);
    leaks::assert_gone(world.root());
    assert_state_is_empty(&world);
}

/// No sandbox is left in the state once the trash is emptied, nor a socket in the runtime
/// directory: what a crash left is on record, so that a person can give it up.
#[track_caller]
fn assert_state_is_empty(world: &World) {
    world.agar(["prune", "--empty-trash"]).success();
    let list = |path: &Path| -> Vec<PathBuf> {
        fs_err::read_dir(path)
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .collect()
    };
    assert_eq!(
        list(&world.state().join("agar/sandboxes")),
        Vec::<PathBuf>::new()
    );
    let mut left = list(&world.runtime().join("agar"));
    left.retain(|path| path.extension().is_some_and(|end| end == "sock"));
    assert_eq!(left, Vec::<PathBuf>::new());
}
