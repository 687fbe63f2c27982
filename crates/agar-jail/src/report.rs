//! How a run ended and what it used.

use crate::wire::Raw;
use agar_core::limits::Breach;
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

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum End {
    /// By itself, with a status.
    Exited {
        /// The status.
        code: i32,
    },
    /// By a signal.
    Signaled {
        /// The signal's number.
        signal: i32,
    },
    /// There is no such program.
    NotFound,
    /// The program cannot be executed.
    NotExecutable {
        /// The kernel's reason.
        errno: i32,
    },
    /// A limit was reached.
    Stopped {
        /// Which one.
        breach: Breach,
    },
    /// The jail went away under it.
    Lost,
}

impl End {
    /// The status a shell would report.
    pub const fn exit_code(&self) -> i32 {
        match self {
            Self::Exited { code } => *code,
            Self::Signaled { signal } => 128 + *signal,
            Self::NotFound => 127,
            Self::NotExecutable { .. } => 126,
            Self::Stopped { .. } => 5,
            Self::Lost => 125,
        }
    }

    /// Whether the command did what it was asked to.
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Exited { code: 0 })
    }
}

/// What a run used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Wall time in milliseconds.
    pub wall_ms: u64,
    /// Processor time in the commands, in milliseconds.
    pub user_ms: u64,
    /// Processor time in the kernel on their behalf, in milliseconds.
    pub system_ms: u64,
    /// The most memory resident at once, in bytes, where it could be measured for the whole tree,
    /// else of the largest process.
    pub memory_peak_bytes: u64,
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
