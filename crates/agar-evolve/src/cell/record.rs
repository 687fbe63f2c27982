//! What lasts of a cell, as plain data.

use crate::engine::Tier;
use crate::engine::host::Cases;
use crate::failure::CellError;
use crate::limits::Limits;
use agar_core::seam::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names a cell for as long as its incubator lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellId(pub u64);

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cell-{}", self.0)
    }
}

/// What a new cell is given.
#[derive(Debug, Clone, Default)]
pub struct Spec {
    /// The walls around each run.
    pub limits: Limits,
    /// Where its random numbers begin.
    pub seed: u64,
    /// What `input` reads.
    pub cases: Option<Cases>,
    /// What `init` is told, if the genome has one.
    pub params: Vec<u8>,
}

/// What a genome keeps of itself, in a form that it or its successor understands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct State {
    /// The form: what the genome's `schema` says, zero without one.
    pub schema: u32,
    /// The content.
    pub bytes: Vec<u8>,
}

/// What a cell has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Metrics {
    /// Runs begun.
    pub runs: u64,
    /// Runs that failed.
    pub failures: u64,
    /// Runs that a limit ended.
    pub killed: u64,
    /// Of those, by the wall clock.
    pub timeouts: u64,
    /// Instructions of all runs.
    pub instructions: u64,
    /// Instructions of the last run.
    pub last_instructions: u64,
    /// Messages answered.
    pub messages: u64,
    /// Genomes exchanged.
    pub swaps: u64,
    /// Times it was begun anew.
    pub restarts: u64,
    /// Times it was put to sleep.
    pub hibernations: u64,
}

/// What a cell is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// With a live instance.
    Awake,
    /// With its state saved and no instance.
    Asleep,
    /// A run ended half-way; it needs a restart.
    Crashed,
}

/// What can be said of a cell without running it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Info {
    /// Its name.
    pub id: CellId,
    /// Its genome.
    pub genome: crate::genome::GenomeId,
    /// What it is doing.
    pub condition: Condition,
    /// Where it runs, while it is awake.
    pub tier: Option<Tier>,
    /// The number of its version.
    pub current_version: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// Bytes it takes, about.
    pub memory: u64,
    /// Messages that wait.
    pub waiting: usize,
    /// What it has done.
    pub metrics: Metrics,
}

/// A message's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The number of the message.
    pub ticket: u64,
    /// What the genome said, or why it did not.
    pub result: Result<Vec<u8>, CellError>,
}
