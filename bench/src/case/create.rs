//! Cold create to the end of a first command that does nothing.

use super::{agar, bubblewrap, need, outside};
use crate::measure::{Contestant, in_turns};
use crate::table::{Row, compared};
use agar_testkit::World;
use anyhow::Result;

/// bubblewrap, a plain spawn and agar, each through its command line.
pub(crate) fn run() -> Result<Vec<Row>> {
    need("bwrap", "bubblewrap")?;
    let world = World::with_repository(super::AGAR);
    let measured = in_turns(
        200,
        vec![
            Contestant::command("bwrap, no copy-on-write", || {
                bubblewrap(&world, &["/bin/true"])
            }),
            Contestant::command("plain spawn", || outside(&world, "/bin/true", &[])),
            Contestant::command("agar run, live", || {
                agar(&world, &["run", "--rm", "--base=live", "--", "/bin/true"])
            }),
            Contestant::command("agar run, frozen", || {
                agar(&world, &["run", "--rm", "--base=frozen", "--", "/bin/true"])
            }),
        ],
    )?;
    let promise = |row: Row| {
        if row.what.starts_with("agar") {
            row.ratio_at_most(1.0)
        } else {
            row
        }
    };
    Ok(compared("create", &measured)
        .into_iter()
        .map(promise)
        .collect())
}
