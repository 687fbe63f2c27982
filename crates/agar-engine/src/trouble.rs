//! Why what a sandbox was made for could not be run at all.
//!
//! An experiment that fails is remembered as one. What fails before it begins (a command of the
//! set-up, walls that do not stand) leaves no experiment, and whoever started it may not be there to
//! hear of it. So the reason lies beside the sandbox, and goes with it.

use crate::{Engine, EngineError};
use agar_core::id::SandboxId;
use agar_core::secret::redact;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Its name in the directory of the sandbox.
const FILE: &str = "trouble";
/// No reason is longer.
const BYTES_MAX: usize = 4 << 10;

fn file(engine: &Engine, sandbox: SandboxId) -> Result<PathBuf, EngineError> {
    Ok(engine.here()?.sandbox(sandbox).join(FILE))
}

fn failed(doing: &'static str) -> impl FnOnce(std::io::Error) -> EngineError {
    move |source| EngineError::Io {
        doing: doing.to_owned(),
        source,
    }
}

/// Why the work of a sandbox could not be done, if it could not.
pub fn trouble(engine: &Engine, sandbox: SandboxId) -> Result<Option<String>, EngineError> {
    match fs_err::read(file(engine, sandbox)?) {
        Ok(reason) => Ok(Some(String::from_utf8_lossy(&reason).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read why a sandbox failed")(error)),
    }
}

/// Keeps why the work of a sandbox could not be done, until something else is asked of it. It may
/// quote a command, so secrets are struck out as they are in whatever else is kept.
pub fn note_trouble(engine: &Engine, sandbox: SandboxId, reason: &str) -> Result<(), EngineError> {
    let reason = redact(reason);
    let reason = reason.get(..reason.floor_char_boundary(BYTES_MAX));
    let reason = reason.unwrap_or_default();
    fs_err::write(file(engine, sandbox)?, reason).map_err(failed("keep why a sandbox failed"))
}

/// Something else is asked of a sandbox.
pub fn clear_trouble(engine: &Engine, sandbox: SandboxId) -> Result<(), EngineError> {
    match fs_err::remove_file(file(engine, sandbox)?) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("forget why a sandbox failed")(error)),
    }
}
