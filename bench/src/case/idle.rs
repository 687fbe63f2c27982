//! What a sandbox costs that does nothing.

use super::{agar, available, available_at_rest, clear, kib};
use crate::measure::timed;
use crate::table::Row;
use agar_testkit::{World, leaks};
use anyhow::Result;

/// How many are made.
const COUNT: u32 = 200;

/// Memory of each, by what the machine has left and by what its processes share.
pub(crate) fn run() -> Result<Vec<Row>> {
    let world = World::with_repository(super::AGAR);
    timed(&mut agar(&world, &["create", "--base=frozen"]))?;
    let before = available_at_rest()?;
    for _ in 0..COUNT {
        timed(&mut agar(&world, &["create", "--base=frozen"]))?;
    }
    let after = available()?;
    let mut shares = 0.0;
    let processes = leaks::processes_in(world.root());
    for process in &processes {
        shares += kib(&format!("/proc/{}/smaps_rollup", process.pid), "Pss:").unwrap_or(0.0);
    }
    clear(&world);
    let each = |total: f64| total / f64::from(COUNT);
    let alive = u32::try_from(processes.len()).unwrap_or(u32::MAX);
    Ok(vec![
        Row::value(
            "idle",
            "available memory gone, each",
            each(before - after),
            "KiB",
        )
        .at_most(768.0),
        Row::value("idle", "proportional set size, each", each(shares), "KiB"),
        Row::value(
            "idle",
            "processes outside and in, each",
            each(f64::from(alive)),
            "processes",
        ),
    ])
}
