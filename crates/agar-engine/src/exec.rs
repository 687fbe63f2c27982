//! One more command in a sandbox that is there.

use crate::{Caller, Command, Engine, EngineError, RunView, SandboxView, Streams};
use serde::{Deserialize, Serialize};

/// Asks for a command in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExecRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
    /// The command.
    pub command: Command,
    /// Who asks.
    pub caller: Caller,
}

/// The command ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// Whether its jail had to be put up first.
    pub started: bool,
    /// The run.
    pub run: RunView,
}

/// Runs a command in the sandbox, whose jail is put up if it is not.
///
/// What the command left running goes on until the sandbox ends.
pub fn exec(
    _engine: &Engine,
    _request: &ExecRequest,
    _streams: Streams<'_>,
) -> Result<ExecAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "run a command",
        missing: "jail",
    })
}
