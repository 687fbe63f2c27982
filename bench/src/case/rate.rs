//! How many sandboxes a second can be made.

use super::{agar, clear};
use crate::inside;
use crate::measure::timed;
use crate::table::Row;
use agar_core::walls::BaseKind;
use agar_engine::SandboxOptions;
use agar_engine::create::{CreateRequest, create};
use agar_testkit::World;
use anyhow::{Context as _, Result};
use std::time::Instant;

/// How many are made by each creator.
const COUNT: u32 = 100;

/// Makes so many in a world.
pub(super) type Creator = fn(&World, u32) -> Result<()>;

/// Through the command line, and in this process, as the server and batches make them.
pub(super) const WAYS: [(&str, Creator); 2] =
    [("agar create", by_command), ("in process", in_process)];

/// One creator, and two at a time, either way.
pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (way, creator) in WAYS {
        for creators in [1, 2] {
            let world = World::with_repository(super::AGAR);
            timed(&mut agar(&world, &["create", "--base=frozen"]))?;
            let made = made_in_a_second(&world, (creators, COUNT), creator)?;
            clear(&world);
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

/// How many a second so many creators make, each so many.
pub(super) fn made_in_a_second(
    world: &World,
    (creators, each): (u32, u32),
    creator: Creator,
) -> Result<f64> {
    let start = Instant::now();
    std::thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..creators)
            .map(|_| scope.spawn(|| creator(world, each)))
            .collect();
        for thread in threads {
            thread.join().ok().context("a creator panicked")??;
        }
        Ok(())
    })?;
    Ok(f64::from(each * creators) / start.elapsed().as_secs_f64())
}

fn by_command(world: &World, count: u32) -> Result<()> {
    for _ in 0..count {
        timed(&mut agar(world, &["create", "--base=frozen"]))?;
    }
    Ok(())
}

fn in_process(world: &World, count: u32) -> Result<()> {
    let engine = inside::engine(world)?;
    let request = CreateRequest {
        options: SandboxOptions {
            base: Some(BaseKind::Frozen),
            ..SandboxOptions::default()
        },
        ..CreateRequest::default()
    };
    for _ in 0..count {
        create(&engine, &request)?;
    }
    Ok(())
}
