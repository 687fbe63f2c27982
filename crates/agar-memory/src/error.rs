//! What can go wrong with a memory.

use agar_core::fault::{Fault, Kind, Remedy};
use agar_store::{OpenError, StoreError};
use std::io;
use std::path::PathBuf;

/// A memory could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The database could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The database refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the index could not be read.
    #[error("cannot read the index of the memory in {}", .directory.display())]
    Index {
        /// Where the index lies.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process put other index files into force meanwhile. Looking again helps.
    #[error("the index of the memory moved while it was read")]
    IndexMoved,
    /// A file beside the database could not be used.
    #[error("cannot use a file of the memory")]
    File(#[source] io::Error),
    /// The reference names nothing.
    #[error("the memory has nothing called `{0}`")]
    Missing(String),
    /// The reference names several things.
    #[error("`{name}` could be {}", .candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// What it could be.
        candidates: Vec<String>,
    },
    /// The experiment has ended before.
    #[error("experiment {0} has already ended")]
    Ended(String),
    /// A line of an import cannot be read.
    #[error("line {line} is not an exported memory: {what}")]
    NotAnExport {
        /// Which line.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// Readers of other processes kept the log from being emptied.
    #[error(
        "another process keeps the deleted text in the memory's log; try again when it is done"
    )]
    StillInLog,
}

impl MemoryError {
    pub(crate) fn io(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl Fault for MemoryError {
    fn kind(&self) -> Kind {
        match self {
            Self::Open(error) => error.kind(),
            Self::Store(error) => error.kind(),
            Self::Missing(_) => Kind::NotFound,
            Self::Ambiguous { .. } | Self::NotAnExport { .. } => Kind::Invalid,
            Self::Ended(_) | Self::StillInLog | Self::IndexMoved => Kind::Conflict,
            Self::File(error)
                if [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded]
                    .contains(&error.kind()) =>
            {
                Kind::Limit
            }
            Self::Index { .. } | Self::File(_) => Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Open(error) => error.remedy(),
            Self::Store(error) => error.remedy(),
            Self::Index { .. } | Self::File(_) => Some(Remedy::Diagnose),
            Self::Missing(_)
            | Self::Ambiguous { .. }
            | Self::Ended(_)
            | Self::NotAnExport { .. }
            | Self::StillInLog
            | Self::IndexMoved => None,
        }
    }
}
