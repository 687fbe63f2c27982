//! Gives sandboxes up.

use crate::alive::{Mark, Stay};
use crate::blueprint::Blueprint;
use crate::here::Here;
use crate::{Engine, EngineError};
use crate::{find, layers, raise};
use agar_core::id::SandboxId;
use agar_core::state::{Event, State};
use agar_store::Sandbox;
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

/// Ends the sandboxes and gives up their changes.
///
/// Changes that were never applied stay in the trash for the grace period: the sandbox is
/// `discarded`, and `prune` collects it when the period is over.
pub fn remove(engine: &Engine, request: &RemoveRequest) -> Result<RemoveAnswer, EngineError> {
    let here = engine.here()?;
    let records = find::several(here, &request.sandboxes, request.all)?;
    if !request.force {
        for record in &records {
            refuse_busy(engine, here, record)?;
        }
    }
    let removed = records
        .iter()
        .map(|record| give_up(engine, here, record, "asked"))
        .collect::<Result<_, _>>()?;
    Ok(RemoveAnswer { removed })
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

/// Ends one sandbox and gives it up: to the trash if it holds changes that were never applied, for
/// good otherwise.
pub(crate) fn give_up(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    why: &str,
) -> Result<RemovedView, EngineError> {
    let record = raise::down(engine, here, record)?;
    let blueprint = Blueprint::of(&record)?;
    let unpromoted = record.state == State::Finished && layers::has_changes(&blueprint);
    if unpromoted {
        here.write(|store| store.advance_sandbox(record.id, Event::Discard, engine.now()))?;
    } else if record.state != State::Collected {
        // The record goes first; whoever dies in between is found by the mark, and the layers follow.
        let mark = Mark::leave(here.state.path(), record.id, Stay::UntilStopped)
            .map_err(EngineError::io("mark the sandbox as on its way out"))?;
        layers::collect(engine, here, record.id)?;
        mark.remove();
    }
    Ok(RemovedView {
        id: record.id,
        alias: record.alias,
        in_trash: unpromoted,
        disk_bytes: None,
        why: why.to_owned(),
    })
}
