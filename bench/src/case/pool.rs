//! A sandbox from a pool of jails beside one that is made when it is asked for.

use crate::measure::{Contestant, in_turns};
use crate::table::{Row, compared};
use agar_engine::Engine;
use agar_engine::create::{CreateAnswer, CreateRequest, create};
use agar_engine::pool::Pool;
use agar_engine::remove::{RemoveRequest, remove};
use agar_testkit::wait;
use anyhow::{Result, ensure};
use std::time::{Duration, Instant};

/// How often each is measured.
const ROUNDS: usize = 40;
/// Jails that wait at once.
const JAILS: usize = 2;

/// Both ways to a sandbox in a process that lives long.
pub(crate) fn rows(engine: &Engine) -> Result<Vec<Row>> {
    let pool = Pool::start(engine.surroundings().clone(), JAILS)?;
    let request = CreateRequest::default();
    discard(engine, &pool.create(engine, &request)?.created)?;
    let contestants = vec![
        Contestant::new("create", || {
            // Nothing is built beside it.
            wait::until("the pool is full", || pool.ready() == JAILS);
            let start = Instant::now();
            let created = create(engine, &request)?;
            ended(engine, start.elapsed(), &created)
        }),
        Contestant::new("create, from a pool", || {
            wait::until("the pool is full", || pool.ready() == JAILS);
            let start = Instant::now();
            let pooled = pool.create(engine, &request)?;
            let took = start.elapsed();
            ensure!(pooled.was_ready, "no jail was ready");
            ended(engine, took, &pooled.created)
        }),
    ];
    Ok(compared("travel", &in_turns(ROUNDS, contestants)?))
}

fn ended(engine: &Engine, took: Duration, created: &CreateAnswer) -> Result<Duration> {
    discard(engine, created)?;
    Ok(took)
}

fn discard(engine: &Engine, created: &CreateAnswer) -> Result<()> {
    let request = RemoveRequest {
        sandboxes: vec![created.sandbox.id.to_string()],
        force: true,
        ..RemoveRequest::default()
    };
    remove(engine, &request)?;
    Ok(())
}
