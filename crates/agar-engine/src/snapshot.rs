//! Takes a snapshot of a sandbox.

use crate::answer::SnapshotView;
use crate::blueprint::Blueprint;
use crate::here::Here;
use crate::travel::{self, Wish};
use crate::turn::Turn;
use crate::{Engine, EngineError, SandboxView};
use crate::{find, view};
use agar_core::alias;
use agar_core::snapshot::SnapshotKind;
use agar_store::Sandbox;
use serde::{Deserialize, Serialize};

/// Asks for a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotRequest {
    /// The sandbox; may be left out when there is only one.
    pub sandbox: Option<String>,
    /// The snapshot's name; a number is given if left out.
    pub name: Option<String>,
    /// A few words about it.
    pub note: Option<String>,
}

/// The snapshot is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SnapshotAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// The snapshot.
    pub snapshot: SnapshotView,
    /// Whether the jail, in which nothing ran, had to be ended for it.
    pub jail_ended: bool,
}

/// Keeps the files of a sandbox as they are now under a name. Processes are not part of it.
pub fn snapshot(engine: &Engine, request: &SnapshotRequest) -> Result<SnapshotAnswer, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, request.sandbox.as_deref())?;
    check_name(request.name.as_deref())?;
    let _span = tracing::debug_span!("snapshot", sandbox = %record.id).entered();
    let _turn = Turn::take(&here.sandbox(record.id))?;
    let record = settled(engine, here, &record)?;
    if let Some(name) = &request.name
        && here
            .read(|store| store.snapshot_named(record.id, name))?
            .is_some()
    {
        return Err(agar_store::StoreError::AliasTaken(name.clone()).into());
    }
    let wish = Wish {
        name: request.name.as_deref(),
        note: request.note.as_deref(),
        kind: SnapshotKind::Asked,
    };
    let took = travel::take(engine, here, &record, &wish)?;
    let record = here.read(|store| store.sandbox(record.id))?;
    let blueprint = Blueprint::of(&record)?;
    travel::tend(engine, &record, &blueprint)?;
    let runs = here.read(|store| store.run_count(record.id))?;
    Ok(SnapshotAnswer {
        snapshot: view::snapshot(&record, &took.snapshot),
        sandbox: view::sandbox_with(&record, &blueprint, runs),
        jail_ended: took.jail_ended,
    })
}

/// A name has to be typed behind an `@`.
fn check_name(name: Option<&str>) -> Result<(), EngineError> {
    match name {
        Some(name) if !alias::is_alias_like(name) => Err(EngineError::Invalid(format!(
            "`{}` cannot be the name of a snapshot: use small letters, digits and dashes",
            agar_core::text::printable(name)
        ))),
        Some(_) | None => Ok(()),
    }
}

/// The record of a sandbox as it is now that the caller has the turn, with nothing under way.
pub(crate) fn settled(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
) -> Result<Sandbox, EngineError> {
    let record = here.read(|store| store.sandbox(record.id))?;
    if record.pending.is_none() {
        return Ok(record);
    }
    travel::settle(engine, here, &record)?;
    here.read(|store| store.sandbox(record.id))
}
