//! Carrying changes into the project, journalled, and taking them back.

use super::{agar, clear, world_of};
use crate::measure::{Samples, timed};
use crate::table::Row;
use anyhow::Result;

/// Ten files and a thousand, each changed in a project of two thousand.
pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (files, rounds) in [(10, 50), (1000, 10)] {
        let world = world_of(2_000)?;
        let script = format!(
            "for n in $(seq 0 {}); do echo more >>d$((n / 100))/f$n; done",
            files - 1
        );
        let words = [
            "run",
            "--keep",
            "--base=frozen",
            "--",
            "/bin/sh",
            "-c",
            &script,
        ];
        timed(&mut agar(&world, &words))?;
        let mut applied = Samples::default();
        let mut undone = Samples::default();
        for _ in 0..rounds {
            applied.push(timed(&mut agar(&world, &["apply"]))?);
            undone.push(timed(&mut agar(&world, &["undo"]))?);
        }
        let row = Row::times("apply", &format!("agar apply, {files} files"), &applied);
        rows.push(if files == 10 { row.at_most(10.0) } else { row });
        rows.push(Row::times(
            "apply",
            &format!("agar undo, {files} files"),
            &undone,
        ));
        clear(&world);
    }
    Ok(rows)
}
