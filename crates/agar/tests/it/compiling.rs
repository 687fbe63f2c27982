//! Cells from C and Rust through the command: compiled on the way in, with the state of the old code.

use crate::world::plain;
use agar_testkit::{World, invocation, skip};

const COUNTER: &str = include_str!("../../../../examples/live-counter/counter.wat");
const IN_C: &str = include_str!("../../../../examples/live-counter/counter.c");
const IN_RUST: &str = include_str!("../../../../examples/live-counter/counter.rs");

/// Where this machine's compilers are: the toolchain's own programs, since a sandbox has no home of
/// rustup's, and whatever is on the path.
fn path() -> String {
    let asked = std::process::Command::new("rustc")
        .args(["--print", "sysroot"])
        .output();
    let toolchain = asked.map_or_else(
        |_| String::new(),
        |told| String::from_utf8_lossy(&told.stdout).trim().to_owned(),
    );
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = path.to_string_lossy();
    format!("{toolchain}/bin:{path}:{}", invocation::PATH)
}

/// Reloads a counter that stands at five from this source; what it says to three more, unless
/// nothing here compiles it.
fn reloaded(world: &World, name: &str, source: &str) -> Option<String> {
    world.write("counter.wat", COUNTER);
    world.write(name, source);
    let cells = ["evolve", "cells"];
    let run = |number: &str| {
        let line = cells.iter().chain(&["run", "counter"]);
        world.agar(line.copied().chain([number])).success().stdout
    };
    let create = cells.iter().chain(&["create", "counter", "counter.wat"]);
    world.agar(create).success();
    assert_eq!(run("5").trim_end(), "5");
    let reload = cells.iter().chain(&["reload", "counter"]).copied();
    let reload = world.command(reload.chain([name])).env("PATH", path());
    let outcome = reload.run();
    if outcome
        .stderr
        .contains("no compiler that writes WebAssembly")
    {
        return None;
    }
    outcome.success();
    Some(run("3").trim_end().to_owned())
}

#[test]
fn c_is_compiled_on_the_way_into_a_cell() {
    let world = plain();
    let Some(said) = reloaded(&world, "counter.c", IN_C) else {
        skip!("c-compiler", "neither clang with lld nor Zig")
    };
    assert_eq!(said, "8");
    world.assert_nothing_left();
}

#[test]
fn rust_is_compiled_on_the_way_into_a_cell() {
    let world = plain();
    let Some(said) = reloaded(&world, "counter.rs", IN_RUST) else {
        skip!("rust-target", "no rustc with wasm32-unknown-unknown")
    };
    assert_eq!(said, "8");
    world.assert_nothing_left();
}
