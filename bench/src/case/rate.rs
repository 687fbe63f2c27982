//! How many sandboxes a second can be made.

use super::{agar, clear};
use crate::measure::timed;
use crate::table::Row;
use agar_testkit::World;
use anyhow::Result;
use std::time::Instant;

/// How many are made by each creator.
const COUNT: u32 = 100;

/// One creator after the other, and two at a time, through the command line.
pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for creators in [1, 2] {
        let world = World::with_repository(super::AGAR);
        timed(&mut agar(&world, &["create", "--base=frozen"]))?;
        let start = Instant::now();
        let failed = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..creators)
                .map(|_| scope.spawn(|| create_many(&world)))
                .collect();
            threads
                .into_iter()
                .any(|thread| !matches!(thread.join(), Ok(Ok(()))))
        });
        let seconds = start.elapsed().as_secs_f64();
        anyhow::ensure!(!failed, "a sandbox could not be made");
        let rate = f64::from(COUNT * creators) / seconds;
        let row = Row::value(
            "rate",
            &format!("agar create, {creators} at a time"),
            rate,
            "a second",
        );
        rows.push(if creators == 2 {
            row.at_least(300.0)
        } else {
            row
        });
        clear(&world);
    }
    Ok(rows)
}

fn create_many(world: &World) -> Result<()> {
    for _ in 0..COUNT {
        timed(&mut agar(world, &["create", "--base=frozen"]))?;
    }
    Ok(())
}
