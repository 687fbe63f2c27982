//! Gives sandboxes up.

use crate::alive::{Mark, Stay};
use crate::here::Here;
use crate::turn::Turn;
use crate::unpromoted::is_unpromoted;
use crate::{Engine, EngineError};
use crate::{experiment, find, layers, raise, snapshot, travel, whereabouts};
use agar_core::id::SandboxId;
use agar_core::state::{Event, State};
use agar_store::Sandbox;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

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
    /// Why: `asked`, `idle`, `time to live over`, `over the disk budget`, `grace period over`,
    /// `trash emptied`.
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
    let points: BTreeSet<&String> = points.into_iter().collect();
    let mut records = match (request.all, names.as_slice()) {
        (true, _) => find::of_project(here)?,
        (false, []) if points.is_empty() => vec![find::sandbox(here, None)?],
        (false, names) => names
            .iter()
            .map(|name| find::sandbox(here, Some(name)))
            .collect::<Result<_, _>>()?,
    };
    // One that was named twice is removed once.
    let mut seen = BTreeSet::new();
    records.retain(|record| seen.insert(record.id));
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
        let given_up =
            || whereabouts::outside_of(here, record).is_ok_and(|it| layers::has_changes(&it));
        if record.state == State::Finished && given_up() {
            // Trouble with memory does not keep a sandbox alive.
            let decision = (false, request.feedback.as_deref());
            drop(experiment::decided(engine, here, record, decision));
        }
        removed.push(give_up(engine, here, record, request.force)?);
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
        raise::processes_inside(engine, here, record.id)?
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

/// Ends one sandbox and gives it up. What is in the trash stays there: only emptying it, or the end of
/// the grace period, deletes.
fn give_up(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    force: bool,
) -> Result<RemovedView, EngineError> {
    for _ in 0..TRIES_MAX {
        if let Some(in_trash) = try_to_give_up(engine, here, record, force)? {
            return Ok(RemovedView {
                id: record.id,
                alias: record.alias.clone(),
                in_trash,
                disk_bytes: None,
                idle_ms: None,
                why: "asked".to_owned(),
            });
        }
    }
    let now = here.read(|store| store.sandbox(record.id))?;
    Err(EngineError::WrongState {
        doing: "remove",
        alias: now.alias,
        state: now.state,
    })
}

/// The same in one turn: whoever came in between would put its jail up again. Whether it is in the
/// trash; nothing if it changed meanwhile.
fn try_to_give_up(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    force: bool,
) -> Result<Option<bool>, EngineError> {
    let turn = Turn::take_if_there(&here.sandbox(record.id))?;
    let current = match &turn {
        Some(_) if force => raise::down_in_turn(engine, here, record)?,
        // Something may have been started while those before it were removed.
        Some(_) => raise::down_if_idle(engine, here, (record, "remove"))?,
        None => here.read(|store| store.sandbox(record.id))?,
    };
    match (current.state, &turn) {
        (State::Collected, _) => Ok(Some(false)),
        (_, None) => give_up_missing(engine, here, record),
        (State::Discarded, Some(_)) => Ok(Some(true)),
        (
            State::Creating | State::Running | State::Paused | State::Finished | State::Promoted,
            Some(_),
        ) => give_up_in_turn(engine, here, &current),
    }
}

/// How often a sandbox is given up that somebody else uses or removes at the same moment.
const TRIES_MAX: u32 = 16;

/// Gives up a sandbox that has no jail, if it still is as this record says: to the trash if it
/// holds changes that were never applied, for good otherwise. Whether it is in the trash; nothing if
/// it has changed since.
pub(crate) fn give_up_unchanged(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
) -> Result<Option<bool>, EngineError> {
    match Turn::take_if_there(&here.sandbox(record.id))? {
        Some(_turn) => give_up_in_turn(engine, here, record),
        None => give_up_missing(engine, here, record),
    }
}

/// The same for whoever has the turn.
fn give_up_in_turn(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
) -> Result<Option<bool>, EngineError> {
    let current = here.read(|store| store.sandbox(record.id))?;
    if (current.state, current.updated) != (record.state, record.updated) {
        return Ok(None);
    }
    let unpromoted = is_unpromoted(here, &current)?;
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

/// Gives up a sandbox whose directory is gone: nothing of it is left but the record. One that another
/// command collects is on record as that before its directory goes.
fn give_up_missing(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
) -> Result<Option<bool>, EngineError> {
    let current = here.read(|store| store.sandbox(record.id))?;
    match current.state {
        // Whoever makes it is about to make the directory, or died and is swept up after.
        State::Creating | State::Collected => return Ok(None),
        State::Running | State::Paused => drop(raise::down_in_turn(engine, here, &current)?),
        State::Finished | State::Promoted | State::Discarded => {}
    }
    here.state.spend_reserve();
    layers::collect(engine, here, record.id)?;
    Ok(Some(false))
}
