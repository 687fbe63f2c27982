//! Many alive at once: what each takes, and whether calls grow slower.

use super::{BARE, COUNTER, add, incubator, peer, step};
use crate::case::kib;
use crate::measure::Samples;
use crate::table::Row;
use agar_evolve::{Cell, Chance, Engines, Genome, Rules, Spec};
use anyhow::Result;
use std::time::Instant;

/// In which order the living are called.
#[derive(Debug, Clone, Copy)]
enum Order {
    /// Here and there: each call finds nothing of its cell in the processor's caches.
    Random,
    /// One after the other as they were born, which is how batches and generations go.
    Birth,
}

impl Order {
    const fn words(self) -> &'static str {
        match self {
            Self::Random => "a call",
            Self::Birth => "a call, in order of birth",
        }
    }

    /// What is promised of a cell that the caller holds in hand. At random one line of memory is as much
    /// as a whole call, so that nothing is: what is promised there is a run by name, in `among`.
    const fn promised(self) -> Option<f64> {
        match self {
            Self::Random => None,
            Self::Birth => Some(2.0),
        }
    }

    /// Who is called after this one of so many.
    fn after(self, at: usize, count: usize, chance: &mut Chance) -> usize {
        match self {
            Self::Random => chance.below(count),
            Self::Birth => (at + 1) % count,
        }
    }
}

const CALLS: usize = 20_000;

/// A hundred to a hundred thousand, with memory and without, beside as many of the bare engine's.
pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (what, text, engines, most) in [
        ("no memory", BARE, Engines::Heavy, 10.0),
        ("no memory, interpreted", BARE, Engines::Light, 10.0),
        ("one page", COUNTER, Engines::Heavy, 16.0),
    ] {
        let genome = Genome::from_wat(text, &Rules::tiny())?;
        let mut least = [f64::NAN; 2];
        for count in [100_usize, 1_000, 10_000, 100_000] {
            let measured = measure(&genome, engines, count)?;
            let name = format!("{count} alive, {what}");
            if count > 100 {
                let (memory, maps) = (measured.memory, measured.mappings);
                let row = Row::value("evolve", &format!("{name}: memory each"), memory, "KiB");
                rows.push(row.at_most(most));
                let mappings = format!("{name}: mappings in all");
                rows.push(Row::value("evolve", &mappings, maps, ""));
            }
            for ((order, calls), least) in measured.calls.iter().zip(&mut least) {
                let row = in_microseconds(&format!("{name}: {}", order.words()), calls);
                rows.push(compared(row, least, order.promised()));
            }
        }
        if engines == Engines::Heavy {
            rows.extend(bare(what, text)?);
        }
    }
    Ok(rows)
}

/// The bare engine with as many alive, called at random: what a call among many costs at least.
fn bare(what: &str, text: &str) -> Result<Vec<Row>> {
    let engine = peer::Bare::crowded(text)?;
    let mut least = f64::NAN;
    let mut rows = Vec::new();
    for count in [100_usize, 100_000] {
        let mut living = Vec::with_capacity(count);
        for _ in 0..count {
            let mut alive = engine.alive()?;
            alive.once()?;
            living.push(alive);
        }
        let calls = called(&mut living, Order::Random, peer::Alive::once)?;
        let name = format!("{count} alive, {what}: a call, raw wasmtime");
        rows.push(compared(in_microseconds(&name, &calls), &mut least, None));
    }
    Ok(rows)
}

/// The row with its p99 as a share of that of the first, which is noted.
fn compared(row: Row, least: &mut f64, most: Option<f64>) -> Row {
    if least.is_nan() {
        *least = row.p99;
        return row;
    }
    let ratio = Some(row.p99 / *least);
    let row = Row { ratio, ..row };
    match most {
        Some(most) => row.ratio_at_most(most),
        None => row,
    }
}

pub(super) fn in_microseconds(name: &str, calls: &Samples) -> Row {
    let row = Row::times("evolve", name, calls);
    Row {
        unit: "µs",
        p50: row.p50 * 1_000.0,
        p99: row.p99 * 1_000.0,
        ..row
    }
}

/// What was seen of so many.
struct Measured {
    /// Kibibytes each.
    memory: f64,
    /// Mappings more than before.
    mappings: f64,
    calls: [(Order, Samples); 2],
}

fn measure(genome: &Genome, engines: Engines, count: usize) -> Result<Measured> {
    let incubator = incubator(engines);
    // Known beforehand, as a caller knows it: to ask the cell would be a wait for memory of its own.
    let once = match genome.facts().memory {
        Some(_) => step,
        None => add,
    };
    // The pools and the code are there before anyone lives.
    let first = incubator.create(genome, Spec::default())?;
    let before = (resident()?, mappings()?);
    let mut cells: Vec<Cell> = Vec::new();
    for _ in 0..count {
        let mut cell = incubator.create(genome, Spec::default())?;
        once(&mut cell)?;
        cells.push(cell);
    }
    let after = (resident()?, mappings()?);
    let calls = [
        (
            Order::Random,
            called(&mut cells, Order::Random, |cell| Ok(once(cell)?))?,
        ),
        (
            Order::Birth,
            called(&mut cells, Order::Birth, |cell| Ok(once(cell)?))?,
        ),
    ];
    drop((cells, first));
    #[expect(clippy::cast_precision_loss, reason = "a count of cells")]
    let memory = (after.0 - before.0) / count as f64;
    Ok(Measured {
        memory,
        mappings: after.1 - before.1,
        calls,
    })
}

/// Single calls, each timed.
fn called<T>(
    living: &mut [T],
    order: Order,
    once: impl Fn(&mut T) -> Result<()>,
) -> Result<Samples> {
    let mut samples = Samples::default();
    let mut at = 0_usize;
    let mut chance = Chance::of(&[1]);
    for _ in 0..CALLS {
        at = order.after(at, living.len().max(1), &mut chance);
        let Some(one) = living.get_mut(at) else {
            continue;
        };
        let begun = Instant::now();
        once(one)?;
        samples.push(begun.elapsed());
    }
    Ok(samples)
}

fn resident() -> Result<f64> {
    kib("/proc/self/status", "VmRSS:")
}

fn mappings() -> Result<f64> {
    let text = fs_err::read_to_string("/proc/self/maps")?;
    #[expect(clippy::cast_precision_loss, reason = "a count of lines")]
    Ok(text.lines().count() as f64)
}
