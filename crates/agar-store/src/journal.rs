//! The journal: what happened in a project, numbered from 1 without gaps, and only ever longer.
//!
//! Event streams hand out these numbers. Whoever reconnects says the last one it saw and misses
//! nothing, whichever process wrote it.

use crate::column::{moment, parsed_option};
use crate::fact::Fact;
use crate::store::{Reader, StoreError, Writer};
use agar_core::id::{ProjectId, SandboxId};
use agar_core::seam::Timestamp;
use rusqlite::{Row, params};
use serde::Serialize;

/// One line of a project's journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its number in the project, from 1.
    pub number: u64,
    /// When it was written.
    pub at: Timestamp,
    /// The sandbox it is about, if it is about one.
    pub sandbox: Option<SandboxId>,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
}

impl Writer<'_> {
    /// Appends a fact and says its number. It is there if and only if the transaction is.
    pub fn append(
        &self,
        project: ProjectId,
        sandbox: Option<SandboxId>,
        at: Timestamp,
        fact: &Fact,
    ) -> Result<u64, StoreError> {
        let (kind, payload) = fact
            .to_parts()
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        let number = self
            .transaction
            .prepare_cached(
                "INSERT INTO journal (project, number, at_ms, sandbox, kind, payload)
                 SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5
                 FROM journal WHERE project = ?1 RETURNING number",
            )?
            .query_row(
                params![
                    project.to_string(),
                    at.millis(),
                    sandbox.map(|id| id.to_string()),
                    kind,
                    payload
                ],
                |row| row.get(0),
            )?;
        Ok(number)
    }
}

impl Reader<'_> {
    /// At most `max` entries after `number`, in order.
    pub fn journal_since(
        &self,
        project: ProjectId,
        number: u64,
        max: u32,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT number, at_ms, sandbox, kind, payload FROM journal
             WHERE project = ?1 AND number > ?2 ORDER BY number LIMIT ?3",
        )?;
        let entries = statement.query_map(params![project.to_string(), held(number), max], read)?;
        Ok(entries.collect::<rusqlite::Result<_>>()?)
    }

    /// At most `max` entries about a sandbox after `number`, in order.
    pub fn journal_about(
        &self,
        (project, sandbox): (ProjectId, SandboxId),
        number: u64,
        max: u32,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT number, at_ms, sandbox, kind, payload FROM journal
             WHERE project = ?1 AND number > ?2 AND sandbox = ?4 ORDER BY number LIMIT ?3",
        )?;
        let whose = (project.to_string(), sandbox.to_string());
        let entries = statement.query_map(params![whose.0, held(number), max, whose.1], read)?;
        Ok(entries.collect::<rusqlite::Result<_>>()?)
    }

    /// The number of the last entry, 0 before the first.
    pub fn journal_latest(&self, project: ProjectId) -> Result<u64, StoreError> {
        Ok(self
            .connection
            .prepare_cached("SELECT coalesce(max(number), 0) FROM journal WHERE project = ?1")?
            .query_row([project.to_string()], |row| row.get(0))?)
    }

    /// A number that is another one as soon as somebody else has changed anything in the store. It
    /// means nothing to another reader.
    pub fn version(&self) -> Result<i64, StoreError> {
        Ok(self
            .connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?)
    }
}

/// A number as SQLite can hold it. Larger ones have not been given out.
fn held(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let kind: String = row.get(3)?;
    let payload: String = row.get(4)?;
    let fact = Fact::from_parts(&kind, &payload).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(4, rusqlite::types::Type::Text, Box::new(error))
    })?;
    Ok(Entry {
        number: row.get(0)?,
        at: moment(row, 1)?,
        sandbox: parsed_option(row, 2)?,
        fact,
    })
}
