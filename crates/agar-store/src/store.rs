//! The store as its users hold it: a reader that never waits, a writer that is all or nothing.

use crate::schema;
use agar_core::fault::{Fault, Kind, Remedy};
use agar_core::state::OutOfTurn;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};

/// A log of this length is read in half a millisecond.
const LOG_BYTES_QUICK: u64 = 160 * 4096;

/// An open store.
///
/// It is `Send`, not `Sync`: each thread opens its own.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// Reads records. Each read sees everything that was committed before it began.
#[derive(Debug)]
pub struct Reader<'a> {
    pub(crate) connection: &'a Connection,
}

/// Changes records, within one transaction.
#[derive(Debug)]
pub struct Writer<'a> {
    pub(crate) transaction: Transaction<'a>,
}

/// A record could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The reference names nothing.
    #[error("there is no {what} `{name}`")]
    Missing {
        /// The sort of record.
        what: &'static str,
        /// What was asked for.
        name: String,
    },
    /// The alias belongs to a living sandbox.
    #[error("the name `{0}` is in use")]
    AliasTaken(String),
    /// The text is what ids look like.
    #[error("`{0}` cannot be a name: it looks like the id of a sandbox")]
    AliasIsId(String),
    /// The text cannot be an alias.
    #[error("`{0}` cannot be a name: use small letters, digits and dashes")]
    NotAnAlias(String),
    /// The change does not fit the sandbox's state.
    #[error(transparent)]
    OutOfTurn(#[from] OutOfTurn),
    /// The change does not fit the promotion's state.
    #[error("a promotion that is {from} cannot become {to}")]
    PromotionOutOfTurn {
        /// Where the promotion is.
        from: crate::PromotionState,
        /// What was asked.
        to: crate::PromotionState,
    },
    /// The change does not fit where the suggestion is.
    #[error("a suggestion that is {} cannot become {}", from.word(), to.word())]
    SuggestionOutOfTurn {
        /// Where it is.
        from: crate::SuggestionState,
        /// What was asked.
        to: crate::SuggestionState,
    },
    /// The run has ended before.
    #[error("run {number} has already ended")]
    RunEnded {
        /// Its number in the sandbox.
        number: u32,
    },
    /// Another process held the store for too long.
    #[error("agar's store is held by another agar command")]
    Busy,
    /// The disk is full.
    #[error("the disk that holds agar's store is full")]
    Full,
    /// The database is broken.
    #[error("agar's store is damaged")]
    Damaged(#[source] rusqlite::Error),
    /// A newer agar changed the schema while this one was running.
    #[error("a newer agar changed the store's schema to {found}; this one knows {known}")]
    Newer {
        /// The schema number the store has now.
        found: u32,
        /// The schema number this agar has.
        known: u32,
    },
    /// SQLite refused for another reason.
    #[error("cannot use agar's store")]
    Failed(#[source] rusqlite::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error),
            _ => Self::Failed(error),
        }
    }
}

impl Fault for StoreError {
    fn kind(&self) -> Kind {
        match self {
            Self::Missing { .. } => Kind::NotFound,
            Self::NotAnAlias(_) | Self::AliasIsId(_) => Kind::Invalid,
            Self::AliasTaken(_)
            | Self::OutOfTurn(_)
            | Self::PromotionOutOfTurn { .. }
            | Self::SuggestionOutOfTurn { .. }
            | Self::RunEnded { .. }
            | Self::Busy => Kind::Conflict,
            Self::Full => Kind::Limit,
            Self::Newer { .. } => Kind::Unsupported,
            Self::Damaged(_) | Self::Failed(_) => Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Missing {
                what: "sandbox", ..
            } => Some(Remedy::ListSandboxes),
            Self::Damaged(_) => Some(Remedy::Diagnose),
            // What waits in the trash goes without a line in the store.
            Self::Full => Some(Remedy::Command {
                line: "agar prune --all".to_owned(),
            }),
            Self::Missing { .. }
            | Self::AliasTaken(_)
            | Self::NotAnAlias(_)
            | Self::AliasIsId(_)
            | Self::OutOfTurn(_)
            | Self::PromotionOutOfTurn { .. }
            | Self::SuggestionOutOfTurn { .. }
            | Self::RunEnded { .. }
            | Self::Busy
            | Self::Newer { .. }
            | Self::Failed(_) => None,
        }
    }
}

impl Store {
    pub(crate) fn new(connection: Connection, path: PathBuf) -> Self {
        Self { connection, path }
    }

    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads.
    pub fn read(&self) -> Reader<'_> {
        Reader {
            connection: &self.connection,
        }
    }

    /// Does the work in one transaction: if it fails, nothing of it has happened.
    pub fn write<T, E: From<StoreError>>(
        &mut self,
        work: impl FnOnce(&Writer<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let writer = self.begin()?;
        let value = work(&writer)?;
        writer.transaction.commit().map_err(StoreError::from)?;
        Ok(value)
    }

    fn begin(&mut self) -> Result<Writer<'_>, StoreError> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        // A process that outlived an upgrade must not write what it no longer understands.
        let found = schema::version(&transaction)?;
        if found != schema::VERSION {
            return Err(StoreError::Newer {
                found,
                known: schema::VERSION,
            });
        }
        Ok(Writer { transaction })
    }

    /// Does the work with deleted text overwritten, then empties the log; whether it could.
    pub(crate) fn with_secure_delete(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        self.connection.execute_batch("PRAGMA secure_delete = ON")?;
        work(self)?;
        // Copies that were made while nothing was overwritten lie in the gaps between records.
        self.connection.execute_batch("VACUUM")?;
        let busy: i64 =
            self.connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        Ok(busy == 0)
    }

    /// Whether the write-ahead log has grown so long that reading it, as the next opening must,
    /// takes a noticeable part of a millisecond.
    pub fn wants_tidying(&self) -> bool {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        Path::new(&log)
            .metadata()
            .is_ok_and(|log| log.len() > LOG_BYTES_QUICK)
    }

    /// Folds the write-ahead log into the main file. Worth calling when nobody waits.
    pub fn tidy(&self) -> Result<(), StoreError> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(())
    }
}

impl Writer<'_> {
    /// Reads, including what this transaction has changed.
    pub fn read(&self) -> Reader<'_> {
        Reader {
            connection: &self.transaction,
        }
    }
}
