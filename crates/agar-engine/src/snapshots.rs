//! The snapshots there are.

use crate::answer::SnapshotView;
use crate::{Engine, EngineError};
use crate::{find, layers, travel, view};
use agar_store::Sandbox;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Asks which snapshots there are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotsRequest {
    /// Of this sandbox; of every sandbox of the project if left out.
    pub sandbox: Option<String>,
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListedSnapshot {
    /// The snapshot.
    #[serde(flatten)]
    pub snapshot: SnapshotView,
    /// What it alone added to the disk.
    pub disk_bytes: u64,
    /// Whether the sandbox's state descends from it: a restore without a name returns to it.
    pub is_head: bool,
}

/// The snapshots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SnapshotsAnswer {
    /// Oldest first, by sandbox.
    pub snapshots: Vec<ListedSnapshot>,
}

/// Lists the snapshots.
pub fn snapshots(
    engine: &Engine,
    request: &SnapshotsRequest,
) -> Result<SnapshotsAnswer, EngineError> {
    let here = engine.here()?;
    let records: Vec<Sandbox> = match &request.sandbox {
        Some(name) => vec![find::sandbox(here, Some(name))?],
        None => find::of_project(here)?,
    };
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    let mut listed = Vec::new();
    for record in &records {
        for snapshot in here.read(|store| store.snapshots(record.id))? {
            // A layer is counted for the first snapshot that has it.
            let trees = travel::shelves(&record.alias, &snapshot)?;
            let layers = trees.into_iter().flat_map(|tree| tree.kept);
            let new: Vec<PathBuf> = layers.filter(|layer| seen.insert(layer.clone())).collect();
            listed.push(ListedSnapshot {
                disk_bytes: new.iter().map(|layer| layers::disk_bytes(layer)).sum(),
                is_head: record.head == Some(snapshot.id),
                snapshot: view::snapshot(record, &snapshot),
            });
        }
    }
    Ok(SnapshotsAnswer { snapshots: listed })
}
