//! Clones of layers that something may still write to.

use crate::failure::EngineError;
use agar_sandbox::snapshot::{self, Rough};
use std::os::unix::fs::MetadataExt as _;
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

/// Begins clones of layers that are still written to.
pub(crate) fn begin(clones: &[Clone]) -> Result<Vec<Rough>, EngineError> {
    let begun = clones
        .iter()
        .map(|clone| Rough::begin(&clone.source, &clone.target));
    Ok(begun.collect::<Result<_, _>>()?)
}

/// Whether layers are together at most this large. Looks no further than it takes to know.
pub(crate) fn fit<'l>(layers: impl Iterator<Item = &'l Path>, bytes_max: u64) -> bool {
    if bytes_max == u64::MAX {
        return true;
    }
    let mut left = bytes_max;
    let mut waiting: Vec<PathBuf> = layers.map(Path::to_owned).collect();
    while let Some(directory) = waiting.pop() {
        for entry in directory.read_dir().into_iter().flatten().flatten() {
            let Ok(found) = entry.path().symlink_metadata() else {
                continue;
            };
            // An empty file costs something as well.
            match left.checked_sub(found.blocks() * 512 + ENTRY_BYTES) {
                Some(rest) => left = rest,
                None => return false,
            }
            if found.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    true
}

/// What making an entry costs, in bytes that could be copied meanwhile.
const ENTRY_BYTES: u64 = 4096;

/// Whether a directory holds anything.
pub(crate) fn holds_something(directory: &Path) -> bool {
    !crate::layers::is_empty(directory)
}
