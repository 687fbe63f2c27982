//! What somebody outside answered, so that nobody is asked twice.

use super::{EvolutionStore, EvolutionWriter};
use crate::store::StoreError;
use rusqlite::{OptionalExtension, params};

/// The place in a search that an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyPlace {
    /// The search.
    pub search: i64,
    /// The generation.
    pub generation: u32,
    /// The island.
    pub island: u32,
    /// The place on it.
    pub place: u32,
}

impl EvolutionStore {
    /// What was answered for a place, if anything was.
    pub fn reply(&self, at: ReplyPlace) -> Result<Option<String>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT document FROM reply
             WHERE search = ?1 AND generation = ?2 AND island = ?3 AND place = ?4",
        )?;
        let row = statement.query_row(
            params![at.search, at.generation, at.island, at.place],
            |row| row.get(0),
        );
        Ok(row.optional()?)
    }
}

impl EvolutionWriter<'_> {
    /// Writes an answer down, and whether it was a failure.
    pub fn add_reply(
        &self,
        at: ReplyPlace,
        document: &str,
        failed: bool,
    ) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO reply (search, generation, island, place, document, failed)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                at.search,
                at.generation,
                at.island,
                at.place,
                document,
                failed
            ])?;
        Ok(())
    }

    /// Forgets the failures from a generation on: its questions are asked again.
    pub fn drop_failed_replies(&self, search: i64, generation: u32) -> Result<(), StoreError> {
        self.transaction.execute(
            "DELETE FROM reply WHERE search = ?1 AND generation >= ?2 AND failed = 1",
            params![search, generation],
        )?;
        Ok(())
    }
}
