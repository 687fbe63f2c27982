//! One effect on the project, which can be done, undone and told apart from not done.
//!
//! No step destroys anything. What is replaced is swapped into a slot, what goes is moved into one,
//! and what comes is moved out of one; so each step is one rename, the old content stays on its own
//! inode, and looking at a slot's inode says on which side of the rename a crash came.

use super::faults::{Effects, Halt};
use super::ground::{Ground, Stamp, measure, stamp_at};
use crate::merge::Digest;
use crate::spelling;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Up to this size, what was replaced is read again to see that it is what was merged: a stamp
/// cannot tell two writes within one tick of the clock apart.
const REREAD_BYTES_MAX: u64 = 256 << 10;

/// A place in one of the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slot {
    /// Which stage: the promotion's own directory is the first.
    pub(crate) stage: usize,
    /// Its name there.
    pub(crate) number: u32,
}

impl Slot {
    fn name(self) -> OsString {
        self.number.to_string().into()
    }

    /// Where the old thing waits while two renames do the work of one.
    fn aside(self) -> OsString {
        format!("{}.aside", self.number).into()
    }
}

/// What a step is about to replace or remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Old {
    pub(crate) stamp: Stamp,
    /// For a file.
    pub(crate) digest: Option<Digest>,
}

/// One effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// What is at the path goes into an empty slot.
    Out {
        #[serde(with = "spelling::path")]
        path: PathBuf,
        slot: Slot,
        old: Old,
    },
    /// What is at the path and what is in the slot change places.
    Swap {
        #[serde(with = "spelling::path")]
        path: PathBuf,
        slot: Slot,
        new: Stamp,
        old: Old,
    },
    /// What is in the slot goes to the path, where nothing is.
    In {
        #[serde(with = "spelling::path")]
        path: PathBuf,
        slot: Slot,
        new: Stamp,
    },
    /// A directory is made.
    MakeDirectory {
        #[serde(with = "spelling::path")]
        path: PathBuf,
    },
    /// A directory of the person's that nothing may be moved into or out of is opened for that. It
    /// is closed again by a `Chmod`, or leaves by an `Out`.
    Unlock {
        #[serde(with = "spelling::path")]
        path: PathBuf,
        from: u32,
        to: u32,
    },
    /// Permission bits change.
    Chmod {
        #[serde(with = "spelling::path")]
        path: PathBuf,
        from: u32,
        to: u32,
    },
}

/// On which side of a step the disk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The step is not done.
    Before,
    /// The step is done.
    After,
}

/// Why a step stopped.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Somebody changed the path since it was looked at.
    Moved(PathBuf),
    /// The system said no, or a test pulled the plug.
    Halt(PathBuf, Halt),
}

/// Where steps happen.
#[derive(Debug)]
pub(crate) struct Yard<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) stages: Vec<OwnedFd>,
    pub(crate) effects: Effects<'a>,
}

impl Step {
    /// The path it is about.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Out { path, .. }
            | Self::Swap { path, .. }
            | Self::In { path, .. }
            | Self::MakeDirectory { path }
            | Self::Unlock { path, .. }
            | Self::Chmod { path, .. } => path,
        }
    }

    /// Does the step.
    pub(crate) fn forward(&self, yard: &Yard<'_>) -> Result<(), Trouble> {
        self.trouble(match self {
            Self::Out { path, slot, old } => yard.out(path, *slot, old),
            Self::Swap {
                path, slot, old, ..
            } => yard.swap(path, *slot, old),
            Self::In { path, slot, .. } => yard.bring_in(path, *slot),
            Self::MakeDirectory { path } => yard.make_directory(path),
            Self::Unlock { path, from, to } | Self::Chmod { path, from, to } => {
                yard.chmod(path, *from, *to)
            }
        })
    }

    /// Undoes the step, wherever it is; doing so twice is the same as once.
    pub(crate) fn backward(&self, yard: &Yard<'_>) -> Result<(), Trouble> {
        if self.trouble(self.side(yard).map_err(Stop::Halt))? == Side::Before {
            return Ok(());
        }
        self.trouble(match self {
            Self::Out { path, slot, .. } => yard.bring_in(path, *slot),
            Self::Swap {
                path, slot, new, ..
            } => yard.swap_back(path, *slot, new),
            Self::In { path, slot, new } => yard.take_back(path, *slot, new),
            Self::MakeDirectory { path } => yard.remove_directory(path),
            Self::Unlock { path, from, to } => yard.lock_again(path, *from, *to),
            Self::Chmod { path, from, .. } => yard
                .effects
                .run("chmod back", || yard.ground.chmod(path, *from))
                .map_err(Stop::Halt),
        })
    }

    fn trouble<T>(&self, result: Result<T, Stop>) -> Result<T, Trouble> {
        result.map_err(|stop| match stop {
            Stop::Moved => Trouble::Moved(self.path().to_path_buf()),
            Stop::Halt(halt) => Trouble::Halt(self.path().to_path_buf(), halt),
        })
    }

    /// Finds out whether the step is done. Mends a swap that stopped half way.
    pub(crate) fn side(&self, yard: &Yard<'_>) -> Result<Side, Halt> {
        let done = match self {
            Self::Out { slot, .. } => yard.in_slot(*slot)?.is_some(),
            Self::In { slot, .. } => yard.in_slot(*slot)?.is_none(),
            Self::Swap {
                path, slot, new, ..
            } => {
                yard.mend(path, *slot, new)?;
                yard.in_slot(*slot)?
                    .is_none_or(|stamp| stamp.ino != new.ino)
            }
            Self::MakeDirectory { path } => yard
                .ground
                .find(path)?
                .is_some_and(|stamp| stamp.is_directory()),
            // Opening alone changes nothing that counts, so it is never what is still to be done.
            Self::Unlock { .. } => true,
            Self::Chmod { path, to, .. } => {
                let found = yard.ground.find(path)?;
                found.is_some_and(|stamp| stamp.mode & 0o777 == *to)
            }
        };
        Ok(if done { Side::After } else { Side::Before })
    }

    /// Whether somebody has changed the path since, seen from the given side.
    pub(crate) fn is_disturbed(&self, yard: &Yard<'_>, side: Side) -> io::Result<bool> {
        let found = match yard.ground.find(self.path()) {
            // Nobody can have been in a directory that is closed again.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
            found => found?,
        };
        Ok(match (self, side) {
            (Self::Out { old, .. } | Self::Swap { old, .. }, Side::Before) => {
                !found.is_some_and(|stamp| stamp.is_moved(&old.stamp))
            }
            (Self::Out { .. }, Side::After) | (Self::In { .. }, Side::Before) => found.is_some(),
            (Self::Swap { new, .. } | Self::In { new, .. }, Side::After) => {
                !found.is_some_and(|stamp| stamp.is_moved(new))
            }
            (Self::MakeDirectory { .. } | Self::Unlock { .. } | Self::Chmod { .. }, _) => false,
        })
    }
}

/// Why an effect stopped, before the path is known.
enum Stop {
    Moved,
    Halt(Halt),
}

impl<E: Into<Halt>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Halt(error.into())
    }
}

impl Yard<'_> {
    fn stage(&self, slot: Slot) -> io::Result<&OwnedFd> {
        self.stages
            .get(slot.stage)
            .ok_or_else(|| io::Error::other("the journal names a stage it never made"))
    }

    /// What is in a slot.
    fn in_slot(&self, slot: Slot) -> io::Result<Option<Stamp>> {
        stamp_at(self.stage(slot)?, &slot.name())
    }

    fn out(&self, path: &Path, slot: Slot, old: &Old) -> Result<(), Stop> {
        let (parent, name) = self.ground.parent(path)?;
        check(&parent, name, &old.stamp)?;
        let stage = self.stage(slot)?;
        self.effects.run("move out", || {
            move_to_free(&parent, name, stage, &slot.name())
        })?;
        if self.is_other(slot, old)? {
            self.effects.run("move back", || {
                move_to_free(stage, &slot.name(), &parent, name)
            })?;
            return Err(Stop::Moved);
        }
        Ok(())
    }

    fn swap(&self, path: &Path, slot: Slot, old: &Old) -> Result<(), Stop> {
        let (parent, name) = self.ground.parent(path)?;
        check(&parent, name, &old.stamp)?;
        self.exchange(&parent, name, slot)?;
        if self.is_other(slot, old)? {
            // It changed between the look and the swap; what came out is the person's.
            self.exchange(&parent, name, slot)?;
            return Err(Stop::Moved);
        }
        Ok(())
    }

    fn swap_back(&self, path: &Path, slot: Slot, new: &Stamp) -> Result<(), Stop> {
        let (parent, name) = self.ground.parent(path)?;
        if !stamp_at(&parent, name)?.is_some_and(|stamp| stamp.is_moved(new)) {
            return Err(Stop::Moved);
        }
        self.exchange(&parent, name, slot)?;
        if !self.in_slot(slot)?.is_some_and(|stamp| stamp.is_moved(new)) {
            self.exchange(&parent, name, slot)?;
            return Err(Stop::Moved);
        }
        Ok(())
    }

    fn bring_in(&self, path: &Path, slot: Slot) -> Result<(), Stop> {
        let (parent, name) = self.ground.parent(path)?;
        let stage = self.stage(slot)?;
        let moved = self.effects.run("move in", || {
            move_to_free(stage, &slot.name(), &parent, name)
        });
        match moved {
            Err(Halt::Error(error)) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Stop::Moved)
            }
            other => Ok(other?),
        }
    }

    fn take_back(&self, path: &Path, slot: Slot, new: &Stamp) -> Result<(), Stop> {
        let (parent, name) = self.ground.parent(path)?;
        if !stamp_at(&parent, name)?.is_some_and(|stamp| stamp.is_moved(new)) {
            return Err(Stop::Moved);
        }
        let stage = self.stage(slot)?;
        self.effects.run("take back", || {
            move_to_free(&parent, name, stage, &slot.name())
        })?;
        Ok(())
    }

    fn make_directory(&self, path: &Path) -> Result<(), Stop> {
        let (parent, name) = self.ground.parent(path)?;
        let made = self.effects.run("make directory", || {
            rustix::fs::mkdirat(&parent, name, Mode::RWXU)
        });
        match made {
            // Somebody was quicker; it serves as well.
            Err(Halt::Error(error)) if error.kind() == io::ErrorKind::AlreadyExists => {
                match stamp_at(&parent, name)? {
                    Some(stamp) if stamp.is_directory() => Ok(()),
                    Some(_) | None => Err(Stop::Moved),
                }
            }
            other => Ok(other?),
        }
    }

    fn remove_directory(&self, path: &Path) -> Result<(), Stop> {
        let (parent, name) = self.ground.parent(path)?;
        let removed = self.effects.run("remove directory", || {
            rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR)
        });
        match removed {
            // Whatever is in it is not ours.
            Err(Halt::Error(error)) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            other => Ok(other?),
        }
    }

    fn chmod(&self, path: &Path, from: u32, to: u32) -> Result<(), Stop> {
        let found = self.ground.find(path)?;
        if found.is_none_or(|stamp| stamp.mode & 0o777 != from) {
            return Err(Stop::Moved);
        }
        self.effects.run("chmod", || self.ground.chmod(path, to))?;
        Ok(())
    }

    fn lock_again(&self, path: &Path, from: u32, to: u32) -> Result<(), Stop> {
        let found = self.ground.find(path)?;
        if found.is_some_and(|stamp| stamp.is_directory() && stamp.mode & 0o777 == to) {
            self.effects
                .run("lock again", || self.ground.chmod(path, from))?;
        }
        Ok(())
    }

    /// Whether what is in the slot is not what was expected to come out.
    fn is_other(&self, slot: Slot, old: &Old) -> io::Result<bool> {
        let stage = self.stage(slot)?;
        if !self
            .in_slot(slot)?
            .is_some_and(|stamp| stamp.is_moved(&old.stamp))
        {
            return Ok(true);
        }
        if old.stamp.is_directory() {
            return Ok(!is_empty(stage, &slot.name())?);
        }
        match old.digest {
            Some(digest) if old.stamp.size <= REREAD_BYTES_MAX => {
                Ok(digest_at(stage, &slot.name())? != digest)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// Lets a path and a slot change places, in one rename where the filesystem can.
    fn exchange(&self, parent: &OwnedFd, name: &OsStr, slot: Slot) -> Result<(), Stop> {
        let stage = self.stage(slot)?;
        if self.effects.0.can_exchange() {
            let flags = RenameFlags::EXCHANGE;
            match rustix::fs::renameat_with(parent, name, stage, slot.name(), flags) {
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
                done => {
                    self.effects.run("swap", || done)?;
                    return Ok(());
                }
            }
        }
        self.effects.run("set aside", || {
            rustix::fs::renameat(parent, name, stage, slot.aside())
        })?;
        self.effects.run("put in place", || {
            move_to_free(stage, &slot.name(), parent, name)
        })?;
        self.effects.run("keep what was set aside", || {
            rustix::fs::renameat(stage, slot.aside(), stage, slot.name())
        })?;
        Ok(())
    }

    /// Completes or takes back an exchange by three renames that stopped between two of them.
    fn mend(&self, path: &Path, slot: Slot, new: &Stamp) -> Result<(), Halt> {
        let stage = self.stage(slot)?;
        if stamp_at(stage, &slot.aside())?.is_none() {
            return Ok(());
        }
        let (parent, name) = self.ground.parent(path)?;
        let run = self.effects;
        match (stamp_at(&parent, name)?, self.in_slot(slot)?) {
            // Only one thing was set aside: it goes back, or what was in the slot follows it.
            (None, Some(waiting)) if waiting.ino == new.ino => {
                run.run("mend", || move_to_free(stage, &slot.aside(), &parent, name))
            }
            (None, Some(_)) => {
                run.run("mend", || move_to_free(stage, &slot.name(), &parent, name))?;
                run.run("mend", || {
                    rustix::fs::renameat(stage, slot.aside(), stage, slot.name())
                })
            }
            (Some(_) | None, None) => run.run("mend", || {
                rustix::fs::renameat(stage, slot.aside(), stage, slot.name())
            }),
            // Somebody put a new file there in between. Both others stay where they are kept.
            (Some(_), Some(_)) => Ok(()),
        }
    }
}

fn check(parent: &OwnedFd, name: &OsStr, old: &Stamp) -> Result<(), Stop> {
    match stamp_at(parent, name)? {
        Some(stamp) if stamp.is_untouched(old) => Ok(()),
        Some(_) | None => Err(Stop::Moved),
    }
}

/// Renames to a name that is free, and fails if it is not.
fn move_to_free(from: &OwnedFd, old: &OsStr, to: &OwnedFd, new: &OsStr) -> Result<(), Errno> {
    match rustix::fs::renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        // A filesystem without the flag: look, then leap.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match rustix::fs::statat(to, new, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => rustix::fs::renameat(from, old, to, new),
                Ok(_) => Err(Errno::EXIST),
                Err(errno) => Err(errno),
            }
        }
        done => done,
    }
}

fn is_empty(directory: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    for entry in rustix::fs::Dir::new(handle)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The digest of a file in a stage.
pub(crate) fn digest_at(directory: &OwnedFd, name: &OsStr) -> io::Result<Digest> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file: File = rustix::fs::openat(directory, name, flags, Mode::empty())?.into();
    Ok(measure(file, 0)?.digest)
}
