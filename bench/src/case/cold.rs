//! What a command that remembers much costs more than one that remembers nothing.
//!
//! There is no daemon: each command is a process that opens the memory, asks it and ends, and that
//! is what people feel. Two worlds alike, one with a memory of so many experiments, take turns.
//!
//! `AGAR_BENCH_MEMORY` names other sizes, separated by commas.

use super::{agar, clear, memory};
use crate::measure::{Contestant, Samples, in_turns, timed};
use crate::table::{Row, compared};
use agar_core::id::ProjectId;
use agar_memory::{Memory, Tuning};
use agar_testkit::World;
use anyhow::{Context as _, Result, ensure};
use rustix::fs::{Advice, fadvise};
use std::path::Path;

/// Sizes that are measured.
const SIZES: [usize; 2] = [100_000, 1_000_000];

pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for size in memory::sizes(&SIZES)? {
        rows.extend(at_size(size)?);
    }
    Ok(rows)
}

fn at_size(size: usize) -> Result<Vec<Row>> {
    let (bare, full) = (World::with_repository(super::AGAR), filled(size)?);
    first(&bare)?;
    let (rounds, asked) = (60, memory::asked());
    let confidence = ["confidence", &asked];
    let attempt = ["try", "--suggestion", &asked, "--", "/bin/true"];
    let directory = full.state().join("agar/memory");
    let mut rows = Vec::new();
    for (what, words) in [("confidence", &confidence[..]), ("try", &attempt[..])] {
        let named = |memory: &str| format!("{size}: agar {what}, {memory}");
        let contestants = vec![
            Contestant::command(&named("nothing remembered"), || agar(&bare, words)),
            Contestant::command(&named("all remembered"), || agar(&full, words)),
            Contestant::new(&named("its files not in the page cache"), || {
                evict(&directory)?;
                timed(&mut agar(&full, words))
            }),
        ];
        let measured = in_turns(rounds, contestants)?;
        rows.extend(compared("cold", &measured));
        rows.push(added(size, what, &measured));
    }
    clear(&bare);
    clear(&full);
    Ok(rows)
}

/// What remembering adds.
fn added(size: usize, what: &str, measured: &[(String, Samples)]) -> Row {
    let most = if size > 100_000 { 60.0 } else { 20.0 };
    let more = measured[1].1.p50() - measured[0].1.p50();
    Row::value("cold", &format!("{size}: added to agar {what}"), more, "ms").at_most(most)
}

/// A world that remembers so many experiments of its project.
fn filled(size: usize) -> Result<World> {
    let world = World::with_repository(super::AGAR);
    let project = first(&world)?;
    let directory = world.state().join("agar/memory");
    let mut remembered = Memory::open(&directory, project, Tuning::default())?;
    remembered.load(&mut memory::outcomes(size)?)?;
    remembered.tidy()?;
    drop(remembered);
    let answer = world.agar(["confidence", &memory::asked(), "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&answer.success().stdout)?;
    let evidence = answer["evidence"].as_f64().unwrap_or_default();
    ensure!(
        evidence > 2.0,
        "nothing that was loaded is remembered: {answer}"
    );
    Ok(world)
}

/// The first experiment of a world, which makes its memory, and the project's id.
fn first(world: &World) -> Result<ProjectId> {
    let made = world.agar(["try", "--suggestion", "the first", "--", "/bin/true"]);
    made.success();
    let mut projects = fs_err::read_dir(world.state().join("agar/projects"))?;
    let entry = projects.next().context("the project is on record")??;
    let name = entry.file_name();
    let name = name.to_str().context("an id is plain text")?;
    Ok(name.parse()?)
}

/// Asks the kernel to let go of what it keeps of the files below a directory.
fn evict(directory: &Path) -> Result<()> {
    for entry in fs_err::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            if path.ends_with("index") {
                evict(&path)?;
            }
            continue;
        }
        let file = fs_err::File::open(&path)?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}
