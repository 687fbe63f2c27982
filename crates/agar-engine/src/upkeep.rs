//! Work for when nobody waits: a fresh generation for next time, and a portion of the trash.

use crate::draft::Freezing;
use crate::{Engine, EngineError};
use agar_sandbox::base::Bases;
use agar_sandbox::trash::Trash;
use serde::{Deserialize, Serialize};

/// How many files one portion of the trash is.
const PORTION: u64 = 20_000;

/// Asks for upkeep.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpkeepRequest {}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UpkeepAnswer {
    /// The generation that the next sandbox can start from.
    pub generation: Option<u64>,
    /// Files and directories of the trash that are gone.
    pub emptied: u64,
}

/// Freezes the project for next time and deletes a portion of the trash.
pub fn upkeep(engine: &Engine, _request: &UpkeepRequest) -> Result<UpkeepAnswer, EngineError> {
    let here = engine.here()?;
    let mut answer = UpkeepAnswer::default();
    if let Ok(known) = here.project(engine) {
        let bases = Bases::new(&known.found, &here.state, known.id);
        answer.generation = bases.freeze(&Freezing::of(engine))?;
    }
    answer.emptied = Trash::new(&here.state).empty(PORTION)?.removed;
    here.tidy()?;
    Ok(answer)
}
