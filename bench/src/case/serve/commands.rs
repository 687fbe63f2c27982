//! Commands by the thousand, and what the server holds afterwards.

use super::{Sizes, at_once, sandbox, told};
use crate::case::agar;
use crate::measure::{Samples, timed};
use crate::table::Row;
use agar_testkit::http::{Client, Served};
use agar_testkit::leaks::processes_in;
use agar_testkit::wait::holds_within;
use agar_testkit::{Weight, World};
use anyhow::{Context as _, Result, ensure};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Clients that ask at once.
const CLIENTS: usize = 4;
/// Sandboxes that the commands are spread over.
const SANDBOXES: usize = 4;
/// Commands before anything is compared.
const WARM_UP: usize = 500;
/// How often the server is weighed on the way.
const WEIGHED: usize = 20;
/// How much more memory the server may hold at the end than when a third was done. What the allocator
/// keeps moves by a little; a leak of a hundred bytes for each of seven thousand commands does not
/// stay below it for long.
const GROWTH_KIB_MAX: f64 = 4096.0;
/// How long what was used for the last command may take to go.
const SETTLING: Duration = Duration::from_secs(30);

/// What there is on the server's account.
#[derive(Debug, Clone, Copy)]
struct Held {
    server: Weight,
    /// Processes of the world: the server, keepers, what runs inside.
    processes: usize,
}

impl Held {
    fn now(world: &World, served: &Served) -> Self {
        Self {
            server: Weight::of(served.id()),
            processes: processes_in(world.root()).len(),
        }
    }

    fn is_within(self, before: Self) -> bool {
        self.server.descriptors <= before.server.descriptors
            && self.server.children <= before.server.children
            && self.processes <= before.processes
    }
}

pub(super) fn run(world: &World, served: &Served, sizes: Sizes) -> Result<Vec<Row>> {
    let client = served.client();
    let ids: Vec<String> = (0..SANDBOXES)
        .map(|_| sandbox(&client))
        .collect::<Result<_>>()?;
    let warm_up = WARM_UP.min(sizes.commands);
    some(&client, &ids, warm_up, |_| {})?;
    let mut by_command_line = Samples::default();
    for _ in 0..20 {
        by_command_line.push(timed(&mut agar(world, &["exec", &ids[0], "--", "true"]))?);
    }
    let before = Held::now(world, served);
    let memory = Mutex::new(Vec::new());
    let every = (sizes.commands / WEIGHED).max(1);
    let begun = Instant::now();
    let times = some(&client, &ids, sizes.commands, |done| {
        if done % every == 0
            && let Ok(mut memory) = memory.lock()
        {
            memory.push((done, Weight::of(served.id()).resident_kib));
        }
    })?;
    let took = begun.elapsed();
    let memory = memory.into_inner().context("a client panicked")?;
    let mut after = Held::now(world, served);
    holds_within(SETTLING, || {
        after = Held::now(world, served);
        after.is_within(before)
    });
    let rows = rows(&times, &by_command_line, took, (before, after), &memory);
    ensure!(
        after.is_within(before),
        "the server holds more than before: {before:?}, then {after:?}"
    );
    let grown = growth(&memory);
    ensure!(
        grown <= GROWTH_KIB_MAX,
        "the server's memory grows: {grown} KiB more at the end than at a third: {memory:?}"
    );
    Ok(rows)
}

fn rows(
    times: &Samples,
    by_command_line: &Samples,
    took: Duration,
    (before, after): (Held, Held),
    memory: &[(usize, u64)],
) -> Vec<Row> {
    let count = times.count();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let number = |value: usize| value as f64;
    let more = |what: &str, after: usize, before: usize| {
        let what = format!("{what} more after {count} commands, from {before}");
        Row::value("serve", &what, number(after) - number(before), "")
    };
    let (old, new) = (before.server, after.server);
    #[expect(clippy::cast_precision_loss, reason = "KiB of one process")]
    let memory_more = new.resident_kib as f64 - old.resident_kib as f64;
    let memory_what = format!(
        "memory more after {count} commands, from {}",
        old.resident_kib
    );
    vec![
        Row::times("serve", "exec through the command line", by_command_line),
        Row::times("serve", "exec through the interface, four at a time", times)
            .beside(by_command_line.p50()),
        Row::value(
            "serve",
            "exec through the interface",
            number(count) / took.as_secs_f64(),
            "a second",
        ),
        more("descriptors", new.descriptors, old.descriptors).at_most(0.0),
        more("processes", after.processes, before.processes).at_most(0.0),
        more("children", new.children, old.children).at_most(0.0),
        more("threads", new.threads, old.threads),
        Row::value("serve", &memory_what, memory_more, "KiB"),
        Row::value(
            "serve",
            "memory more at the end than at a third",
            growth(memory),
            "KiB",
        )
        .at_most(GROWTH_KIB_MAX),
    ]
}

/// How much more memory there is at the end than when a third was done, by the straight line that lies
/// nearest to everything in between: one look may be high or low.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn growth(memory: &[(usize, u64)]) -> f64 {
    let last = memory.iter().map(|(done, _)| *done).max().unwrap_or(0);
    let points: Vec<(f64, f64)> = memory
        .iter()
        .filter(|(done, _)| *done * 10 >= last * 3)
        .map(|&(done, kib)| (done as f64, kib as f64))
        .collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|it| it.0), mean(|it| it.1));
    let spread: f64 = points.iter().map(|it| (it.0 - x).powi(2)).sum();
    let rise: f64 = points.iter().map(|it| (it.0 - x) * (it.1 - y)).sum();
    if spread > 0.0 {
        rise / spread * (last as f64 * 0.7)
    } else {
        0.0
    }
}

/// Runs so many commands, a few at a time; `each` hears how many are done.
fn some(
    client: &Client,
    ids: &[String],
    count: usize,
    each: impl Fn(usize) + Sync,
) -> Result<Samples> {
    let (begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let all = at_once(CLIENTS, |_| {
        let mut samples = Samples::default();
        loop {
            let number = begun.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(samples);
            }
            samples.push(one(client, &ids[number % ids.len()], number)?);
            each(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    })?;
    let mut samples = Samples::default();
    for some in &all {
        samples.extend(some);
    }
    Ok(samples)
}

/// One command, by one interface or the other.
fn one(client: &Client, id: &str, number: usize) -> Result<Duration> {
    let (path, output) = if number.is_multiple_of(2) {
        (format!("/v1/sandboxes/{id}/exec"), "stdout")
    } else {
        (format!("/api/sandbox/{id}/execute"), "output")
    };
    let body = format!(r#"{{"command": "echo {number}"}}"#);
    let begun = Instant::now();
    let answer = told(client, &path, &body, 200)?;
    let took = begun.elapsed();
    ensure!(answer[output] == format!("{number}\n"), "{answer}");
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_of_what_comes_after_a_third_and_one_high_look_is_not_a_leak() {
        let steady = |extra: fn(usize) -> u64| -> Vec<(usize, u64)> {
            (1..=20).map(|n| (n * 500, 40_000 + extra(n))).collect()
        };
        assert!(growth(&steady(|_| 0)).abs() < 1e-6);
        // It grows at first, while caches fill.
        assert!(growth(&steady(|n| (n.min(5) * 1000) as u64)).abs() < 1e-6);
        let once = growth(&steady(|n| if n == 12 { 8000 } else { 0 }));
        assert!(once < GROWTH_KIB_MAX, "{once}");
        let leak = growth(&steady(|n| (n * 400) as u64));
        assert!((leak - 5600.0).abs() < 1e-6, "{leak}");
    }
}
