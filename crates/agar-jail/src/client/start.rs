//! Starting a keeper, in steps that overlap with the caller's own work.
//!
//! A keeper can be started before anybody knows what it is to keep. It then begins with what nearly
//! every jail has in common while the caller still looks at the project, and goes on with what is
//! this jail's own while the caller writes its records.

use super::{Keeper, KeeperConfig, Order, RunRequest, TalkError};
use crate::keeper::CLIENT_FD;
use crate::protocol::{self, Reply};
use crate::wire::Raw;
use crate::{detach, program, syscall};
use agar_core::fault::{Fault, Kind, Remedy};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::WaitOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

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
        let why = self.source.kind();
        if why == io::ErrorKind::WouldBlock {
            // Somebody else has what it takes, and may let go of it.
            Kind::Conflict
        } else if [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&why) {
            Kind::Limit
        } else if self.source.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
            // A link was laid where something is to be mounted.
            Kind::Refused
        } else {
            Kind::Unsupported
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        (self.kind() == Kind::Unsupported).then_some(Remedy::Diagnose)
    }
}

pub(super) fn failed(step: &str) -> impl FnOnce(io::Error) -> StartError {
    let step = step.to_owned();
    move |source: io::Error| StartError { step, source }
}

/// What a keeper may do before it knows its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead<'a> {
    /// Nothing.
    Nothing,
    /// Begin with what most jails of an ordinary user have in common: namespaces without a network,
    /// and the machine below them, put together over this directory. A plan that wants something
    /// else still gets what it wants, later.
    Usual(&'a Path),
}

/// The word that asks the keeper's program for [`Ahead::Usual`].
pub(crate) const AHEAD_WORD: &str = "ahead";

/// A keeper that waits for its plan. Let go, it ends.
#[derive(Debug)]
pub struct Waiting {
    pub(super) socket: OwnedFd,
    pub(super) child: Child,
}

/// A keeper that raises its jail. Let go, it ends.
#[derive(Debug)]
pub struct Raising {
    waiting: Waiting,
    directory: PathBuf,
}

/// A keeper's process.
#[derive(Debug)]
pub(super) enum Child {
    /// A child of this process.
    Own(i32),
    /// Of a [`Hatchery`](super::Hatchery), and it has not been heard from.
    Unborn,
    /// Of a hatchery. The descriptor can be read from when it has ended.
    Hatched(OwnedFd),
}

/// Keepers that were left to end by themselves and not yet buried.
static LEFT: Mutex<Vec<i32>> = Mutex::new(Vec::new());

impl Child {
    /// Waits until it is gone.
    pub(super) fn bury(self) {
        match &self {
            Self::Own(pid) => {
                // It may have been buried by someone who waits for all children.
                drop(syscall::wait_for(*pid, WaitOptions::empty()));
                std::mem::forget(self);
            }
            Self::Hatched(handle) => {
                let mut fds = [PollFd::new(handle, PollFlags::IN)];
                while poll(&mut fds, None) == Err(Errno::INTR) {}
            }
            // There never was one, or it cannot be waited for.
            Self::Unborn => {}
        }
    }
}

impl Drop for Child {
    /// It ends by itself; the next start buries it.
    fn drop(&mut self) {
        if let Self::Own(pid) = self {
            LEFT.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(*pid);
        }
    }
}

/// Buries those that have ended meanwhile: a dead child would stay for as long as this process.
pub(super) fn bury_those_left() {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.retain(|&child| matches!(syscall::wait_for(child, WaitOptions::NOHANG), Ok(None)));
}

/// Starts a keeper that waits for its plan.
///
/// `program` is the directory where the keeper's program is kept between starts.
pub fn prepare(program: &Path, ahead: Ahead<'_>) -> Result<Waiting, StartError> {
    bury_those_left();
    let file = program::file(program).map_err(failed("write the keeper's program"))?;
    let (near, far) = pair()?;
    let mut words: Vec<Raw> = vec!["agar-keeper".into()];
    match ahead {
        Ahead::Nothing => {}
        Ahead::Usual(staging) => words.extend([AHEAD_WORD.into(), staging.into()]),
    }
    let child =
        detach::spawn(&file, &words, &[(&far, CLIENT_FD)]).map_err(failed("start the keeper"))?;
    Ok(Waiting {
        socket: near,
        child: Child::Own(child),
    })
}

/// The two ends of a client's talk with its keeper.
pub(super) fn pair() -> Result<(OwnedFd, OwnedFd), StartError> {
    rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .map_err(|errno| failed("make a pair of sockets")(errno.into()))
}

/// Starts a keeper and waits until its jail stands.
pub fn start(program: &Path, config: &KeeperConfig) -> Result<Keeper, StartError> {
    prepare(program, Ahead::Nothing)?.raise(config)?.ready()
}

impl Waiting {
    /// The first that is heard of a keeper of a hatchery is how to wait for its end, or why there is
    /// none.
    fn hear_birth(&mut self) -> Result<(), StartError> {
        let Child::Unborn = self.child else {
            return Ok(());
        };
        let mut buffer = Vec::new();
        let given = match protocol::receive_bytes(&self.socket, &mut buffer) {
            // This process can have no more descriptors: nobody waits for the end of this keeper, as
            // nobody does for one that another process started.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(()),
            given => given.map_err(failed("hear from the keeper"))?,
        };
        if let Some(handle) = given.and_then(|given| given.into_iter().next()) {
            self.child = Child::Hatched(handle);
        } else if let Ok(Reply::Failed { step, errno }) = serde_json::from_slice(&buffer) {
            let source = io::Error::from_raw_os_error(errno);
            return Err(StartError { step, source });
        }
        Ok(())
    }

    /// Hands over the plan.
    pub fn raise(self, config: &KeeperConfig) -> Result<Raising, StartError> {
        let doing = "hand over the plan";
        let memory = super::config_file(config).map_err(failed(doing))?;
        protocol::send_bytes(&self.socket, b"p", &[memory.as_fd()]).map_err(failed(doing))?;
        Ok(Raising {
            waiting: self,
            directory: config.directory.clone().into(),
        })
    }
}

impl Raising {
    /// Asks for a command that is to start as soon as the jail stands. Only one.
    pub fn order(&self, request: &RunRequest) -> Result<Order, TalkError> {
        Order::send(&self.waiting.socket, &self.directory, request)
    }

    /// Waits until the jail stands.
    pub fn ready(mut self) -> Result<Keeper, StartError> {
        self.waiting.hear_birth()?;
        let mut buffer = Vec::new();
        let reply = protocol::receive::<Reply>(&self.waiting.socket, &mut buffer)
            .map_err(failed("hear from the keeper"))?;
        let failure = match reply {
            Some((Reply::Ready { notes, groups }, _)) => {
                return Ok(Keeper {
                    socket: self.waiting.socket,
                    directory: self.directory,
                    notes,
                    groups,
                    child: Some(self.waiting.child),
                });
            }
            Some((Reply::Failed { step, errno }, _)) => StartError {
                step,
                source: io::Error::from_raw_os_error(errno),
            },
            Some(_) | None => StartError {
                step: "hear from the keeper, which ended".into(),
                source: io::ErrorKind::UnexpectedEof.into(),
            },
        };
        // It is ending.
        self.waiting.child.bury();
        Err(failure)
    }

    /// Ends the keeper, whatever it is at, and waits until it is gone.
    pub fn give_up(mut self) {
        // One that cannot be heard from has ended.
        drop(self.waiting.hear_birth());
        let Waiting { socket, child } = self.waiting;
        drop(socket);
        child.bury();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_go_away_by_itself_is_not_said_to_be_impossible_here() {
        let kind = |errno: Errno| {
            let error = failed("lock the sandbox")(errno.into());
            (error.kind(), error.remedy())
        };
        assert_eq!(kind(Errno::AGAIN), (Kind::Conflict, None));
        assert_eq!(kind(Errno::NOSPC), (Kind::Limit, None));
        assert_eq!(
            kind(Errno::LOOP),
            (Kind::Refused, None),
            "a link of the sandbox's own"
        );
        let here = (Kind::Unsupported, Some(Remedy::Diagnose));
        assert_eq!(kind(Errno::PERM), here);
        assert_eq!(kind(Errno::USERS), here, "user namespaces are switched off");
    }
}
