//! How many sandboxes a second can be made.

use super::{agar, clear};
use crate::inside;
use crate::measure::timed;
use crate::table::Row;
use agar_core::walls::BaseKind;
use agar_engine::SandboxOptions;
use agar_engine::create::{CreateRequest, create};
use agar_testkit::World;
use anyhow::Result;
use std::time::Instant;

/// How many are made by each creator.
const COUNT: u32 = 100;

/// Makes so many in a world.
type Creator = fn(&World) -> Result<()>;

/// One creator, and two at a time: through the command line, and in this process, as the server and
/// batches make them.
pub(crate) fn run() -> Result<Vec<Row>> {
    let ways: [(&str, Creator); 2] = [("agar create", by_command), ("in process", in_process)];
    let mut rows = Vec::new();
    for (way, creator) in ways {
        for creators in [1, 2] {
            let made = made_in_a_second(creators, creator)?;
            let name = format!("{way}, {creators} at a time");
            let row = Row::value("rate", &name, made, "a second");
            rows.push(if creators == 2 {
                row.at_least(300.0)
            } else {
                row
            });
        }
    }
    Ok(rows)
}

fn made_in_a_second(creators: u32, creator: Creator) -> Result<f64> {
    let world = World::with_repository(super::AGAR);
    timed(&mut agar(&world, &["create", "--base=frozen"]))?;
    let start = Instant::now();
    let failed = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..creators)
            .map(|_| scope.spawn(|| creator(&world)))
            .collect();
        threads
            .into_iter()
            .any(|thread| !matches!(thread.join(), Ok(Ok(()))))
    });
    let seconds = start.elapsed().as_secs_f64();
    anyhow::ensure!(!failed, "a sandbox could not be made");
    clear(&world);
    Ok(f64::from(COUNT * creators) / seconds)
}

fn by_command(world: &World) -> Result<()> {
    for _ in 0..COUNT {
        timed(&mut agar(world, &["create", "--base=frozen"]))?;
    }
    Ok(())
}

fn in_process(world: &World) -> Result<()> {
    let engine = inside::engine(world)?;
    let request = CreateRequest {
        options: SandboxOptions {
            base: Some(BaseKind::Frozen),
            ..SandboxOptions::default()
        },
        ..CreateRequest::default()
    };
    for _ in 0..COUNT {
        create(&engine, &request)?;
    }
    Ok(())
}
