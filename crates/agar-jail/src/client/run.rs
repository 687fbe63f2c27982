//! A command inside, from the moment it is asked for to its end.

use super::{Keeper, NOT_TAKEN, RunRequest, TalkError, WindowSize, during, hear, unexpected};
use crate::protocol::{self, Reply, Request};
use crate::report::RunReport;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

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
    pub(super) number: u32,
    pub(super) directory: PathBuf,
}

/// Three pipes: the command's ends, and ours.
fn streams() -> io::Result<(Vec<OwnedFd>, [OwnedFd; 3])> {
    let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    let ((in_far, in_near), (out_near, out_far), (err_near, err_far)) = (pipe()?, pipe()?, pipe()?);
    Ok((
        vec![in_far, out_far, err_far],
        [in_near, out_near, err_near],
    ))
}

/// A command that was asked for and may not have started yet.
#[derive(Debug)]
pub struct Order {
    near: Option<[OwnedFd; 3]>,
    number: u32,
    directory: PathBuf,
    doing: &'static str,
}

impl Order {
    pub(super) fn send(
        socket: &OwnedFd,
        directory: &Path,
        request: &RunRequest,
    ) -> Result<Self, TalkError> {
        let (far, near) = match request.terminal {
            Some(_) => (Vec::new(), None),
            None => streams()
                .map(|(far, near)| (far, Some(near)))
                .map_err(during(RUN))?,
        };
        let given: Vec<BorrowedFd<'_>> = far.iter().map(AsFd::as_fd).collect();
        let sent = protocol::send_command(socket, &Request::Run(request.clone()), &given);
        sent.map_err(|error| {
            if error.kind() == io::ErrorKind::BrokenPipe {
                not_taken(RUN)(error)
            } else {
                during(RUN)(error)
            }
        })?;
        Ok(Self {
            near,
            number: request.number,
            directory: directory.to_path_buf(),
            doing: RUN,
        })
    }

    /// Asks for the sandbox's own terminal.
    pub(super) fn look(
        socket: &OwnedFd,
        directory: &Path,
        request: &RunRequest,
    ) -> Result<Self, TalkError> {
        let wanted = Request::Terminal(request.clone());
        protocol::send_command(socket, &wanted, &[]).map_err(during(LOOK))?;
        Ok(Self {
            near: None,
            number: request.number,
            directory: directory.to_path_buf(),
            doing: LOOK,
        })
    }

    /// Wants it no longer. One that has not started yet never will: [`Order::started`] says that it was
    /// not taken. One that has is ended; a terminal goes on without this viewer.
    pub fn take_back(&self, keeper: &Keeper) -> Result<(), TalkError> {
        let request = match self.doing {
            LOOK => Request::Leave,
            _ => Request::Signal {
                number: self.number,
                signal: libc::SIGKILL,
            },
        };
        protocol::send(&keeper.socket, &request, &[]).map_err(during("take a command back"))
    }

    /// Waits until it has started. The keeper is the one that was asked.
    pub fn started(self, keeper: &Keeper) -> Result<Running, TalkError> {
        let doing = self.doing;
        // The command is the last that was said: whoever left it unread did not start it.
        let is_reset = is_reset(&keeper.socket).map_err(during(doing))?;
        let (number, mut attached) = match keeper.hear(doing) {
            Ok((Reply::Started { number }, attached)) => (number, attached),
            Ok((reply, _)) => return Err(unexpected(doing, &reply)),
            Err(error) if is_reset => return Err(not_taken(doing)(error.source)),
            Err(error) => return Err(error),
        };
        let done = keeper.socket.try_clone().map_err(during(doing))?;
        let [stdin, stdout, stderr] = self.near.map_or([None, None, None], |near| near.map(Some));
        Ok(Running {
            stdin,
            stdout,
            stderr,
            terminal: attached.pop(),
            done,
            number,
            directory: self.directory,
        })
    }
}

fn not_taken(doing: &'static str) -> impl FnOnce(io::Error) -> TalkError {
    move |why| TalkError {
        doing,
        source: io::Error::new(NOT_TAKEN, why),
    }
}

/// What was being done when a command could not be started.
pub(super) const RUN: &str = "run a command";

/// The same of a terminal.
pub(super) const LOOK: &str = "look at its terminal";

impl Running {
    /// Sends a signal to the run's command and everything in its process group.
    pub fn signal(&self, signal: i32) -> Result<(), TalkError> {
        let request = Request::Signal {
            number: self.number,
            signal,
        };
        protocol::send(&self.done, &request, &[]).map_err(during("send a signal"))
    }

    /// The run's number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Tells the sandbox's terminal that whoever looks at it has a window of this size.
    pub fn resize(&self, size: WindowSize) -> Result<(), TalkError> {
        protocol::send(&self.done, &Request::Resize(size), &[]).map_err(during("resize a window"))
    }

    /// Looks at the sandbox's terminal no longer; the run on it goes on.
    pub fn leave(&self) -> Result<(), TalkError> {
        protocol::send(&self.done, &Request::Leave, &[]).map_err(during("leave a terminal"))
    }

    /// Waits for the end of something of which nothing is kept.
    pub fn over(&self) -> Result<(), TalkError> {
        hear(&self.done, "wait for a viewer").map(drop)
    }

    /// Waits for the end. Of one that was to be ended while everything inside is stopped, that it ends
    /// when it goes on.
    pub fn wait(&self) -> Result<RunReport, TalkError> {
        const DOING: &str = "wait for a run";
        match hear(&self.done, DOING)? {
            (Reply::Ended { report: None, .. }, _) => {}
            (
                Reply::Ended {
                    report: Some(report),
                    ..
                },
                _,
            ) => return Ok(*report),
            (reply, _) => return Err(unexpected(DOING, &reply)),
        }
        let path = self
            .directory
            .join("runs")
            .join(self.number.to_string())
            .join("report.json");
        let bytes = crate::machine::fs_err_read(&path).map_err(during(DOING))?;
        serde_json::from_slice(&bytes).map_err(|error| during(DOING)(error.into()))
    }
}

/// Waits for something to hear. Whether the other end left with something unread.
fn is_reset(socket: &OwnedFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(socket, PollFlags::IN)];
    while let Err(errno) = poll(&mut fds, None) {
        if errno != Errno::INTR {
            return Err(errno.into());
        }
    }
    let error = rustix::net::sockopt::socket_error(socket)?;
    Ok(error == Err(Errno::CONNRESET))
}
