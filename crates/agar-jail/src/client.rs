//! The near end of a sandbox: start its keeper, or find it again, and ask it to run commands.

use crate::plan::Plan;
use crate::policy::Overlay;
use crate::protocol::{self, Reply, Request};
use crate::wire::Raw;
use agar_core::fault::{Fault, Kind};
use agar_core::limits::Limits;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

mod hatchery;
mod run;
mod start;
mod still;
mod stop;

pub use hatchery::Hatchery;
pub(crate) use hatchery::{HATCH_WORD, USUAL};
use run::{LOOK, RUN};
pub use run::{Order, Running};
pub(crate) use start::AHEAD_WORD;
use start::Child;
pub use start::{Ahead, Raising, StartError, Waiting, prepare, start};
pub use still::{Laying, Stillness};

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
    /// A file that the keeper holds a shared lock on for as long as it lives, if it can: whoever wants
    /// to know of many keepers sees all their locks in one list.
    pub mark: Option<Raw>,
}

/// How long a keeper keeps its jail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// Until the run ends that the client who started it asks for, or that client goes away.
    OneRun,
    /// Until the client that started it goes away, unless that has it stay ([`Keeper::stay`]).
    UntilLeft,
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

/// Numbers from here on are not of runs but of those who look at one: nothing is kept of them.
pub const VIEWERS: u32 = 1 << 31;

/// New layers for trees of a jail that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remount {
    /// The trees, each with everything that it is to be made of.
    pub overlays: Vec<Overlay>,
    /// Directories whose growth counts against the disk limit from then on.
    pub layers: Vec<Raw>,
    /// Whether processes inside are ended first.
    pub evict: bool,
}

/// What became of a [`Remount`].
#[derive(Debug)]
pub enum Laid {
    /// The trees have their new layers; so many processes were ended for it.
    Done {
        /// Processes that were ended.
        ended: u32,
    },
    /// Something is under way inside; nothing was touched.
    Busy,
    /// This jail cannot be given new layers; nothing was touched.
    Unable(StartError),
    /// The trees could not be put together again, and the jail has ended.
    Lost(StartError),
}

/// A keeper that was started or found. One run at a time: connect again for another.
#[derive(Debug)]
pub struct Keeper {
    socket: OwnedFd,
    /// Where reports are found.
    directory: PathBuf,
    /// What the keeper wants known about the walls: limits not enforced, guards missing.
    pub notes: Vec<String>,
    /// Whether it made control groups, which only it, or a sweep of the sandbox, takes away.
    groups: bool,
    /// The keeper's process, if this process started it.
    child: Option<Child>,
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

impl TalkError {
    /// Whether it refused because everything inside is stopped until somebody lets it go on.
    pub fn is_paused(&self) -> bool {
        self.source.kind() == PAUSED
    }

    /// Whether it did not answer in time. It is there, and perhaps stopped.
    pub fn is_silent(&self) -> bool {
        self.source.kind() == SILENT
    }

    /// Whether the keeper ended before it took a command, or the command was taken back: it is certain
    /// that it did not start, and another keeper can be asked.
    pub fn is_not_taken(&self) -> bool {
        [RUN, LOOK].contains(&self.doing) && self.source.kind() == NOT_TAKEN
    }
}

/// How long a keeper may take to say what runs. It has one thread, and may be at something else.
const STATUS_PATIENCE: Duration = Duration::from_secs(2);
/// What a socket says that was listened to for long enough.
const SILENT: io::ErrorKind = io::ErrorKind::WouldBlock;
/// How a refusal is told from other troubles.
const PAUSED: io::ErrorKind = io::ErrorKind::ResourceBusy;
/// A socket that was closed with something unread in it says so to the other end.
const NOT_TAKEN: io::ErrorKind = io::ErrorKind::ConnectionReset;

impl Fault for TalkError {
    fn kind(&self) -> Kind {
        let gone = [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused];
        if gone.contains(&self.source.kind()) {
            Kind::NotFound
        } else if self.is_paused() || self.is_silent() {
            Kind::Conflict
        } else {
            Kind::Internal
        }
    }
}

/// The configuration in a file of its own memory, read from the start.
pub(crate) fn config_file(config: &KeeperConfig) -> io::Result<OwnedFd> {
    let memory = rustix::fs::memfd_create(c"agar-plan", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(memory);
    io::Write::write_all(&mut file, &serde_json::to_vec(config)?)?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
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
    /// The run on the terminal that the keeper holds, if it holds one.
    #[serde(default)]
    pub terminal: Option<u32>,
    /// Those who look at that terminal.
    #[serde(default)]
    pub viewers: u32,
    /// Processes alive inside.
    pub processes: u32,
    /// Resident memory inside, in bytes.
    pub memory_bytes: u64,
    /// Limits that are really enforced here, and how.
    pub enforced: Vec<String>,
    /// The upper layers that are mounted now.
    #[serde(default)]
    pub uppers: Vec<Raw>,
    /// Whether its processes are stopped until somebody lets them go on.
    #[serde(default)]
    pub paused: bool,
}

impl Keeper {
    /// Finds the keeper of a sandbox by its socket and the sandbox's directory.
    pub fn connect(socket: &Path, directory: &Path) -> Result<Self, TalkError> {
        let connected = connect(socket).map_err(during("connect"))?;
        Ok(Self {
            socket: connected,
            directory: directory.to_path_buf(),
            notes: Vec::new(),
            groups: false,
            child: None,
        })
    }

    /// Starts a command inside.
    pub fn run(&self, request: &RunRequest) -> Result<Running, TalkError> {
        self.order(request)?.started(self)
    }

    /// Asks for a command, without waiting until it has started.
    pub fn order(&self, request: &RunRequest) -> Result<Order, TalkError> {
        Order::send(&self.socket, &self.directory, request)
    }

    /// Looks at the sandbox's own terminal, which the keeper holds. The command is started on it if
    /// there is none; it outlives whoever looks.
    pub fn terminal(&self, request: &RunRequest) -> Result<Running, TalkError> {
        self.order_terminal(request)?.started(self)
    }

    /// Asks for the terminal, without waiting until it is there.
    pub fn order_terminal(&self, request: &RunRequest) -> Result<Order, TalkError> {
        Order::look(&self.socket, &self.directory, request)
    }

    /// What runs inside.
    pub fn status(&self) -> Result<Status, TalkError> {
        const DOING: &str = "ask for its status";
        self.say(&Request::Status, &[], DOING)?;
        match self.hear(DOING)? {
            (Reply::Status(status), _) => Ok(status),
            (reply, _) => Err(unexpected(DOING, &reply)),
        }
    }

    /// The same for whoever only looks, and would rather not know than wait for long.
    pub fn status_soon(self) -> Result<Status, TalkError> {
        let bounded = self.hear_within(Some(STATUS_PATIENCE));
        bounded.map_err(during("ask for its status"))?;
        self.status()
    }

    /// Has the wait for the next words end after a time.
    fn hear_within(&self, patience: Option<Duration>) -> io::Result<()> {
        Ok(set_socket_timeout(&self.socket, Timeout::Recv, patience)?)
    }

    /// Ends the keeper if nothing runs inside and nobody else talks to it. Whether it did.
    pub fn retire(self) -> Result<bool, TalkError> {
        const DOING: &str = "retire";
        self.say(&Request::Retire, &[], DOING)?;
        let mut buffer = Vec::new();
        let reply = protocol::receive::<Reply>(&self.socket, &mut buffer).map_err(during(DOING))?;
        Ok(reply.is_none())
    }

    /// Waits until a keeper that this process started is gone. Only after its last run ended.
    pub fn bury(self) {
        // It takes its jail down when nobody waits for anything else of it.
        drop(self.socket);
        if let Some(child) = self.child {
            child.bury();
        }
    }

    /// Whether it made control groups. What else a keeper has to take down after its last run the
    /// kernel would clear away after one that is killed meanwhile; its groups it would not.
    pub fn has_groups(&self) -> bool {
        self.groups
    }

    fn say(
        &self,
        request: &Request,
        given: &[BorrowedFd<'_>],
        doing: &'static str,
    ) -> Result<(), TalkError> {
        protocol::send(&self.socket, request, given).map_err(during(doing))
    }

    fn hear(&self, doing: &'static str) -> Result<(Reply, Vec<OwnedFd>), TalkError> {
        hear(&self.socket, doing)
    }
}

impl AsFd for Keeper {
    /// Readable when it has something to say, or is gone.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn hear(socket: &OwnedFd, doing: &'static str) -> Result<(Reply, Vec<OwnedFd>), TalkError> {
    let mut buffer = Vec::new();
    let gone = || TalkError {
        doing,
        source: io::ErrorKind::UnexpectedEof.into(),
    };
    protocol::receive(socket, &mut buffer)
        .map_err(during(doing))?
        .ok_or_else(gone)
}

fn during(doing: &'static str) -> impl FnOnce(io::Error) -> TalkError {
    move |source| TalkError { doing, source }
}

fn unexpected(doing: &'static str, reply: &Reply) -> TalkError {
    let source = match reply {
        Reply::Refused { reason } => io::Error::other(reason.clone()),
        Reply::Paused => io::Error::new(PAUSED, "its processes are stopped"),
        Reply::NotTaken => io::Error::new(NOT_TAKEN, "it was not started"),
        Reply::Ready { .. }
        | Reply::Failed { .. }
        | Reply::Started { .. }
        | Reply::Ended { .. }
        | Reply::Status(_)
        | Reply::Stays
        | Reply::Remounted(_)
        | Reply::Frozen { .. }
        | Reply::Thawed { .. } => io::Error::other(format!("it answered {reply:?}")),
    };
    TalkError { doing, source }
}

fn connect(path: &Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::net::connect(&socket, &rustix::net::SocketAddrUnix::new(path)?)?;
    let peer = rustix::net::sockopt::socket_peercred(&socket)?;
    if peer.uid != rustix::process::getuid() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(socket)
}
