//! Which directories need a cover against the host's sockets.
//!
//! Through a read-only bind a process can still connect to a socket, write to a FIFO, and hold a
//! lock on a file or watch it, both of which reach processes outside and in other sandboxes; through
//! an overlay, which has files of its own, it cannot. So every directory of the root is covered by
//! an overlay without an upper layer. An overlay cannot be laid over a directory with mounts below it, so there
//! the cover goes on its subdirectories, one level at a time.

use super::MountPoint;
use crate::wire::Raw;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Replaced inside by fresh ones, so that nothing of the host's shows.
pub(crate) const FRESH: [&str; 6] = ["/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp"];

/// The directories to cover, and the sockets and FIFOs that must be hidden one by one.
pub(super) fn find(mounts: &[MountPoint]) -> io::Result<(Vec<Raw>, Vec<Raw>)> {
    let mut found = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir("/")? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() && !is_fresh(&path) {
            cover(&path, mounts, &mut found);
        }
    }
    found.0.sort();
    found.1.sort();
    Ok(found)
}

/// The largest directories at and below this one that an overlay can be laid over: itself, unless
/// something is mounted below it.
pub(super) fn parts(directory: &Path, mounts: &[MountPoint]) -> Vec<PathBuf> {
    let mut found = (Vec::new(), Vec::new());
    cover(directory, mounts, &mut found);
    let mut parts: Vec<PathBuf> = found.0.into_iter().map(PathBuf::from).collect();
    parts.sort();
    parts
}

fn cover(directory: &Path, mounts: &[MountPoint], found: &mut (Vec<Raw>, Vec<Raw>)) {
    if !may_enter(directory) {
        return;
    }
    if !mounts.iter().any(|mount| mount.is_below(directory)) {
        let own = mounts
            .iter()
            .rev()
            .find(|mount| directory.starts_with(mount.target.as_path()));
        if own.is_none_or(MountPoint::holds_files) {
            found.0.push(PathBuf::from(directory).into());
        }
        return;
    }
    // What cannot be listed cannot be reached either: `may_enter` was asked first.
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let path = entry.path();
        if kind.is_dir() && !is_fresh(&path) {
            cover(&path, mounts, found);
        } else if kind.is_socket() || kind.is_fifo() {
            found.1.push(path.into());
        }
    }
}

fn is_fresh(path: &Path) -> bool {
    FRESH.iter().any(|fresh| path == Path::new(fresh))
}

/// A directory that cannot be searched gives away nothing that lies in it.
fn may_enter(directory: &Path) -> bool {
    rustix::fs::access(
        directory,
        rustix::fs::Access::EXEC_OK | rustix::fs::Access::READ_OK,
    )
    .is_ok()
}
