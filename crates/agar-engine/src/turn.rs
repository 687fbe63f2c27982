//! One at a time: starting, ending and applying a sandbox do not overlap.

use crate::failure::EngineError;
use crate::layers;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// The right to change where a sandbox is in its life, or what of it is in the project. Given up
/// when dropped, or when the process dies.
#[derive(Debug)]
pub(crate) struct Turn {
    _lock: OwnedFd,
}

impl Turn {
    /// Waits for the turn at a sandbox.
    pub(crate) fn take(sandbox: &Path) -> Result<Self, EngineError> {
        Self::take_if_there(sandbox)?.ok_or_else(|| EngineError::Missing {
            doing: "work on a sandbox",
            what: "directory of it any more: it was removed".to_owned(),
        })
    }

    /// The same for a sandbox that somebody else may have removed meanwhile: nothing if so.
    pub(crate) fn take_if_there(sandbox: &Path) -> Result<Option<Self>, EngineError> {
        // Not a trace is left in what somebody else put there.
        layers::refuse_foreign(sandbox)?;
        match Self::lock(sandbox, FlockOperation::LockExclusive) {
            Ok(turn) => Ok(Some(turn)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(failed(
                "wait for another agar command that works on this sandbox",
            )(error)),
        }
    }

    /// The turn at a sandbox, unless somebody has it.
    pub(crate) fn attempt(sandbox: &Path) -> Result<Option<Self>, EngineError> {
        match Self::lock(sandbox, FlockOperation::NonBlockingLockExclusive) {
            Ok(turn) => Ok(Some(turn)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(failed("see whether somebody works on this sandbox")(error)),
        }
    }

    /// Waits for the turn at a project: one promotion at a time, with its record.
    pub(crate) fn take_project(project: &Path) -> Result<Self, EngineError> {
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(project);
        made.map_err(EngineError::io("make a directory for the project"))?;
        let lock = Self::lock(project, FlockOperation::LockExclusive);
        lock.map_err(failed(
            "wait for another agar command that works on this project",
        ))
    }

    /// The turn at a project, unless somebody has it.
    pub(crate) fn try_project(project: &Path) -> Result<Option<Self>, EngineError> {
        match Self::lock(project, FlockOperation::NonBlockingLockExclusive) {
            Ok(turn) => Ok(Some(turn)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(failed("see whether somebody works on this project")(error)),
        }
    }

    fn lock(directory: &Path, operation: FlockOperation) -> Result<Self, Errno> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let owner_only = Mode::from_raw_mode(0o600);
        let lock = rustix::fs::open(directory.join("turn"), flags, owner_only)?;
        rustix::fs::flock(&lock, operation)?;
        Ok(Self { _lock: lock })
    }
}

fn failed(doing: &str) -> impl Fn(Errno) -> EngineError {
    move |error| EngineError::Io {
        doing: doing.to_owned(),
        source: error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agar_core::fault::{Fault as _, Kind};

    #[test]
    fn a_sandbox_that_was_removed_is_missing_and_not_a_defect() {
        let directory = tempfile::tempdir().unwrap();
        let gone = directory.path().join("gone");
        assert!(Turn::take_if_there(&gone).unwrap().is_none());
        assert_eq!(Turn::take(&gone).unwrap_err().kind(), Kind::NotFound);
        assert!(!gone.exists());
    }
}
