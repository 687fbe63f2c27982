//! The first picture of a project, which copies it.

use super::{agar, outside, world_of};
use crate::measure::{Samples, timed};
use crate::table::Row;
use anyhow::Result;

/// Fifty thousand files against `cp -a`.
pub(crate) fn run() -> Result<Vec<Row>> {
    let mut copies = Samples::default();
    let mut freezes = Samples::default();
    for _ in 0..3 {
        let world = world_of(50_000)?;
        let target = world.outside().join("copy").to_string_lossy().into_owned();
        copies.push(timed(&mut outside(&world, "cp", &["-a", ".", &target]))?);
        freezes.push(timed(&mut agar(
            &world,
            &["run", "--rm", "--base=frozen", "--", "/bin/true"],
        ))?);
    }
    Ok(vec![
        Row::times("freeze", "cp -a, 50,000 files", &copies),
        Row::times("freeze", "first freeze, 50,000 files", &freezes)
            .beside(copies.p50())
            .at_most(2000.0),
    ])
}
