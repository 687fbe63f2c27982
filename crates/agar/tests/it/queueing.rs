//! Many at once, with nobody who keeps order: commands of agents take turns.

use crate::world::repository;
use agar_testkit::invocation::Running;
use agar_testkit::{World, wait};
use rustix::process::Signal;

/// Starts a command of an agent that runs until it is interrupted.
fn agent(world: &World, name: &str) -> Running {
    let script = format!("echo begun-{name}; exec sleep 1000");
    world
        .command(["run", "--agent", "bee", "--", "sh", "-c", &script])
        .env("AGAR_MAX_CONCURRENT_SANDBOXES", "1")
        .spawn()
}

fn let_go(running: Running) {
    running.signal(Signal::INT);
    running.finish().expect_code(130);
}

#[test]
fn so_many_of_an_agents_commands_run_at_once_and_the_rest_wait_in_order() {
    let world = repository();
    let mut first = agent(&world, "first");
    first.expect("begun-first");
    let mut second = agent(&world, "second");
    second.expect_said("position 1");
    let mut third = agent(&world, "third");
    third.expect_said("position 2");
    let_go(first);
    second.expect("begun-second");
    third.expect_said("position 1");
    assert!(!third.printed().contains("begun"));
    let_go(second);
    third.expect("begun-third");
    let_go(third);
}

#[test]
fn whoever_dies_in_the_queue_or_while_running_makes_room() {
    let world = repository();
    let mut first = agent(&world, "first");
    first.expect("begun-first");
    let mut second = agent(&world, "second");
    second.expect_said("position 1");
    let mut third = agent(&world, "third");
    third.expect_said("position 2");
    second.kill();
    third.expect_said("position 1");
    first.kill();
    third.expect("begun-third");
    let_go(third);
}

#[test]
fn whoever_waits_can_leave_and_a_person_does_not_wait() {
    let world = repository();
    let mut first = agent(&world, "first");
    first.expect("begun-first");
    let mut second = agent(&world, "second");
    second.expect_said("position 1");
    let person = world
        .command(["run", "--", "echo", "at once"])
        .env("AGAR_MAX_CONCURRENT_SANDBOXES", "1")
        .run();
    assert_eq!(person.success().stdout, "at once\n");
    second.signal(Signal::INT);
    let left = second.finish().expect_code(130);
    assert!(left.stderr.contains("left the queue"), "{}", left.stderr);
    let_go(first);
    wait::until("the queue is empty", || {
        let tickets = world.state().join("agar/queue").read_dir().unwrap();
        let tickets = tickets.flatten().filter(|it| it.file_name() != ".counter");
        tickets.count() == 0
    });
}
