//! How a run ended and what it used.

use crate::wire::Raw;
pub use agar_core::run::{End, Usage};
use serde::{Deserialize, Serialize};

/// Everything the keeper saw of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReport {
    /// The run's number within its sandbox.
    pub number: u32,
    /// How it ended.
    pub end: End,
    /// What it used.
    pub usage: Usage,
    /// Programs that were started, in order, as far as they were recorded.
    pub executions: Vec<Execution>,
    /// Programs started beyond those recorded.
    pub executions_dropped: u64,
    /// System calls that the walls denied.
    pub denied: Vec<Denied>,
    /// Files opened, when that was asked for.
    pub files: Vec<FileAccess>,
    /// File accesses beyond those recorded.
    pub files_dropped: u64,
    /// What a reader of the record should know: limits that could not be enforced, walls missing.
    pub notes: Vec<String>,
}

impl RunReport {
    /// What of it has room in a message, where it could not be written down.
    pub(crate) fn in_short(self, why: &std::io::Error) -> Self {
        let mut notes = self.notes;
        notes.push(format!("its report could not be written: {why}"));
        Self {
            executions_dropped: self.executions_dropped + self.executions.len() as u64,
            files_dropped: self.files_dropped + self.files.len() as u64,
            executions: Vec::new(),
            files: Vec::new(),
            notes,
            ..self
        }
    }
}

/// A program that was started inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Its process id as seen inside.
    pub pid: u32,
    /// The program's path, as given.
    pub program: Raw,
    /// Its arguments, as far as they were recorded.
    pub arguments: Vec<Raw>,
    /// When, in milliseconds since the run began.
    pub at_ms: u64,
}

/// A system call that the walls denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denied {
    /// The call's name.
    pub call: String,
    /// How often.
    pub count: u64,
}

/// A file that was opened inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAccess {
    /// The path, as given.
    pub path: Raw,
    /// Whether it was opened for writing.
    pub write: bool,
}
