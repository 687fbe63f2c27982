//! Commands whose own process is killed: how they ended is written down by the next command, and what
//! was to be undone is undone.

use crate::answers::checked;
use crate::world::plain;
use agar_testkit::invocation::Running;
use agar_testkit::{Caller, World, wait};
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use serde_json::Value;
use std::process::ChildStdin;

/// A project with a sandbox that stays.
fn kept() -> World {
    let world = plain();
    world.write("file", "base\n");
    world.agar(["create", "--name", "it"]).success();
    world
}

/// The first run of it.
fn first_run(world: &World) -> Value {
    let told = checked("inspect", &world.agar(["inspect", "it", "--json"]));
    told["runs"][0].clone()
}

fn exec(world: &World, script: &str) -> String {
    let words = ["exec", "it", "--", "sh", "-c", script];
    world.agar(words).success().stdout
}

#[test]
fn the_end_of_a_run_whose_command_was_killed_is_written_down_by_the_next() {
    let world = kept();
    let script = "echo begun; until [ -e go ]; do sleep 0.01; done; exit 3";
    let mut running = world
        .command(["exec", "it", "--", "sh", "-c", script])
        .spawn();
    running.expect("begun");
    running.kill();
    assert_eq!(first_run(&world)["end"], Value::Null, "it goes on");
    exec(&world, "touch go");
    wait::until("its end to be on record", || {
        first_run(&world)["end"] != Value::Null
    });
    let run = first_run(&world);
    assert_eq!(run["end"]["code"], 3, "{run}");
    assert!(run["usage"]["wall_ms"].as_u64() > Some(0), "{run}");
}

/// Goes beyond the limit on the disk once its input has ended, and leaves nothing of that behind. Quiet,
/// since there may be nobody left to hear it.
const GO_TOO_FAR: &str = "echo bad > bad; echo begun; read go; \
     exec 3>big 2>/dev/null; rm big; cat /dev/zero >&3; sleep 1000";

/// A sandbox with a limit on its disk, something good in it, and the second run on its way: it goes
/// too far when its input ends, and is to be undone then.
fn about_to_go_too_far() -> (World, Running, ChildStdin) {
    let world = plain();
    world.write("file", "base\n");
    let words = ["create", "--name", "it", "--disk", "20M"];
    world.agar(words).success();
    exec(&world, "echo good > good");
    let words = ["exec", "it", "--", "sh", "-c", GO_TOO_FAR];
    let command = world.command(words).env("AGAR_ON_BREACH", "restore");
    let (mut running, input) = command.spawn_with_input();
    running.expect("begun");
    (world, running, input)
}

#[test]
fn a_run_that_goes_too_far_after_its_command_was_killed_is_undone_by_the_next() {
    let (world, mut running, input) = about_to_go_too_far();
    running.kill();
    drop(input);
    let mut told = String::new();
    wait::until("somebody to say that it was undone", || {
        told = world.agar(["ls"]).success().stderr;
        !told.is_empty()
    });
    assert!(told.contains("it was returned to it@"), "{told}");
    assert!(told.contains("run 2 went too far"), "{told}");
    assert_eq!(exec(&world, "ls"), "file\ngood\n");
    assert_eq!(world.agar(["ls"]).success().stderr, "", "once");
    // What it left can be looked at.
    let left = told.trim().rsplit(' ').next().unwrap_or_default();
    world.agar(["restore", left]).success();
    assert_eq!(exec(&world, "ls"), "bad\nfile\ngood\n");
}

#[test]
fn a_run_that_goes_too_far_is_undone_by_the_next_command_although_its_own_died_over_it() {
    let (world, mut running, input) = about_to_go_too_far();
    let sandboxes = world.state().join("agar/sandboxes");
    let directory = sandboxes.join(first_sandbox(&world));
    let turn = fs_err::OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(false)
        .open(directory.join("turn"))
        .unwrap();
    // Whoever works on the sandbox has it wait before it can undo anything.
    flock(&turn, FlockOperation::LockExclusive).unwrap();
    drop(input);
    let report = directory.join("runs/2/report.json");
    wait::until("it has ended", || report.exists());
    assert!(!running.has_ended(), "it waits: {}", running.said());
    running.kill();
    flock(&turn, FlockOperation::Unlock).unwrap();
    let told = world.agar(["ls"]).success().stderr;
    assert!(told.contains("run 2 went too far"), "{told}");
    assert_eq!(exec(&world, "ls"), "file\ngood\n");
}

/// The id of the only sandbox.
fn first_sandbox(world: &World) -> String {
    let told = checked("inspect", &world.agar(["inspect", "it", "--json"]));
    told["sandbox"]["id"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_report_that_cannot_be_written_ends_nothing_else_in_the_sandbox() {
    let world = kept();
    exec(&world, "sleep 1000 >/dev/null 2>&1 &");
    let runs = world
        .state()
        .join("agar/sandboxes")
        .join(first_sandbox(&world))
        .join("runs");
    fs_err::create_dir_all(runs.join("2/report.json.new")).unwrap();
    let words = ["exec", "--json", "it", "--", "sh", "-c", "exit 3"];
    let told = checked("exec", &world.agar(words));
    assert_eq!(told["run"]["end"]["code"], 3, "{told}");
    let notes = told["run"]["notes"].to_string();
    assert!(notes.contains("could not be written"), "{notes}");
    assert!(world.agar(["ps"]).stdout.contains("sleep 1000"));
}

#[test]
fn whoever_waits_for_a_run_in_a_paused_sandbox_can_leave_and_the_run_ends_when_it_goes_on() {
    let world = kept();
    let script = "echo begun; trap '' INT TERM; while :; do sleep 0.1; done";
    let mut running = world
        .command(["exec", "it", "--", "sh", "-c", script])
        .spawn();
    running.expect("begun");
    world.agar(["pause", "it"]).success();
    // Once, since of two that wait one may be lost: this is what a key pressed three times becomes.
    running.signal(Signal::TERM);
    let left = running.finish().expect_code(130);
    assert!(left.stderr.contains("it is paused"), "{left}");
    assert!(left.stderr.contains("agar resume it"), "{left}");
    assert_eq!(first_run(&world)["end"], Value::Null, "it stands still");
    world.agar(["resume", "it"]).success();
    wait::until("its end to be on record", || {
        first_run(&world)["end"] != Value::Null
    });
    assert_eq!(first_run(&world)["end"]["signal"], 9);
}

#[test]
fn an_interrupted_run_ends_although_its_sandbox_was_paused() {
    let world = plain();
    let script = "echo begun; while :; do sleep 0.1; done";
    let words = ["run", "--keep", "--name", "it", "--", "sh", "-c", script];
    let mut running = world.command(words).spawn();
    running.expect("begun");
    world.agar(["pause", "it"]).success();
    running.signal(Signal::TERM);
    running.finish().expect_code(137);
    let listed = world.agar(["ls", "--json"]).success().stdout;
    assert!(listed.contains("\"state\": \"finished\""), "{listed}");
}

#[test]
fn the_time_of_a_run_stands_still_while_its_sandbox_is_paused() {
    let world = kept();
    let script = "echo begun; read go; echo done";
    let words = ["exec", "--timeout", "10s", "it", "--", "sh", "-c", script];
    let (mut running, input) = world.command(words).spawn_with_input();
    running.expect("begun");
    world.agar(["pause", "it"]).success();
    let paused = std::time::Instant::now();
    wait::until("its time to be over, had it not stood still", || {
        paused.elapsed().as_secs() >= 10
    });
    // What it waits for is there before it goes on.
    drop(input);
    world.agar(["resume", "it"]).success();
    let outcome = running.finish().success();
    assert!(outcome.stdout.contains("done"), "{outcome}");
}

#[test]
fn whoever_follows_a_run_hears_of_its_end_although_its_command_was_killed() {
    let world = kept();
    let script = "echo begun; until [ -e go ]; do sleep 0.01; done; echo over >out; exit 3";
    let mut running = world
        .command(["exec", "it", "--", "sh", "-c", script])
        .spawn();
    running.expect("begun");
    let mut following = world.command(["logs", "-f", "it"]).spawn();
    following.expect("begun");
    running.kill();
    // It begins before the end, and so no command but the follower is there to write it down.
    go(&world);
    wait::until("it to end", || following.has_ended());
    following.finish().success();
    assert_eq!(first_run(&world)["end"]["code"], 3);
}

#[test]
fn what_a_run_used_at_most_is_its_own() {
    let world = kept();
    let peak = |script: &str| {
        let words = ["exec", "--json", "it", "--", "python3", "-c", script];
        let told = checked("exec", &world.agar(words));
        told["run"]["usage"]["memory_peak_bytes"].as_u64().unwrap()
    };
    let (large, small) = (peak("x = b'a' * 300_000_000"), peak("pass"));
    assert!(large > 250_000_000, "{large}");
    assert!(small < 150_000_000, "{small} after {large}");
}

#[test]
fn what_a_command_left_running_is_ended_when_it_goes_beyond_the_limit() {
    let world = plain();
    world
        .agar(["create", "--name", "it", "--disk", "20M"])
        .success();
    // Its input ends with the command, and nothing else is at work in the sandbox then.
    let fill = "(read go; cat /dev/zero >big; sleep 1000) <&0 >/dev/null 2>&1 &";
    let command = world.command(["exec", "it", "--", "sh", "-c", fill]);
    let (running, input) = command.spawn_with_input();
    running.finish().success();
    drop(input);
    wait::until("it is ended", || {
        let listed = checked("ps", &world.agar(["ps", "--json"]));
        listed["processes"].as_array().unwrap().is_empty()
    });
    let told = world.agar(["exec", "--json", "it", "--", "true"]);
    assert!(told.stdout.contains("had left running was ended"), "{told}");
}

/// Makes a file inside that something waits for.
fn go(world: &World) {
    world.write("../go", "");
    world.agar(["cp", "../go", "it:go"]).success();
}

#[test]
fn a_sandbox_that_an_agent_made_has_a_way_back_whoever_runs_something_in_it() {
    let world = plain();
    let words = ["create", "--agent", "bot", "--name", "it"];
    world.agar(words).success();
    let before = |script: &str| {
        let words = ["exec", "--json", "it", "--", "sh", "-c", script];
        checked("exec", &world.agar(words))["before"].clone()
    };
    assert_ne!(before("echo x > made"), Value::Null);
    assert_eq!(exec(&world, "ls made"), "made\n");
    world.agar(["restore", "it"]).success();
    world.agar(["create", "--name", "mine"]).success();
    let words = ["exec", "--json", "mine", "--", "true"];
    assert_eq!(
        checked("exec", &world.agar(words))["before"],
        Value::Null,
        "a person's has none"
    );
}

#[test]
fn what_its_owner_cannot_read_does_not_keep_an_agent_out() {
    let world = kept();
    exec(
        &world,
        "echo x > secret; chmod 0 secret; sleep 1000 >/dev/null 2>&1 &",
    );
    let words = ["exec", "--json", "it", "--", "true"];
    let command = world.command(words).env("AGAR_AGENT", "bot");
    let told = checked("exec", &command.run().success());
    let said = told["run"]["notes"].to_string();
    let skipped = "no snapshot was taken before it: secret cannot be read, not even by its owner";
    match Caller::current() {
        Caller::Root => assert_ne!(told["before"], Value::Null),
        Caller::Ordinary => assert!(said.contains(skipped), "{said}"),
    }
}
