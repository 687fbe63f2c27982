//! Cells: what a life costs, a script's, a swap, a hundred thousand alive, an evaluation, a kill.
//!
//! Compiled only with the feature `evolve`: the engines behind cells take minutes to build.

mod alive;
mod among;
mod kill;
mod life;
mod look;
mod peer;
mod rate;
mod script;
mod swap;

use crate::table::Row;
use agar_evolve::{Cell, CellError, Engines, Incubator, Settings, Value};
use agar_testkit::clock::FixedClock;
use anyhow::Result;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a thing of microseconds is done for one sample, so that a sample in milliseconds reads
/// as microseconds each.
const TIMES: usize = 1_000;

/// Everything about cells.
pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = life::run()?;
    rows.extend(swap::run()?);
    rows.extend(script::run()?);
    rows.extend(kill::run()?);
    rows.extend(rate::run()?);
    rows.extend(alive::run()?);
    rows.extend(among::run()?);
    rows.extend(look::run()?);
    Ok(rows)
}

fn incubator(engines: Engines) -> Incubator {
    let settings = Settings {
        engines,
        ..Settings::default()
    };
    Incubator::new(&settings, Arc::new(FixedClock::default()))
}

/// A thousand times, in one sample.
fn thousand(mut act: impl FnMut() -> Result<()>) -> Result<Duration> {
    let begun = Instant::now();
    for _ in 0..TIMES {
        act()?;
    }
    Ok(begun.elapsed())
}

/// The rows of samples made by [`thousand`], compared with the first.
fn each(measured: &[(String, crate::measure::Samples)]) -> Vec<Row> {
    crate::table::compared("evolve", measured)
        .into_iter()
        .map(|row| Row { unit: "µs", ..row })
        .collect()
}

/// A counter with one page of memory, as a genome and for the bare engine.
const COUNTER: &str = r#"(module
  (memory (export "memory") 1 1)
  (global $sum (mut i64) (i64.const 0))
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func $out (result i64) (i64.store (i32.const 0) (global.get $sum)) (i64.const 8))
  (func (export "add") (param i64) (result i64)
    (global.set $sum (i64.add (global.get $sum) (local.get 0))) (global.get $sum))
  (func (export "step") (param $at i32) (param $length i32) (result i64)
    (global.set $sum (i64.add (global.get $sum) (i64.load8_u (local.get $at)))) (call $out))
  (func (export "save") (result i64) (call $out))
  (func (export "load") (param $at i32) (param i32 i32) (result i32)
    (global.set $sum (i64.load (local.get $at))) (i32.const 0)))"#;

/// The same without memory.
const BARE: &str = r#"(module
  (global $sum (mut i64) (i64.const 0))
  (func (export "add") (param i64) (result i64)
    (global.set $sum (i64.add (global.get $sum) (local.get 0))) (global.get $sum)))"#;

/// One call of a cell.
type Once = fn(&mut Cell) -> Result<(), CellError>;

/// Of one with memory, which touches it.
fn step(cell: &mut Cell) -> Result<(), CellError> {
    cell.step(&[1]).map(drop)
}

/// Of one without.
fn add(cell: &mut Cell) -> Result<(), CellError> {
    cell.call("add", &[Value::I64(1)]).map(drop)
}
