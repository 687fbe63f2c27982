//! Many at once: five hundred kept alive, what they cost while nobody looks, and how the host feels
//! when some of a hundred misbehave.

use super::rate::{self, Way};
use super::{agar, available, available_at_rest, clear, outside};
use crate::measure::timed;
use crate::table::Row;
use agar_testkit::{World, leaks};
use anyhow::Result;
use std::time::{Duration, Instant};

/// How many are kept alive.
const ALIVE: u32 = 500;
/// How long the idle ones are watched.
const WATCHED: Duration = Duration::from_secs(10);

/// Five hundred alive, and a crowd at work.
pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for way in rate::WAYS {
        rows.extend(alive(way)?);
    }
    rows.extend(at_work()?);
    Ok(rows)
}

fn alive(way: Way) -> Result<Vec<Row>> {
    let world = World::with_repository(super::AGAR);
    timed(&mut agar(&world, &["create", "--base=frozen"]))?;
    let before = available_at_rest()?;
    let each = |total: f64| total / f64::from(ALIVE);
    let made = way.made_in_a_second(&world, ALIVE)?;
    let memory = before - available()?;
    let used = processor_ms(&world);
    std::thread::park_timeout(WATCHED);
    let idle = processor_ms(&world).saturating_sub(used);
    let start = Instant::now();
    clear(&world);
    let destroyed = start.elapsed().as_secs_f64() * 1000.0;
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds of processor time are few"
    )]
    let percent = idle as f64 * 100.0 / WATCHED.as_secs_f64() / 1000.0;
    let row = |what: &str, value: f64, unit: &'static str| {
        Row::value("crowd", &format!("{}: {what}", way.name), value, unit)
    };
    Ok(vec![
        row("500 made, two at a time", made, "a second").at_least(200.0),
        row("memory of each of 500", each(memory), "KiB").at_most(768.0),
        row("500 idle, of one processor", percent, "%").at_most(1.0),
        row("destroyed, each", each(destroyed), "ms"),
    ])
}

/// Processor time so far of everything that runs for this world.
fn processor_ms(world: &World) -> u64 {
    let tick_ms = 1000 / rustix::param::clock_ticks_per_second().max(1);
    let ticks = leaks::processes_in(world.root())
        .into_iter()
        .map(|process| {
            let stat = fs_err::read_to_string(format!("/proc/{}/stat", process.pid));
            let stat = stat.unwrap_or_default();
            let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
            let fields = fields.split_whitespace().skip(11).take(2);
            fields
                .filter_map(|field| field.parse::<u64>().ok())
                .sum::<u64>()
        });
    ticks.sum::<u64>() * tick_ms
}

/// A plain spawn on the host while a hundred sandboxes write, one a fork bomb, one a disk filler.
fn at_work() -> Result<Vec<Row>> {
    let world = World::with_repository(super::AGAR);
    timed(&mut agar(&world, &["create", "--base=frozen"]))?;
    let mut lines =
        vec![r#"{"script":"echo x > x; for n in $(seq 200); do echo $n >> x; done"}"#; 300];
    lines.insert(5, r#"{"script":"f() { f | f & }; f; sleep 1000","limits":{"processes":200,"timeout_ms":10000}}"#);
    lines.insert(
        9,
        r#"{"script":"cat /dev/zero > full","limits":{"disk_bytes":67108864,"timeout_ms":10000}}"#,
    );
    world.write("../population.jsonl", lines.join("\n"));
    let mut quiet = samples(&world, 100)?;
    let mut crowd = world
        .command(["batch", "-j", "100", "../population.jsonl"])
        .spawn();
    let mut under = Vec::new();
    while !crowd.has_ended() {
        under.extend(samples(&world, 1)?);
    }
    drop(crowd.finish());
    clear(&world);
    let p99 = |samples: &mut Vec<f64>| {
        samples.sort_by(f64::total_cmp);
        let at = samples.len() * 99 / 100;
        samples
            .get(at.min(samples.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0.0)
    };
    Ok(vec![
        Row::value("crowd", "plain spawn, p99, quiet", p99(&mut quiet), "ms"),
        Row::value(
            "crowd",
            "plain spawn, p99, in a crowd of 100",
            p99(&mut under),
            "ms",
        )
        .at_most(50.0),
    ])
}

fn samples(world: &World, count: usize) -> Result<Vec<f64>> {
    (0..count)
        .map(|_| Ok(timed(&mut outside(world, "/bin/true", &[]))?.as_secs_f64() * 1000.0))
        .collect()
}
