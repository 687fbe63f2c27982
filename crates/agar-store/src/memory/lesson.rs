//! Lessons in and out of quarantine, and notes.

use crate::memory::{MemoryReader, MemoryWriter};
use crate::store::StoreError;
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

/// A lesson on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LessonRow {
    /// Its short name.
    pub id: String,
    /// The feature it is about.
    pub feature: i64,
    /// `quarantined`, `confirmed`, `contradicted` or `retired`.
    pub state: String,
    /// Since when.
    pub since: Timestamp,
    /// Why it is in this state.
    pub why: String,
}

/// What somebody said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its short name.
    pub id: String,
    /// Who said it.
    pub author: String,
    /// What was said, without secrets.
    pub text: String,
    /// What it can be found by, as its owner packs it.
    pub terms: Vec<u8>,
    /// When.
    pub at: Timestamp,
}

const COLUMNS: &str = "id, feature, state, since_ms, why";

impl MemoryWriter<'_> {
    /// Records a lesson, or its new state.
    pub fn set_lesson(&self, project: ProjectId, row: &LessonRow) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT INTO lesson (id, project, feature, state, since_ms, why)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (id) DO UPDATE SET state = ?4, since_ms = ?5, why = ?6",
            )?
            .execute(params![
                row.id,
                project.to_string(),
                row.feature,
                row.state,
                row.since.millis(),
                row.why
            ])?;
        Ok(())
    }

    /// Records a note, and says whether it is new.
    pub fn add_note(&self, project: ProjectId, note: &Note) -> Result<bool, StoreError> {
        let added = self
            .transaction
            .prepare_cached(
                "INSERT OR IGNORE INTO note (id, project, author, text, terms, at_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                note.id,
                project.to_string(),
                note.author,
                note.text,
                note.terms,
                note.at.millis()
            ])?;
        Ok(added == 1)
    }
}

impl MemoryReader<'_> {
    /// The lesson about a feature.
    pub fn lesson_about(&self, feature: i64) -> Result<Option<LessonRow>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM lesson WHERE feature = ?1"))?
            .query_row([feature], read)
            .optional()?)
    }

    /// The lessons of a project, those that changed last first.
    pub fn lessons(&self, project: ProjectId, limit: u32) -> Result<Vec<LessonRow>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM lesson WHERE project = ?1 ORDER BY since_ms DESC, id LIMIT ?2"
        );
        self.rows(&query, params![project.to_string(), limit], read)
    }

    /// The notes of a project, newest first.
    pub fn notes(&self, project: ProjectId, limit: u32) -> Result<Vec<Note>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, author, text, terms, at_ms FROM note WHERE project = ?1
             ORDER BY at_ms DESC, id LIMIT ?2",
        )?;
        let found = statement.query_map(params![project.to_string(), limit], |row| {
            Ok(Note {
                id: row.get(0)?,
                author: row.get(1)?,
                text: row.get(2)?,
                terms: row.get(3)?,
                at: Timestamp::from_millis(row.get(4)?),
            })
        })?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<LessonRow> {
    Ok(LessonRow {
        id: row.get(0)?,
        feature: row.get(1)?,
        state: row.get(2)?,
        since: Timestamp::from_millis(row.get(3)?),
        why: row.get(4)?,
    })
}
