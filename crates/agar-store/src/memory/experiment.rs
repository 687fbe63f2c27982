//! Experiments on record, from their start to their end.

use crate::column::{moment, moment_option, parsed};
use crate::memory::{MemoryReader, MemoryWriter};
use crate::store::StoreError;
use agar_core::id::{ExperimentId, ProjectId, SandboxId};
use agar_core::seam::Timestamp;
use rusqlite::{OptionalExtension, Row, params};

/// An experiment that begins.
#[derive(Debug, Clone)]
pub struct NewExperiment<'a> {
    /// Its permanent name.
    pub id: ExperimentId,
    /// Where it runs.
    pub sandbox: SandboxId,
    /// The project it is about.
    pub project: ProjectId,
    /// Whose account it is.
    pub user: &'a str,
    /// Who proposed it.
    pub agent: &'a str,
    /// What sort of change it is.
    pub change: &'a str,
    /// What was proposed, without secrets.
    pub suggestion: &'a str,
    /// The rest of the context, as JSON.
    pub context: &'a str,
    /// The limits, as JSON.
    pub limits: &'a str,
    /// When it began.
    pub started: Timestamp,
}

/// How an experiment ended.
#[derive(Debug, Clone)]
pub struct Closing<'a> {
    /// `success`, `failure` or `partial`.
    pub status: &'a str,
    /// Whether it counts as one that worked.
    pub success: bool,
    /// Everything about it, as JSON.
    pub document: &'a str,
    /// The seed's metrics, as JSON.
    pub metrics: &'a str,
    /// What went wrong, as JSON.
    pub errors: &'a str,
    /// What it taught, as JSON.
    pub lessons: &'a str,
    /// When it ended.
    pub ended: Timestamp,
}

/// An experiment on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExperimentRow {
    /// Its place among all experiments.
    pub number: i64,
    /// Its permanent name.
    pub id: ExperimentId,
    /// Where it ran.
    pub sandbox: SandboxId,
    /// The project it is about.
    pub project: ProjectId,
    /// Who proposed it.
    pub agent: String,
    /// What sort of change it is.
    pub change: String,
    /// `running`, `success`, `failure` or `partial`.
    pub status: String,
    /// What was proposed.
    pub suggestion: String,
    /// The rest of the context, as JSON.
    pub context: String,
    /// Everything about its end, as JSON.
    pub document: Option<String>,
    /// What a person decided, as JSON.
    pub decision: Option<String>,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

pub(super) const COLUMNS: &str = "number, id, sandbox_id, project, agent, change, status, suggestion, \
     context, document, decision, started_ms, ended_ms";

impl MemoryWriter<'_> {
    /// Records that an experiment begins, and its sandbox where that is new here.
    pub fn begin_experiment(&self, new: &NewExperiment<'_>) -> Result<i64, StoreError> {
        self.transaction
            .prepare_cached(
                "INSERT INTO sandboxes (id, user_id, created_at, status, suggestion, context,
                 resource_limits) VALUES (?1, ?2, ?3, 'running', ?4, ?5, ?6)
                 ON CONFLICT (id) DO UPDATE SET status = 'running'",
            )?
            .execute(params![
                new.sandbox.to_string(),
                new.user,
                new.started.to_string(),
                new.suggestion,
                new.context,
                new.limits
            ])?;
        self.transaction
            .prepare_cached(
                "INSERT INTO experiment (id, sandbox_id, project, agent, change, status,
                 suggestion, context, started_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, 'running', ?6, ?7, ?8)",
            )?
            .execute(params![
                new.id.to_string(),
                new.sandbox.to_string(),
                new.project.to_string(),
                new.agent,
                new.change,
                new.suggestion,
                new.context,
                new.started.millis()
            ])?;
        Ok(self.transaction.last_insert_rowid())
    }

    /// Records how it ended. An experiment ends once.
    pub fn close_experiment(
        &self,
        row: &ExperimentRow,
        closing: &Closing<'_>,
    ) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached(
                "UPDATE experiment SET status = ?2, document = ?3, ended_ms = ?4 WHERE number = ?1",
            )?
            .execute(params![
                row.number,
                closing.status,
                closing.document,
                closing.ended.millis()
            ])?;
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO experiment_outcomes (id, sandbox_id, success, metrics,
                 errors, lessons, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                row.id.to_string(),
                row.sandbox.to_string(),
                closing.success,
                closing.metrics,
                closing.errors,
                closing.lessons,
                closing.ended.to_string()
            ])?;
        self.transaction
            .prepare_cached(
                "UPDATE sandboxes SET status = ?2, outcome = ?2, finalized_at = ?3 WHERE id = ?1",
            )?
            .execute(params![
                row.sandbox.to_string(),
                closing.status,
                closing.ended.to_string()
            ])?;
        Ok(())
    }

    /// Records what a person decided, beside the evidence.
    pub fn decide(&self, number: i64, decision: &str) -> Result<(), StoreError> {
        self.transaction
            .prepare_cached("UPDATE experiment SET decision = ?2 WHERE number = ?1")?
            .execute(params![number, decision])?;
        Ok(())
    }
}

/// How many experiments of a project have a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusCount {
    /// The status.
    pub status: String,
    /// How many.
    pub count: u64,
}

impl MemoryReader<'_> {
    /// The experiment of this id.
    pub fn experiment(&self, id: ExperimentId) -> Result<Option<ExperimentRow>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM experiment WHERE id = ?1"))?
            .query_row([id.to_string()], read)
            .optional()?)
    }

    /// The experiment with this number.
    pub fn experiment_numbered(&self, number: i64) -> Result<Option<ExperimentRow>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM experiment WHERE number = ?1"
            ))?
            .query_row([number], read)
            .optional()?)
    }

    /// Experiments of a project whose id begins so.
    pub fn experiments_like(
        &self,
        project: ProjectId,
        prefix: &str,
    ) -> Result<Vec<ExperimentRow>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM experiment WHERE id >= ?2 AND id < ?2 || '~' AND project = ?1
             ORDER BY number LIMIT 16"
        );
        self.rows(&query, params![project.to_string(), prefix], read)
    }

    /// Experiments of a project, newest first, those before `before` where one is given.
    pub fn experiments(
        &self,
        project: ProjectId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ExperimentRow>, StoreError> {
        let before = before.unwrap_or(i64::MAX);
        let query = format!(
            "SELECT {COLUMNS} FROM experiment WHERE project = ?1 AND number < ?2
             ORDER BY number DESC LIMIT ?3"
        );
        self.rows(&query, params![project.to_string(), before, limit], read)
    }

    /// Experiments of a project after a number, oldest first.
    pub fn experiments_after(
        &self,
        project: ProjectId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<ExperimentRow>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM experiment WHERE project = ?1 AND number > ?2
             ORDER BY number LIMIT ?3"
        );
        self.rows(&query, params![project.to_string(), after, limit], read)
    }

    /// Experiments of a sandbox, oldest first.
    pub fn experiments_of(&self, sandbox: SandboxId) -> Result<Vec<ExperimentRow>, StoreError> {
        let query =
            format!("SELECT {COLUMNS} FROM experiment WHERE sandbox_id = ?1 ORDER BY number");
        self.rows(&query, [sandbox.to_string()], read)
    }

    /// How many experiments of a project have each status.
    pub fn status_counts(&self, project: ProjectId) -> Result<Vec<StatusCount>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT status, count(*) FROM experiment WHERE project = ?1 GROUP BY status",
        )?;
        let counts = statement.query_map([project.to_string()], |row| {
            Ok(StatusCount {
                status: row.get(0)?,
                count: row.get(1)?,
            })
        })?;
        Ok(counts.collect::<rusqlite::Result<_>>()?)
    }
}

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<ExperimentRow> {
    Ok(ExperimentRow {
        number: row.get(0)?,
        id: parsed(row, 1)?,
        sandbox: parsed(row, 2)?,
        project: parsed(row, 3)?,
        agent: row.get(4)?,
        change: row.get(5)?,
        status: row.get(6)?,
        suggestion: row.get(7)?,
        context: row.get(8)?,
        document: row.get(9)?,
        decision: row.get(10)?,
        started: moment(row, 11)?,
        ended: moment_option(row, 12)?,
    })
}
