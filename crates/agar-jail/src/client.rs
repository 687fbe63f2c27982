//! The near end of a sandbox: start its keeper, or find it again, and ask it to run commands.

use crate::plan::Plan;
use crate::report::RunReport;
use crate::wire::Raw;
use agar_core::fault::{Fault, Kind, Remedy};
use agar_core::limits::Limits;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// What a keeper needs to know to raise a jail and mind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeeperConfig {
    /// The jail.
    pub plan: Plan,
    /// How much of the machine it may use.
    pub limits: Limits,
    /// The sandbox's directory: `lock` and `runs/<n>/report.json` are kept there.
    pub directory: Raw,
    /// Where the keeper listens; its directory exists.
    pub socket: Raw,
    /// Directories whose growth counts against the disk limit.
    pub layers: Vec<Raw>,
    /// The name of its control groups.
    pub name: String,
    /// Whether the sandbox ends with the client that started it.
    pub lifetime: Lifetime,
}

/// How long a keeper keeps its jail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// Until the first run ends or the client that started it goes away.
    OneRun,
    /// Until it is asked to stop.
    UntilStopped,
}

/// A command to run inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequest {
    /// The run's number within its sandbox.
    pub number: u32,
    /// The program and its arguments; the program is looked up in the `PATH` of `env`.
    pub argv: Vec<Raw>,
    /// The whole environment.
    pub env: Vec<(Raw, Raw)>,
    /// Where it starts.
    pub cwd: Raw,
    /// The window of its terminal, if it gets one.
    pub terminal: Option<WindowSize>,
    /// Wall time after which it is ended, in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// The size of a terminal's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSize {
    /// Rows of text.
    pub rows: u16,
    /// Columns of text.
    pub columns: u16,
}

/// A keeper that was started or found.
#[derive(Debug)]
pub struct Keeper {
    socket: OwnedFd,
}

/// A run under way. Whoever holds it reads its output.
#[derive(Debug)]
pub struct Running {
    /// Its standard input, when it has no terminal.
    pub stdin: Option<OwnedFd>,
    /// Its standard output, when it has no terminal.
    pub stdout: Option<OwnedFd>,
    /// Its standard error, when it has no terminal.
    pub stderr: Option<OwnedFd>,
    /// The near end of its terminal, when it has one.
    pub terminal: Option<OwnedFd>,
    /// Readable when the run has ended: then [`Running::wait`] answers at once.
    pub done: OwnedFd,
}

/// The jail could not be raised.
#[derive(Debug, thiserror::Error)]
#[error("cannot raise the jail: {step}")]
pub struct StartError {
    /// The step that failed, in words.
    pub step: String,
    /// Why.
    #[source]
    pub source: io::Error,
}

impl Fault for StartError {
    fn kind(&self) -> Kind {
        Kind::Unsupported
    }

    fn remedy(&self) -> Option<Remedy> {
        Some(Remedy::Diagnose)
    }
}

/// The keeper did not answer.
#[derive(Debug, thiserror::Error)]
#[error("cannot talk to the sandbox's keeper while trying to {doing}")]
pub struct TalkError {
    /// What was being asked of it.
    pub doing: &'static str,
    /// Why.
    #[source]
    pub source: io::Error,
}

impl Fault for TalkError {
    fn kind(&self) -> Kind {
        match self.source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Kind::NotFound,
            _ => Kind::Internal,
        }
    }
}

/// Starts a keeper and waits until its jail stands.
///
/// `program` is the directory where the keeper's program is kept between starts.
pub fn start(program: &Path, config: &KeeperConfig) -> Result<Keeper, StartError> {
    let _ = (program, config);
    Err(StartError {
        step: "not there yet".into(),
        source: io::ErrorKind::Unsupported.into(),
    })
}

/// What a keeper says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The keeper's process id.
    pub keeper: u32,
    /// The init's process id as seen outside.
    pub init: u32,
    /// Numbers of the runs under way.
    pub runs: Vec<u32>,
    /// Processes alive inside.
    pub processes: u32,
    /// Resident memory inside, in bytes.
    pub memory_bytes: u64,
    /// Limits that are really enforced here, and how.
    pub enforced: Vec<String>,
}

impl Keeper {
    /// Finds a keeper by its socket.
    pub fn connect(socket: &Path) -> Result<Self, TalkError> {
        let _ = socket;
        Err(TalkError {
            doing: "connect",
            source: io::ErrorKind::Unsupported.into(),
        })
    }

    /// Starts a command inside.
    pub fn run(&self, request: &RunRequest) -> Result<Running, TalkError> {
        let _ = (request, &self.socket);
        Err(TalkError {
            doing: "run a command",
            source: io::ErrorKind::Unsupported.into(),
        })
    }

    /// What runs inside.
    pub fn status(&self) -> Result<Status, TalkError> {
        Err(TalkError {
            doing: "ask for its status",
            source: io::ErrorKind::Unsupported.into(),
        })
    }

    /// Ends everything inside and the keeper, and waits until it is gone.
    pub fn stop(self) -> Result<(), TalkError> {
        Err(TalkError {
            doing: "stop",
            source: io::ErrorKind::Unsupported.into(),
        })
    }
}

impl Running {
    /// Sends a signal to the run's command and everything in its process group.
    pub fn signal(&self, signal: i32) -> Result<(), TalkError> {
        let _ = signal;
        Err(TalkError {
            doing: "send a signal",
            source: io::ErrorKind::Unsupported.into(),
        })
    }

    /// Waits for the end.
    pub fn wait(self) -> Result<RunReport, TalkError> {
        Err(TalkError {
            doing: "wait for a run",
            source: io::ErrorKind::Unsupported.into(),
        })
    }
}
