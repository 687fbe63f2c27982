//! A little room that is kept for clearing away.
//!
//! On a disk that is full to the last byte nothing can be written down any more, not even that something
//! is to go. So a file of no content takes some room while there is plenty, and gives it up then.

use super::StateDir;
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Enough for some twenty changes of the store.
const BYTES: u64 = 1 << 20;

/// What it takes to open the store, which is more than it takes to go on with it.
const PIECE: u64 = 64 << 10;

/// How many times as much has to be free for it to be taken.
const PLENTY: u64 = 16;

impl StateDir {
    /// Sees to it that there is a reserve, if there is room for it. Nothing depends on it.
    pub fn keep_reserve(&self) {
        let path = self.reserve();
        let is_whole = path.metadata().is_ok_and(|found| found.len() >= BYTES);
        if is_whole || free_bytes(&self.path).is_none_or(|free| free < PLENTY * BYTES) {
            return;
        }
        // What a crash left of one.
        let _ = rustix::fs::unlink(&path);
        if take(&path).is_err() {
            // Where room cannot be taken ahead, a file without any would only look like it.
            let _ = rustix::fs::unlink(&path);
        }
    }

    /// Gives the reserve up if the disk is full, for whoever is about to clear away.
    pub fn spend_reserve(&self) {
        if free_bytes(&self.path).is_some_and(|free| free < BYTES) {
            // There may be none.
            let _ = rustix::fs::unlink(self.reserve());
        }
    }

    /// Gives up a piece of the reserve if the disk is full, for whoever could not open the store; false
    /// if half of it has gone that way. Whatever fills the disk may be quicker than whoever asked.
    pub fn lend_reserve(&self) -> bool {
        if free_bytes(&self.path).is_none_or(|free| free >= BYTES) {
            return false;
        }
        let file = fs_err::OpenOptions::new().write(true).open(self.reserve());
        file.is_ok_and(|file| {
            let left = file.metadata().map_or(0, |found| found.len());
            left > BYTES / 2 && file.set_len(left - PIECE).is_ok()
        })
    }

    fn reserve(&self) -> PathBuf {
        self.path.join("reserve")
    }
}

fn take(path: &Path) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))?;
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, BYTES)
}

fn free_bytes(directory: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
