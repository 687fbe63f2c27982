//! Locks between agar commands, held by the kernel, so that a crash releases them.

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub struct Lock {
    _file: OwnedFd,
}

/// Who else may hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Others that share it too.
    Shared,
    /// Nobody.
    Alone,
}

impl Lock {
    /// Waits for the lock.
    pub(super) fn wait(path: &Path, sharing: Sharing) -> Result<Self, Errno> {
        let file = open(path)?;
        let operation = match sharing {
            Sharing::Shared => FlockOperation::LockShared,
            Sharing::Alone => FlockOperation::LockExclusive,
        };
        loop {
            match flock(&file, operation) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the lock if nobody has it.
    pub(super) fn attempt(path: &Path) -> Result<Option<Self>, Errno> {
        let file = open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
}
