//! Writes a project's first settings file.

use crate::{Engine, EngineError};
use serde::{Deserialize, Serialize};

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
pub fn init(_engine: &Engine, _request: &InitRequest) -> Result<InitAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "write a settings file",
        missing: "settings",
    })
}
