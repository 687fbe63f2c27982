//! The packages that drive the browser, from npm by their lock file.

use crate::program;
use anyhow::{Context as _, Result};
use std::path::Path;
use std::process::Command;

/// Where the browser tests are, from the top of the workspace.
pub(crate) const DIRECTORY: &str = "crates/agar-server/browser";

/// Sees that the packages are those of the lock file.
pub(crate) fn install(root: &Path) -> Result<()> {
    let directory = root.join(DIRECTORY);
    let wanted = fs_err::read(directory.join("package-lock.json"))?;
    // npm's own record of what it installed is written differently: a copy of ours says it best.
    let installed = directory.join("node_modules/.installed-lock.json");
    if fs_err::read(&installed).is_ok_and(|text| text == wanted) {
        return Ok(());
    }
    let mut command = Command::new("npm");
    command
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(&directory);
    program::read(&mut command).with_context(|| {
        format!(
            "install them: cd {DIRECTORY} && {}",
            program::words(&command)
        )
    })?;
    fs_err::write(installed, wanted)?;
    Ok(())
}

/// Sees that the scripts of the page use each other as they are meant.
pub(crate) fn types(root: &Path) -> Result<()> {
    let directory = root.join(DIRECTORY);
    let mut command = Command::new("/usr/bin/node");
    command
        .args(["node_modules/typescript/bin/tsc", "--project", "."])
        .current_dir(&directory);
    program::run(&mut command)
}
