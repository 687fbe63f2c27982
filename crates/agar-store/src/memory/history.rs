//! Past experiments page by page, and how many there were on each day.

use crate::memory::MemoryReader;
use crate::memory::experiment::{COLUMNS, ExperimentRow, read};
use crate::page::like;
use crate::store::StoreError;
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use rusqlite::types::Value;
use rusqlite::{params, params_from_iter};
use std::fmt::Write as _;

/// Which experiments are on a page, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExperimentPage<'a> {
    /// With all of these words in what was proposed, by whom, or what came of it.
    pub words: &'a str,
    /// Of this status; of any if left out.
    pub status: Option<&'a str>,
    /// Before the one with this number.
    pub before: Option<i64>,
    /// How many at most.
    pub limit: u32,
}

/// Experiments of one day with one status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayCount {
    /// The day, counted from the first of 1970.
    pub day: i64,
    /// The status.
    pub status: String,
    /// How many.
    pub count: u64,
}

/// More words than anybody types.
const WORDS_MAX: usize = 8;

impl MemoryReader<'_> {
    /// One page of the experiments of a project.
    pub fn experiment_page(
        &self,
        project: ProjectId,
        page: &ExperimentPage<'_>,
    ) -> Result<Vec<ExperimentRow>, StoreError> {
        let mut query = format!(
            "SELECT {COLUMNS} FROM experiment WHERE project = ?1 AND number < ?2
             AND (?3 IS NULL OR status = ?3)"
        );
        let mut values = vec![
            Value::Text(project.to_string()),
            Value::Integer(page.before.unwrap_or(i64::MAX)),
            page.status
                .map_or(Value::Null, |status| Value::Text(status.to_owned())),
            Value::Integer(i64::from(page.limit)),
        ];
        for word in page.words.split_whitespace().take(WORDS_MAX) {
            values.push(Value::Text(like(word)));
            let n = values.len();
            // Writing to a string cannot fail.
            let _ = write!(
                query,
                " AND (suggestion LIKE ?{n} ESCAPE '\\' OR agent LIKE ?{n} ESCAPE '\\'
                 OR change LIKE ?{n} ESCAPE '\\' OR document LIKE ?{n} ESCAPE '\\')"
            );
        }
        query.push_str(" ORDER BY number DESC LIMIT ?4");
        self.rows(&query, params_from_iter(values), read)
    }

    /// How many experiments of a project began on each day since a moment, by status. A day begins
    /// where `east_ms` east of Greenwich it does.
    pub fn experiments_by_day(
        &self,
        project: ProjectId,
        since: Timestamp,
        east_ms: i64,
    ) -> Result<Vec<DayCount>, StoreError> {
        let query = "SELECT (started_ms + ?3) / 86400000 AS day, status, count(*) FROM experiment
             WHERE project = ?1 AND started_ms >= ?2 GROUP BY day, status ORDER BY day, status";
        let values = params![project.to_string(), since.millis(), east_ms];
        self.rows(query, values, |row| {
            Ok(DayCount {
                day: row.get(0)?,
                status: row.get(1)?,
                count: row.get(2)?,
            })
        })
    }
}
