//! The memory of a sandbox: a copy of an empty one.
//!
//! Making a database takes milliseconds and syncs; copying a few pages takes a fraction of one. The
//! template is made once for each schema and never changes.

use crate::memory::{MEMORY_VERSION, MemoryStore};
use crate::open::{self, OpenError};
use crate::schema::MEMORY;
use agar_core::id::SandboxId;
use agar_core::seam::Timestamp;
use rusqlite::params;
use std::io;
use std::path::{Path, PathBuf};

/// What the memory of a new sandbox says of itself.
#[derive(Debug, Clone, Copy)]
pub struct SandboxStart<'a> {
    /// The sandbox.
    pub sandbox: SandboxId,
    /// The memory it may graduate into.
    pub parent: &'a Path,
    /// When it was made.
    pub at: Timestamp,
}

/// Copies the template kept in `directory` to `to`. Nothing is opened: that waits until there is
/// something to write.
pub fn copy_template(directory: &Path, to: &Path) -> Result<(), OpenError> {
    let template = template(directory)?;
    match fs_err::copy(&template, to) {
        Ok(_) => Ok(()),
        Err(error) => Err(open::from_io(to, error)),
    }
}

/// The template's file, made where there is none.
fn template(directory: &Path) -> Result<PathBuf, OpenError> {
    let path = directory.join(format!("template-{MEMORY_VERSION}.db"));
    match fs_err::metadata(&path) {
        Ok(_) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            open::found(&path, &MEMORY)?;
            Ok(path)
        }
        Err(error) => Err(open::from_io(&path, error)),
    }
}

impl MemoryStore {
    /// Opens the memory of a sandbox and writes down whose it is, the first time.
    ///
    /// It is never synced: a killed process loses nothing of it, a power cut may. What counts is in
    /// the project's memory, which is.
    pub fn open_sandbox(path: &Path, start: SandboxStart<'_>) -> Result<Self, OpenError> {
        let memory = Self::open(path)?;
        memory
            .connection
            .execute_batch("PRAGMA synchronous = OFF")
            .map_err(|error| open::explain(path, error))?;
        memory
            .connection
            .prepare_cached(
                "INSERT OR IGNORE INTO sandbox_metadata (sandbox_id, parent_memory_path, created_at)
                 VALUES (?1, ?2, ?3)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    start.sandbox.to_string(),
                    start.parent.to_string_lossy(),
                    start.at.to_string()
                ])
            })
            .map_err(|error| open::explain(path, error))?;
        Ok(memory)
    }
}
