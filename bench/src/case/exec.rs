//! A command in a sandbox that is already there.

use super::{agar, clear, outside};
use crate::inside;
use crate::measure::{Contestant, in_turns};
use crate::table::{Row, compared};
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::{Command, NoControls};
use agar_testkit::World;
use anyhow::Result;
use std::time::Instant;

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
    let mut rows = compared("exec", &measured);
    if let Some(row) = rows.pop() {
        rows.push(row.at_most(5.0));
    }
    rows.extend(in_process(&world)?);
    clear(&world);
    Ok(rows)
}

/// The same without the command line around it: what the engine and the walls add to a spawn.
fn in_process(world: &World) -> Result<Vec<Row>> {
    let engine = inside::engine(world)?;
    let request = ExecRequest {
        sandbox: Some("bench-exec".to_owned()),
        command: Command::new(["/bin/true"]),
        ..ExecRequest::default()
    };
    let act = || {
        let (mut printed, mut silent) = (Vec::new(), NoControls);
        let start = Instant::now();
        exec(
            &engine,
            &request,
            inside::streams(&mut printed, &mut silent),
        )?;
        Ok(start.elapsed())
    };
    let measured = in_turns(
        200,
        vec![
            Contestant::command("plain spawn", || outside(world, "/bin/true", &[])),
            Contestant::new("agar exec in process", act),
        ],
    )?;
    let over = measured[1].1.p50() - measured[0].1.p50();
    let mut rows = compared("exec", &measured);
    rows.push(Row::value("exec", "in process, over a plain spawn", over, "ms").at_most(0.3));
    Ok(rows)
}
