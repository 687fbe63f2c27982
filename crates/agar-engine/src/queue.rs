//! Taking turns: so many commands of agents run at once, and the rest wait in the order they came.
//!
//! There is nobody to ask, so the queue is a directory. Whoever comes leaves a numbered ticket and
//! holds a lock on it until the command has ended. The oldest held tickets run, the others
//! wait, and a ticket that nobody holds belonged to somebody who left or died and is taken away by
//! whoever sees it. No process can hold a place longer than it lives. A person is not queued.

use crate::Engine;
use crate::failure::EngineError;
use crate::options::Caller;
use crate::relay::{Control, Controls};
use crate::wishes;
use agar_core::settings::Who;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// How long a wait lasts at most before the queue is looked at again, whatever was heard.
const PATIENCE: Timespec = Timespec {
    tv_sec: 2,
    tv_nsec: 0,
};

/// A place among those that run. Given up when dropped, or when the process dies.
#[derive(Debug)]
pub(crate) struct Place {
    /// Nothing for a person, who is not queued.
    _ticket: Option<Ticket>,
}

#[derive(Debug)]
struct Ticket {
    path: PathBuf,
    number: u64,
    _lock: OwnedFd,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // One left behind is taken away by whoever sees that nobody holds it.
        let _ = rustix::fs::unlink(&self.path);
    }
}

/// Waits until a command of this caller may run.
pub(crate) fn enter(
    engine: &Engine,
    caller: &Caller,
    controls: &mut dyn Controls,
) -> Result<Place, EngineError> {
    if let Caller::Person = caller {
        return Ok(Place { _ticket: None });
    }
    let here = engine.here()?;
    let settings = wishes::load(engine, here, Who::Agent)?.resolved.settings;
    let at_once = usize::try_from(settings.max_concurrent_sandboxes).unwrap_or(usize::MAX);
    let ticket = take(&here.state.path().join("queue"))
        .map_err(EngineError::io("take a place in the queue"))?;
    let waited = wait(engine, &ticket, at_once.max(1), controls);
    engine.surroundings().progress.end();
    waited?;
    Ok(Place {
        _ticket: Some(ticket),
    })
}

/// Takes the next ticket. Short, and one at a time: a ticket is held before anybody can see it, and
/// its number is greater than that of everybody who came before.
fn take(directory: &Path) -> io::Result<Ticket> {
    crate::layers::make_private(directory)?;
    let counter = open(&directory.join(".counter"))?;
    rustix::fs::flock(&counter, FlockOperation::LockExclusive)?;
    let last = numbers(directory)?.into_iter().max().unwrap_or(0);
    let number = last + 1;
    let path = directory.join(number.to_string());
    let lock = open(&path)?;
    rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
    Ok(Ticket {
        path,
        number,
        _lock: lock,
    })
}

fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))
}

/// The numbers of all tickets there are, held or not.
fn numbers(directory: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in directory.read_dir()? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    Ok(numbers)
}

fn wait(
    engine: &Engine,
    ticket: &Ticket,
    at_once: usize,
    controls: &mut dyn Controls,
) -> Result<(), EngineError> {
    let doing = || EngineError::io("wait in the queue");
    let Some(directory) = ticket.path.parent() else {
        return Ok(());
    };
    if ahead(directory, ticket).map_err(doing())? < at_once {
        return Ok(());
    }
    let news = listen(directory).map_err(doing())?;
    let mut told = None;
    loop {
        let ahead = ahead(directory, ticket).map_err(doing())?;
        if ahead < at_once {
            return Ok(());
        }
        let position = ahead - at_once + 1;
        if told.replace(position) != Some(position) {
            let progress = &engine.surroundings().progress;
            progress.queued(position as u64, at_once as u64);
        }
        if is_called_away(&news, controls).map_err(doing())? {
            return Err(EngineError::LeftQueue {
                position: position as u64,
            });
        }
    }
}

/// How many held tickets are older. Those that nobody holds are taken away.
fn ahead(directory: &Path, own: &Ticket) -> io::Result<usize> {
    let mut ahead = 0;
    for number in numbers(directory)? {
        if number < own.number && is_held(&directory.join(number.to_string()))? {
            ahead += 1;
        }
    }
    Ok(ahead)
}

fn is_held(path: &Path) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(false),
        other => other?,
    };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => Ok(true),
        Ok(()) => {
            let _ = rustix::fs::unlink(path);
            Ok(false)
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Hears when a ticket is given up: it is removed, or closed because its holder died.
fn listen(directory: &Path) -> io::Result<OwnedFd> {
    let news = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let events = WatchFlags::DELETE | WatchFlags::CLOSE_WRITE;
    inotify::add_watch(&news, directory, events)?;
    Ok(news)
}

/// Waits for news of the queue or of the caller. Whether the caller wants to leave.
fn is_called_away(news: &OwnedFd, controls: &mut dyn Controls) -> io::Result<bool> {
    {
        let mut fds = vec![PollFd::new(news, PollFlags::IN)];
        fds.extend(
            controls
                .descriptor()
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        match poll(&mut fds, Some(&PATIENCE)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let mut events = [0; 4096];
    while matches!(rustix::io::read(news, &mut events), Ok(count) if count > 0) {}
    let mut leave = false;
    while let Some(control) = controls.next() {
        leave |= matches!(control, Control::Signal(_) | Control::Stop);
    }
    Ok(leave)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_came_first_are_ahead_and_the_dead_are_not() {
        let queue = tempfile::tempdir().unwrap();
        let directory = queue.path().join("queue");
        let first = take(&directory).unwrap();
        let second = take(&directory).unwrap();
        // Somebody who died closed the lock and left the ticket.
        fs_err::write(directory.join("3"), b"").unwrap();
        let last = take(&directory).unwrap();
        assert_eq!(last.number, 4);
        assert_eq!(ahead(&directory, &first).unwrap(), 0);
        assert_eq!(ahead(&directory, &last).unwrap(), 2);
        assert!(!directory.join("3").exists(), "the ticket of the dead");
        drop(first);
        assert_eq!(ahead(&directory, &last).unwrap(), 1);
        drop(second);
        assert_eq!(ahead(&directory, &last).unwrap(), 0);
    }
}
