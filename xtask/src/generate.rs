//! References that are written by the programs they describe, so that they cannot fall behind.

use crate::program;
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::Command;

/// Each reference and the words of the hidden command that prints it.
const REFERENCES: &[(&str, &[&str])] = &[
    ("docs/reference/cli.md", &["man", "--reference", "cli.md"]),
    ("docs/reference/env.md", &["man", "--reference", "env.md"]),
    (
        "docs/reference/config.md",
        &["man", "--reference", "config.md"],
    ),
    (
        "docs/reference/schema/apply.json",
        &["man", "--reference", "schema/apply.json"],
    ),
    (
        "docs/reference/schema/approve.json",
        &["man", "--reference", "schema/approve.json"],
    ),
    (
        "docs/reference/schema/config.json",
        &["man", "--reference", "schema/config.json"],
    ),
    (
        "docs/reference/schema/cp.json",
        &["man", "--reference", "schema/cp.json"],
    ),
    (
        "docs/reference/schema/create.json",
        &["man", "--reference", "schema/create.json"],
    ),
    (
        "docs/reference/schema/diff.json",
        &["man", "--reference", "schema/diff.json"],
    ),
    (
        "docs/reference/schema/doctor.json",
        &["man", "--reference", "schema/doctor.json"],
    ),
    (
        "docs/reference/schema/error.json",
        &["man", "--reference", "schema/error.json"],
    ),
    (
        "docs/reference/schema/exec.json",
        &["man", "--reference", "schema/exec.json"],
    ),
    (
        "docs/reference/schema/init.json",
        &["man", "--reference", "schema/init.json"],
    ),
    (
        "docs/reference/schema/inspect.json",
        &["man", "--reference", "schema/inspect.json"],
    ),
    (
        "docs/reference/schema/jail.json",
        &["man", "--reference", "schema/jail.json"],
    ),
    (
        "docs/reference/schema/logs.json",
        &["man", "--reference", "schema/logs.json"],
    ),
    (
        "docs/reference/schema/ls.json",
        &["man", "--reference", "schema/ls.json"],
    ),
    (
        "docs/reference/schema/prune.json",
        &["man", "--reference", "schema/prune.json"],
    ),
    (
        "docs/reference/schema/ps.json",
        &["man", "--reference", "schema/ps.json"],
    ),
    (
        "docs/reference/schema/rm.json",
        &["man", "--reference", "schema/rm.json"],
    ),
    (
        "docs/reference/schema/run.json",
        &["man", "--reference", "schema/run.json"],
    ),
    (
        "docs/reference/schema/try.json",
        &["man", "--reference", "schema/try.json"],
    ),
    (
        "docs/reference/schema/undo.json",
        &["man", "--reference", "schema/undo.json"],
    ),
];

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
