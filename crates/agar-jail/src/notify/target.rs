//! Where the asking process stands: its root, its current directory and its descriptors.

use super::raw;
use crate::wire::Raw;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, openat2, statx};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

/// Where a relative path starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directory {
    /// The current directory.
    Current,
    /// A descriptor of the process.
    Descriptor(i32),
}

impl Directory {
    /// From the argument of an `…at` call, of which the kernel takes the low half.
    pub(super) fn argument(value: u64) -> Self {
        let bytes = value.to_ne_bytes();
        // Both instruction sets are little-endian.
        let descriptor = i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        if descriptor == libc::AT_FDCWD {
            Self::Current
        } else {
            Self::Descriptor(descriptor)
        }
    }

    fn proc(self, pid: u32) -> String {
        match self {
            Self::Current => format!("/proc/{pid}/cwd"),
            Self::Descriptor(number) => format!("/proc/{pid}/fd/{number}"),
        }
    }
}

/// Opens the place from which a path of the process starts, without following it further.
pub(super) fn start(pid: u32, directory: Directory, path: &[u8]) -> Result<OwnedFd, Errno> {
    let place = if path.starts_with(b"/") {
        format!("/proc/{pid}/root")
    } else {
        directory.proc(pid)
    };
    rustix::fs::open(place, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a directory by a path of the process, as the process would.
///
/// Never through a link in `/proc` that stands for a file: `/proc/self/fd/5` would be a descriptor
/// of the *handler's* process, and some of those lead out of the jail.
pub(super) fn open_directory(start: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_MAGICLINKS;
    openat2(
        start,
        OsStr::from_bytes(path),
        flags,
        Mode::empty(),
        resolve,
    )
}

/// Whether paths of the process start where the handler's do.
pub(super) fn shares_root(pid: u32) -> bool {
    let place = |path: &str| {
        let found = statx(
            CWD,
            path,
            AtFlags::empty(),
            StatxFlags::INO | StatxFlags::MNT_ID,
        )
        .ok()?;
        let device = (found.stx_dev_major, found.stx_dev_minor);
        Some((device, found.stx_ino, found.stx_mnt_id))
    };
    let own = place("/");
    own.is_some() && own == place(&format!("/proc/{pid}/root"))
}

/// Device and inode of the file that a path of the process names, if it exists.
pub(super) fn identity(pid: u32, directory: Directory, path: &[u8]) -> Option<(u64, u64)> {
    let start = start(pid, directory, path).ok()?;
    let relative = relative(path);
    let found = if relative.is_empty() {
        rustix::fs::fstat(&start).ok()?
    } else {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_MAGICLINKS;
        let name = OsStr::from_bytes(relative);
        match openat2(&start, name, flags, Mode::empty(), resolve) {
            Ok(file) => rustix::fs::fstat(&file).ok()?,
            // `/proc/self/exe` and `/dev/fd/3` exist as far as anybody can tell from here.
            Err(Errno::LOOP) => return Some((0, 0)),
            Err(_) => return None,
        }
    };
    Some((found.st_dev, found.st_ino))
}

/// The path without its leading slashes, to be resolved from the root.
fn relative(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|byte| *byte != b'/');
    start.map_or(&[], |start| &path[start..])
}

/// What a directory or descriptor of the process is called.
pub(super) fn link(pid: u32, directory: Directory) -> Option<Raw> {
    let target = rustix::fs::readlink(directory.proc(pid), Vec::new()).ok()?;
    Some(raw(target.to_bytes()))
}

/// A relative path with the name of where it starts before it, where that can be read.
pub(super) fn join(pid: u32, directory: Directory, path: &[u8]) -> Raw {
    let Ok(base) = rustix::fs::readlink(directory.proc(pid), Vec::new()) else {
        return raw(path);
    };
    let mut whole = base.into_bytes();
    if !whole.ends_with(b"/") {
        whole.push(b'/');
    }
    whole.extend_from_slice(path);
    raw(&whole)
}
