//! Moves a directory tree within one mount without renaming a directory.
//!
//! Directories are made anew beside the destination, files are linked into them: the kernel then
//! copies what lies in a lower layer, and content, mode, times, attributes and links among the
//! files are kept without a byte passing through here. The new tree is renamed into place, and only
//! then the old one is taken away. Until then every failure leaves the old tree as it was.

use super::rename::Place;
use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, Uid,
    XattrFlags,
};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// Each level holds two descriptors.
const DEPTH_MAX: usize = 256;
/// How often the old tree is looked through for what others added meanwhile.
const PASSES_MAX: u32 = 8;
/// Attributes larger than this are not carried over.
const ATTRIBUTE_MAX: usize = 4096;

/// Why a tree was not moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransferError {
    /// Nothing has changed; the kernel's own refusal stands.
    Untouched,
    /// The call has to fail with this.
    Refused(Errno),
}

/// Moves the tree, if it is still wanted by the time that it is ready.
pub(super) fn transfer(
    from: &Place,
    to: &Place,
    flags: RenameFlags,
    still_wanted: impl Fn() -> bool,
) -> Result<(), TransferError> {
    check_destination(to, flags)?;
    let ready = free_name(to).ok_or(TransferError::Untouched)?;
    let built = build(from.parent(), from.name(), to.parent(), &ready);
    let placed = match built {
        Ok(()) if still_wanted() => {
            rustix::fs::renameat_with(to.parent(), &*ready, to.parent(), to.name(), flags)
        }
        Ok(()) => Err(Errno::INTR),
        Err(errno) => Err(errno),
    };
    if placed.is_err() {
        // Best effort: what remains is a hidden directory in the jail's own layer.
        let _ = clear(to.parent(), &ready, None);
        return Err(TransferError::Untouched);
    }
    let new = open(to.parent(), to.name()).map_err(TransferError::Refused)?;
    clear(from.parent(), from.name(), Some(new)).map_err(TransferError::Refused)
}

/// What the kernel would have found wrong with the destination, had it come that far.
fn check_destination(to: &Place, flags: RenameFlags) -> Result<(), TransferError> {
    let stat = match stat(to.parent(), to.name()) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(()),
        Err(_) => return Err(TransferError::Untouched),
    };
    if flags.contains(RenameFlags::NOREPLACE) {
        return Err(TransferError::Refused(Errno::EXIST));
    }
    if !is_directory(&stat) {
        return Err(TransferError::Refused(Errno::NOTDIR));
    }
    let first = open(to.parent(), to.name())
        .and_then(Dir::new)
        .and_then(|mut directory| next_name(&mut directory));
    match first {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err(TransferError::Refused(Errno::NOTEMPTY)),
        Err(_) => Err(TransferError::Untouched),
    }
}

/// A name beside the destination that is not taken.
fn free_name(to: &Place) -> Option<CString> {
    (0..100_u32).find_map(|number| {
        let name = CString::new(format!(".agar-rename-{number}")).ok()?;
        matches!(stat(to.parent(), &name), Err(Errno::NOENT)).then_some(name)
    })
}

/// A directory that is being made anew.
struct Making {
    old: Dir,
    new: OwnedFd,
    found: Stat,
}

impl Making {
    fn begin(
        from: BorrowedFd<'_>,
        name: &CStr,
        to: BorrowedFd<'_>,
        new_name: &CStr,
    ) -> Result<Self, Errno> {
        let old = open(from, name)?;
        let found = rustix::fs::fstat(&old)?;
        rustix::fs::mkdirat(to, new_name, Mode::RWXU)?;
        Ok(Self {
            old: Dir::new(old)?,
            new: open(to, new_name)?,
            found,
        })
    }

    /// Files are linked; a directory is the next to be made.
    fn take(&self, entry: &CStr) -> Result<Option<Self>, Errno> {
        let old = self.old.fd()?;
        if is_directory(&stat(old, entry)?) {
            return Self::begin(old, entry, self.new.as_fd(), entry).map(Some);
        }
        rustix::fs::linkat(old, entry, &self.new, entry, AtFlags::empty())?;
        Ok(None)
    }

    fn finish(&self) -> Result<(), Errno> {
        copy_attributes(self.old.fd()?, &self.new)?;
        copy_metadata(&self.found, &self.new)
    }
}

/// Makes a copy of the directory whose files are the same files. Not by recursion: how deep the
/// tree is was decided by a stranger, and the stack is small.
fn build(
    from: BorrowedFd<'_>,
    name: &CStr,
    to: BorrowedFd<'_>,
    new_name: &CStr,
) -> Result<(), Errno> {
    let mut levels = vec![Making::begin(from, name, to, new_name)?];
    while let Some(level) = levels.last_mut() {
        let Some(entry) = next_name(&mut level.old)? else {
            level.finish()?;
            levels.pop();
            continue;
        };
        if let Some(below) = level.take(&entry)? {
            levels.push(below);
        }
        if levels.len() > DEPTH_MAX {
            return Err(Errno::XDEV);
        }
    }
    Ok(())
}

/// Owner, mode and times, in the order in which each leaves the next alone.
fn copy_metadata(found: &Stat, new: &OwnedFd) -> Result<(), Errno> {
    let made = rustix::fs::fstat(new)?;
    if (made.st_uid, made.st_gid) != (found.st_uid, found.st_gid) {
        let (user, group) = (Uid::from_raw(found.st_uid), Gid::from_raw(found.st_gid));
        rustix::fs::fchown(new, Some(user), Some(group))?;
    }
    rustix::fs::fchmod(new, Mode::from_raw_mode(found.st_mode & 0o7777))?;
    let time = |seconds: i64, nanoseconds| Timespec {
        tv_sec: seconds,
        tv_nsec: i64::try_from(nanoseconds).unwrap_or_default(),
    };
    let times = Timestamps {
        last_access: time(found.st_atime, found.st_atime_nsec),
        last_modification: time(found.st_mtime, found.st_mtime_nsec),
    };
    rustix::fs::futimens(new, &times)
}

/// The user's own attributes; those of the overlay describe the old directory's layers.
fn copy_attributes(old: BorrowedFd<'_>, new: &OwnedFd) -> Result<(), Errno> {
    let mut names = vec![0; ATTRIBUTE_MAX];
    let length = match rustix::fs::flistxattr(old, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let mut value = vec![0; ATTRIBUTE_MAX];
    for name in names[..length].split(|byte| *byte == 0) {
        if !name.starts_with(b"user.") || name.starts_with(b"user.overlay.") {
            continue;
        }
        let size = rustix::fs::fgetxattr(old, name, &mut value[..])?;
        rustix::fs::fsetxattr(new, name, &value[..size], XattrFlags::empty())?;
    }
    Ok(())
}

/// A directory that is being emptied.
struct Clearing {
    name: CString,
    entries: Dir,
    kept: Option<OwnedFd>,
    passes: u32,
}

impl Clearing {
    fn begin(parent: BorrowedFd<'_>, name: &CStr, kept: Option<OwnedFd>) -> Result<Self, Errno> {
        let directory = open(parent, name)?;
        // A directory that its owner may not write cannot be emptied.
        if rustix::fs::fstat(&directory)?.st_mode & 0o700 != 0o700 {
            rustix::fs::fchmod(&directory, Mode::RWXU)?;
        }
        Ok(Self {
            name: name.to_owned(),
            entries: Dir::new(directory)?,
            kept,
            passes: 0,
        })
    }

    /// Files are unlinked; a directory is the next to be emptied.
    fn take(&self, entry: &CStr) -> Result<Option<Self>, Errno> {
        let directory = self.entries.fd()?;
        let found = match stat(directory, entry) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        if is_directory(&found) {
            let mode = Mode::from_raw_mode(found.st_mode & 0o7777);
            let below = match &self.kept {
                Some(kept) => {
                    rustix::fs::mkdirat(kept, entry, mode).or_else(ignore(Errno::EXIST))?;
                    Some(open(kept.as_fd(), entry)?)
                }
                None => None,
            };
            return Self::begin(directory, entry, below).map(Some);
        }
        if let Some(kept) = &self.kept {
            rustix::fs::linkat(directory, entry, kept, entry, AtFlags::empty())
                .or_else(ignore(Errno::EXIST))?;
        }
        rustix::fs::unlinkat(directory, entry, AtFlags::empty()).or_else(ignore(Errno::NOENT))?;
        Ok(None)
    }
}

/// Takes a tree away. With `kept`, what is missing there is linked into it first: somebody may have
/// written into the old tree while the new one was made.
fn clear(parent: BorrowedFd<'_>, name: &CStr, kept: Option<OwnedFd>) -> Result<(), Errno> {
    let mut levels = vec![Clearing::begin(parent, name, kept)?];
    while let Some(level) = levels.last_mut() {
        if let Some(entry) = next_name(&mut level.entries)? {
            if let Some(below) = level.take(&entry)? {
                levels.push(below);
            }
            // What was built too deep is one level deeper.
            if levels.len() > DEPTH_MAX + 1 {
                return Err(Errno::NOTEMPTY);
            }
            continue;
        }
        let Some(mut empty) = levels.pop() else {
            break;
        };
        let above = match levels.last() {
            Some(above) => above.entries.fd()?,
            None => parent,
        };
        match rustix::fs::unlinkat(above, &*empty.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) if empty.passes < PASSES_MAX => {
                empty.passes += 1;
                empty.entries.rewind();
                levels.push(empty);
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn ignore(ignored: Errno) -> impl FnOnce(Errno) -> Result<(), Errno> {
    move |errno| if errno == ignored { Ok(()) } else { Err(errno) }
}

fn open(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

fn stat(parent: BorrowedFd<'_>, name: &CStr) -> Result<Stat, Errno> {
    rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// The next name in a directory.
fn next_name(directory: &mut Dir) -> Result<Option<CString>, Errno> {
    loop {
        match directory.read() {
            None => return Ok(None),
            Some(Err(errno)) => return Err(errno),
            Some(Ok(entry)) => {
                let name = entry.file_name();
                if !matches!(name.to_bytes(), b"." | b"..") {
                    return Ok(Some(name.to_owned()));
                }
            }
        }
    }
}
