//! Makes a sandbox and leaves its jail up, ready for commands.

mod many;

pub(crate) use self::many::COUNT_MAX;
pub use self::many::{Many, create_many};

use crate::alive::{Mark, Stay};
use crate::draft::{Draft, draft};
use crate::here::Here;
use crate::raise::Walls;
use crate::{Engine, EngineError, SandboxOptions, SandboxView};
use crate::{layers, raise, view};
use agar_sandbox::base::Choice;
use agar_store::Sandbox;
use serde::{Deserialize, Serialize};

/// Asks for a sandbox.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CreateRequest {
    /// What it should be.
    pub options: SandboxOptions,
    /// Its name; two words are drawn if left out.
    pub alias: Option<String>,
}

/// The sandbox is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreateAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// Commands that the settings want run in it, in order, before it is used.
    #[serde(default)]
    pub setup: Vec<String>,
}

/// Makes a sandbox from the caller's project.
pub fn create(engine: &Engine, request: &CreateRequest) -> Result<CreateAnswer, EngineError> {
    let (here, expected) = engine.here_raising(&request.options)?;
    let wanted = wanted(request);
    let draft = draft(engine, here, &request.options, wanted)?;
    let mark = Mark::leave(here.state.path(), draft.id(), Stay::UntilStopped)
        .map_err(EngineError::io("mark the sandbox as alive"))?;
    let directory = here.sandbox(draft.id());
    // The record first: a keeper that stays would be nobody's if this command died before.
    let made = layers::make(&directory, &draft.blueprint)
        .and_then(|()| here.write(|store| draft.record(engine, store)));
    let record = match made {
        Ok(record) => record,
        Err(error) => {
            here.throw_away(&directory)?;
            mark.remove();
            return Err(error);
        }
    };
    let sandbox = (record.id, &Walls::of(&record), &draft.blueprint);
    if let Err(error) = raise::stay(engine, here, sandbox, expected) {
        raise::abandon(engine, here, record.id)?;
        mark.remove();
        return Err(error);
    }
    Ok(answer(engine, here, (&record, draft)))
}

/// The base that a sandbox gets which is there to stay, and its name.
pub(crate) fn wanted(request: &CreateRequest) -> (Choice, Option<String>) {
    (Choice::Frozen, request.alias.clone())
}

/// What the faces are told.
pub(crate) fn answer(
    engine: &Engine,
    here: &Here,
    (record, draft): (&Sandbox, Draft),
) -> CreateAnswer {
    if let Some(due) = here.due(false) {
        engine.later(due);
    }
    CreateAnswer {
        sandbox: view::sandbox_with(record, &draft.blueprint, 0),
        setup: draft.setup,
    }
}
