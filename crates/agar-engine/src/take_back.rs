//! Takes sandboxes back from the trash.
//!
//! A sandbox that was given up with changes that were never applied keeps its layers for a grace
//! period. Until that is over, going back is one step.

use crate::here::Here;
use crate::turn::Turn;
use crate::{Engine, EngineError, SandboxView};
use crate::{find, view};
use agar_core::state::State;
use agar_store::{Sandbox, Scope};
use serde::{Deserialize, Serialize};

/// Asks for a sandbox from the trash.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TakeBackRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one in the trash.
    pub sandbox: Option<String>,
}

/// The sandbox is back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TakeBackAnswer {
    /// The sandbox, finished, with its changes.
    pub sandbox: SandboxView,
    /// The alias that it had, if another one has that by now.
    pub renamed_from: Option<String>,
}

/// Takes a sandbox back from the trash, with its changes.
pub fn take_back(
    engine: &Engine,
    request: &TakeBackRequest,
) -> Result<TakeBackAnswer, EngineError> {
    let here = engine.here()?;
    let record = match &request.sandbox {
        Some(name) => find::in_trash(here, name)?,
        None => only(here)?,
    };
    let in_the_way = |record: &Sandbox| EngineError::WrongState {
        doing: "take back",
        alias: record.alias.clone(),
        state: record.state,
    };
    // A clean-up that collects it right now has the turn; afterwards it is gone.
    let Some(_turn) = Turn::take_if_there(&here.sandbox(record.id))? else {
        return Err(in_the_way(&record));
    };
    let record = here.read(|store| store.sandbox(record.id))?;
    if record.state != State::Discarded {
        return Err(in_the_way(&record));
    }
    let entropy = &*engine.surroundings().entropy;
    let back = here.write(|store| store.take_back_sandbox(record.id, entropy, engine.now()))?;
    Ok(TakeBackAnswer {
        sandbox: view::sandbox(here, &back)?,
        renamed_from: (record.alias != back.alias).then_some(record.alias),
    })
}

/// The only one in the trash.
fn only(here: &Here) -> Result<Sandbox, EngineError> {
    let mut found = here.read(|store| store.sandboxes(here.project_id(), Scope::Kept))?;
    found.retain(|record| record.state == State::Discarded);
    match (found.pop(), found.len()) {
        (Some(record), 0) => Ok(record),
        (None, _) => Err(EngineError::Missing {
            doing: "take a sandbox back",
            what: "sandbox of this project in the trash".to_owned(),
        }),
        (Some(_), others) => Err(EngineError::SayWhichInTrash { count: others + 1 }),
    }
}
