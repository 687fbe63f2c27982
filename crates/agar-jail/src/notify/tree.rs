//! Moves a directory tree within one mount without renaming a directory.
//!
//! Directories are made anew beside the destination, files are linked into them: the kernel then
//! copies what lies in a lower layer, and content, mode, times, attributes and links among the
//! files are kept without a byte passing through here. The new tree is renamed into place, and only
//! then the old one is taken away. Until then every failure leaves the old tree as it was.

use super::rename::Place;
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, RawDir, RenameFlags, Stat, Timespec, Timestamps, Uid,
    XattrFlags,
};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// Each level holds two descriptors.
const DEPTH_MAX: u32 = 160;
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
    let built = build(from.parent(), from.name(), to.parent(), &ready, 0);
    let placed = match built {
        Ok(()) if still_wanted() => {
            rustix::fs::renameat_with(to.parent(), &*ready, to.parent(), to.name(), flags)
        }
        Ok(()) => Err(Errno::INTR),
        Err(errno) => Err(errno),
    };
    if placed.is_err() {
        // Best effort: what remains is a hidden directory in the jail's own layer.
        let _ = clear(to.parent(), &ready, None, 0);
        return Err(TransferError::Untouched);
    }
    let new = open(to.parent(), to.name()).map_err(TransferError::Refused)?;
    clear(from.parent(), from.name(), Some(&new), 0).map_err(TransferError::Refused)
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
    let directory = open(to.parent(), to.name()).map_err(|_| TransferError::Untouched)?;
    let mut empty = true;
    for_each(&directory, |_| {
        empty = false;
        Ok(())
    })
    .map_err(|_| TransferError::Untouched)?;
    if empty {
        Ok(())
    } else {
        Err(TransferError::Refused(Errno::NOTEMPTY))
    }
}

/// A name beside the destination that is not taken.
fn free_name(to: &Place) -> Option<CString> {
    (0..100_u32).find_map(|number| {
        let name = CString::new(format!(".agar-rename-{number}")).ok()?;
        matches!(stat(to.parent(), &name), Err(Errno::NOENT)).then_some(name)
    })
}

/// Makes a copy of the directory whose files are the same files.
fn build(
    from: BorrowedFd<'_>,
    name: &CStr,
    to: BorrowedFd<'_>,
    new_name: &CStr,
    depth: u32,
) -> Result<(), Errno> {
    if depth > DEPTH_MAX {
        return Err(Errno::XDEV);
    }
    let old = open(from, name)?;
    rustix::fs::mkdirat(to, new_name, Mode::RWXU)?;
    let new = open(to, new_name)?;
    let found = rustix::fs::fstat(&old)?;
    for_each(&old, |entry| {
        if is_directory(&stat(old.as_fd(), entry)?) {
            build(old.as_fd(), entry, new.as_fd(), entry, depth + 1)
        } else {
            rustix::fs::linkat(&old, entry, &new, entry, AtFlags::empty())
        }
    })?;
    copy_attributes(&old, &new)?;
    copy_metadata(&found, &new)
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
fn copy_attributes(old: &OwnedFd, new: &OwnedFd) -> Result<(), Errno> {
    let mut names = [0; ATTRIBUTE_MAX];
    let length = match rustix::fs::flistxattr(old, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let mut value = [0; ATTRIBUTE_MAX];
    for name in names[..length].split(|byte| *byte == 0) {
        if !name.starts_with(b"user.") || name.starts_with(b"user.overlay.") {
            continue;
        }
        let size = rustix::fs::fgetxattr(old, name, &mut value[..])?;
        rustix::fs::fsetxattr(new, name, &value[..size], XattrFlags::empty())?;
    }
    Ok(())
}

/// Takes a tree away. With `kept`, what is missing there is linked into it first: somebody may have
/// written into the old tree while the new one was made.
fn clear(
    parent: BorrowedFd<'_>,
    name: &CStr,
    kept: Option<&OwnedFd>,
    depth: u32,
) -> Result<(), Errno> {
    if depth > DEPTH_MAX {
        return Err(Errno::NOTEMPTY);
    }
    let directory = open(parent, name)?;
    // A directory that its owner may not write cannot be emptied.
    if rustix::fs::fstat(&directory)?.st_mode & 0o700 != 0o700 {
        rustix::fs::fchmod(&directory, Mode::RWXU)?;
    }
    for _ in 0..PASSES_MAX {
        for_each(&directory, |entry| {
            clear_entry(directory.as_fd(), entry, kept, depth)
        })?;
        match rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            other => return other,
        }
    }
    Err(Errno::NOTEMPTY)
}

fn clear_entry(
    directory: BorrowedFd<'_>,
    entry: &CStr,
    kept: Option<&OwnedFd>,
    depth: u32,
) -> Result<(), Errno> {
    let found = match stat(directory, entry) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    if !is_directory(&found) {
        if let Some(kept) = kept {
            rustix::fs::linkat(directory, entry, kept, entry, AtFlags::empty())
                .or_else(ignore(Errno::EXIST))?;
        }
        return rustix::fs::unlinkat(directory, entry, AtFlags::empty())
            .or_else(ignore(Errno::NOENT));
    }
    let below = match kept {
        Some(kept) => {
            rustix::fs::mkdirat(kept, entry, Mode::from_raw_mode(found.st_mode & 0o7777))
                .or_else(ignore(Errno::EXIST))?;
            Some(open(kept.as_fd(), entry)?)
        }
        None => None,
    };
    clear(directory, entry, below.as_ref(), depth + 1)
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

/// Calls with every entry of the directory, from its beginning.
fn for_each(
    directory: &OwnedFd,
    mut call: impl FnMut(&CStr) -> Result<(), Errno>,
) -> Result<(), Errno> {
    rustix::fs::seek(directory, rustix::fs::SeekFrom::Start(0))?;
    let mut buffer = [MaybeUninit::uninit(); 2048];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            call(name)?;
        }
    }
    Ok(())
}
