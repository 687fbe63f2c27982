//! Prints what bases cost here: copying, freezing for the first time and again, drift. Run it with
//! `--release`; give a directory on the filesystem to be measured, and optionally a number of files.
#![expect(clippy::print_stdout, reason = "printing figures is all it does")]

use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use agar_sandbox::base::{Bases, Choice, PrepareError, Silent};
use agar_sandbox::copy::{Fidelity, tree};
use agar_sandbox::project::{self, StateDir, Surroundings};
use agar_sandbox::trash::Trash;
use std::error::Error;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let place = arguments.next().ok_or("name a directory to work in")?;
    let count: usize = match arguments.next() {
        Some(text) => text.to_string_lossy().parse()?,
        None => 50_000,
    };
    let place = Path::new(&place)
        .canonicalize()?
        .join(format!("agar-figures-{count}"));
    let source = place.join("source");
    if !source.exists() {
        plant(&source, count)?;
    }
    let uid = Metadata::uid(&place.metadata()?);
    let state = StateDir::open(&place.join("state"), uid)?;
    let around = Surroundings {
        uid,
        ..Surroundings::default()
    };
    let project = project::at(&source, &around)?;
    let id = ProjectId::new(Timestamp::from_millis(1), [7; 10]);
    let bases = Bases::new(&project, &state, id);
    let trash = Trash::new(&state);
    for _ in 0..3 {
        let target = state.sandboxes().join("copy");
        fs_err::create_dir_all(&target)?;
        timed("copy of the tree", || {
            tree(&source, &target, Fidelity::Project)
        })?;
        trash.discard(&target)?;
        trash.discard(&state.project(id))?;
        frozen("first freeze", &bases)?;
        frozen("nothing changed", &bases)?;
        frozen("nothing changed", &bases)?;
        fs_err::write(source.join("changed"), std::process::id().to_string())?;
        frozen("one file changed", &bases)?;
        timed("live", || bases.prepare(Choice::Live, &Silent))?;
    }
    Ok(())
}

fn frozen(what: &str, bases: &Bases<'_>) -> Result<(), PrepareError> {
    timed(what, || bases.prepare(Choice::Frozen, &Silent)).map(drop)
}

fn timed<T, E>(what: &str, act: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let (start, cpu) = (Instant::now(), processor_ms());
    let outcome = act()?;
    let wall = start.elapsed().as_secs_f64() * 1e3;
    println!(
        "{what:<18} {wall:>9.2} ms {:>9.2} ms of processor",
        processor_ms() - cpu
    );
    Ok(outcome)
}

/// What a busy machine does not distort.
fn processor_ms() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    std::time::Duration::try_from(time).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

/// Files of a few hundred bytes to a few kilobytes, ten to a directory.
fn plant(source: &Path, count: usize) -> std::io::Result<()> {
    for number in 0..count {
        let directory = source.join(format!("d{}/e{}", number / 500, number / 10));
        fs_err::create_dir_all(&directory)?;
        let line = format!("file {number}\n");
        fs_err::write(
            directory.join(format!("f{number}.rs")),
            line.repeat(10 + number % 300),
        )?;
    }
    Ok(())
}
