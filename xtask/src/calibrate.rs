//! The confidence, scored on a stream of past outcomes.

use crate::program;
use anyhow::{Context as _, Result};
use std::path::Path;

/// Builds the replay as fast as it gets and hands the stream over to it.
pub(crate) fn run(root: &Path, file: &str) -> Result<()> {
    // The replay runs at the top of the workspace, wherever this task was typed.
    let file = std::path::absolute(file).context("the stream has no place")?;
    let example = ["--package", "agar-memory", "--example", "calibrate"];
    program::run(
        program::cargo(root)
            .args(["run", "--quiet", "--release"])
            .args(example)
            .arg("--")
            .arg(file),
    )
}
