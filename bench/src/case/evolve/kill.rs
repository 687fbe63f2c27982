//! How long after its deadline a spinning cell is gone.

use super::incubator;
use crate::measure::Samples;
use crate::table::Row;
use agar_evolve::{CellError, Engines, Genome, Limits, Rules, Spec};
use anyhow::{Result, ensure};
use std::time::{Duration, Instant};

const SPIN: &str = r#"(module (func (export "run") (loop (br 0))))"#;
/// Misses the cache with every load, which is the slowest that instructions get.
const WANDER: &str = r#"(module (memory 1024) (func (export "run") (local $at i32)
  (loop
    (local.set $at (i32.and (i32.add (i32.mul (local.get $at) (i32.const 1664525)) (i32.const 1013904223)) (i32.const 0x3fffff8)))
    (i64.store (local.get $at) (i64.add (i64.load (local.get $at)) (i64.const 1)))
    (br 0))))"#;
const COPY: &str = r#"(module (memory 1024) (func (export "run")
  (loop (memory.copy (i32.const 0) (i32.const 33554432) (i32.const 33554432)) (br 0))))"#;

/// The overrun of each sort of spinning, on both engines.
pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, text) in [
        ("a loop", SPIN),
        ("loads all over memory", WANDER),
        ("copies of 32 MiB", COPY),
    ] {
        for (engine, engines) in [
            ("compiled", Engines::Heavy),
            ("interpreted", Engines::Light),
        ] {
            let samples = overruns(text, engines)?;
            let what = format!("killed after its deadline: {name}, {engine}");
            rows.push(Row::times("evolve", &what, &samples).at_most(5.0));
        }
    }
    Ok(rows)
}

fn overruns(text: &str, engines: Engines) -> Result<Samples> {
    let wall = Duration::from_millis(5);
    let limits = Limits {
        wall: Some(wall),
        instructions: u64::MAX,
        ..Limits::default()
    };
    let genome = Genome::from_wat(text, &Rules::default())?;
    let incubator = incubator(engines);
    let mut samples = Samples::default();
    for _ in 0..100 {
        let spec = Spec {
            limits,
            ..Spec::default()
        };
        let mut cell = incubator.create(&genome, spec)?;
        let begun = Instant::now();
        let ended = cell.call("run", &[]);
        samples.push(begun.elapsed().saturating_sub(wall));
        ensure!(
            ended == Err(CellError::Deadline { limit: wall }),
            "it ended otherwise: {ended:?}"
        );
    }
    Ok(samples)
}
