//! One search: what was asked for, where it stands, how it went.

use super::individual::{CodeRow, IndividualRow};
use super::{EvolutionStore, EvolutionWriter};
use crate::store::StoreError;
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

/// One search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchRow {
    /// Its number in this database.
    pub id: i64,
    /// Its name in its project.
    pub name: String,
    /// What was asked for.
    pub wish: String,
    /// Where it stands, once a generation is complete.
    pub checkpoint: Option<String>,
    /// Why it ended, once it has.
    pub ended: Option<String>,
    /// The last generation that is complete.
    pub generation: u32,
    /// When it began.
    pub created_at: Timestamp,
    /// When the last generation was complete.
    pub changed_at: Timestamp,
}

/// What one generation looked like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CensusRow {
    /// Which.
    pub generation: u32,
    /// The numbers.
    pub document: String,
    /// When it was complete.
    pub at: Timestamp,
}

/// All that one generation leaves behind.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationRow {
    /// Which.
    pub generation: u32,
    /// Where the search stands after it.
    pub checkpoint: String,
    /// Why the search ended with it, if it did.
    pub ended: Option<String>,
    /// What it looked like.
    pub census: String,
    /// Who was born, with their code.
    pub births: Vec<(IndividualRow, CodeRow)>,
    /// Whom nobody needs any more.
    pub collected: Vec<u64>,
    /// When.
    pub at: Timestamp,
}

const COLUMNS: &str = "id, name, wish, checkpoint, ended, generation, created_at_ms, changed_at_ms";

fn search(row: &Row<'_>) -> rusqlite::Result<SearchRow> {
    Ok(SearchRow {
        id: row.get(0)?,
        name: row.get(1)?,
        wish: row.get(2)?,
        checkpoint: row.get(3)?,
        ended: row.get(4)?,
        generation: row.get(5)?,
        created_at: Timestamp::from_millis(row.get(6)?),
        changed_at: Timestamp::from_millis(row.get(7)?),
    })
}

impl EvolutionStore {
    /// The searches of a project, the newest first.
    pub fn searches(&self, project: ProjectId) -> Result<Vec<SearchRow>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM search WHERE project = ?1 ORDER BY id DESC");
        let mut statement = self.connection.prepare_cached(&query)?;
        let rows = statement.query_map([project.to_string()], search)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// A search by its name.
    pub fn search(&self, project: ProjectId, name: &str) -> Result<Option<SearchRow>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM search WHERE project = ?1 AND name = ?2");
        let mut statement = self.connection.prepare_cached(&query)?;
        let row = statement.query_row([&project.to_string(), name], search);
        Ok(row.optional()?)
    }

    /// What each generation looked like, in order.
    pub fn censuses(&self, search: i64) -> Result<Vec<CensusRow>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT generation, document, at_ms FROM census WHERE search = ?1 ORDER BY generation",
        )?;
        let rows = statement.query_map([search], |row| {
            Ok(CensusRow {
                generation: row.get(0)?,
                document: row.get(1)?,
                at: Timestamp::from_millis(row.get(2)?),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

impl EvolutionWriter<'_> {
    /// Begins a search under a name that no other of the project has: the name itself, or the name
    /// with a number.
    pub fn begin_search(
        &self,
        project: ProjectId,
        name: &str,
        wish: &str,
        at: Timestamp,
    ) -> Result<(i64, String), StoreError> {
        let mut taken = self
            .transaction
            .prepare_cached("SELECT count(*) FROM search WHERE project = ?1 AND name = ?2")?;
        let mut free = name.to_owned();
        for number in 2_u32.. {
            let found: u32 = taken.query_row([&project.to_string(), &free], |row| row.get(0))?;
            if found == 0 {
                break;
            }
            free = format!("{name}-{number}");
        }
        self.transaction.execute(
            "INSERT INTO search (project, name, wish, created_at_ms, changed_at_ms)
             VALUES (?1, ?2, ?3, ?4, ?4)",
            params![project.to_string(), free, wish, at.millis()],
        )?;
        Ok((self.transaction.last_insert_rowid(), free))
    }

    /// Writes a generation and where the search stands after it.
    pub fn add_generation(&self, search: i64, new: &GenerationRow) -> Result<(), StoreError> {
        for (individual, code) in &new.births {
            self.add_individual(search, individual, code, new.at)?;
        }
        self.collect(search, &new.collected)?;
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO census (search, generation, document, at_ms)
                 VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![search, new.generation, new.census, new.at.millis()])?;
        self.transaction
            .prepare_cached(
                "UPDATE search SET checkpoint = ?2, ended = ?3, generation = ?4,
                 changed_at_ms = ?5 WHERE id = ?1",
            )?
            .execute(params![
                search,
                new.checkpoint,
                new.ended,
                new.generation,
                new.at.millis()
            ])?;
        Ok(())
    }

    /// Lets a search go on that had ended, with another wish.
    pub fn reopen_search(&self, search: i64, wish: &str) -> Result<(), StoreError> {
        self.transaction.execute(
            "UPDATE search SET wish = ?2, ended = NULL WHERE id = ?1",
            params![search, wish],
        )?;
        Ok(())
    }

    /// Writes down that a search has ended.
    pub fn end_search(&self, search: i64, ended: &str) -> Result<(), StoreError> {
        self.transaction.execute(
            "UPDATE search SET ended = ?2 WHERE id = ?1",
            params![search, ended],
        )?;
        Ok(())
    }

    /// Removes a search and all that it bore.
    pub fn remove_search(&self, search: i64) -> Result<(), StoreError> {
        self.transaction
            .execute("DELETE FROM search WHERE id = ?1", [search])?;
        Ok(())
    }
}
