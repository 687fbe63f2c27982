//! Many alive at once: what each takes, and whether calls grow slower.

use super::{BARE, COUNTER, incubator};
use crate::case::kib;
use crate::measure::Samples;
use crate::table::Row;
use agar_evolve::{Cell, Engines, Genome, Rules, Spec, Value};
use anyhow::Result;
use std::time::Instant;

/// A thousand, ten thousand, a hundred thousand, with memory and without.
pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (what, text, most) in [("no memory", BARE, 10.0), ("one page", COUNTER, 16.0)] {
        let genome = Genome::from_wat(text, &Rules::tiny())?;
        let mut least = f64::NAN;
        for count in [100_usize, 1_000, 10_000, 100_000] {
            let (memory, maps, calls) = measure(&genome, count)?;
            let name = format!("{count} alive, {what}");
            if count > 100 {
                rows.push(
                    Row::value("evolve", &format!("{name}: memory each"), memory, "KiB")
                        .at_most(most),
                );
                rows.push(Row::value(
                    "evolve",
                    &format!("{name}: mappings in all"),
                    maps,
                    "",
                ));
            }
            let calls = Row::times("evolve", &format!("{name}: a call"), &calls);
            let calls = Row {
                unit: "µs",
                p50: calls.p50 * 1_000.0,
                p99: calls.p99 * 1_000.0,
                ..calls
            };
            if count == 100 {
                least = calls.p99;
                rows.push(calls);
            } else {
                let ratio = Some(calls.p99 / least);
                rows.push(Row { ratio, ..calls }.ratio_at_most(2.0));
            }
        }
    }
    Ok(rows)
}

/// Kibibytes each, mappings more, and single calls.
fn measure(genome: &Genome, count: usize) -> Result<(f64, f64, Samples)> {
    let incubator = incubator(Engines::Heavy);
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
    let mut samples = Samples::default();
    let mut at = 0_usize;
    for _ in 0..20_000 {
        at = (at + 7_919) % count;
        let Some(cell) = cells.get_mut(at) else {
            continue;
        };
        let begun = Instant::now();
        once(cell)?;
        samples.push(begun.elapsed());
    }
    drop((cells, first));
    #[expect(clippy::cast_precision_loss, reason = "a count of cells")]
    let each = (after.0 - before.0) / count as f64;
    Ok((each, after.1 - before.1, samples))
}

/// One call; of a cell with memory one that touches it.
fn once(cell: &mut Cell) -> Result<()> {
    if cell.genome().facts().memory.is_some() {
        cell.step(&[1])?;
    } else {
        cell.call("add", &[Value::I64(1)])?;
    }
    Ok(())
}

fn resident() -> Result<f64> {
    kib("/proc/self/status", "VmRSS:")
}

fn mappings() -> Result<f64> {
    let text = fs_err::read_to_string("/proc/self/maps")?;
    #[expect(clippy::cast_precision_loss, reason = "a count of lines")]
    Ok(text.lines().count() as f64)
}
