//! Writes a project's first settings file.

use crate::settings::{FILE_NAME, detect, render};
use crate::view::shown;
use crate::{Engine, EngineError};
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::Path;

/// Asks for a settings file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InitRequest {
    /// Replace a file that is there.
    pub force: bool,
    /// Say what would be written, write nothing.
    pub dry_run: bool,
}

/// The settings file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitAnswer {
    /// Where it is.
    pub path: String,
    /// What the project seems to be: `cargo`, `npm`.
    pub kinds: Vec<String>,
    /// The check commands that were found.
    pub checks: Vec<String>,
    /// The file's text.
    pub text: String,
    /// Whether it was written.
    pub written: bool,
}

/// Looks at the project and writes a commented `agar.toml`.
pub fn init(engine: &Engine, request: &InitRequest) -> Result<InitAnswer, EngineError> {
    let here = engine.here()?;
    let root = &here.project(engine)?.found.root;
    let path = root.join(FILE_NAME);
    let found = detect(root);
    let text = render(&found);
    if !request.dry_run {
        write(&path, &text, request.force)?;
    }
    Ok(InitAnswer {
        path: shown(&path),
        kinds: found
            .iter()
            .map(|found| found.kind.word().to_owned())
            .collect(),
        checks: found
            .iter()
            .flat_map(|found| &found.checks)
            .map(|check| check.run.clone())
            .collect(),
        text,
        written: !request.dry_run,
    })
}

/// Writes the file whole, and never over one that is there unless asked to.
fn write(path: &Path, text: &str, force: bool) -> Result<(), EngineError> {
    let failed = || EngineError::io(format!("write {}", shown(path)));
    if force {
        return fs_err::write(path, text).map_err(failed());
    }
    let made = fs_err::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path);
    match made {
        Ok(mut file) => file.write_all(text.as_bytes()).map_err(failed()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(EngineError::AlreadyThere(path.to_owned()))
        }
        Err(error) => Err(failed()(error)),
    }
}
