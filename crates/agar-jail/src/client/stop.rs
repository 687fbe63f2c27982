//! Ending a keeper, with everything that it keeps.
//!
//! A keeper that was asked to end may be at it for long: the kernel has thousands of processes to bury,
//! or one that waits for a disk. Nobody may take what was inside for gone before it is. One that does
//! not even hear is killed, and then whoever killed it waits for what was inside.

use super::start::Child;
use super::{Keeper, SILENT, TalkError, during};
use crate::limit::Watch;
use crate::protocol::{self, Reply, Request};
use crate::syscall;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::time::Duration;

/// What was being done when a keeper was not ended.
const STOP: &str = "stop";

/// How long a keeper may say nothing before somebody looks what it is at.
const PATIENCE: Duration = Duration::from_secs(10);

impl Keeper {
    /// Ends everything inside and the keeper, and waits until all of it is gone. One that does not hear
    /// is killed, unless it cannot be told which process it is: then it is silent.
    pub fn stop(self) -> Result<(), TalkError> {
        self.stop_within(PATIENCE)
    }

    fn stop_within(self, patience: Duration) -> Result<(), TalkError> {
        self.say(&Request::Stop, &[], STOP)?;
        self.hear_within(Some(patience)).map_err(during(STOP))?;
        let mut killed = None;
        let mut buffer = Vec::new();
        loop {
            match protocol::receive::<Reply>(&self.socket, &mut buffer) {
                Ok(Some(_)) => {}
                Err(error) if error.kind() != SILENT => break,
                Err(_) if self.is_ending().map_err(silent)? => {}
                Err(_) => {
                    killed = Some(self.kill().map_err(silent)?);
                    self.hear_within(None).map_err(silent)?;
                }
                Ok(None) => break,
            }
        }
        let directory = self.directory.clone();
        self.bury();
        if let Some(left) = killed {
            // What is frozen does not die, and an init without namespaces does not see its keeper go.
            drop(crate::keeper::sweep(&directory));
            left.iter().for_each(await_end);
        }
        Ok(())
    }

    /// Whether it is on its way, however long that takes: it has heard, or was told before by somebody
    /// else, and is waiting for the end of what it killed.
    fn is_ending(&self) -> io::Result<bool> {
        if !syscall::is_unread(&self.socket)? || is_closed(&self.socket)? {
            return Ok(true);
        }
        let Some((pid, _handle)) = self.process()? else {
            return Ok(false);
        };
        let is_killed = |child| Stat::of(child).is_killed();
        Ok(!Stat::of(pid).is_stopped() && children(pid).into_iter().any(is_killed))
    }

    /// Kills it. Gives what is to be waited for then: the keeper, and what it had started.
    fn kill(&self) -> io::Result<Vec<OwnedFd>> {
        let Some((pid, handle)) = self.process()? else {
            if is_closed(&self.socket)? {
                return Ok(Vec::new());
            }
            return Err(io::ErrorKind::NotFound.into());
        };
        // The numbers of its children are nobody else's for as long as it does not bury them. If they
        // cannot be held, this is no time to kill it.
        let mut left = Vec::new();
        for child in children(pid) {
            left.extend(hold(child)?);
        }
        // One that is gone by now is what is wanted.
        let _ = pidfd_send_signal(&handle, Signal::KILL);
        left.push(handle);
        Ok(left)
    }

    /// Its process, if it is certain which that is.
    fn process(&self) -> io::Result<Option<(Pid, OwnedFd)>> {
        let found = match &self.child {
            Some(Child::Own(pid)) => Pid::from_raw(*pid),
            Some(Child::Hatched(handle)) => {
                let handle = handle.try_clone()?;
                return Ok(number(&handle).map(|pid| (pid, handle)));
            }
            Some(Child::Unborn) => None,
            // Of a pair of sockets the maker of both is named, which is this process.
            None => Some(rustix::net::sockopt::socket_peercred(&self.socket)?.pid)
                .filter(|pid| *pid != rustix::process::getpid()),
        };
        let Some(pid) = found else {
            return Ok(None);
        };
        let Some(handle) = hold(pid)? else {
            return Ok(None);
        };
        // The other end is open, so whoever has it was alive when the handle was made: the number was
        // not somebody else's by then.
        Ok((!is_closed(&self.socket)?).then_some((pid, handle)))
    }
}

/// It is there, and nobody can say what it is at, or end it.
fn silent(why: io::Error) -> TalkError {
    during(STOP)(io::Error::new(SILENT, why))
}

/// A handle for a process, unless there is none of this number.
fn hold(pid: Pid) -> io::Result<Option<OwnedFd>> {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => Ok(Some(handle)),
        Err(Errno::SRCH) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// The number of a process that a descriptor stands for.
fn number(handle: &OwnedFd) -> Option<Pid> {
    let path = format!("/proc/self/fdinfo/{}", handle.as_raw_fd());
    let text = String::from_utf8(crate::machine::fs_err_read(path.as_ref()).ok()?).ok()?;
    let number = text.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    Pid::from_raw(number.trim().parse().ok()?)
}

fn children(of: Pid) -> Vec<Pid> {
    let children = Watch::default().children_of(of.as_raw_pid().cast_unsigned());
    let pids = children.into_iter().map(u32::cast_signed);
    pids.filter_map(Pid::from_raw).collect()
}

/// What the kernel says of a process.
struct Stat(Vec<String>);

impl Stat {
    fn of(pid: Pid) -> Self {
        let path = format!("/proc/{}/stat", pid.as_raw_pid());
        let text = crate::machine::fs_err_read(path.as_ref()).unwrap_or_default();
        // Its name may hold anything.
        let end = text.iter().rposition(|byte| *byte == b')');
        let rest = end.map_or(&[][..], |end| &text[end + 1..]);
        let rest = String::from_utf8_lossy(rest);
        Self(rest.split_ascii_whitespace().map(str::to_owned).collect())
    }

    /// A field by its number in the manual; those behind the name begin with the third.
    fn field(&self, number: usize) -> &str {
        self.0.get(number - 3).map_or("", String::as_str)
    }

    fn has(&self, number: usize, bit: u64) -> bool {
        let bits = self.field(number).parse::<u64>();
        bits.is_ok_and(|bits| bits & bit != 0)
    }

    /// Whether it does nothing until somebody lets it go on.
    fn is_stopped(&self) -> bool {
        ["T", "t"].contains(&self.field(3))
    }

    /// Whether it was killed, is dying, or is dead and not buried.
    fn is_killed(&self) -> bool {
        const EXITING: u64 = 4;
        const KILLED: u64 = 1 << (libc::SIGKILL - 1);
        ["Z", "X"].contains(&self.field(3)) || self.has(9, EXITING) || self.has(31, KILLED)
    }
}

/// Waits until a process is gone.
fn await_end(handle: &OwnedFd) {
    let mut fds = [PollFd::new(handle, PollFlags::IN)];
    while poll(&mut fds, None) == Err(Errno::INTR) {}
}

/// Whether the other end is gone.
fn is_closed(socket: &OwnedFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(socket, PollFlags::RDHUP)];
    Ok(poll(&mut fds, Some(&Timespec::default()))? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keeper::CLIENT_FD;
    use crate::{client::start::pair, detach};
    use agar_testkit::{keepers, wait};
    use rustix::process::kill_process;
    use std::path::Path;

    /// A keeper that is a shell, with the other end of its socket.
    fn keeper(script: &str, directory: &Path) -> (Keeper, Pid, OwnedFd) {
        let (near, far) = pair().unwrap();
        let words = ["sh".into(), "-c".into(), script.into()];
        let child = detach::spawn(Path::new("/bin/sh"), &words, &[(&far, CLIENT_FD)]).unwrap();
        let keeper = Keeper {
            socket: near,
            directory: directory.to_owned(),
            notes: Vec::new(),
            groups: false,
            child: Some(Child::Own(child)),
        };
        (keeper, Pid::from_raw(child).unwrap(), far)
    }

    #[test]
    fn one_that_does_not_hear_is_killed_and_what_it_had_started_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let (keeper, pid, far) = keeper("sleep 1000 3>&- & wait", directory.path());
        drop(far);
        wait::until("it to start something", || {
            keepers::first_child(pid).is_some()
        });
        let inside = keepers::first_child(pid).unwrap();
        std::thread::scope(|scope| {
            let stopping = scope.spawn(|| keeper.stop_within(Duration::from_millis(1)));
            wait::until("it to be killed", || !keepers::is_there(pid));
            assert!(!stopping.is_finished(), "something goes on");
            kill_process(inside, Signal::KILL).unwrap();
            stopping.join().unwrap().unwrap();
        });
    }

    #[test]
    fn one_that_has_heard_is_waited_for_however_long_it_takes() {
        let directory = tempfile::tempdir().unwrap();
        let (keeper, pid, far) = keeper("exec sleep 1000 3>&-", directory.path());
        std::thread::scope(|scope| {
            let stopping = scope.spawn(|| keeper.stop_within(Duration::from_millis(1)));
            let mut buffer = Vec::new();
            let heard = protocol::receive::<Request>(&far, &mut buffer).unwrap();
            assert!(matches!(heard, Some((Request::Stop, _))));
            let is_killed = || !keepers::is_there(pid);
            assert!(!wait::holds_within(Duration::from_millis(100), is_killed));
            drop(far);
            kill_process(pid, Signal::KILL).unwrap();
            stopping.join().unwrap().unwrap();
        });
    }

    #[test]
    fn one_that_does_not_hear_and_is_not_known_is_silent_and_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let (near, far) = pair().unwrap();
        let keeper = Keeper {
            socket: near,
            directory: directory.path().to_owned(),
            notes: Vec::new(),
            groups: false,
            child: Some(Child::Unborn),
        };
        let error = keeper.stop_within(Duration::from_millis(1)).unwrap_err();
        assert!(error.is_silent(), "{error:?}");
        drop(far);
    }

    #[test]
    fn a_handle_tells_its_number() {
        let own = rustix::process::getpid();
        let handle = hold(own).unwrap().unwrap();
        assert_eq!(number(&handle), Some(own));
        assert!(!Stat::of(own).is_killed() && !Stat::of(own).is_stopped());
    }
}
