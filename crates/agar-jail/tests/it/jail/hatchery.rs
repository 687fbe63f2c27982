//! Keepers that are copies of one program.

use super::world::{World, finish};
use agar_jail::client::{Ahead, Hatchery, Keeper, Lifetime};
use agar_testkit::leaks;
use std::path::Path;

/// A jail whose keeper comes from a hatchery, whose program lies in the first world.
fn hatched(hatchery: &Hatchery, program: &Path, world: &World, lifetime: Lifetime) -> Keeper {
    let waiting = hatchery.prepare(program, Ahead::Nothing).unwrap();
    let raising = waiting.raise(&world.config(lifetime)).unwrap();
    raising.ready().unwrap()
}

/// How many processes of the keeper's program there are.
fn processes(program: &Path) -> Vec<i32> {
    let found = leaks::processes_in(program).into_iter();
    found.map(|process| process.pid).collect()
}

fn end(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn keepers_of_a_hatchery_are_apart_from_each_other_and_go_on_without_it() {
    let worlds = [World::new(), World::new()];
    let program = worlds[0].path("program");
    let hatchery = Hatchery::default();
    let keep = |world| hatched(&hatchery, &program, world, Lifetime::UntilStopped);
    let [one, other] = worlds.each_ref().map(keep);
    let (text, _) = finish(
        one.run(&worlds[0].request(1, "echo one > seen; cat seen"))
            .unwrap(),
    );
    assert_eq!(text, "one\n");
    let (text, _) = finish(other.run(&worlds[1].request(1, "ls")).unwrap());
    assert_eq!(text, "file\n");
    // Two keepers, the hatchery, and for root, who may look at them, two inits.
    let with = processes(&program).len();
    drop(hatchery);
    agar_testkit::wait::until("the hatchery to end", || processes(&program).len() < with);
    one.stop().unwrap();
    assert!(!worlds[0].path("socket").exists());
    assert_eq!(other.status().unwrap().processes, 0, "it does not go along");
    other.stop().unwrap();
    assert!(
        processes(&program).is_empty(),
        "whoever stops one waits for its end"
    );
}

#[test]
fn a_keeper_of_a_hatchery_ends_with_its_client_and_not_with_the_hatchery() {
    let worlds = [World::new(), World::new()];
    let program = worlds[0].path("program");
    let hatchery = Hatchery::default();
    let one = hatched(&hatchery, &program, &worlds[0], Lifetime::OneRun);
    let other = hatched(&hatchery, &program, &worlds[1], Lifetime::OneRun);
    let running = one.run(&worlds[0].request(1, "sleep 1000")).unwrap();
    drop((running, one));
    agar_testkit::wait::until("its end", || !worlds[0].path("socket").exists());
    drop(hatchery);
    let (text, _) = finish(other.run(&worlds[1].request(1, "cat file")).unwrap());
    assert_eq!(text, "base\n");
    other.bury();
    agar_testkit::wait::until("all to be gone", || processes(&program).is_empty());
}

#[test]
fn a_hatchery_that_was_killed_is_started_again() {
    let worlds = [World::new(), World::new()];
    let program = worlds[0].path("program");
    let hatchery = Hatchery::default();
    let first = hatched(&hatchery, &program, &worlds[0], Lifetime::UntilStopped);
    let keeper = first.status().unwrap();
    let known = [keeper.keeper, keeper.init].map(u32::cast_signed);
    let others = processes(&program).into_iter();
    let others: Vec<i32> = others.filter(|pid| !known.contains(pid)).collect();
    assert_eq!(others.len(), 1, "the hatchery itself");
    others.iter().copied().for_each(end);
    agar_testkit::wait::until("it to be dead", || {
        let stat = fs_err::read_to_string(format!("/proc/{}/stat", others[0]));
        stat.map_or(true, |stat| stat.contains(") Z"))
    });
    let second = hatched(&hatchery, &program, &worlds[1], Lifetime::UntilStopped);
    let (text, _) = finish(second.run(&worlds[1].request(1, "cat file")).unwrap());
    assert_eq!(text, "base\n");
    second.stop().unwrap();
    first.stop().unwrap();
}

#[test]
fn a_jail_of_a_hatchery_that_cannot_be_raised_says_why() {
    let mut world = World::new();
    world.policy.overlays[1].lowers = vec![Path::new("/nowhere").into()];
    let hatchery = Hatchery::default();
    let waiting = hatchery.prepare(&world.path("program"), Ahead::Nothing);
    let raising = waiting.unwrap().raise(&world.config(Lifetime::OneRun));
    let refused = raising.unwrap().ready().unwrap_err();
    assert!(
        refused.step.contains("layer") || refused.step.contains("mount"),
        "{refused:?}"
    );
    drop(hatchery);
    let program = world.path("program");
    agar_testkit::wait::until("all to be gone", || processes(&program).is_empty());
}
