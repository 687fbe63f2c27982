//! The promised numbers, measured beside their peers in one run.

use crate::program;
use crate::test::browser;
use agar_testkit::world;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// The benchmark that needs the engines behind cells, and nothing of the command.
const CELLS: &str = "evolve";

/// The benchmark that needs the packages of the browser tests.
const PAGE: &str = "page";

/// Where a person's session has what is in memory, or root has something like it.
fn runtime() -> Option<PathBuf> {
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    session
        .into_iter()
        .chain(["/dev/shm".into()])
        .find(|path| path.is_dir())
}

/// Builds the measured programs as users get them and hands over to the benchmark program.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    let filters: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !word.starts_with("--"))
        .collect();
    if filters != [CELLS] {
        program::run(program::cargo(root).args(["build", "--release", "--package", "agar"]))?;
    }
    if filters.contains(&PAGE) {
        browser::install(root)?;
    }
    let cells = filters.is_empty() || filters.iter().any(|filter| CELLS.contains(filter));
    let features: &[&str] = if cells { &["--features", CELLS] } else { &[] };
    let mut bench = program::cargo(root);
    if let Some(runtime) = runtime() {
        bench.env(world::RUNTIME_VARIABLE, runtime);
    }
    program::run(
        bench
            .args(["run", "--quiet", "--release", "--package", "agar-bench"])
            .args(features)
            .arg("--")
            .args(words)
            .env(world::PROGRAM_VARIABLE, root.join("target/release/agar"))
            .env(
                world::DIRECTORY_VARIABLE,
                world::seen_inside(&root.join("target/tmp")),
            ),
    )
}
