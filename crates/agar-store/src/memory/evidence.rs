//! What ended experiments teach: narrow rows, and their sums.

use crate::memory::{MemoryReader, MemoryWriter};
use crate::store::StoreError;
use agar_core::seam::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

/// One ended experiment, as evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Its place in the order in which experiments ended.
    pub number: i64,
    /// The number of the experiment.
    pub experiment: i64,
    /// A hash of its project.
    pub project: i64,
    /// A hash of its agent.
    pub agent: i64,
    /// A hash of its sort of change.
    pub change: i64,
    /// When it ended.
    pub closed: Timestamp,
    /// 1 for success, 0 for failure.
    pub success: f64,
    /// What the levels alone expected before it ran.
    pub expected: f64,
    /// What it can be found by, as its owner packs it.
    pub terms: Vec<u8>,
}

/// Evidence about to be recorded.
#[derive(Debug, Clone)]
pub struct NewEvidence<'a> {
    /// The number of the experiment.
    pub experiment: i64,
    /// A hash of its project.
    pub project: i64,
    /// A hash of its agent.
    pub agent: i64,
    /// A hash of its sort of change.
    pub change: i64,
    /// When it ended.
    pub closed: Timestamp,
    /// 1 for success, 0 for failure.
    pub success: f64,
    /// What the levels alone expected before it ran.
    pub expected: f64,
    /// What it can be found by.
    pub terms: &'a [u8],
}

/// A sum of evidence, as it weighs at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rate {
    /// The weight of all of it.
    pub weight: f64,
    /// The weight of the successes.
    pub success: f64,
    /// How many, without weighing.
    pub count: u64,
    /// When it weighed so.
    pub as_of: Timestamp,
}

const COLUMNS: &str = "number, experiment, project, agent, change, closed_ms, success, expected, \
     terms";

impl MemoryWriter<'_> {
    /// Records evidence and answers its number.
    pub fn add_evidence(&self, new: &NewEvidence<'_>) -> Result<i64, StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT INTO evidence (experiment, project, agent, change, closed_ms, success,
                 expected, terms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                new.experiment,
                new.project,
                new.agent,
                new.change,
                new.closed.millis(),
                new.success,
                new.expected,
                new.terms
            ])?;
        Ok(self.transaction.last_insert_rowid())
    }

    /// Keeps the sums of a level.
    pub fn set_rate(&self, level: &str, rate: &Rate) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO rate (level, weight, success, count, as_of_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                level,
                rate.weight,
                rate.success,
                rate.count,
                rate.as_of.millis()
            ])?;
        Ok(())
    }
}

impl MemoryReader<'_> {
    /// The sums of a level.
    pub fn rate(&self, level: &str) -> Result<Option<Rate>, StoreError> {
        Ok(self
            .connection
            .prepare_cached("SELECT weight, success, count, as_of_ms FROM rate WHERE level = ?1")?
            .query_row([level], |row| {
                Ok(Rate {
                    weight: row.get(0)?,
                    success: row.get(1)?,
                    count: row.get(2)?,
                    as_of: Timestamp::from_millis(row.get(3)?),
                })
            })
            .optional()?)
    }

    /// The evidence with this number.
    pub fn evidence(&self, number: i64) -> Result<Option<Evidence>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM evidence WHERE number = ?1"))?
            .query_row([number], read)
            .optional()?)
    }

    /// The evidence of an experiment.
    pub fn evidence_of(&self, experiment: i64) -> Result<Option<Evidence>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM evidence WHERE experiment = ?1"
            ))?
            .query_row([experiment], read)
            .optional()?)
    }

    /// Shows each evidence in this range, in order.
    pub fn each_evidence<E: From<StoreError>>(
        &self,
        first: i64,
        last: i64,
        mut show: impl FnMut(Evidence) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM evidence WHERE number BETWEEN ?1 AND ?2 ORDER BY number"
            ))
            .map_err(StoreError::from)?;
        let rows = statement
            .query_map([first, last], read)
            .map_err(StoreError::from)?;
        for row in rows {
            show(row.map_err(StoreError::from)?)?;
        }
        Ok(())
    }

    /// The largest number of evidence, zero where there is none.
    pub fn last_evidence(&self) -> Result<i64, StoreError> {
        Ok(self
            .connection
            .prepare_cached("SELECT coalesce(max(number), 0) FROM evidence")?
            .query_row([], |row| row.get(0))?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Evidence> {
    Ok(Evidence {
        number: row.get(0)?,
        experiment: row.get(1)?,
        project: row.get(2)?,
        agent: row.get(3)?,
        change: row.get(4)?,
        closed: Timestamp::from_millis(row.get(5)?),
        success: row.get(6)?,
        expected: row.get(7)?,
        terms: row.get(8)?,
    })
}
