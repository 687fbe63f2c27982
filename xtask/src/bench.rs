//! The promised numbers, measured beside their peers in one run.

use crate::program;
use agar_testkit::world;
use anyhow::Result;
use std::path::Path;

/// Builds the measured programs as users get them and hands over to the benchmark program.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    program::run(program::cargo(root).args(["build", "--release", "--package", "agar"]))?;
    program::run(
        program::cargo(root)
            .args([
                "run",
                "--quiet",
                "--release",
                "--package",
                "agar-bench",
                "--",
            ])
            .args(words)
            .env(world::PROGRAM_VARIABLE, root.join("target/release/agar"))
            .env(world::DIRECTORY_VARIABLE, root.join("target/tmp")),
    )
}
