//! The same create over a small and a large project: size must not matter.

use super::{agar, world_of};
use crate::measure::{Contestant, in_turns, timed};
use crate::table::Row;
use anyhow::Result;

/// A hundred files against a hundred thousand, live and frozen.
pub(crate) fn run() -> Result<Vec<Row>> {
    let small = world_of(100)?;
    let large = world_of(100_000)?;
    let mut rows = Vec::new();
    for base in ["live", "frozen"] {
        let flag = format!("--base={base}");
        let words = ["run", "--rm", flag.as_str(), "--", "/bin/true"];
        // The first frozen one makes the generation, which is another benchmark.
        for world in [&small, &large] {
            timed(&mut agar(world, &words))?;
        }
        let measured = in_turns(
            if base == "live" { 100 } else { 20 },
            vec![
                Contestant::command(&format!("{base}, 100 files"), || agar(&small, &words)),
                Contestant::command(&format!("{base}, 100,000 files"), || agar(&large, &words)),
            ],
        )?;
        let peer = measured[0].1.p50();
        rows.push(Row::times("size", &measured[0].0, &measured[0].1));
        let large = Row::times("size", &measured[1].0, &measured[1].1);
        rows.push(large.beside(peer).ratio_at_most(1.1));
    }
    Ok(rows)
}
