//! What snapshots, restores and forks have in common: how the layers of a sandbox change, and how a
//! change that a crash cut short is finished or reversed.
//!
//! A change is noted in the sandbox's record before anything is made on disk, and replaced by its
//! outcome in one transaction at the end. In between only new directories appear; what there was is
//! not touched. So whoever finds a note that nobody works on needs to know one thing: which upper
//! layer is mounted. The note tells what to do about either answer.

mod automatic;
mod clones;
mod condense;
mod dispose;
mod frozen;
mod note;
mod retain;
mod rotate;
mod take;

pub(crate) use automatic::{WayBack, before_run, take_back, take_back_in_turn, undo_first};
pub(crate) use clones::{Clone, make as make_clones};
pub(crate) use condense::{condense_all, condensed, tend};
pub(crate) use dispose::{dispose, forget};
pub(crate) use note::{Arrival, Late, NewSnapshot, Note, settle, settle_all};
pub(crate) use retain::{count_excess, retain_all};
pub(crate) use rotate::{Enacted, Force, Guests, Places, enact};
pub(crate) use take::{Wish, kept_by, shown_by, take, take_within};

use crate::failure::EngineError;
use crate::here::Here;
use agar_sandbox::snapshot::Shelf;
use agar_store::{Sandbox, Snapshot};

/// The trees of a recorded snapshot.
pub(crate) fn shelves(alias: &str, snapshot: &Snapshot) -> Result<Vec<Shelf>, EngineError> {
    serde_json::from_str(&snapshot.stacks).map_err(|source| EngineError::Record {
        alias: format!("{alias}@{}", snapshot.name),
        source,
    })
}

/// Trees as they are recorded.
pub(crate) fn to_text(shelves: &[Shelf]) -> Result<String, EngineError> {
    serde_json::to_string(shelves).map_err(|source| EngineError::Record {
        alias: "a new snapshot".to_owned(),
        source,
    })
}

/// A snapshot by its full name: `calm-fern@s3`.
pub(crate) fn reference(record: &Sandbox, snapshot: &Snapshot) -> String {
    format!("{}@{}", record.alias, snapshot.name)
}

/// Splits `calm-fern@name` into the two names.
pub(crate) fn split(name: &str) -> (Option<&str>, Option<&str>) {
    let (sandbox, snapshot) = match name.split_once('@') {
        Some((sandbox, snapshot)) => (sandbox, Some(snapshot)),
        None => (name, None),
    };
    ((!sandbox.is_empty()).then_some(sandbox), snapshot)
}

/// The snapshot of that name, or the one that the sandbox's state descends from.
pub(crate) fn find(
    here: &Here,
    sandbox: &Sandbox,
    name: Option<&str>,
) -> Result<Snapshot, EngineError> {
    let missing = |name: &str, near: Option<String>| EngineError::NoSuchSnapshot {
        alias: sandbox.alias.clone(),
        name: agar_core::text::printable(name).into_owned(),
        near,
    };
    let Some(name) = name else {
        let none = || EngineError::NoSnapshotYet {
            alias: sandbox.alias.clone(),
        };
        let head = sandbox.head.ok_or_else(none)?;
        return here.read(|store| store.snapshot(head));
    };
    if let Some(snapshot) = here.read(|store| store.snapshot_named(sandbox.id, name))? {
        return Ok(snapshot);
    }
    let all = here.read(|store| store.snapshots(sandbox.id))?;
    let names = all.iter().map(|snapshot| snapshot.name.as_str());
    let near = agar_core::suggest::nearest(name, names);
    Err(missing(
        name,
        near.map(|near| format!("{}@{near}", sandbox.alias)),
    ))
}
