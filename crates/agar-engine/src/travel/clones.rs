//! Clones of layers that something may still write to.

use crate::failure::EngineError;
use agar_sandbox::snapshot;
use std::path::{Path, PathBuf};

/// A clone to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clone {
    pub(crate) source: PathBuf,
    pub(crate) target: PathBuf,
}

/// Makes clones.
pub(crate) fn make(clones: &[Clone]) -> Result<(), EngineError> {
    for clone in clones {
        snapshot::clone_layer(&clone.source, &clone.target)?;
    }
    Ok(())
}

/// Whether a directory holds anything.
pub(crate) fn holds_something(directory: &Path) -> bool {
    !crate::layers::is_empty(directory)
}
