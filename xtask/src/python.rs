//! Packages from the Python index in a place of their own, for what only they can do.

use crate::program;
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The system's own interpreter, as for the tests.
const PYTHON: &str = "/usr/bin/python3";

/// Sees that the packages there are those of the list; answers with their interpreter.
pub(crate) fn install(list: &Path, place: &Path) -> Result<PathBuf> {
    let wanted = fs_err::read(list)?;
    let python = place.join("bin/python");
    let installed = place.join("installed.txt");
    if fs_err::read(&installed).is_ok_and(|text| text == wanted) {
        return Ok(python);
    }
    let mut make = Command::new(PYTHON);
    make.args(["-m", "venv", "--clear"]).arg(place);
    program::read(&mut make).context("install python3-venv")?;
    let mut fill = Command::new(&python);
    fill.args(["-m", "pip", "install", "--quiet", "--no-deps"])
        .args(["--disable-pip-version-check", "--only-binary=:all:"])
        .arg("--requirement")
        .arg(list);
    program::read(&mut fill).context("the packages cannot be had")?;
    fs_err::write(installed, wanted)?;
    Ok(python)
}
