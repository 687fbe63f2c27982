//! Commands whose own process is killed: how they ended is written down by the next command, and what
//! was to be undone is undone.

use crate::answers::checked;
use crate::world::plain;
use agar_testkit::{Caller, World, wait};
use serde_json::Value;

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

#[test]
fn a_run_that_goes_too_far_after_its_command_was_killed_is_undone_by_the_next() {
    let world = kept();
    exec(&world, "echo good > good");
    let script = "echo bad > bad; echo begun; sleep 1000";
    let words = ["exec", "--timeout", "1s", "it", "--", "sh", "-c", script];
    let command = world.command(words).env("AGAR_ON_BREACH", "restore");
    let mut running = command.spawn();
    running.expect("begun");
    running.kill();
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
