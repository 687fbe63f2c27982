//! References that are written by the programs they describe, so that they cannot fall behind.

use crate::program;
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::Command;

/// Each reference and the words of the hidden command that prints it.
const REFERENCES: &[(&str, &[&str])] = &[];

/// Writes every reference.
pub(crate) fn write(root: &Path) -> Result<()> {
    for (path, text) in texts(root)? {
        let path = root.join(path);
        let parent = path.parent().context("a reference lies in a directory")?;
        fs_err::create_dir_all(parent)?;
        fs_err::write(&path, text)?;
    }
    Ok(())
}

/// Fails with the references that are out of date.
pub(crate) fn check(root: &Path) -> Result<()> {
    let mut stale = Vec::new();
    for (path, text) in texts(root)? {
        if fs_err::read_to_string(root.join(path)).unwrap_or_default() != text {
            stale.push(path);
        }
    }
    if !stale.is_empty() {
        bail!(
            "out of date; run `cargo xtask generate`: {}",
            stale.join(", ")
        );
    }
    Ok(())
}

fn texts(root: &Path) -> Result<Vec<(&'static str, String)>> {
    if REFERENCES.is_empty() {
        return Ok(Vec::new());
    }
    program::run(program::cargo(root).args(["build", "--quiet", "--package", "agar"]))?;
    let agar = root.join("target/debug/agar");
    let print = |words: &[&str]| program::read(Command::new(&agar).args(words).current_dir(root));
    REFERENCES
        .iter()
        .map(|(path, words)| Ok((*path, print(words)?)))
        .collect()
}
