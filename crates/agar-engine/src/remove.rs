//! Gives sandboxes up.

use crate::{Engine, EngineError};
use agar_core::id::SandboxId;
use serde::{Deserialize, Serialize};

/// Asks for sandboxes to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoveRequest {
    /// Their aliases, ids or unique beginnings. Empty means the only one.
    pub sandboxes: Vec<String>,
    /// All of the project.
    pub all: bool,
    /// Also those in which processes run.
    pub force: bool,
}

/// One sandbox that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedView {
    /// Its id.
    pub id: SandboxId,
    /// Its alias.
    pub alias: String,
    /// Whether its changes lie in the trash for the grace period.
    pub in_trash: bool,
    /// Its size on disk, where that was counted.
    pub disk_bytes: Option<u64>,
    /// Why it was removed: `asked`, `idle`, `beyond keep-last`, `over the disk budget`.
    pub why: String,
}

/// The sandboxes are gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoveAnswer {
    /// Which.
    pub removed: Vec<RemovedView>,
}

/// Ends the sandboxes and gives up their changes; unpromoted changes go to the trash.
pub fn remove(_engine: &Engine, _request: &RemoveRequest) -> Result<RemoveAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "remove a sandbox",
        missing: "store",
    })
}
