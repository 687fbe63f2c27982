//! What applying and undoing share: recovery.

use crate::Engine;
use crate::failure::EngineError;
use crate::here::Here;

/// Finishes or reverses promotions that a crash cut short.
pub(crate) fn recover(_engine: &Engine, _here: &Here) -> Result<(), EngineError> {
    Ok(())
}
