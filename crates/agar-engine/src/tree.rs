//! How sandboxes and their snapshots descend from each other.

use crate::answer::SnapshotView;
use crate::{Engine, EngineError, SandboxView};
use crate::{find, view};
use agar_core::id::{SandboxId, SnapshotId};
use agar_store::{Sandbox, Scope, Snapshot};
use serde::{Deserialize, Serialize};

/// Asks for the lineage of sandboxes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TreeRequest {
    /// The sandbox to begin with; every one of the project that is not a fork if left out.
    pub sandbox: Option<String>,
    /// Begin with the oldest ancestor of that sandbox that is still there.
    pub family: bool,
}

/// The lineage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeAnswer {
    /// Sandboxes that descend from nothing that is shown, oldest first.
    pub roots: Vec<Branch>,
}

/// A sandbox with what descends from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// The sandbox it was forked from, which may be gone.
    pub parent: Option<SandboxId>,
    /// The snapshot it was forked from, which may be gone.
    pub origin: Option<SnapshotId>,
    /// How many forks lie between it and a sandbox that was created.
    pub depth: u32,
    /// The snapshot that its state descends from.
    pub head: Option<SnapshotId>,
    /// Its snapshots, oldest first.
    pub snapshots: Vec<Point>,
    /// Forks whose snapshot is gone.
    pub forks: Vec<Branch>,
}

/// A snapshot with the forks that began as it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The snapshot.
    #[serde(flatten)]
    pub snapshot: SnapshotView,
    /// The forks, oldest first.
    pub forks: Vec<Branch>,
}

/// Draws up the lineage.
pub fn tree(engine: &Engine, request: &TreeRequest) -> Result<TreeAnswer, EngineError> {
    let here = engine.here()?;
    let chosen = match &request.sandbox {
        Some(name) => Some(find::sandbox(here, Some(name))?),
        None => None,
    };
    let project = chosen
        .as_ref()
        .map(|record| record.project)
        .or(here.project_id());
    let growing = Growing {
        records: here.read(|store| store.sandboxes(project, Scope::Kept))?,
        snapshots: here.read(|store| store.snapshots_of(project))?,
        here,
    };
    let roots = match &chosen {
        Some(record) if request.family => vec![growing.branch(growing.oldest(record))?],
        Some(record) => vec![growing.branch(record)?],
        None => growing
            .records
            .iter()
            .filter(|record| growing.parent(record).is_none())
            .map(|record| growing.branch(record))
            .collect::<Result<_, _>>()?,
    };
    Ok(TreeAnswer { roots })
}

struct Growing<'a> {
    here: &'a crate::here::Here,
    records: Vec<Sandbox>,
    snapshots: Vec<Snapshot>,
}

impl Growing<'_> {
    /// The sandbox that another was forked from, if it is still there.
    fn parent(&self, record: &Sandbox) -> Option<&Sandbox> {
        let parent = record.parent?;
        self.records.iter().find(|other| other.id == parent)
    }

    /// The first of the line that a sandbox comes from, as far as it is still there.
    fn oldest<'a>(&'a self, record: &'a Sandbox) -> &'a Sandbox {
        let mut oldest = record;
        while let Some(parent) = self.parent(oldest) {
            oldest = parent;
        }
        oldest
    }

    fn branch(&self, record: &Sandbox) -> Result<Branch, EngineError> {
        let mut own: Vec<&Snapshot> = self
            .snapshots
            .iter()
            .filter(|snapshot| snapshot.sandbox == record.id)
            .collect();
        own.sort_by_key(|snapshot| snapshot.number);
        let points = own.iter().map(|snapshot| self.point(record, snapshot));
        let loose = self.records.iter().filter(|fork| {
            let known = |snapshot: &&Snapshot| Some(snapshot.id) == fork.origin;
            fork.parent == Some(record.id) && !own.iter().any(known)
        });
        Ok(Branch {
            sandbox: view::sandbox(self.here, record)?,
            parent: record.parent,
            origin: record.origin,
            depth: record.depth,
            head: record.head,
            snapshots: points.collect::<Result<_, _>>()?,
            forks: loose
                .map(|fork| self.branch(fork))
                .collect::<Result<_, _>>()?,
        })
    }

    fn point(&self, record: &Sandbox, snapshot: &Snapshot) -> Result<Point, EngineError> {
        let forks = self
            .records
            .iter()
            .filter(|fork| fork.origin == Some(snapshot.id));
        Ok(Point {
            snapshot: view::snapshot(record, snapshot),
            forks: forks
                .map(|fork| self.branch(fork))
                .collect::<Result<_, _>>()?,
        })
    }
}
