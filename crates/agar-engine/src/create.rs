//! Makes a sandbox and leaves its jail up, ready for commands.

use crate::{Engine, EngineError, SandboxOptions, SandboxView};
use serde::{Deserialize, Serialize};

/// Asks for a sandbox.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CreateRequest {
    /// What it should be.
    pub options: SandboxOptions,
    /// Its name; two words are drawn if left out.
    pub alias: Option<String>,
}

/// The sandbox is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreateAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
}

/// Makes a sandbox from the caller's project.
pub fn create(_engine: &Engine, _request: &CreateRequest) -> Result<CreateAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "create a sandbox",
        missing: "jail",
    })
}
