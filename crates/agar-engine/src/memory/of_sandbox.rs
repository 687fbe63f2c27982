//! What was tried in one sandbox, and what memory made of it.

use super::{ExperimentDetail, SandboxMemory, open};
use crate::{Engine, EngineError, find};
use agar_core::fault::{Fault as _, Kind};
use serde::{Deserialize, Serialize};

/// What was tried in a sandbox.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OfSandboxAnswer {
    /// Its experiments in our words, oldest first.
    pub experiments: Vec<ExperimentDetail>,
    /// The same in the words of the first seed.
    pub memories: Vec<SandboxMemory>,
}

/// Shows the experiments of a sandbox; none if nothing was tried in it on purpose.
pub fn of_sandbox(engine: &Engine, name: &str) -> Result<OfSandboxAnswer, EngineError> {
    let (here, memory) = open(engine)?;
    let record = find::sandbox(here, Some(name))?;
    let mut answer = OfSandboxAnswer::default();
    for id in memory.experiments_in(record.id)? {
        match memory.experiment(&id.to_string()) {
            Ok(detail) => answer.experiments.push(detail),
            // Taken back, or forgotten.
            Err(error) if error.kind() == Kind::NotFound => continue,
            Err(error) => return Err(error.into()),
        }
        answer.memories.push(memory.sandbox_memory(id)?);
    }
    answer.experiments.sort_by_key(|it| it.summary.number);
    Ok(answer)
}
