//! Where something is to be mounted, open.
//!
//! While a tree is put together the root of the process is still the host's, and what lies in the tree
//! may have been laid there by a process inside, in an earlier life of its sandbox. A path through a
//! link of its making would lead out, and something would be made or mounted on the host. So a path of
//! the tree is walked from the tree's own root, and what is found there is used by its descriptor.

use crate::mount::{During, Failed};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat2};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// A place that is open, under the name that it has for people.
#[derive(Debug)]
pub(crate) struct Place {
    place: OwnedFd,
    path: PathBuf,
}

/// What becomes of links on the way to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// They are followed, and what they lead to lies in the tree: machines have links where others have
    /// directories, and people leave one where they moved a directory. The place itself is never looked
    /// for behind one.
    Within,
    /// The same, and the place itself may be behind one.
    Through,
    /// There must be none.
    Refused,
}

/// How often the kernel is asked again that saw something renamed while it climbed.
const TRIES_MAX: u32 = 100;

impl Place {
    /// Where a path leads on which no process inside can have laid anything.
    pub(crate) fn at(path: &Path) -> Result<Self, Failed> {
        rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map(|place| Self::named(place, path))
            .map_err(|errno| lost(path, errno))
    }

    /// A path of the tree that has its root here; nothing if it is not there.
    pub(crate) fn seek(&self, path: &Path, links: Links) -> Result<Option<Self>, Failed> {
        match self.walk(path, links) {
            Ok(place) => Ok(Some(Self::named(place, path))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(lost(path, errno)),
        }
    }

    /// The same, where it has to be there.
    pub(crate) fn find(&self, path: &Path, links: Links) -> Result<Self, Failed> {
        let found = self.seek(path, links)?;
        found.ok_or_else(|| lost(path, Errno::NOENT))
    }

    /// A directory of the tree that has its root here, made with all that is missing on the way to it.
    pub(crate) fn make(&self, path: &Path) -> Result<Self, Failed> {
        self.make_with(path, Links::Within)
    }

    fn make_with(&self, path: &Path, links: Links) -> Result<Self, Failed> {
        if let Some(there) = self.seek(path, links)? {
            return Ok(there);
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(lost(path, Errno::NOENT));
        };
        let above = self.make_with(above, Links::Through)?;
        let made = mkdirat(&above.place, name, Mode::from_raw_mode(0o755));
        made.during(|| match made {
            Err(Errno::ROFS) => format!("make {}, since it is read-only there", path.display()),
            Ok(()) | Err(_) => format!("make {}", path.display()),
        })?;
        self.find(path, links)
    }

    fn named(place: OwnedFd, path: &Path) -> Self {
        let path = path.to_owned();
        Self { place, path }
    }

    fn walk(&self, path: &Path, links: Links) -> Result<OwnedFd, Errno> {
        let (flags, resolve) = match links {
            Links::Within => (OFlags::NOFOLLOW, ResolveFlags::IN_ROOT),
            Links::Through => (OFlags::empty(), ResolveFlags::IN_ROOT),
            Links::Refused => (
                OFlags::empty(),
                ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS,
            ),
        };
        let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
        let mut found = Err(Errno::AGAIN);
        for _ in 0..TRIES_MAX {
            found = openat2(&self.place, path, flags, Mode::empty(), resolve);
            if !matches!(found, Err(Errno::AGAIN)) {
                break;
            }
        }
        found
    }

    /// The name that it has for people.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A path that leads there and nowhere else, for calls that take no descriptor.
    pub(crate) fn through_descriptor(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.place.as_raw_fd()))
    }
}

impl AsFd for Place {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.place.as_fd()
    }
}

fn lost(path: &Path, errno: Errno) -> Failed {
    let path = path.display();
    let step = match errno {
        Errno::LOOP => format!("find {path}, since the way there leads through a link"),
        _ => format!("find {path}"),
    };
    let errno = errno.raw_os_error();
    Failed { step, errno }
}
