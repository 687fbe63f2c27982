//! What checks said about untouched bases.
//!
//! The key is made by whoever runs the checks, from the generation and everything of the check that
//! could change its answer; the answer is a document that only they understand.

use crate::store::{Reader, StoreError, Writer};
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use rusqlite::{OptionalExtension, params};

/// How many answers are kept of one project: generations come and go.
const KEPT: u32 = 256;

impl Writer<'_> {
    /// Remembers what a check said, and forgets the oldest beyond those that are kept.
    pub fn set_base_check(
        &self,
        project: ProjectId,
        key: &str,
        trial: &str,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO base_check (project, key, trial, at_ms)
                 VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![project.to_string(), key, trial, at.millis()])?;
        self.transaction
            .prepare_cached(
                "DELETE FROM base_check WHERE project = ?1 AND key NOT IN
                 (SELECT key FROM base_check WHERE project = ?1 ORDER BY at_ms DESC LIMIT ?2)",
            )?
            .execute(params![project.to_string(), KEPT])?;
        Ok(())
    }
}

impl Reader<'_> {
    /// What a check said about this base, if it was asked before.
    pub fn base_check(&self, project: ProjectId, key: &str) -> Result<Option<String>, StoreError> {
        Ok(self
            .connection
            .prepare_cached("SELECT trial FROM base_check WHERE project = ?1 AND key = ?2")?
            .query_row(params![project.to_string(), key], |row| row.get(0))
            .optional()?)
    }
}
