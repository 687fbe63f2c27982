//! Individuals and what they are made of.

use super::{EvolutionStore, EvolutionWriter};
use crate::store::StoreError;
use agar_core::seam::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

/// One individual, in the seed's fields.
#[derive(Debug, Clone, PartialEq)]
pub struct IndividualRow {
    /// Its number in its search.
    pub number: u64,
    /// The generation it was born in.
    pub generation: u32,
    /// The island it was born on.
    pub island: u32,
    /// Its parents, at most two.
    pub parents: Vec<u64>,
    /// How it came to be.
    pub mutation_type: String,
    /// What exactly was done.
    pub operator: String,
    /// The name of the stream of chance that made it.
    pub seed: u64,
    /// How many ancestors in a row it has.
    pub lineage_depth: u32,
    /// The name of its code.
    pub digest: [u8; 32],
    /// Its score, for queries.
    pub score: Option<f64>,
    /// What the host made of it, to the last bit.
    pub verdict: String,
    /// What was taken off its score.
    pub penalties: String,
    /// What it put out while it was tried.
    pub artifacts: String,
    /// What its trial took.
    pub instructions: u64,
    /// When it was tried.
    pub evaluated_at: Timestamp,
    /// Whether its code may be gone.
    pub collected: bool,
}

/// What an individual is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRow {
    /// Of which kind.
    pub kind: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

const COLUMNS: &str = "number, generation, island, parent_id, other_parent_id, mutation_type,
    operator, seed, lineage_depth, digest, score, verdict, penalties, instructions,
    evaluated_at_ms, collected, artifacts";

fn individual(row: &Row<'_>) -> rusqlite::Result<IndividualRow> {
    let parents: [Option<u64>; 2] = [row.get(3)?, row.get(4)?];
    // A number that uses all 64 bits is kept by its bits.
    let seed: i64 = row.get(7)?;
    Ok(IndividualRow {
        number: row.get(0)?,
        generation: row.get(1)?,
        island: row.get(2)?,
        parents: parents.into_iter().flatten().collect(),
        mutation_type: row.get(5)?,
        operator: row.get(6)?,
        seed: seed.cast_unsigned(),
        lineage_depth: row.get(8)?,
        digest: row.get(9)?,
        score: row.get(10)?,
        verdict: row.get(11)?,
        penalties: row.get(12)?,
        instructions: row.get(13)?,
        evaluated_at: Timestamp::from_millis(row.get(14)?),
        collected: row.get(15)?,
        artifacts: row.get(16)?,
    })
}

impl EvolutionStore {
    /// Everyone ever born in a search, in order.
    pub fn individuals(&self, search: i64) -> Result<Vec<IndividualRow>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM individual WHERE search = ?1 ORDER BY number");
        let mut statement = self.connection.prepare_cached(&query)?;
        let rows = statement.query_map([search], individual)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// One of them.
    pub fn individual(
        &self,
        search: i64,
        number: u64,
    ) -> Result<Option<IndividualRow>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM individual WHERE search = ?1 AND number = ?2");
        let mut statement = self.connection.prepare_cached(&query)?;
        Ok(statement
            .query_row(params![search, number], individual)
            .optional()?)
    }

    /// What an individual is made of, unless it was collected.
    pub fn code(&self, search: i64, digest: &[u8; 32]) -> Result<Option<CodeRow>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT kind, bytes FROM code WHERE search = ?1 AND digest = ?2")?;
        let row = statement.query_row(params![search, digest], |row| {
            Ok(CodeRow {
                kind: row.get(0)?,
                bytes: row.get(1)?,
            })
        });
        Ok(row.optional()?)
    }
}

impl EvolutionWriter<'_> {
    pub(super) fn add_individual(
        &self,
        search: i64,
        new: &IndividualRow,
        code: &CodeRow,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT OR IGNORE INTO code (search, digest, kind, bytes) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![search, new.digest, code.kind, code.bytes])?;
        self.transaction
            .prepare_cached(
                "INSERT INTO individual (search, number, generation, island, parent_id,
                 other_parent_id, mutation_type, operator, seed, lineage_depth, digest, score,
                 verdict, penalties, instructions, evaluated_at_ms, artifacts)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
                 ?17)",
            )?
            .execute(params![
                search,
                new.number,
                new.generation,
                new.island,
                new.parents.first(),
                new.parents.get(1),
                new.mutation_type,
                new.operator,
                new.seed.cast_signed(),
                new.lineage_depth,
                new.digest,
                new.score,
                new.verdict,
                new.penalties,
                new.instructions,
                at.millis(),
                new.artifacts
            ])?;
        Ok(())
    }

    /// Writes what was taken off an individual's score, and where the search stands since.
    pub fn penalise(
        &self,
        search: i64,
        (number, score, penalties): (u64, Option<f64>, &str),
        checkpoint: &str,
    ) -> Result<(), StoreError> {
        self.transaction.execute(
            "UPDATE individual SET score = ?3, penalties = ?4 WHERE search = ?1 AND number = ?2",
            params![search, number, score, penalties],
        )?;
        self.transaction.execute(
            "UPDATE search SET checkpoint = ?2 WHERE id = ?1",
            params![search, checkpoint],
        )?;
        Ok(())
    }

    /// Marks individuals as collected and drops code that nobody has any more.
    pub(super) fn collect(&self, search: i64, numbers: &[u64]) -> Result<(), StoreError> {
        let mut mark = self.transaction.prepare_cached(
            "UPDATE individual SET collected = 1 WHERE search = ?1 AND number = ?2
             RETURNING digest",
        )?;
        // Without being told, the planner walks through everybody of the search for each of them.
        let mut drop_code = self.transaction.prepare_cached(
            "DELETE FROM code WHERE search = ?1 AND digest = ?2 AND NOT EXISTS (
                 SELECT 1 FROM individual INDEXED BY individual_by_digest
                 WHERE search = ?1 AND digest = ?2 AND collected = 0)",
        )?;
        for number in numbers {
            let digest: Option<[u8; 32]> = mark
                .query_row(params![search, number], |row| row.get(0))
                .optional()?;
            if let Some(digest) = digest {
                drop_code.execute(params![search, digest])?;
            }
        }
        Ok(())
    }
}
