//! The last touches on a copy, and what is remembered of it.

use super::entry::{Entry, Landed, nanoseconds};
use rustix::fs::{Gid, Mode, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid};
use rustix::fs::{fchmod, fchown, fstat, futimens};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};

/// Gives an open file or directory the owner, mode and time of the original.
pub(super) fn settle(to: &OwnedFd, entry: &Entry) -> Result<Stat, Errno> {
    futimens(to, &times(entry))?;
    let found = fstat(to)?;
    let mode = entry.mode & 0o7777;
    let owned = (found.st_uid, found.st_gid) == (entry.uid, entry.gid);
    if owned && found.st_mode & 0o7777 == mode {
        return Ok(found);
    }
    if !owned {
        // Only root can give files away; others keep what they made.
        let _ = fchown(
            to,
            Some(Uid::from_raw(entry.uid)),
            Some(Gid::from_raw(entry.gid)),
        );
    }
    // After the owner: changing it takes the set-user bit away.
    fchmod(to, Mode::from_raw_mode(mode))?;
    fstat(to)
}

/// The times that a copy gets: when it was last read is its own affair.
pub(super) fn times(entry: &Entry) -> Timestamps {
    let (seconds, rest) = (
        entry.mtime_ns.div_euclid(1_000_000_000),
        entry.mtime_ns.rem_euclid(1_000_000_000),
    );
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: seconds,
            tv_nsec: rest,
        },
    }
}

/// Where a copy landed.
pub(super) fn landed(found: &Stat) -> Landed {
    let ctime_ns = change_time(found);
    Landed {
        ino: found.st_ino,
        ctime_ns,
        linked: false,
        left_out: false,
    }
}

/// The time now in nanoseconds, by the clock that stamps files: what this file or directory is stamped
/// with when it is touched.
pub(crate) fn touched(file: impl AsFd) -> Result<i64, Errno> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    futimens(&file, &times)?;
    fstat(&file).map(|found| change_time(&found))
}

/// The change time in nanoseconds.
pub(crate) fn change_time(found: &Stat) -> i64 {
    let rest = u32::try_from(found.st_ctime_nsec).unwrap_or(0);
    nanoseconds(found.st_ctime, rest)
}
