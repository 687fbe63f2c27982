//! The server under load: streams and terminals at once, the status of one among many sandboxes, and
//! commands by the thousand.
//!
//! Everything is real: `agar serve` on loopback in a world of its own, its clients plain sockets in
//! this process. A message that is lost, told twice or out of order, and a server that holds more
//! than before, make the benchmark fail. `AGAR_BENCH_SERVE` names other numbers of streams,
//! terminals, sandboxes and commands, separated by spaces.

mod among;
mod commands;
mod crowd;
mod terminal;

use crate::table::Row;
use agar_testkit::World;
use agar_testkit::http::{Client, Served};
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// How much there is of everything.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Clients that listen to event streams.
    streams: usize,
    /// Clients that look at terminals, each at one of its own.
    terminals: usize,
    /// Sandboxes that are alive while the status of one is asked for.
    sandboxes: usize,
    /// Commands.
    commands: usize,
}

impl Sizes {
    const PROMISED: Self = Self {
        streams: 200,
        terminals: 50,
        sandboxes: 500,
        commands: 10_000,
    };

    fn wanted() -> Result<Self> {
        let Some(words) = std::env::var_os("AGAR_BENCH_SERVE") else {
            return Ok(Self::PROMISED);
        };
        let words = words.to_string_lossy();
        let numbers: Vec<usize> = words
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()
            .context("AGAR_BENCH_SERVE holds four numbers")?;
        let [streams, terminals, sandboxes, commands] = numbers[..] else {
            anyhow::bail!("AGAR_BENCH_SERVE holds four numbers");
        };
        let least = streams.min(terminals).min(sandboxes).min(commands);
        ensure!(least > 0, "AGAR_BENCH_SERVE holds numbers above zero");
        Ok(Self {
            streams,
            terminals,
            sandboxes,
            commands,
        })
    }
}

pub(crate) fn run() -> Result<Vec<Row>> {
    let sizes = Sizes::wanted()?;
    let mut rows = Vec::new();
    for part in [crowd::run, among::run, commands::run] {
        let world = World::with_repository(super::AGAR);
        let served = Served::start(&world);
        let measured = part(&world, &served, sizes);
        // Whatever came of it, nothing stays behind.
        super::clear(&world);
        served.stop();
        rows.extend(measured?);
    }
    Ok(rows)
}

/// Makes a sandbox that stays alive.
fn sandbox(client: &Client) -> Result<String> {
    let made = told(client, "/v1/sandboxes", r#"{"base": "frozen"}"#, 201)?;
    let id = made["sandbox"]["id"].as_str();
    Ok(id.context("a sandbox has an id")?.to_owned())
}

/// Tells the server something and hears its answer.
fn told(client: &Client, path: &str, body: &str, status: u16) -> Result<Value> {
    let answer = client.post(path, body);
    let text = answer.text();
    ensure!(answer.status == status, "{path}: {} {text}", answer.status);
    Ok(serde_json::from_str(&text)?)
}

/// Does the same on several threads at once and gathers what came of it.
fn at_once<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..count)
            .map(|number| scope.spawn(move || work(number)))
            .collect();
        let ended = threads.into_iter().map(|thread| {
            let ended = thread.join().ok();
            ended.context("one of the clients gave up; see above")?
        });
        ended.collect()
    })
}
