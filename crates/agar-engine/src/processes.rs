//! What runs inside.

use crate::{Engine, EngineError};
use serde::{Deserialize, Serialize};

/// Asks what runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessesRequest {
    /// One sandbox; every living one of the project if left out.
    pub sandbox: Option<String>,
    /// Of every project.
    pub everywhere: bool,
}

/// One process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessView {
    /// The alias of its sandbox.
    pub sandbox: String,
    /// Its number inside.
    pub pid: u32,
    /// Its number on the machine.
    pub host_pid: u32,
    /// Its parent's number inside.
    pub parent: u32,
    /// Its command line, made printable.
    pub command: String,
    /// Processor time so far.
    pub cpu_ms: u64,
    /// Resident memory.
    pub memory_bytes: u64,
    /// How long it has run.
    pub age_ms: u64,
}

/// What runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessesAnswer {
    /// By sandbox, then by number.
    pub processes: Vec<ProcessView>,
}

/// Lists the processes inside one sandbox or all.
pub fn processes(
    _engine: &Engine,
    _request: &ProcessesRequest,
) -> Result<ProcessesAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "list processes",
        missing: "jail",
    })
}
