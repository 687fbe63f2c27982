//! The memory on disk: what was tried, what came of it, and what was learned.
//!
//! One database for all projects of a state directory, because an experiment elsewhere is evidence
//! too, and one of the same schema for each sandbox, copied from a template. The tables and the view
//! of the first seed are there under their names. What the numbers mean is `agar-memory`'s business;
//! this module keeps them, all or nothing.

mod evidence;
mod experiment;
mod feature;
mod fingerprint;
mod forget;
mod graduated;
mod history;
mod lesson;
mod prediction;
mod segment;
mod tally;
mod template;

pub use evidence::{Evidence, NewEvidence, Rate};
pub use experiment::{Closing, ExperimentRow, NewExperiment, StatusCount};
pub use feature::{Feature, Mark, Sighting};
pub use fingerprint::FingerprintRow;
pub use forget::Forgotten;
pub use graduated::{Conversation, Evolution, GraduatedPattern, SandboxMemoryRow};
pub use history::{DayCount, ExperimentPage};
pub use lesson::{LessonRow, Note};
pub use prediction::{Prediction, Scored};
pub use segment::Segment;
pub use tally::Tally;
pub use template::{SandboxStart, copy_template};

use crate::check::Health;
use crate::open::{self, OpenError};
use crate::schema::{self, MEMORY};
use crate::store::StoreError;
use rusqlite::{Connection, Params, Row, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};

/// The name of the memory's file in its directory.
pub const MEMORY_FILE: &str = "memory.db";

/// The number of the newest schema of a memory that this agar knows.
pub const MEMORY_VERSION: u32 = MEMORY.newest();

/// An open memory. Each thread opens its own.
#[derive(Debug)]
pub struct MemoryStore {
    connection: Connection,
    path: PathBuf,
}

/// Reads. Everything read through one of them is of one moment.
#[derive(Debug)]
pub struct MemoryReader<'a> {
    pub(crate) connection: &'a Connection,
}

/// Changes, within one transaction.
#[derive(Debug)]
pub struct MemoryWriter<'a> {
    transaction: Transaction<'a>,
}

impl MemoryStore {
    /// Opens the memory, and makes it where there is none.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let connection = open::open(path, &MEMORY)?;
        // Deleted text is overwritten, so that forgetting is more than unlinking. An experiment
        // writes some forty pages: a longer log than the store's saves a sync every few of them.
        connection
            .execute_batch(
                "PRAGMA secure_delete = ON; PRAGMA foreign_keys = ON;
                 PRAGMA wal_autocheckpoint = 1000",
            )
            .map_err(|error| open::explain(path, error))?;
        Ok(Self {
            connection,
            path: path.to_owned(),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads without a transaction: each answer is of its own moment.
    pub fn read(&self) -> MemoryReader<'_> {
        MemoryReader {
            connection: &self.connection,
        }
    }

    /// Reads several things as they were at one moment.
    pub fn snapshot<T, E: From<StoreError>>(
        &self,
        work: impl FnOnce(&MemoryReader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let transaction = self
            .connection
            .unchecked_transaction()
            .map_err(StoreError::from)?;
        let value = work(&MemoryReader {
            connection: &transaction,
        })?;
        transaction.commit().map_err(StoreError::from)?;
        Ok(value)
    }

    /// Does the work in one transaction: if it fails, nothing of it has happened.
    pub fn write<T, E: From<StoreError>>(
        &mut self,
        work: impl FnOnce(&MemoryWriter<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let writer = self.begin()?;
        let value = work(&writer)?;
        writer.transaction.commit().map_err(StoreError::from)?;
        Ok(value)
    }

    fn begin(&mut self) -> Result<MemoryWriter<'_>, StoreError> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = schema::version(&transaction)?;
        if found != MEMORY_VERSION {
            return Err(StoreError::Newer {
                found,
                known: MEMORY_VERSION,
            });
        }
        Ok(MemoryWriter { transaction })
    }

    /// Folds the write-ahead log into the file and empties it. Says whether it could: a reader in
    /// another process can stand in the way for a moment.
    pub fn truncate_log(&self) -> Result<bool, StoreError> {
        let busy: i64 =
            self.connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        Ok(busy == 0)
    }
}

impl MemoryWriter<'_> {
    /// Reads, including what this transaction has changed.
    pub fn read(&self) -> MemoryReader<'_> {
        MemoryReader {
            connection: &self.transaction,
        }
    }
}

/// Reads a whole memory and says what is wrong with it. Changes nothing in it. For `agar doctor`.
pub fn check_memory(path: &Path) -> Result<Health, OpenError> {
    if !path.exists() {
        return Ok(Health::Absent);
    }
    let memory = match MemoryStore::open(path) {
        Ok(memory) => memory,
        Err(OpenError::Damaged { what, .. }) => return Ok(Health::Damaged(vec![what])),
        Err(other) => return Err(other),
    };
    match memory.read().integrity() {
        Ok(findings) if findings.is_empty() => Ok(Health::Sound),
        Ok(findings) => Ok(Health::Damaged(findings)),
        Err(error) => Ok(Health::Damaged(vec![crate::check::with_cause(&error)])),
    }
}

impl MemoryReader<'_> {
    /// Every row that a query answers.
    fn rows<T>(
        &self,
        query: &str,
        wanted: impl Params,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(query)?;
        let found = statement.query_map(wanted, read)?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    fn integrity(&self) -> Result<Vec<String>, StoreError> {
        let mut findings = self.lines("PRAGMA integrity_check(20)")?;
        findings.retain(|line| line != "ok");
        findings.extend(
            self.lines("SELECT 'foreign key in ' || \"table\" FROM pragma_foreign_key_check")?,
        );
        Ok(findings)
    }

    fn lines(&self, query: &str) -> Result<Vec<String>, StoreError> {
        self.rows(query, [], |row| row.get(0))
    }

    /// A small document by its name.
    pub fn state(&self, name: &str) -> Result<Option<String>, StoreError> {
        use rusqlite::OptionalExtension as _;
        Ok(self
            .connection
            .prepare_cached("SELECT value FROM state WHERE name = ?1")?
            .query_row([name], |row| row.get(0))
            .optional()?)
    }
}

impl MemoryWriter<'_> {
    /// Keeps a small document under a name.
    pub fn set_state(&self, name: &str, value: &str) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached("INSERT OR REPLACE INTO state (name, value) VALUES (?1, ?2)")?
            .execute([name, value])?;
        Ok(())
    }
}

/// The error of a document that cannot be written as JSON, for callers that make documents.
pub fn unwritable(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}
