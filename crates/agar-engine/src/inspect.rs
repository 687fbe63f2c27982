//! Everything agar knows about one sandbox.

use crate::{Engine, EngineError, RunView, SandboxView};
use agar_core::seam::Timestamp;
use serde::{Deserialize, Serialize};

/// Asks about one sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InspectRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
}

/// One copy-on-write part of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackView {
    /// What it is: `project`, `bulk`, `home`, `root`.
    pub role: String,
    /// The path it covers.
    pub target: String,
    /// Where its changes are.
    pub upper: String,
    /// What lies below, topmost first.
    pub lowers: Vec<String>,
}

/// One line of a sandbox's journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventView {
    /// Its number in the project's journal.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// What: `run.started`.
    pub kind: String,
    /// The rest.
    pub data: serde_json::Value,
}

/// Everything about one sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InspectAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// Its copy-on-write parts.
    pub stacks: Vec<StackView>,
    /// Paths that do not exist inside.
    pub masks: Vec<String>,
    /// Names of the environment variables passed in.
    pub environment: Vec<String>,
    /// Its directory in agar's state.
    pub directory: String,
    /// Its size on disk.
    pub disk_bytes: u64,
    /// Its runs, oldest first.
    pub runs: Vec<RunView>,
    /// What the journal says about it.
    pub events: Vec<EventView>,
}

/// Tells everything about one sandbox.
pub fn inspect(_engine: &Engine, _request: &InspectRequest) -> Result<InspectAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "inspect a sandbox",
        missing: "store",
    })
}
