//! The rules that no lint knows.
//!
//! Each rule is a function from the workspace to complaints; all of them are shown at once.

mod claims;
mod edges;
mod files;
mod words;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is allowed by hand, with reasons.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allowances {
    /// The most packages that `Cargo.lock` may name.
    packages_max: usize,
    /// Files that may be longer than the rest, and why.
    #[serde(default)]
    long_files: BTreeMap<PathBuf, String>,
}

/// Checks every rule.
pub(crate) fn run(root: &Path) -> Result<()> {
    let text = fs_err::read_to_string(root.join("xtask/tidy.toml"))?;
    let allowed: Allowances = toml::from_str(&text).context("xtask/tidy.toml cannot be read")?;
    let sources = sources(root)?;
    let mut complaints = edges::check(root)?;
    complaints.extend(files::check(root, &sources, &allowed)?);
    complaints.extend(claims::check(root)?);
    complaints.extend(words::check(root, &sources)?);
    if complaints.is_empty() {
        return Ok(());
    }
    for complaint in &complaints {
        println!("   {complaint}");
    }
    bail!("{} untidy things", complaints.len())
}

/// Every file of the workspace that is ours, relative to it.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(directory) = pending.pop() {
        for entry in fs_err::read_dir(root.join(&directory))? {
            let entry = entry?;
            let name = entry.file_name();
            if name == "target" || name == ".git" {
                continue;
            }
            let path = directory.join(&name);
            let kind = entry.file_type()?;
            if kind.is_dir() {
                pending.push(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
