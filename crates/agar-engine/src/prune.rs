//! Clears away what nobody needs.

use crate::remove::RemovedView;
use crate::{Engine, EngineError};
use agar_core::size::Bytes;
use serde::{Deserialize, Serialize};

/// Asks for a clean-up. What is left out comes from the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PruneRequest {
    /// Remove sandboxes that nothing happened to for this long.
    pub idle_ms: Option<u64>,
    /// Keep at least this many of the newest.
    pub keep_last: Option<usize>,
    /// Remove the oldest until all sandboxes together are at most this large.
    pub disk_budget: Option<Bytes>,
    /// Of every project, not only the caller's.
    pub everywhere: bool,
    /// Empty the trash now, grace period or not.
    pub empty_trash: bool,
    /// Say what would happen, remove nothing.
    pub dry_run: bool,
}

/// What was cleared away, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PruneAnswer {
    /// Sandboxes.
    pub removed: Vec<RemovedView>,
    /// Generations that no sandbox needs any more.
    pub generations: u64,
    /// Entries of the trash that are gone for good.
    pub emptied: u64,
    /// Bytes given back to the disk.
    pub freed_bytes: u64,
    /// Bytes that wait in the trash.
    pub trash_bytes: u64,
    /// Whether this only says what would happen.
    pub dry_run: bool,
}

/// Clears away idle sandboxes, unneeded generations and old trash.
///
/// Never what agar did not make, never a sandbox whose jail is up, and never unpromoted changes
/// without a grace period in the trash.
pub fn prune(_engine: &Engine, _request: &PruneRequest) -> Result<PruneAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "prune",
        missing: "store",
    })
}
