//! How many sandboxes a second can be made.

use super::{agar, bubblewrap, clear, need};
use crate::inside;
use crate::measure::timed;
use crate::table::Row;
use agar_core::walls::BaseKind;
use agar_engine::SandboxOptions;
use agar_engine::create::{CreateRequest, create};
use agar_testkit::World;
use anyhow::{Context as _, Result};
use std::time::Instant;

/// How many are made.
const COUNT: u32 = 200;

/// Makes so many in a world.
type Creator = fn(&World, u32) -> Result<()>;

/// One way to make many.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) name: &'static str,
    /// How many do it at once.
    pub(super) creators: u32,
    creator: Creator,
}

/// By one command each, by one command for all, and in this process, as the server and batches make
/// them: each with both processors.
pub(super) const WAYS: [Way; 3] = [
    Way {
        name: "agar create",
        creators: 2,
        creator: by_command,
    },
    Way {
        name: "agar create -n",
        creators: 1,
        creator: by_one_command,
    },
    Way {
        name: "in process",
        creators: 2,
        creator: in_process,
    },
];

/// Each way beside bubblewrap's jails, which are gone at once and whose files nobody can change; and,
/// where there are two creators, one alone.
pub(crate) fn run() -> Result<Vec<Row>> {
    need("bwrap", "bubblewrap")?;
    let world = World::with_repository(super::AGAR);
    let peer = made_in_a_second(&world, (2, COUNT / 2), by_bubblewrap)?;
    let mut rows = vec![Row::value("rate", "bwrap, 2 at a time", peer, "a second")];
    for way in WAYS {
        for creators in 1..=way.creators {
            let world = World::with_repository(super::AGAR);
            timed(&mut agar(&world, &["create", "--base=frozen"]))?;
            let made = made_in_a_second(&world, (creators, COUNT / creators), way.creator)?;
            clear(&world);
            let name = match way.creators {
                1 => way.name.to_owned(),
                _ => format!("{}, {creators} at a time", way.name),
            };
            let row = Row::value("rate", &name, made, "a second").beside(peer);
            rows.push(if creators == way.creators {
                row.at_least(300.0)
            } else {
                row
            });
        }
    }
    Ok(rows)
}

impl Way {
    /// How many a second come of so many in all.
    pub(super) fn made_in_a_second(self, world: &World, count: u32) -> Result<f64> {
        let each = count / self.creators;
        made_in_a_second(world, (self.creators, each), self.creator)
    }
}

/// How many a second so many creators make, each so many.
fn made_in_a_second(world: &World, (creators, each): (u32, u32), creator: Creator) -> Result<f64> {
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

fn by_one_command(world: &World, count: u32) -> Result<()> {
    let count = count.to_string();
    timed(&mut agar(world, &["create", "--base=frozen", "-n", &count]))?;
    Ok(())
}

fn by_bubblewrap(world: &World, count: u32) -> Result<()> {
    for _ in 0..count {
        timed(&mut bubblewrap(world, &["/bin/true"]))?;
    }
    Ok(())
}

fn in_process(world: &World, count: u32) -> Result<()> {
    let engine = inside::engine_for_many(world)?;
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
