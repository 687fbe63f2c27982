//! Puts the jail of a finished sandbox up again.

use crate::{Engine, EngineError, SandboxView};
use crate::{find, raise, view};
use serde::{Deserialize, Serialize};

/// Asks for a jail around a sandbox that has none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StartRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
}

/// The jail is up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// Whether the jail had to be put up.
    pub started: bool,
}

/// Makes sure that the sandbox's jail is up.
pub fn start(engine: &Engine, request: &StartRequest) -> Result<StartAnswer, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, request.sandbox.as_deref())?;
    let up = raise::up(engine, here, record)?;
    Ok(StartAnswer {
        sandbox: view::sandbox(here, &up.record)?,
        started: up.started,
    })
}
