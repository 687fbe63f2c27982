//! A command in a sandbox that is already there.

use super::{agar, clear, outside};
use crate::measure::{Contestant, in_turns};
use crate::table::{Row, compared};
use agar_testkit::World;
use anyhow::Result;

/// A plain spawn against `agar exec`.
pub(crate) fn run() -> Result<Vec<Row>> {
    let world = World::with_repository(super::AGAR);
    world.agar(["create", "--name=bench-exec"]).success();
    let measured = in_turns(
        200,
        vec![
            Contestant::command("plain spawn", || outside(&world, "/bin/true", &[])),
            Contestant::command("agar exec", || {
                agar(&world, &["exec", "bench-exec", "--", "/bin/true"])
            }),
        ],
    )?;
    clear(&world);
    let mut rows = compared("exec", &measured);
    if let Some(row) = rows.pop() {
        rows.push(row.at_most(5.0));
    }
    Ok(rows)
}
