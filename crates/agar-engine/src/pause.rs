//! Stops everything in a sandbox for a while.

use crate::snapshot::settled;
use crate::turn::Turn;
use crate::{Engine, EngineError, SandboxView};
use crate::{find, view};
use agar_core::state::{Event, State};
use serde::{Deserialize, Serialize};

/// Asks for everything in a sandbox to stop.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PauseRequest {
    /// The sandbox; may be left out when there is only one.
    pub sandbox: Option<String>,
}

/// Everything in it stands still.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PauseAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// How many processes stand still.
    pub processes: u32,
}

/// Asks for a paused sandbox to go on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResumeRequest {
    /// The sandbox; may be left out when there is only one.
    pub sandbox: Option<String>,
}

/// Everything in it goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResumeAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// How many processes go on.
    pub processes: u32,
}

/// Stops every process of a sandbox until it is resumed. Their time limits stand still, too.
pub fn pause(engine: &Engine, request: &PauseRequest) -> Result<PauseAnswer, EngineError> {
    let (sandbox, processes) = turn(engine, request.sandbox.as_deref(), Way::Stop)?;
    Ok(PauseAnswer { sandbox, processes })
}

/// Lets every process of a paused sandbox go on.
pub fn resume(engine: &Engine, request: &ResumeRequest) -> Result<ResumeAnswer, EngineError> {
    let (sandbox, processes) = turn(engine, request.sandbox.as_deref(), Way::Go)?;
    Ok(ResumeAnswer { sandbox, processes })
}

/// Which way.
#[derive(Clone, Copy)]
enum Way {
    Stop,
    Go,
}

fn turn(engine: &Engine, name: Option<&str>, way: Way) -> Result<(SandboxView, u32), EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, name)?;
    let _turn = Turn::take(&here.sandbox(record.id))?;
    let record = settled(engine, here, &record)?;
    let (doing, wanted, event) = match way {
        Way::Stop => ("pause", State::Running, Event::Pause),
        Way::Go => ("resume", State::Paused, Event::Resume),
    };
    if record.state != wanted {
        return Err(EngineError::WrongState {
            doing,
            alias: record.alias,
            state: record.state,
        });
    }
    let keeper = here.keeper(engine, record.id)?;
    match way {
        Way::Stop => keeper.pause()?,
        Way::Go => keeper.resume()?,
    };
    let advanced = here.write(|store| store.advance_sandbox(record.id, event, engine.now()));
    if let (Err(_), Way::Stop) = (&advanced, way) {
        // A record that says running must be true.
        keeper.resume()?;
    }
    advanced?;
    let processes = keeper.status()?.processes;
    let record = here.read(|store| store.sandbox(record.id))?;
    Ok((view::sandbox(here, &record)?, processes))
}
