//! Ends what runs in sandboxes and keeps what they changed.

use crate::{Engine, EngineError, SandboxView};
use crate::{find, raise, view};
use serde::{Deserialize, Serialize};

/// Asks for jails to be taken down.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StopRequest {
    /// Aliases, ids or unique beginnings. Empty means the only one.
    pub sandboxes: Vec<String>,
    /// All of the project.
    pub all: bool,
}

/// The jails are gone, the layers are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopAnswer {
    /// Which had one.
    pub stopped: Vec<SandboxView>,
}

/// Takes the jails of the sandboxes down. Everything inside ends; `exec` puts them up again.
pub fn stop(engine: &Engine, request: &StopRequest) -> Result<StopAnswer, EngineError> {
    let here = engine.here()?;
    let records = find::several(here, &request.sandboxes, request.all)?;
    let mut stopped = Vec::new();
    for record in records.iter().filter(|record| record.state.is_alive()) {
        let record = raise::down(engine, here, record)?;
        stopped.push(view::sandbox(here, &record)?);
    }
    Ok(StopAnswer { stopped })
}
