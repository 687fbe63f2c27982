//! The sandboxes there are.

use crate::{Engine, EngineError, RunView, SandboxView};
use serde::{Deserialize, Serialize};

/// Asks which sandboxes there are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListRequest {
    /// Of every project, not only the caller's.
    pub everywhere: bool,
    /// Also those whose layers are gone.
    pub collected: bool,
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// The sandbox.
    #[serde(flatten)]
    pub sandbox: SandboxView,
    /// How many paths of the project changed in it, if that could be counted quickly.
    pub changed_files: Option<u64>,
    /// Its last run.
    pub last_run: Option<RunView>,
    /// Processor use of what runs in it, in percent of one processor.
    pub cpu_percent: Option<u32>,
    /// Memory of what runs in it.
    pub memory_bytes: Option<u64>,
}

/// The sandboxes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListAnswer {
    /// Oldest first.
    pub sandboxes: Vec<Listed>,
}

/// Lists the sandboxes.
pub fn list(_engine: &Engine, _request: &ListRequest) -> Result<ListAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "list the sandboxes",
        missing: "store",
    })
}
