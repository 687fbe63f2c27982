//! Directories whose children the filesystem lays apart.
//!
//! An ext4 without a journal does not use an inode again for some minutes after it was freed, and looks
//! for one from the beginning of the part of the disk that the directory lies in, past all of those. A
//! sandbox makes two dozen files and directories, some of which the kernel itself removes at once, and
//! when sandboxes were deleted there are thousands to pass: making one then took five times as long.
//! The flag of a directory that is the top of a hierarchy has each of its children go to another part.
//!
//! With a journal the search is short, and children that lie side by side are read together.

use rustix::fs::{IFlags, Mode, OFlags};
use std::io;
use std::path::Path;

/// What `statfs` calls ext4, and its elders.
const EXT4: u64 = 0xEF53;

/// Has the children of a new directory laid apart where that helps. Nothing depends on it.
pub(super) fn spread(directory: &Path) {
    // A filesystem that does not know the flag lays things where it likes.
    drop(try_spread(directory));
}

fn try_spread(directory: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty())?;
    let kind = rustix::fs::fstatfs(&opened)?.f_type;
    if u64::try_from(kind) == Ok(EXT4) && !has_journal(rustix::fs::fstat(&opened)?.st_dev)? {
        let known = rustix::fs::ioctl_getflags(&opened)?;
        rustix::fs::ioctl_setflags(&opened, known | IFlags::TOPDIR)?;
    }
    Ok(())
}

/// The kernel lists the journals that are in use by the names of their disks.
fn has_journal(device: rustix::fs::Dev) -> io::Result<bool> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let disk = fs_err::read_link(format!("/sys/dev/block/{major}:{minor}"))?;
    let disk = disk.file_name().unwrap_or_default().to_string_lossy();
    let is_its = |name: &str| {
        let number = name
            .strip_prefix(&*disk)
            .and_then(|rest| rest.strip_prefix('-'));
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut journals = fs_err::read_dir("/proc/fs/jbd2")?;
    Ok(journals.any(|entry| entry.is_ok_and(|entry| is_its(&entry.file_name().to_string_lossy()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_flagged_on_an_ext4_without_a_journal_and_nowhere_else() {
        let directory = tempfile::tempdir().unwrap();
        spread(directory.path());
        let opened = fs_err::File::open(directory.path()).unwrap();
        let flags = rustix::fs::ioctl_getflags(&opened).unwrap_or(IFlags::empty());
        let kind = rustix::fs::fstatfs(&opened).unwrap().f_type;
        let device = rustix::fs::fstat(&opened).unwrap().st_dev;
        let helps = u64::try_from(kind) == Ok(EXT4) && has_journal(device).is_ok_and(|has| !has);
        assert_eq!(flags.contains(IFlags::TOPDIR), helps);
        // What is made in it can be used as ever.
        fs_err::create_dir_all(directory.path().join("a/b")).unwrap();
        assert!(directory.path().join("a/b").is_dir());
    }

    #[test]
    fn a_place_without_flags_is_left_as_it_is() {
        spread(Path::new("/proc"));
        spread(Path::new("/nowhere"));
    }
}
