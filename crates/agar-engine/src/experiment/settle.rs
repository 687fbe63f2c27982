//! Experiments whose process died, concluded from what is on record.

use super::evidence::Gathered;
use super::mark::{self, Lost};
use super::{Open, OpenMark, directory};
use crate::Engine;
use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::wishes::Learning;
use agar_core::fault::{Fault as _, Kind};
use agar_core::id::ExperimentId;
use agar_memory::{Memory, Target};

/// Concludes every experiment that nobody minds any more. Costs one directory read when there is
/// none.
pub(crate) fn settle(engine: &Engine, here: &Here, learning: &Learning) -> Result<(), EngineError> {
    let memory = directory(here.state.path());
    let lost = mark::lost(&memory).map_err(EngineError::io("see which experiments are open"))?;
    for lost in lost {
        one(engine, here, lost, learning)?;
    }
    Ok(())
}

fn one(engine: &Engine, here: &Here, lost: Lost, learning: &Learning) -> Result<(), EngineError> {
    let Lost {
        experiment,
        sandbox,
        run,
        mark,
    } = lost;
    let Ok(record) = here.read(|store| store.sandbox(sandbox)) else {
        // Its sandbox never came to be.
        return withdraw(here, experiment, &mark, learning);
    };
    if record.state.is_alive() {
        return Ok(());
    }
    let runs = here.read(|store| store.runs(sandbox))?;
    let directory = directory(here.state.path());
    let memory = Memory::open(&directory, record.project, learning.tuning)?;
    let detail = match memory.experiment(&experiment.to_string()) {
        Ok(detail) => detail,
        Err(error) if error.kind() == Kind::NotFound => {
            mark.remove();
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    if detail.ending.is_some() {
        mark.remove();
        return Ok(());
    }
    let Some(run) = runs.iter().find(|it| it.number == run) else {
        // Its command never began: it is evidence of nothing.
        return withdraw(here, experiment, &mark, learning);
    };
    let confidence = memory.predict(&detail.suggestion, detail.summary.started)?;
    let open = Open {
        id: experiment,
        sandbox,
        memory,
        mark,
        confidence,
        shown: false,
        change: detail.suggestion.change_type(),
        agent: detail.suggestion.agent.clone(),
    };
    let blueprint = Blueprint::of(&record)?;
    let mut gathered = Gathered::of(here, (&record, &blueprint), run)?;
    gathered.checks_missing = learning.checks > 0;
    open.conclude(engine, here, &gathered.with(&[]))?;
    Ok(())
}

/// Takes back an experiment that has nothing to show.
fn withdraw(
    here: &Here,
    experiment: ExperimentId,
    mark: &OpenMark,
    learning: &Learning,
) -> Result<(), EngineError> {
    if let Some(project) = here.project_id() {
        let directory = directory(here.state.path());
        let mut memory = Memory::open(&directory, project, learning.tuning)?;
        match memory.forget(&Target::Name(experiment.to_string())) {
            Ok(_) => {}
            Err(error) if error.kind() == Kind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    mark.remove();
    Ok(())
}
