//! Completes what an overlay refuses: renaming a directory that comes from a lower layer.
//!
//! The kernel answers `EXDEV` for it, and `git mv`, Node and others give up. The handler does what
//! `mv` would, where everything speaks for it: a directory, one mount, a plain rename that was
//! tried and refused. In every other case the call goes on as if nobody had been asked, so that all
//! errors are the kernel's own.

use super::kernel::{Answer, Listener, Notice};
use super::memory::Memory;
use super::target::{self, Directory};
use super::{PATH_MAX, tree};
use rustix::fs::{AtFlags, FileType, RenameFlags, StatxFlags, renameat_with, statat, statx};
use rustix::io::Errno;
use std::ffi::CString;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// A name in an open directory.
#[derive(Debug)]
pub(super) struct Place {
    parent: OwnedFd,
    name: CString,
}

impl Place {
    pub(super) fn parent(&self) -> BorrowedFd<'_> {
        self.parent.as_fd()
    }

    pub(super) fn name(&self) -> &std::ffi::CStr {
        &self.name
    }
}

/// Decides about a rename, and does it if need be.
pub(super) fn complete(listener: &Listener, notice: &Notice, text: &mut Vec<u8>) -> Answer {
    let Some(request) = Request::read(notice) else {
        return Answer::Continue;
    };
    let memory = Memory::of(notice.pid);
    let Some(from) = place(memory, notice.pid, request.from, text) else {
        return Answer::Continue;
    };
    // Files are renamed by the kernel, whatever their layer: this is the common way out.
    if !is_directory(&from) {
        return Answer::Continue;
    }
    let Some(to) = place(memory, notice.pid, request.to, text) else {
        return Answer::Continue;
    };
    if !target::shares_root(notice.pid) || !share_mount(&from, &to) || !listener.is_alive(notice) {
        return Answer::Continue;
    }
    match renameat_with(
        &from.parent,
        &*from.name,
        &to.parent,
        &*to.name,
        request.flags,
    ) {
        Ok(()) => Answer::Done,
        Err(Errno::XDEV) => {
            let still_wanted = || listener.is_alive(notice);
            match tree::transfer(&from, &to, request.flags, still_wanted) {
                Ok(()) => Answer::Done,
                Err(tree::TransferError::Untouched) => Answer::Continue,
                Err(tree::TransferError::Refused(errno)) => Answer::Fail(errno),
            }
        }
        Err(_) => Answer::Continue,
    }
}

#[derive(Debug, Clone, Copy)]
struct Request {
    from: (Directory, u64),
    to: (Directory, u64),
    flags: RenameFlags,
}

impl Request {
    /// Reads the arguments; `None` for an exchange, which cannot be completed.
    fn read(notice: &Notice) -> Option<Self> {
        let [first, second, third, fourth, fifth, _] = notice.arguments;
        let number = i64::from(notice.number);
        #[cfg(target_arch = "x86_64")]
        if number == libc::SYS_rename {
            return Some(Self {
                from: (Directory::Current, first),
                to: (Directory::Current, second),
                flags: RenameFlags::empty(),
            });
        }
        let flags = if number == libc::SYS_renameat2 {
            fifth & 0xFFFF_FFFF
        } else {
            0
        };
        let flags = match flags {
            0 => RenameFlags::empty(),
            1 => RenameFlags::NOREPLACE,
            _ => return None,
        };
        Some(Self {
            from: (Directory::argument(first), second),
            to: (Directory::argument(third), fourth),
            flags,
        })
    }
}

/// Finds the directory that a path of the process lies in, and its name there.
fn place(
    memory: Memory,
    pid: u32,
    (directory, path): (Directory, u64),
    text: &mut Vec<u8>,
) -> Option<Place> {
    memory.string(path, PATH_MAX, text)?;
    let (parent, name) = split(text)?;
    let start = target::start(pid, directory, text).ok()?;
    let parent = if parent.is_empty() {
        target::open_directory(&start, b".").ok()?
    } else {
        target::open_directory(&start, parent).ok()?
    };
    Some(Place {
        parent,
        name: CString::new(name).ok()?,
    })
}

/// The parent, relative to where the path starts, and the last name. `None` when the last name is
/// missing or stands for another directory, which no rename accepts.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
    let path = &path[..end];
    let start = path.iter().position(|byte| *byte != b'/')?;
    let path = &path[start..];
    let (parent, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&path[..0], path),
    };
    (!matches!(name, b"." | b"..")).then_some((parent, name))
}

fn is_directory(place: &Place) -> bool {
    statat(&place.parent, &*place.name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

fn share_mount(from: &Place, to: &Place) -> bool {
    let mount = |place: &Place| {
        let found = statx(&place.parent, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
        Some(found.stx_mnt_id)
    };
    mount(from).is_some() && mount(from) == mount(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_splits_into_parent_and_name() {
        let cases: [(&[u8], &[u8], &[u8]); 6] = [
            (b"a", b"", b"a"),
            (b"a/b", b"a", b"b"),
            (b"/a", b"", b"a"),
            (b"/a//b/", b"a/", b"b"),
            (b"../x///", b"..", b"x"),
            (b"./a/./b", b"./a/.", b"b"),
        ];
        for (path, parent, name) in cases {
            assert_eq!(split(path), Some((parent, name)));
        }
    }

    #[test]
    fn what_no_rename_accepts_has_no_name() {
        for path in [&b""[..], b"/", b"//", b".", b"a/..", b"a/./", b"/.."] {
            assert_eq!(split(path), None);
        }
    }
}
