//! Searches on disk: populations that breed, their lineage, and where each of them stands; and cells
//! that last.
//!
//! One database for all projects of a state directory. A generation is written in one transaction,
//! with the checkpoint that names it: whoever is killed between two of them has lost nothing but
//! the time since the last one. What documents mean is the engine's business.

mod cell;
mod individual;
mod reply;
mod search;

pub use cell::{CellRow, CellVersionRow};
pub use individual::{CodeRow, IndividualRow};
pub use reply::ReplyPlace;
pub use search::{CensusRow, GenerationRow, SearchRow};

use crate::open::{self, OpenError};
use crate::schema::{self, EVOLUTION};
use crate::store::StoreError;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::Path;

/// The name of the file in agar's state directory.
pub const EVOLUTION_FILE: &str = "evolution.db";

/// The number of the newest schema that this agar knows.
pub const EVOLUTION_VERSION: u32 = EVOLUTION.newest();

/// An open database of searches. Each thread opens its own.
#[derive(Debug)]
pub struct EvolutionStore {
    connection: Connection,
}

/// Changes, within one transaction.
#[derive(Debug)]
pub struct EvolutionWriter<'a> {
    transaction: Transaction<'a>,
}

impl EvolutionStore {
    /// Opens it, and makes it where there is none.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let connection = open::open(path, &EVOLUTION)?;
        connection
            .execute_batch("PRAGMA foreign_keys = ON")
            .map_err(|error| open::explain(path, error))?;
        Ok(Self { connection })
    }

    /// Does the work in one transaction: if it fails, nothing of it has happened.
    pub fn write<T, E: From<StoreError>>(
        &mut self,
        work: impl FnOnce(&EvolutionWriter<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let writer = self.begin()?;
        let value = work(&writer)?;
        writer.transaction.commit().map_err(StoreError::from)?;
        Ok(value)
    }

    fn begin(&mut self) -> Result<EvolutionWriter<'_>, StoreError> {
        let behaviour = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behaviour)?;
        let found = schema::version(&transaction)?;
        if found != EVOLUTION_VERSION {
            return Err(StoreError::Newer {
                found,
                known: EVOLUTION_VERSION,
            });
        }
        Ok(EvolutionWriter { transaction })
    }
}
