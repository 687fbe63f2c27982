//! Opening below a directory without ever following a link.

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

/// The longest relative path that the kernel takes in one call, with room for its terminator.
const PATH_BYTES_MAX: usize = 4000;

/// Opens a layer's own directory. The path is agar's, so links on the way to it are fine.
pub(super) fn open_root(root: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(root, flags, Mode::empty())?)
}

/// Opens a path below a directory; no component of it may be a symbolic link.
///
/// A link as the last component gives `ELOOP`, or opens as itself with [`OFlags::PATH`].
pub(super) fn open(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    if path.as_os_str().len() <= PATH_BYTES_MAX {
        match openat2(root, path, flags, Mode::empty(), resolve) {
            // A container's filter may not know the call, or the layer is being renamed under us;
            // the slow way needs the one and has no such race.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
            answer => return answer,
        }
    }
    step_by_step(root, path, flags)
}

/// The same, one component at a time: for paths longer than the kernel takes, and old filters.
fn step_by_step(root: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let way = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut names: Vec<&OsStr> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => {
                return Err(Errno::XDEV);
            }
        }
    }
    let Some(last) = names.pop() else {
        return openat(root, c".", flags, Mode::empty());
    };
    let mut here = openat(root, c".", way, Mode::empty())?;
    for name in names {
        here = openat(here.as_fd(), name.as_bytes(), way, Mode::empty())?;
    }
    openat(here.as_fd(), last.as_bytes(), flags, Mode::empty())
}
