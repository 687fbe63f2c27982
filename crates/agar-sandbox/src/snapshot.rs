//! Points in the layers of a sandbox, and the directories that they are made of.
//!
//! A layer is written while it is the upper of a sandbox and never again afterwards. A snapshot of
//! a sandbox in which nothing runs is therefore free: its upper becomes a layer that is kept, and a
//! new one takes its place. Where something runs the upper is cloned instead. Layers below the home
//! directory cannot lie under its overlay, so what changed outside the project is always cloned.

mod join;

pub use join::{JoinError, join};

use crate::copy::{self, Chase, CopyError, Fidelity, LeftOutReason, Transferred};
use crate::spelling;
use crate::stack::{Role, Stack};
use agar_core::fault::{Fault, Kind};
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::Metadata;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// One tree of a snapshot: what a [`Stack`] would be made of to show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shelf {
    /// What the tree is for.
    pub role: Role,
    /// The absolute path on the host, which is also its path inside.
    #[serde(with = "spelling::path")]
    pub target: PathBuf,
    /// The layers with the sandbox's changes, topmost first. Nothing writes to them.
    #[serde(with = "spelling::siblings")]
    pub kept: Vec<PathBuf>,
    /// The layers of the base, topmost first.
    #[serde(with = "spelling::siblings")]
    pub lowers: Vec<PathBuf>,
}

impl Role {
    /// Whether an upper of this tree can become a layer below the next one.
    ///
    /// A layer may not lie below another layer of the same overlay, and agar's state lies below the
    /// home directory.
    pub const fn can_be_kept(self) -> bool {
        !self.is_outside()
    }
}

/// A layer could not be cloned as it is.
#[derive(Debug, thiserror::Error)]
pub enum CloneError {
    /// The disk said no.
    #[error("cannot {doing} {}", path.display())]
    Disk {
        /// What agar was doing.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something in it has no faithful copy.
    #[error("{} {reason}", path.display())]
    Unfaithful {
        /// What it is, relative to the layer.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
}

impl CloneError {
    fn at(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Disk {
            doing,
            path: path.to_owned(),
            source,
        }
    }
}

impl From<CopyError> for CloneError {
    fn from(error: CopyError) -> Self {
        Self::Disk {
            doing: error.doing,
            path: error.path,
            source: error.source,
        }
    }
}

impl Fault for CloneError {
    fn kind(&self) -> Kind {
        match self {
            Self::Disk { source, .. } if source.kind() == io::ErrorKind::StorageFull => Kind::Limit,
            Self::Disk { .. } => Kind::Internal,
            Self::Unfaithful { .. } => Kind::Refused,
        }
    }
}

/// Clones a layer into a directory that does not exist yet: by reference where the filesystem can,
/// else by copying. Whiteouts, opaque marks, hard links, holes, attributes, pipes and sockets are
/// part of it; a clone that would lack something is refused. The directory appears when it is whole.
pub fn clone_layer(source: &Path, target: &Path) -> Result<(), CloneError> {
    let part = make_part(target)?;
    is_faithful(&copy::tree(source, &part, Fidelity::Layer)?)?;
    fs_err::rename(&part, target).map_err(|source| CloneError::at("finish", target, source))
}

/// A clone of a layer that is begun while something still writes to it, so that it need not stand
/// still for long. It is as whole as [`clone_layer`]'s when it is finished.
#[derive(Debug)]
pub struct Rough {
    chase: Chase,
    part: PathBuf,
    target: PathBuf,
}

impl Rough {
    /// Clones what it can.
    pub fn begin(source: &Path, target: &Path) -> Result<Self, CloneError> {
        let part = make_part(target)?;
        Ok(Self {
            chase: Chase::begin(source, &part)?,
            part,
            target: target.to_owned(),
        })
    }

    /// Clones what changed since. Nothing may write to the layer meanwhile; it may afterwards.
    pub fn complete(&mut self) -> Result<(), CloneError> {
        is_faithful(&self.chase.catch_up()?)
    }

    /// Gives a complete clone its name.
    pub fn keep(self) -> Result<(), CloneError> {
        fs_err::rename(&self.part, &self.target)
            .map_err(|source| CloneError::at("finish", &self.target, source))
    }
}

/// Where a clone lies until it is whole.
pub fn unfinished(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn make_part(target: &Path) -> Result<PathBuf, CloneError> {
    let part = unfinished(target);
    match make_private(&part) {
        Ok(()) => Ok(part),
        Err(source) => Err(CloneError::at("make", target, source)),
    }
}

/// Whether a clone lacks nothing.
fn is_faithful(copied: &Transferred) -> Result<(), CloneError> {
    let unfaithful = |path: &PathBuf, reason| {
        Err(CloneError::Unfaithful {
            path: path.clone(),
            reason,
        })
    };
    if let Some(left) = copied.left_out.first() {
        let reason = match left.reason {
            LeftOutReason::Unreadable => "cannot be read, not even by its owner",
            LeftOutReason::Device => "is a device",
            LeftOutReason::Socket => "is a socket",
        };
        return unfaithful(&left.path, reason);
    }
    if let Some(path) = copied.unreadable.first() {
        return unfaithful(path, "cannot be read, not even by its owner");
    }
    match copied.unstable.first() {
        Some(path) => unfaithful(path, "keeps changing while it is cloned"),
        None => Ok(()),
    }
}

/// The layer whose own owner, mode and time the upper of a stack began with.
pub fn model<'a>(kept: &'a [PathBuf], lowers: &'a [PathBuf]) -> Option<&'a Path> {
    kept.first().or(lowers.last()).map(PathBuf::as_path)
}

/// Makes an empty upper layer that shows the root of the tree as `model` has it: where layers merge,
/// the topmost one's own owner, mode, attributes and time show.
pub fn make_upper(upper: &Path, model: &Path) -> io::Result<()> {
    make_private(upper)?;
    if let Ok(from) = open_directory(model) {
        copy::project_attributes(&from, &open_directory(upper)?)?;
    }
    let like = model.metadata()?;
    let ours = upper.metadata()?;
    if (like.uid(), like.gid()) != (ours.uid(), ours.gid()) {
        let (uid, gid) = (Uid::from_raw(like.uid()), Gid::from_raw(like.gid()));
        match rustix::fs::chown(upper, Some(uid), Some(gid)) {
            // An ordinary user cannot give files away, least of all to an id that is not mapped; nor could
            // it inside.
            Ok(()) | Err(Errno::PERM | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    rustix::fs::chmod(upper, Mode::from_raw_mode(like.mode() & 0o7777))?;
    let time = |seconds, nanoseconds| Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    };
    let times = Timestamps {
        last_access: time(like.atime(), like.atime_nsec()),
        last_modification: time(like.mtime(), like.mtime_nsec()),
    };
    rustix::fs::utimensat(CWD, upper, &times, AtFlags::empty())?;
    Ok(())
}

/// The mark of a directory that hides what lies below it.
pub const OPAQUE: &str = "user.overlay.opaque";

/// Marks a directory so that it hides what lies below it.
pub fn mark_opaque(directory: &Path) -> io::Result<()> {
    Ok(rustix::fs::setxattr(
        directory,
        OPAQUE,
        b"y",
        XattrFlags::empty(),
    )?)
}

/// Whether nothing was written to the upper of a stack since it was made. What cannot be told counts
/// as written.
pub fn is_untouched(stack: &Stack) -> bool {
    let Some(model) = model(&stack.kept, &stack.lowers) else {
        return false;
    };
    let empty = stack
        .upper
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_none());
    let told = |metadata: Metadata| (metadata.mode(), metadata.mtime(), metadata.mtime_nsec());
    let same = match (stack.upper.metadata(), model.metadata()) {
        (Ok(ours), Ok(like)) => {
            // What an ordinary user cannot give away was not given away.
            let given = rustix::process::geteuid().is_root()
                && (ours.uid(), ours.gid()) != (like.uid(), like.gid());
            !given && told(ours) == told(like)
        }
        (Ok(_) | Err(_), _) => false,
    };
    empty && same && has_same_attributes(&stack.upper, model)
}

fn has_same_attributes(ours: &Path, like: &Path) -> bool {
    let attributes = |path: &Path| copy::list_project_attributes(&open_directory(path)?);
    match (attributes(ours), attributes(like)) {
        (Ok(ours), Ok(like)) => ours == like,
        (Ok(_) | Err(_), _) => false,
    }
}

fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Makes a directory that only its owner can enter.
pub fn make_private(path: &Path) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

impl From<&Stack> for Shelf {
    /// What a stack shows if nothing was written to its upper since.
    fn from(stack: &Stack) -> Self {
        Self {
            role: stack.role,
            target: stack.target.clone(),
            kept: stack.kept.clone(),
            lowers: stack.lowers.clone(),
        }
    }
}
