//! One at a time: starting, ending and applying a sandbox do not overlap.

use crate::failure::EngineError;
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::os::fd::OwnedFd;
use std::path::Path;

/// The right to change where a sandbox is in its life. Given up when dropped, or when the process
/// dies.
#[derive(Debug)]
pub(crate) struct Turn {
    _lock: OwnedFd,
}

impl Turn {
    /// Waits for the turn.
    pub(crate) fn take(sandbox: &Path) -> Result<Self, EngineError> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let wait = || {
            let lock = rustix::fs::open(sandbox.join("turn"), flags, Mode::from_raw_mode(0o600))?;
            rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
            Ok(lock)
        };
        let lock = wait().map_err(|error: rustix::io::Errno| EngineError::Io {
            doing: "wait for another agar command that works on this sandbox".to_owned(),
            source: error.into(),
        })?;
        Ok(Self { _lock: lock })
    }
}
