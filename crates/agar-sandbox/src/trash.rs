//! Deletion in two steps: out of the way at once, gone later and slowly.
//!
//! A rename is instant and cannot half-fail, so whatever is discarded disappears from view in one
//! step and a crash leaves either the thing or its trash. The slow half runs in bounded portions: on
//! some filesystems a burst of deletions makes every new file slow for minutes.

use crate::project::StateDir;
use agar_core::fault::{Fault, Kind};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, StatxAttributes};
use rustix::fs::{StatxFlags, openat2, statx, unlinkat};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The trash of one state directory.
#[derive(Debug, Clone)]
pub struct Trash {
    state: StateDir,
}

/// Something could not be thrown away.
#[derive(Debug, thiserror::Error)]
pub enum TrashError {
    /// It is not agar's to delete.
    #[error("refused to delete {}: {reason}", path.display())]
    NotOurs {
        /// What was to be deleted.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// The disk said no.
    #[error("cannot move {} to the trash", path.display())]
    Disk {
        /// What was to be deleted.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Fault for TrashError {
    fn kind(&self) -> Kind {
        match self {
            Self::NotOurs { .. } => Kind::Refused,
            Self::Disk { .. } => Kind::Internal,
        }
    }
}

/// What one portion of emptying did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Emptied {
    /// Files and directories removed.
    pub removed: u64,
    /// Whether something is left for the next portion.
    pub more: bool,
    /// What could not be removed, and will be tried again.
    pub stuck: Vec<PathBuf>,
}

impl Trash {
    /// The trash of a state directory.
    pub fn new(state: &StateDir) -> Self {
        Self {
            state: state.clone(),
        }
    }

    /// Moves a file or directory below the state directory out of the way, at once.
    ///
    /// Something already gone is no failure: two commands may discard the same thing.
    pub fn discard(&self, path: &Path) -> Result<(), TrashError> {
        let disk = |source| TrashError::Disk {
            path: path.to_owned(),
            source,
        };
        let not_ours = |reason| {
            Err(TrashError::NotOurs {
                path: path.to_owned(),
                reason,
            })
        };
        if !self.state.is_marked() {
            return not_ours("the state directory does not carry agar's mark");
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return not_ours("it has no name");
        };
        // The parent is resolved, the thing itself is not: a symbolic link is thrown away as a link.
        let real = match parent.canonicalize() {
            Ok(parent) => parent.join(name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(disk(error)),
        };
        let trash = self.state.trash();
        let kept = [self.state.projects(), self.state.sandboxes(), trash.clone()];
        if !real.starts_with(self.state.path()) || kept.iter().any(|part| part.starts_with(&real)) {
            return not_ours("it is not a part of agar's state");
        }
        // A leading dot marks nothing; the name only has to be free, and a clash is tried again.
        for attempt in 0..1000_u32 {
            let target = trash.join(unique(&real, attempt));
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(CWD, &real, CWD, &target, flags) {
                Ok(()) | Err(Errno::NOENT) => return Ok(()),
                Err(Errno::EXIST) => {}
                // A filesystem without the flag: the names are unique enough for a plain rename.
                Err(Errno::INVAL) if !target.exists() => {
                    return fs_err::rename(&real, &target).map_err(disk);
                }
                // Moving a directory rewrites its `..`, which needs write permission on it.
                Err(Errno::ACCESS) if attempt == 0 => open_up(&real),
                Err(error) => return Err(disk(error.into())),
            }
        }
        not_ours("the trash is full of its like")
    }

    /// Whether there is anything to empty; one directory read.
    pub fn is_empty(&self) -> bool {
        self.state
            .trash()
            .read_dir()
            .is_ok_and(|mut entries| entries.next().is_none())
    }

    /// Whether more than so many things wait here.
    pub fn holds_more_than(&self, count: usize) -> bool {
        self.state
            .trash()
            .read_dir()
            .is_ok_and(|mut entries| entries.nth(count).is_some())
    }

    /// Deletes at most `budget` files and directories.
    ///
    /// Never follows a symbolic link, never enters another mount, and changes the mode of
    /// directories only: a file may share its inode with one outside the trash.
    pub fn empty(&self, budget: u64) -> Result<Emptied, TrashError> {
        let trash = self.state.trash();
        if !self.state.is_marked() {
            let reason = "the state directory does not carry agar's mark";
            return Err(TrashError::NotOurs {
                path: trash,
                reason,
            });
        }
        let disk = |error: Errno| TrashError::Disk {
            path: trash.clone(),
            source: error.into(),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::open(&trash, flags, Mode::empty()).map_err(disk)?;
        let mut portion = Portion {
            left: budget,
            emptied: Emptied::default(),
        };
        let mut path = trash.clone();
        portion.empty(&root, &mut path, 0).map_err(disk)?;
        Ok(portion.emptied)
    }
}

/// A name in the trash: what it was, whose, and a counter against clashes.
fn unique(path: &Path, attempt: u32) -> String {
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
    format!("{}-{}-{attempt}", &hash.as_str()[..16], std::process::id())
}

fn open_up(path: &Path) {
    let is_directory = path
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_dir());
    if is_directory {
        // The rename that follows says whether it helped.
        let _ = rustix::fs::chmod(path, Mode::RWXU);
    }
}

/// How deep one portion goes; what lies deeper is lifted up and left to the next.
const DEPTH_MAX: u32 = 200;

struct Portion {
    left: u64,
    emptied: Emptied,
}

impl Portion {
    /// Removes what a directory holds, as far as the budget goes. Says whether it is empty now.
    fn empty(&mut self, dir: &OwnedFd, path: &mut PathBuf, depth: u32) -> Result<bool, Errno> {
        let mut clear = true;
        for (name, kind) in names(dir)? {
            if self.left == 0 {
                self.emptied.more = true;
                return Ok(false);
            }
            let removed = match kind {
                FileType::Directory => self.enter(dir.as_fd(), &name, path, depth),
                FileType::RegularFile
                | FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => self.remove(dir.as_fd(), &name, AtFlags::empty(), path),
            };
            clear &= removed;
        }
        Ok(clear)
    }

    /// Removes one directory with all it holds.
    fn enter(&mut self, dir: BorrowedFd<'_>, name: &CStr, path: &mut PathBuf, depth: u32) -> bool {
        path.push(as_path(name));
        let clear = match open_below(dir, name) {
            Ok(below) if depth < DEPTH_MAX => self
                .empty(&below, path, depth + 1)
                .unwrap_or_else(|_| self.is_stuck(path)),
            // Too deep for the stack: lift it to the top of the trash, for the next portion.
            Ok(_) => {
                let lifted = self.lift(dir, name, path);
                path.pop();
                return lifted;
            }
            Err(Errno::NOENT) => true,
            Err(_) => self.is_stuck(path),
        };
        path.pop();
        clear && self.remove(dir, name, AtFlags::REMOVEDIR, path)
    }

    fn is_stuck(&mut self, path: &Path) -> bool {
        self.emptied.stuck.push(path.to_owned());
        false
    }

    fn lift(&mut self, dir: BorrowedFd<'_>, name: &CStr, path: &Path) -> bool {
        let top = path.ancestors().nth(DEPTH_MAX as usize + 1);
        let target = top.map(|top| top.join(unique(path, DEPTH_MAX)));
        let lifted =
            target.is_some_and(|target| rustix::fs::renameat(dir, name, CWD, &target).is_ok());
        self.emptied.more = true;
        lifted
    }

    fn remove(&mut self, dir: BorrowedFd<'_>, name: &CStr, flags: AtFlags, path: &Path) -> bool {
        match unlinkat(dir, name, flags) {
            Ok(()) => {
                self.left = self.left.saturating_sub(1);
                self.emptied.removed += 1;
                true
            }
            Err(Errno::NOENT) => true,
            Err(_) => {
                self.emptied.stuck.push(path.join(as_path(name)));
                false
            }
        }
    }
}

fn as_path(name: &CStr) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()))
}

/// Opens a directory that is no link and no mount point, making it ours to empty first: overlay
/// leaves `work/work` with no permission at all.
fn open_below(dir: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let found = statx(
        dir,
        name,
        AtFlags::SYMLINK_NOFOLLOW,
        StatxFlags::BASIC_STATS,
    )?;
    if found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
        return Err(Errno::XDEV);
    }
    if found.stx_mode & 0o700 != 0o700 {
        // A link swapped in here would be followed; nobody but this user can write in the trash.
        rustix::fs::chmodat(dir, name, Mode::RWXU, AtFlags::empty())?;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV | ResolveFlags::BENEATH;
    openat2(dir, name, flags, Mode::empty(), resolve)
}

fn names(dir: &OwnedFd) -> Result<Vec<(CString, FileType)>, Errno> {
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(dir, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let found = statx(dir, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::TYPE)?;
                FileType::from_raw_mode(found.stx_mode.into())
            }
            known @ (FileType::RegularFile
            | FileType::Directory
            | FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice) => known,
        };
        names.push((name.to_owned(), kind));
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
