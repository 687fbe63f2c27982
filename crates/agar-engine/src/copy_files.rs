//! Files into a sandbox, and out of it.

mod enter;
mod leave;

pub(crate) use leave::Reach;

use crate::{Engine, EngineError, SandboxView};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One end of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "side")]
pub enum Place {
    /// On the machine.
    Host {
        /// Absolute, or relative to the caller's directory.
        path: PathBuf,
    },
    /// In a sandbox.
    Sandbox {
        /// Its alias, id or a unique beginning.
        sandbox: String,
        /// Absolute, or relative to the project.
        path: PathBuf,
    },
}

/// Asks for a copy. Exactly one end lies in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyRequest {
    /// From here.
    pub from: Place,
    /// To here; into it, if it is a directory.
    pub to: Place,
}

/// The copy is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CopyAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// How many files.
    pub files: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// Copies files into or out of a sandbox.
pub fn copy_files(engine: &Engine, request: &CopyRequest) -> Result<CopyAnswer, EngineError> {
    match (&request.from, &request.to) {
        (Place::Host { path: from }, Place::Sandbox { sandbox, path }) => {
            let from = engine.surroundings().cwd.join(from);
            enter::copy_in(engine, &from, (sandbox, path))
        }
        (Place::Sandbox { sandbox, path }, Place::Host { path: to }) => {
            let to = engine.surroundings().cwd.join(to);
            leave::copy_out(engine, (sandbox, path), &to)
        }
        (Place::Host { .. }, Place::Host { .. })
        | (Place::Sandbox { .. }, Place::Sandbox { .. }) => Err(EngineError::Invalid(
            "exactly one side of a copy lies in a sandbox; write it as NAME:PATH".to_owned(),
        )),
    }
}
