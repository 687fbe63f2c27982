//! One promotion at a time for each project.
//!
//! The lock is the kernel's, on an open file: when its holder dies, however it dies, it is free.

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// The right to change a project. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock, or `None` if somebody has it.
    pub(crate) fn take(promotions: &Path) -> io::Result<Option<Self>> {
        let mut options = fs_err::OpenOptions::new();
        let file = options
            .create(true)
            .truncate(false)
            .write(true)
            .open(promotions.join("lock"))?
            .into_parts()
            .0;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { file })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone would not do: a child being started by another thread may hold a copy of
        // the descriptor for a moment, and with it the lock.
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}
