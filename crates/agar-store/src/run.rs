//! Runs on record.

use crate::column::{bytes, json, json_option, moment, moment_option, parsed, path, to_json};
use crate::fact::Fact;
use crate::sandbox::ADVANCE_DOWN;
use crate::store::{Reader, StoreError, Writer};
use agar_core::id::SandboxId;
use agar_core::run::{End, Usage};
use agar_core::seam::Timestamp;
use agar_core::secret;
use rusqlite::{OptionalExtension, Row, params};
use std::path::{Path, PathBuf};

/// One command executed in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The sandbox.
    pub sandbox: SandboxId,
    /// Its number in the sandbox, from 1.
    pub number: u32,
    /// The command, without secrets.
    pub argv: Vec<String>,
    /// Where it was started.
    pub cwd: PathBuf,
    /// When it was started.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// How it ended. A limit that was reached is in it.
    pub end: Option<End>,
    /// What it used.
    pub usage: Option<Usage>,
    /// What the keeper reported beyond that, as JSON.
    pub report: Option<String>,
    /// Bytes of output that were kept.
    pub log_bytes: u64,
}

impl Run {
    /// The exit status that was passed on, once it ended.
    pub fn exit_code(&self) -> Option<i32> {
        self.end.as_ref().map(End::exit_code)
    }
}

/// A run about to start.
#[derive(Debug, Clone)]
pub struct NewRun<'a> {
    /// The sandbox.
    pub sandbox: SandboxId,
    /// The command. Secrets in it are not kept.
    pub argv: &'a [String],
    /// Where it starts.
    pub cwd: &'a Path,
}

/// What is known at the end of a run.
#[derive(Debug, Clone)]
pub struct RunEnd<'a> {
    /// How it ended.
    pub end: &'a End,
    /// What it used.
    pub usage: Usage,
    /// What the keeper reported beyond that, as JSON. It is kept as it is: whoever writes it leaves
    /// secrets out.
    pub report: Option<&'a str>,
    /// Bytes of output that were kept.
    pub log_bytes: u64,
}

const COLUMNS: &str =
    "sandbox, number, argv, cwd, started_ms, ended_ms, how, usage, report, log_bytes";

/// Ends a run.
const END: &str = "UPDATE run SET ended_ms = ?3, how = ?4, exit_code = ?5, usage = ?6, report = ?7, \
     log_bytes = ?8 WHERE sandbox = ?1 AND number = ?2";

/// Reads a run.
fn one() -> String {
    format!("SELECT {COLUMNS} FROM run WHERE sandbox = ?1 AND number = ?2")
}

impl Writer<'_> {
    /// Records a run that is about to start and gives it the next number.
    pub fn start_run(&self, new: &NewRun<'_>, at: Timestamp) -> Result<u32, StoreError> {
        let project = self.read().sandbox(new.sandbox)?.project;
        let argv = secret::redact_argv(new.argv);
        let number: u32 = self
            .transaction
            .prepare_cached(
                "INSERT INTO run (sandbox, number, argv, cwd, started_ms)
                 SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4
                 FROM run WHERE sandbox = ?1 RETURNING number",
            )?
            .query_row(
                params![
                    new.sandbox.to_string(),
                    to_json(&argv)?,
                    bytes(new.cwd),
                    at.millis()
                ],
                |row| row.get(0),
            )?;
        let fact = Fact::RunStarted { run: number, argv };
        self.append(project, Some(new.sandbox), at, &fact)?;
        Ok(number)
    }

    /// Records the end of a run, once.
    pub fn end_run(
        &self,
        sandbox: SandboxId,
        number: u32,
        ended: &RunEnd<'_>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let run = self.read().run(sandbox, number)?;
        if run.ended.is_some() {
            return Err(StoreError::RunEnded { number });
        }
        self.transaction.prepare_cached(END)?.execute(params![
            sandbox.to_string(),
            number,
            at.millis(),
            to_json(ended.end)?,
            ended.end.exit_code(),
            to_json(&ended.usage)?,
            ended.report,
            ended.log_bytes.cast_signed()
        ])?;
        self.journal_end(sandbox, number, ended, at)
    }

    fn journal_end(
        &self,
        sandbox: SandboxId,
        number: u32,
        ended: &RunEnd<'_>,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let project = self.read().sandbox(sandbox)?.project;
        if let End::Stopped { breach } = ended.end {
            let fact = Fact::LimitBreached {
                run: number,
                breach: breach.clone(),
            };
            self.append(project, Some(sandbox), at, &fact)?;
        }
        let fact = Fact::RunEnded {
            run: number,
            end: ended.end.clone(),
            usage: ended.usage,
        };
        self.append(project, Some(sandbox), at, &fact)?;
        Ok(())
    }
}

impl Reader<'_> {
    /// Gets ready to record the end of a run, while the run takes its time.
    pub fn expect_end(&self) -> Result<(), StoreError> {
        for statement in [END, &one(), ADVANCE_DOWN] {
            drop(self.connection.prepare_cached(statement)?);
        }
        Ok(())
    }

    /// One run of a sandbox.
    pub fn run(&self, sandbox: SandboxId, number: u32) -> Result<Run, StoreError> {
        self.connection
            .prepare_cached(&one())?
            .query_row(params![sandbox.to_string(), number], read)
            .optional()?
            .ok_or_else(|| StoreError::Missing {
                what: "run",
                name: number.to_string(),
            })
    }

    /// The runs of a sandbox, in order.
    pub fn runs(&self, sandbox: SandboxId) -> Result<Vec<Run>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM run WHERE sandbox = ?1 ORDER BY number"
        ))?;
        let runs = statement.query_map([sandbox.to_string()], read)?;
        Ok(runs.collect::<rusqlite::Result<_>>()?)
    }

    /// The newest run of a sandbox.
    pub fn latest_run(&self, sandbox: SandboxId) -> Result<Option<Run>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM run WHERE sandbox = ?1 ORDER BY number DESC LIMIT 1"
            ))?
            .query_row([sandbox.to_string()], read)
            .optional()?)
    }

    /// How many runs a sandbox has had.
    pub fn run_count(&self, sandbox: SandboxId) -> Result<u32, StoreError> {
        Ok(self
            .connection
            // They are numbered from one without gaps, and none is ever taken away.
            .prepare_cached("SELECT coalesce(max(number), 0) FROM run WHERE sandbox = ?1")?
            .query_row([sandbox.to_string()], |row| row.get(0))?)
    }

    /// The numbers of the runs of a sandbox of which no end is on record.
    pub fn open_runs(&self, sandbox: SandboxId) -> Result<Vec<u32>, StoreError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT number FROM run WHERE sandbox = ?1 AND ended_ms IS NULL ORDER BY number",
        )?;
        let numbers = statement.query_map([sandbox.to_string()], |row| row.get(0))?;
        Ok(numbers.collect::<rusqlite::Result<_>>()?)
    }

    /// Every run of which no end is on record: it still runs, or a crash took its keeper.
    pub fn unfinished_runs(&self) -> Result<Vec<Run>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM run WHERE ended_ms IS NULL ORDER BY sandbox, number"
        ))?;
        let runs = statement.query_map([], read)?;
        Ok(runs.collect::<rusqlite::Result<_>>()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Run> {
    Ok(Run {
        sandbox: parsed(row, 0)?,
        number: row.get(1)?,
        argv: json(row, 2)?,
        cwd: path(row, 3)?,
        started: moment(row, 4)?,
        ended: moment_option(row, 5)?,
        end: json_option(row, 6)?,
        usage: json_option(row, 7)?,
        report: row.get(8)?,
        log_bytes: row.get::<_, i64>(9)?.cast_unsigned(),
    })
}
