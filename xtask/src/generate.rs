//! References that are written by the programs they describe, so that they cannot fall behind.

mod errors;

use crate::program;
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::Command;

/// The directory of the references, each of which the command prints by name.
const DIRECTORY: &str = "docs/reference";

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
        if fs_err::read_to_string(root.join(&path)).unwrap_or_default() != text {
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

/// Every reference by its path, as the command prints it now.
fn texts(root: &Path) -> Result<Vec<(String, String)>> {
    program::run(program::cargo(root).args(["build", "--quiet", "--package", "agar"]))?;
    let agar = root.join("target/debug/agar");
    let print = |name: &str| {
        let mut command = Command::new(&agar);
        program::read(command.args(["man", "--reference", name]).current_dir(root))
    };
    let pages = ["cli.md", "env.md", "config.md", "openapi.json"];
    let mut names: Vec<String> = pages.map(str::to_owned).to_vec();
    let schemas = program::read(Command::new(&agar).arg("schema").current_dir(root))?;
    names.extend(schemas.lines().map(|name| format!("schema/{name}.json")));
    let mut texts = vec![("errors.md".to_owned(), errors::table())];
    for name in names {
        let text = print(&name)?;
        texts.push((name, text));
    }
    let placed = |(name, text)| (format!("{DIRECTORY}/{name}"), text);
    Ok(texts.into_iter().map(placed).collect())
}
