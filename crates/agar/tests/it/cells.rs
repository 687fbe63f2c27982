//! Cells through the command: made, asked, swapped, taken back, removed.

use crate::answers::checked;
use crate::world::plain;
use agar_testkit::World;
use serde_json::Value;

const FILES: [(&str, &str); 3] = [
    (
        "counter.wat",
        include_str!("../../../../examples/live-counter/counter.wat"),
    ),
    (
        "double.wat",
        include_str!("../../../../examples/live-counter/double.wat"),
    ),
    (
        "forgetful.wat",
        include_str!("../../../../examples/live-counter/forgetful.wat"),
    ),
];

const BOTS: [(&str, &str); 2] = [
    (
        "bot.js",
        include_str!("../../../../examples/game-bot/bot.js"),
    ),
    (
        "careful.js",
        include_str!("../../../../examples/game-bot/careful.js"),
    ),
];

const BOTS_README: &str = include_str!("../../../../examples/game-bot/README.md");
const README: &str = include_str!("../../../../examples/live-counter/README.md");

fn with_counter() -> World {
    let world = plain();
    for (name, text) in FILES {
        world.write(name, text);
    }
    world
}

fn cells(world: &World, words: &[&str]) -> Value {
    let line = ["evolve", "cells"].iter().chain(words).chain(&["--json"]);
    let outcome = world.agar(line).success();
    let verb = format!("evolve-cells-{}", words[0]);
    checked(&verb, &outcome)
}

fn said(world: &World, words: &[&str]) -> String {
    let line = ["evolve", "cells", "run"].iter().chain(words);
    world.agar(line).success().stdout
}

/// Types the commands of a README's first block and compares what it shows.
fn follow(readme: &str, world: &World) -> usize {
    let block = readme.split("```console\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    let mut lines = block.lines().peekable();
    let mut commands = 0;
    while let Some(line) = lines.next() {
        let command = line.strip_prefix("$ agar ").unwrap();
        let printed = world.sh(&format!("{} {command}", world.program().display()));
        let printed = printed.success().stdout;
        while let Some(expected) = lines.next_if(|line| !line.starts_with("$ ")) {
            assert_eq!(printed.trim_end(), expected, "{command}");
        }
        commands += 1;
    }
    commands
}

#[test]
fn the_examples_do_what_their_readmes_say() {
    let world = with_counter();
    assert!(follow(README, &world) >= 8);
    for (name, text) in BOTS {
        world.write(name, text);
    }
    assert!(follow(BOTS_README, &world) >= 8);
}

#[test]
fn a_script_is_a_cell_whose_source_is_swapped_while_it_lives() {
    let world = plain();
    let counter = "let sum = 0;
        const step = (message) => { sum += Number(message); return sum; };
        const save = () => String(sum);
        const load = (state) => { sum = Number(state); };";
    world.write("counter.js", counter);
    world.write(
        "tenfold.js",
        counter.replace("Number(message)", "10 * Number(message)"),
    );
    world.write("broken.js", "this is no JavaScript");
    let made = cells(&world, &["create", "counter", "counter.js"]);
    cells(&world, &["run", "counter", "5"]);
    let swapped = cells(&world, &["reload", "counter", "tenfold.js"]);
    assert_ne!(made["genome"], swapped["genome"]);
    assert_eq!(said(&world, &["counter", "1"]), "15\n");
    let reload = ["evolve", "cells", "reload", "counter", "broken.js"];
    world.agar(reload).expect_code(1);
    assert_eq!(said(&world, &["counter", "1"]), "25\n");
    let versions = cells(&world, &["versions", "counter"]);
    assert_eq!(versions["versions"][0]["genome"], made["genome"]);
    assert_eq!(versions["versions"][1]["parents"][0], made["genome"]);
    cells(&world, &["rollback", "counter", "1"]);
    assert_eq!(said(&world, &["counter", "1"]), "6\n");
}

#[test]
fn messages_wait_and_are_answered_in_order_each_once() {
    let world = with_counter();
    cells(&world, &["create", "counter", "counter.wat"]);
    for (number, message) in ["1", "2", "3"].iter().enumerate() {
        let sent = cells(&world, &["send", "counter", message]);
        assert_eq!(sent["ticket"], number + 1);
        assert_eq!(sent["cell"]["waiting"], number + 1);
    }
    let first = cells(&world, &["work", "counter", "--most", "2"]);
    assert_eq!(first["answers"][0]["text"], "1");
    assert_eq!(first["answers"][1]["text"], "3");
    assert_eq!(first["cell"]["waiting"], 1);
    // Other code answers what waits, from the state that the old one left.
    cells(&world, &["reload", "counter", "double.wat"]);
    let rest = world.agar(["evolve", "cells", "work", "counter"]).success();
    assert_eq!(rest.stdout, "3 9\n");
    let none = cells(&world, &["work", "counter"]);
    assert_eq!(none["answers"].as_array().map(Vec::len), Some(0));
    assert_eq!(
        cells(&world, &["info", "counter"])["metrics"]["messages"],
        3
    );
}

#[test]
fn a_variant_in_the_shadow_takes_over_when_it_says_the_same_and_is_gone_when_not() {
    let world = with_counter();
    let same = FILES[0].1.replace("A counter", "Also a counter");
    world.write("same.wat", same);
    cells(&world, &["create", "counter", "counter.wat"]);
    said(&world, &["counter", "5"]);
    let shadowed = cells(
        &world,
        &["shadow", "counter", "same.wat", "--comparisons", "3"],
    );
    assert_eq!(shadowed["shadow"]["asked"], 0);
    assert_eq!(shadowed["total_versions"], 1);
    let run = |message: &str| cells(&world, &["run", "counter", message]);
    assert_eq!(run("1")["shadow"], "wait");
    cells(&world, &["send", "counter", "1"]);
    cells(&world, &["work", "counter"]);
    let seen = &cells(&world, &["info", "counter"])["shadow"];
    assert_eq!((&seen["asked"], &seen["same"]), (&2.into(), &2.into()));
    let listed = cells(&world, &["ls"]);
    assert_eq!(listed["cells"].as_array().map(Vec::len), Some(1));
    let last = run("1");
    assert_eq!(
        (&last["shadow"], &last["text"]),
        (&"promote".into(), &"8".into())
    );
    assert_eq!(last["cell"]["total_versions"], 2);
    assert_eq!(last["cell"]["shadow"], Value::Null);
    // One that counts otherwise is compared, and never heard of.
    cells(
        &world,
        &["shadow", "counter", "double.wat", "--comparisons", "1"],
    );
    let last = run("1");
    assert_eq!(
        (&last["shadow"], &last["text"]),
        (&"discard".into(), &"9".into())
    );
    assert_eq!(last["cell"]["total_versions"], 2);
    cells(&world, &["shadow", "counter", "same.wat"]);
    assert_eq!(
        cells(&world, &["unshadow", "counter"])["shadow"],
        Value::Null
    );
    cells(&world, &["shadow", "counter", "same.wat"]);
    cells(&world, &["rm", "counter"]);
    world
        .agar(["evolve", "cells", "info", "counter.shadow"])
        .expect_code(3);
}

#[test]
fn answers_about_cells_fit_their_schemas() {
    let world = with_counter();
    let made = cells(&world, &["create", "counter", "counter.wat", "--seed", "7"]);
    assert_eq!(made["condition"], "asleep");
    assert_eq!(cells(&world, &["run", "counter", "5"])["text"], "5");
    cells(&world, &["reload", "counter", "double.wat"]);
    assert_eq!(cells(&world, &["run", "counter", "5"])["text"], "15");
    let versions = cells(&world, &["versions", "counter"]);
    assert_eq!(versions["current_version"], 2);
    assert_eq!(versions["total_versions"], 2);
    assert_eq!(versions["versions"][0]["snapshot_bytes"], 8);
    // Back to what the first version knew when it left.
    cells(&world, &["rollback", "counter", "1"]);
    assert_eq!(cells(&world, &["run", "counter", "1"])["text"], "6");
    cells(&world, &["restart", "counter"]);
    assert_eq!(cells(&world, &["run", "counter", "1"])["text"], "1");
    let info = cells(&world, &["info", "counter"]);
    assert_eq!(info["metrics"]["swaps"], 2);
    cells(&world, &["create", "square", "--formula", "x^2"]);
    let called = cells(&world, &["run", "square", "--call", "f", "7"]);
    assert_eq!(called["values"][0], "49");
    assert_eq!(
        cells(&world, &["ls"])["cells"].as_array().map(Vec::len),
        Some(2)
    );
    cells(&world, &["rm", "counter", "square"]);
    assert_eq!(
        cells(&world, &["ls"])["cells"].as_array().map(Vec::len),
        Some(0)
    );
}

#[test]
fn a_failed_reload_leaves_the_old_code_with_its_state() {
    let world = with_counter();
    cells(&world, &["create", "counter", "counter.wat"]);
    said(&world, &["counter", "12"]);
    let reload = ["evolve", "cells", "reload", "counter"];
    let told = world.agar(reload.iter().chain(&["forgetful.wat"]));
    assert!(told.expect_code(1).stderr.contains("load"));
    let probed = ["double.wat", "--probe", "1", "--same"];
    let told = world.agar(reload.iter().chain(&probed));
    assert!(told.expect_code(1).stderr.contains("probe"));
    world.write("broken.wat", "(module (func");
    world
        .agar(reload.iter().chain(&["broken.wat"]))
        .expect_code(2);
    assert_eq!(said(&world, &["counter", "1"]), "13\n");
    assert_eq!(cells(&world, &["info", "counter"])["total_versions"], 1);
}

#[test]
fn messages_and_swaps_at_once_lose_nothing() {
    let world = with_counter();
    cells(&world, &["create", "counter", "counter.wat"]);
    let send = || {
        world
            .command(["evolve", "cells", "run", "counter", "1"])
            .spawn()
    };
    let swap = |file: &str| {
        let line = ["evolve", "cells", "reload", "counter", file];
        world.command(line).spawn()
    };
    let mut running: Vec<_> = (0..12).map(|_| send()).collect();
    // The same rule twice: how many messages came before the swap does not matter.
    world.write(
        "same.wat",
        FILES[0].1.replace("A counter", "Also a counter"),
    );
    running.push(swap("same.wat"));
    running.extend((0..12).map(|_| send()));
    running.push(swap("counter.wat"));
    for command in running {
        command.finish().success();
    }
    assert_eq!(said(&world, &["counter", "0"]), "24\n");
    let info = cells(&world, &["info", "counter"]);
    assert_eq!(info["total_versions"], 3);
}

#[test]
fn a_run_that_a_limit_ends_leaves_the_cell_crashed_and_says_so() {
    let world = plain();
    let spin = r#"(module (memory (export "memory") 1)
        (func (export "alloc") (param i32) (result i32) (i32.const 0))
        (func (export "step") (param i32 i32) (result i64) (loop $l (br $l)) (i64.const 0)))"#;
    world.write("spin.wat", spin);
    cells(
        &world,
        &["create", "spin", "spin.wat", "--instructions", "100000"],
    );
    let ran = world.agar(["evolve", "cells", "run", "spin", "x"]);
    assert_ne!(ran.code(), 0);
    assert!(ran.stderr.contains("instructions"), "{}", ran.stderr);
    let info = cells(&world, &["info", "spin"]);
    assert_eq!(info["condition"], "crashed");
    assert_eq!(info["metrics"]["killed"], 1);
    cells(&world, &["restart", "spin"]);
    assert_eq!(cells(&world, &["info", "spin"])["condition"], "asleep");
}

#[test]
fn what_cannot_be_done_with_cells_is_said_with_what_to_type() {
    let world = with_counter();
    let fails = |words: &[&str], code: i32| {
        let line = ["evolve", "cells"].iter().chain(words);
        world.agar(line).expect_code(code).stderr
    };
    assert!(fails(&["run", "nobody", "1"], 3).contains("agar evolve cells ls"));
    cells(&world, &["create", "counter", "counter.wat"]);
    assert!(fails(&["info", "conter"], 3).contains("counter"));
    assert!(fails(&["create", "counter", "counter.wat"], 4).contains("reload"));
    assert!(fails(&["create", "a/b", "counter.wat"], 2).contains("letters"));
    assert!(fails(&["create", "other", "missing.wat"], 3).contains("missing.wat"));
    assert!(fails(&["rollback", "counter", "9"], 3).contains('9'));
    assert!(fails(&["run", "counter", "--call", "step", "1"], 2).contains("i32, i32"));
}
