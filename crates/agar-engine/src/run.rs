//! One command in a sandbox of its own.

use crate::{
    ChangeView, Command, Engine, EngineError, RunView, SandboxOptions, SandboxView, Streams,
};
use serde::{Deserialize, Serialize};

/// What becomes of the sandbox after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Afterwards {
    /// Keep it if the project changed inside, else remove it.
    #[default]
    KeepChanges,
    /// Keep it.
    Keep,
    /// Remove it.
    Remove,
}

/// Asks for one command in a sandbox of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunRequest {
    /// What the sandbox should be.
    pub options: SandboxOptions,
    /// The command.
    pub command: Command,
    /// What becomes of the sandbox.
    pub afterwards: Afterwards,
}

/// The command ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunAnswer {
    /// The sandbox, whose jail has ended.
    pub sandbox: SandboxView,
    /// The run.
    pub run: RunView,
    /// Whether the sandbox is still there.
    pub kept: bool,
    /// What the run changed; only `try` computes it.
    pub changes: Option<ChangeView>,
}

/// Runs one command in a new sandbox and ends everything it started.
pub fn run(
    _engine: &Engine,
    _request: &RunRequest,
    _streams: Streams<'_>,
) -> Result<RunAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "run a command",
        missing: "jail",
    })
}
