//! What was said before a run, and what came of it.

use crate::memory::{MemoryReader, MemoryWriter};
use crate::store::StoreError;
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use rusqlite::{OptionalExtension, params};

/// A prediction, stored before the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// When it was made.
    pub at: Timestamp,
    /// Before recalibration.
    pub raw: f64,
    /// What was said.
    pub p: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How much evidence it rests on.
    pub evidence: f64,
}

/// A prediction whose outcome is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// What was said.
    pub prediction: Prediction,
    /// 1 for success, 0 for failure.
    pub outcome: f64,
    /// When the outcome was known.
    pub scored: Timestamp,
}

impl MemoryWriter<'_> {
    /// Stores what was said about an experiment.
    pub fn predict(
        &self,
        experiment: i64,
        project: ProjectId,
        prediction: &Prediction,
    ) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO prediction
                 (experiment, project, at_ms, raw, p, low, high, evidence)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                experiment,
                project.to_string(),
                prediction.at.millis(),
                prediction.raw,
                prediction.p,
                prediction.low,
                prediction.high,
                prediction.evidence
            ])?;
        Ok(())
    }

    /// Scores it.
    pub fn score(&self, experiment: i64, outcome: f64, at: Timestamp) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "UPDATE prediction SET outcome = ?2, scored_ms = ?3 WHERE experiment = ?1",
            )?
            .execute(params![experiment, outcome, at.millis()])?;
        Ok(())
    }
}

impl MemoryReader<'_> {
    /// What was said about an experiment.
    pub fn prediction(&self, experiment: i64) -> Result<Option<Prediction>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT at_ms, raw, p, low, high, evidence FROM prediction WHERE experiment = ?1",
            )?
            .query_row([experiment], read)
            .optional()?)
    }

    /// The newest scored predictions, of one project or of all, newest first.
    pub fn scored(
        &self,
        project: Option<ProjectId>,
        limit: u32,
    ) -> Result<Vec<Scored>, StoreError> {
        let columns = "at_ms, raw, p, low, high, evidence, outcome, scored_ms";
        let mut statement = self.connection.prepare_cached(&match project {
            Some(_) => format!(
                "SELECT {columns} FROM prediction WHERE project = ?1 AND outcome IS NOT NULL
                 ORDER BY scored_ms DESC LIMIT ?2"
            ),
            None => format!(
                "SELECT {columns} FROM prediction WHERE outcome IS NOT NULL AND ?1 IS NULL
                 ORDER BY scored_ms DESC LIMIT ?2"
            ),
        })?;
        let project = project.map(|id| id.to_string());
        let scored = statement.query_map(params![project, limit], |row| {
            Ok(Scored {
                prediction: read(row)?,
                outcome: row.get(6)?,
                scored: Timestamp::from_millis(row.get(7)?),
            })
        })?;
        Ok(scored.collect::<rusqlite::Result<_>>()?)
    }
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Prediction> {
    Ok(Prediction {
        at: Timestamp::from_millis(row.get(0)?),
        raw: row.get(1)?,
        p: row.get(2)?,
        low: row.get(3)?,
        high: row.get(4)?,
        evidence: row.get(5)?,
    })
}
