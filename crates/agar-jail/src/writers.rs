//! Whether somebody has a file open for writing, as the kernel counts it.
//!
//! A lease on reading is granted only for a file that nobody has open for writing, and whoever mapped
//! a file into memory to write there has it open. The lease is given back at once: whoever opens the
//! file for writing in between waits for that, or is told to try again if it asked not to wait.

use rustix::fd::{AsFd, AsRawFd as _};

/// The signal that tells the holder of a lease that somebody else wants the file: one that does
/// nothing, since the usual one would end this process.
const IGNORED: i32 = libc::SIGURG;

/// `F_SETSIG`, which the library does not name everywhere.
const SET_SIGNAL: i32 = 10;

/// Whether somebody may have a file open for writing. The file must be open for reading only; where
/// nobody can tell, somebody may.
pub fn may_be_written(file: impl AsFd) -> bool {
    let file = file.as_fd();
    // SAFETY: these commands of fcntl(2) read nothing but integers, and the descriptor is open for as
    // long as it is borrowed.
    let set =
        |command: i32, value: i32| unsafe { libc::fcntl(file.as_raw_fd(), command, value) } == 0;
    let alone = set(SET_SIGNAL, IGNORED) && set(libc::F_SETLEASE, libc::F_RDLCK);
    if alone {
        set(libc::F_SETLEASE, libc::F_UNLCK);
    }
    !alone
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_file_may_be_written_for_as_long_as_somebody_has_it_open_for_that() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        let writer = std::fs::File::create(&path).unwrap();
        let reader = std::fs::File::open(&path).unwrap();
        // A process that another test starts has a copy of every descriptor for a moment.
        let is_left_alone = || {
            let began = Instant::now();
            while may_be_written(&reader) && began.elapsed() < Duration::from_secs(10) {
                std::thread::yield_now();
            }
            !may_be_written(&reader)
        };
        assert!(may_be_written(&reader));
        drop(writer);
        assert!(is_left_alone());
        let appends = std::fs::OpenOptions::new().append(true).open(&path);
        assert!(may_be_written(&reader));
        drop(appends.unwrap());
        assert!(is_left_alone());
    }
}
