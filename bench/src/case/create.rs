//! Cold create to the end of a first command that does nothing, and to its first instruction.

use super::{agar, bubblewrap, need, outside};
use crate::inside::{self, CLOCK};
use crate::measure::{Contestant, in_turns};
use crate::table::{Row, compared};
use agar_core::walls::BaseKind;
use agar_engine::run::{Afterwards, RunRequest, run as run_in_sandbox};
use agar_engine::{Command, NoControls, SandboxOptions};
use agar_testkit::World;
use anyhow::Result;

/// bubblewrap, a plain spawn and agar, each through its command line; then bubblewrap and the engine
/// in this process, until the first instruction.
pub(crate) fn run() -> Result<Vec<Row>> {
    need("bwrap", "bubblewrap")?;
    let world = World::with_repository(super::AGAR);
    let mut rows = command_line(&world)?;
    rows.extend(in_process(&world)?);
    Ok(rows)
}

fn command_line(world: &World) -> Result<Vec<Row>> {
    let measured = in_turns(
        200,
        vec![
            Contestant::command("bwrap, no copy-on-write", || {
                bubblewrap(world, &["/bin/true"])
            }),
            Contestant::command("plain spawn", || outside(world, "/bin/true", &[])),
            Contestant::command("agar run, live", || {
                agar(world, &["run", "--rm", "--base=live", "--", "/bin/true"])
            }),
            Contestant::command("agar run, frozen", || {
                agar(world, &["run", "--rm", "--base=frozen", "--", "/bin/true"])
            }),
        ],
    )?;
    Ok(promised(compared("create", &measured), 1.0))
}

fn in_process(world: &World) -> Result<Vec<Row>> {
    let engine = inside::engine(world)?;
    let in_engine = |base: BaseKind| {
        inside::until_first_instruction(|| {
            let request = RunRequest {
                options: SandboxOptions {
                    base: Some(base),
                    ..SandboxOptions::default()
                },
                command: Command::new(CLOCK),
                afterwards: Afterwards::Remove,
                ..RunRequest::default()
            };
            let (mut printed, mut silent) = (Vec::new(), NoControls);
            let streams = inside::streams(&mut printed, &mut silent);
            run_in_sandbox(&engine, &request, streams)?;
            Ok(printed)
        })
    };
    let in_bubblewrap =
        || inside::until_first_instruction(|| Ok(bubblewrap(world, &CLOCK).output()?.stdout));
    let measured = in_turns(
        200,
        vec![
            Contestant::new("bwrap, first instruction", in_bubblewrap),
            Contestant::new("agar in process, live, first instruction", || {
                in_engine(BaseKind::Live)
            }),
            Contestant::new("agar in process, frozen, first instruction", || {
                in_engine(BaseKind::Frozen)
            }),
        ],
    )?;
    Ok(promised(compared("create", &measured), 0.6))
}

fn promised(rows: Vec<Row>, most: f64) -> Vec<Row> {
    let promise = |row: Row| {
        if row.what.starts_with("agar") {
            row.ratio_at_most(most)
        } else {
            row
        }
    };
    rows.into_iter().map(promise).collect()
}
