//! Gives sandboxes up.

use crate::alive::{Mark, Stay};
use crate::blueprint::Blueprint;
use crate::here::Here;
use crate::turn::Turn;
use crate::{Engine, EngineError};
use crate::{experiment, find, layers, raise, snapshot, travel};
use agar_core::id::SandboxId;
use agar_core::state::{Event, State};
use agar_store::Sandbox;
use serde::{Deserialize, Serialize};

/// Asks for sandboxes to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoveRequest {
    /// Their aliases, ids or unique beginnings, or `calm-fern@name` for a snapshot. Empty means the
    /// only one.
    pub sandboxes: Vec<String>,
    /// All of the project.
    pub all: bool,
    /// Also those in which processes run.
    pub force: bool,
    /// What the person thinks of them, for memory.
    pub feedback: Option<String>,
}

/// One sandbox or snapshot that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedView {
    /// The sandbox's id.
    pub id: SandboxId,
    /// Its alias, or the snapshot's reference.
    pub alias: String,
    /// Whether its changes lie in the trash for the grace period.
    pub in_trash: bool,
    /// Its size on disk, where that was counted.
    pub disk_bytes: Option<u64>,
    /// For how long nothing had happened to it, where that mattered.
    pub idle_ms: Option<u64>,
    /// Why: `asked`, `idle`, `time to live over`, `over the disk budget`, `grace period over`.
    pub why: String,
}

/// The sandboxes are gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoveAnswer {
    /// Which.
    pub removed: Vec<RemovedView>,
}

/// Ends the sandboxes and gives up their changes.
///
/// Changes that were never applied stay in the trash for the grace period: the sandbox is
/// `discarded`, and `prune` collects it when the period is over.
pub fn remove(engine: &Engine, request: &RemoveRequest) -> Result<RemoveAnswer, EngineError> {
    let here = engine.here()?;
    let (points, names): (Vec<&String>, Vec<&String>) = request
        .sandboxes
        .iter()
        .partition(|name| name.contains('@'));
    let records = match (request.all, names.as_slice()) {
        (true, _) => find::of_project(here)?,
        (false, []) if points.is_empty() => vec![find::sandbox(here, None)?],
        (false, names) => names
            .iter()
            .map(|name| find::sandbox(here, Some(name)))
            .collect::<Result<_, _>>()?,
    };
    if let Some(gone) = records.iter().find(|it| it.state == State::Collected) {
        return Err(EngineError::WrongState {
            doing: "remove",
            alias: gone.alias.clone(),
            state: gone.state,
        });
    }
    if !request.force {
        for record in &records {
            refuse_busy(engine, here, record)?;
        }
    }
    let mut removed = Vec::new();
    for name in points {
        removed.push(forget(engine, here, name)?);
    }
    for record in &records {
        let given_up = || Blueprint::of(record).is_ok_and(|it| layers::has_changes(&it));
        if record.state == State::Finished && given_up() {
            // Trouble with memory does not keep a sandbox alive.
            let decision = (false, request.feedback.as_deref());
            drop(experiment::decided(engine, here, record, decision));
        }
        removed.push(give_up(engine, here, record)?);
    }
    Ok(RemoveAnswer { removed })
}

/// Forgets one snapshot; its layers go unless something else stands on them.
fn forget(engine: &Engine, here: &Here, name: &str) -> Result<RemovedView, EngineError> {
    let (sandbox, snapshot) = travel::split(name);
    let record = find::sandbox(here, sandbox)?;
    let _turn = Turn::take(&here.sandbox(record.id))?;
    let record = snapshot::settled(engine, here, &record)?;
    let snapshot = travel::find(here, &record, snapshot)?;
    here.state.spend_reserve();
    travel::forget(engine, here, &record, (&snapshot, "asked"))?;
    Ok(RemovedView {
        id: record.id,
        alias: format!("{}@{}", record.alias, snapshot.name),
        in_trash: false,
        disk_bytes: None,
        idle_ms: None,
        why: "asked".to_owned(),
    })
}

fn refuse_busy(engine: &Engine, here: &Here, record: &Sandbox) -> Result<(), EngineError> {
    let count = if record.state.is_alive() {
        raise::processes_inside(engine, here, record.id)
    } else {
        0
    };
    if count == 0 {
        return Ok(());
    }
    Err(EngineError::Busy {
        doing: "remove",
        alias: record.alias.clone(),
        count,
    })
}

/// Ends one sandbox and gives it up.
fn give_up(engine: &Engine, here: &Here, record: &Sandbox) -> Result<RemovedView, EngineError> {
    let record = raise::down(engine, here, record)?;
    let in_trash = give_up_unchanged(engine, here, &record)?;
    Ok(RemovedView {
        id: record.id,
        alias: record.alias,
        in_trash: in_trash.unwrap_or(false),
        disk_bytes: None,
        idle_ms: None,
        why: "asked".to_owned(),
    })
}

/// Gives up a sandbox that has no jail, if it still is as this record says: to the trash if it
/// holds changes that were never applied, for good otherwise. Whether it is in the trash; nothing if
/// it has changed since.
pub(crate) fn give_up_unchanged(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
) -> Result<Option<bool>, EngineError> {
    let Some(_turn) = Turn::take_if_there(&here.sandbox(record.id))? else {
        return Ok(None);
    };
    let current = here.read(|store| store.sandbox(record.id))?;
    if (current.state, current.updated) != (record.state, record.updated) {
        return Ok(None);
    }
    let unpromoted = is_unpromoted(&current)?;
    here.state.spend_reserve();
    if unpromoted {
        here.write(|store| store.advance_sandbox(record.id, Event::Discard, engine.now()))?;
    } else if current.state != State::Collected {
        // The record goes first; whoever dies in between is found by the mark, and the layers follow.
        let mark = Mark::leave(here.state.path(), record.id, Stay::UntilStopped)
            .map_err(EngineError::io("mark the sandbox as on its way out"))?;
        layers::collect(engine, here, record.id)?;
        mark.remove();
    }
    Ok(Some(unpromoted))
}

/// Whether giving a sandbox up would lose changes that were never applied.
pub(crate) fn is_unpromoted(record: &Sandbox) -> Result<bool, EngineError> {
    Ok(record.state == State::Finished && layers::has_changes(&Blueprint::of(record)?))
}
