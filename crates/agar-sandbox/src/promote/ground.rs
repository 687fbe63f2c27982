//! The project's directory, held open and never left.
//!
//! Between looking at a path and writing to it anything may happen to the directories on the way:
//! a tool may swap one for a symbolic link that leads to `~/.ssh`. So every path is resolved by the
//! kernel below the open root, with no symbolic link anywhere on the way, and every change is made
//! relative to the directory that was opened so.

use crate::merge::{Digest, Entry, FileEntry, Special, TEXT_BYTES_MAX};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// Bytes looked at to tell text from binary; the same number as in [`crate::merge::is_text`].
const SNIFFED: usize = 8000;

/// How often a file that changes under the reader is read again before giving up.
const LOOKS: usize = 5;

/// What a file was when it was looked at, to notice that somebody has touched it since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The device.
    pub dev: u64,
    /// The inode.
    pub ino: u64,
    /// Kind and permission bits.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The size in bytes.
    pub size: u64,
    /// When the content was last changed, in nanoseconds.
    pub mtime: i128,
    /// When anything about it was last changed, in nanoseconds.
    pub ctime: i128,
}

impl Stamp {
    /// The stamp of a status.
    pub(crate) fn of(stat: &Stat) -> Self {
        let nanos =
            |seconds: i64, nanos: u64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Self {
            dev: stat.st_dev,
            ino: stat.st_ino,
            mode: stat.st_mode,
            uid: stat.st_uid,
            gid: stat.st_gid,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime: nanos(stat.st_mtime, stat.st_mtime_nsec),
            ctime: nanos(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Whether it is the same thing with the same content, whatever it is called now: renaming
    /// changes the last of the times, and nothing else. The size of a directory may change without
    /// anybody's doing.
    pub(crate) fn is_moved(&self, other: &Self) -> bool {
        let same = (self.dev, self.ino, self.mode, self.uid, self.gid)
            == (other.dev, other.ino, other.mode, other.uid, other.gid);
        let content = (self.size, self.mtime) == (other.size, other.mtime);
        same && (content || self.is_directory())
    }

    /// Whether nothing at all happened to it. A directory may gain and lose entries meanwhile.
    pub(crate) fn is_untouched(&self, other: &Self) -> bool {
        self.is_moved(other) && (self.ctime == other.ctime || self.is_directory())
    }

    /// Whether it is a directory.
    pub(crate) fn is_directory(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Directory
    }
}

/// What was found at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) entry: Entry,
    /// Where there is something.
    pub(crate) stamp: Option<Stamp>,
}

/// A directory that paths are resolved below.
#[derive(Debug)]
pub(crate) struct Ground {
    path: PathBuf,
    root: OwnedFd,
}

impl Ground {
    /// Opens a directory; links on the way to it are the caller's own business.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root =
            rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| named(path, errno))?;
        Ok(Self {
            path: path.to_path_buf(),
            root,
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its own stamp.
    pub(crate) fn stamp(&self) -> io::Result<Stamp> {
        Ok(Stamp::of(&rustix::fs::fstat(&self.root)?))
    }

    /// Opens a directory below.
    pub(crate) fn directory(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        beneath(&self.root, path, flags).map_err(|errno| named(&self.path.join(path), errno))
    }

    /// Opens the directory that holds a path, and tells the path's last name.
    pub(crate) fn parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        Ok((self.directory(parent)?, name))
    }

    /// Opens a path as a mere handle, a symbolic link as itself.
    fn place(&self, path: &Path) -> Result<OwnedFd, Errno> {
        beneath(&self.root, path, OFlags::PATH)
    }

    /// The stamp of what is at a path, if anything is.
    pub(crate) fn find(&self, path: &Path) -> io::Result<Option<Stamp>> {
        match self.place(path) {
            Ok(place) => Ok(Some(Stamp::of(&rustix::fs::fstat(&place)?))),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(named(&self.path.join(path), errno)),
        }
    }

    /// What is at a path: kind, digest of the content, permission bits.
    pub(crate) fn look(&self, path: &Path) -> io::Result<Seen> {
        for _ in 0..LOOKS {
            if let Some(seen) = self.look_once(path)? {
                return Ok(seen);
            }
        }
        let message = format!("{}: is being written to", self.path.join(path).display());
        Err(io::Error::new(io::ErrorKind::ResourceBusy, message))
    }

    /// Looks once; `None` when it changed meanwhile, so that what was read may be half of it.
    fn look_once(&self, path: &Path) -> io::Result<Option<Seen>> {
        let nothing = |entry| Ok(Some(Seen { entry, stamp: None }));
        let place = match self.place(path) {
            Ok(place) => place,
            Err(Errno::NOENT) => return nothing(Entry::Absent),
            Err(Errno::NOTDIR | Errno::LOOP) => return nothing(Entry::Blocked),
            Err(errno) => return Err(named(&self.path.join(path), errno)),
        };
        let stat = rustix::fs::fstat(&place)?;
        let permissions = stat.st_mode & 0o7777;
        let entry = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let file =
                    reopen(&place).map_err(|error| renamed(&self.path.join(path), &error))?;
                Entry::File(measure(file, permissions)?)
            }
            FileType::Directory => Entry::Directory(permissions),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&place, c"", Vec::new())?;
                Entry::Symlink(target.into_bytes())
            }
            FileType::Fifo => Entry::Special(Special::Fifo),
            FileType::Socket => Entry::Special(Special::Socket),
            FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
                Entry::Special(Special::Device)
            }
        };
        let stamp = Stamp::of(&stat);
        let still = stamp.is_untouched(&Stamp::of(&rustix::fs::fstat(&place)?));
        Ok(still.then_some(Seen {
            entry,
            stamp: Some(stamp),
        }))
    }

    /// Opens a regular file below for reading.
    pub(crate) fn file(&self, path: &Path) -> io::Result<File> {
        let place = self
            .place(path)
            .map_err(|errno| named(&self.path.join(path), errno))?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&place)?.st_mode);
        if kind != FileType::RegularFile {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        reopen(&place)
    }

    /// The whole of a regular file below.
    pub(crate) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.file(path)?.read_to_end(&mut content)?;
        Ok(content)
    }

    /// Sets the permission bits of a file or directory; those that grant privileges stay.
    pub(crate) fn chmod(&self, path: &Path, mode: u32) -> io::Result<()> {
        let place = self
            .place(path)
            .map_err(|errno| named(&self.path.join(path), errno))?;
        let now = rustix::fs::fstat(&place)?.st_mode;
        if FileType::from_raw_mode(now) == FileType::Symlink {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mode = (now & 0o7000) | (mode & 0o777);
        // The link in /proc leads to the very file just looked at.
        rustix::fs::chmod(link(&place), Mode::from_raw_mode(mode))?;
        Ok(())
    }

    /// The names in a directory below, without `.` and `..`.
    pub(crate) fn names(&self, path: &Path) -> io::Result<Vec<std::ffi::OsString>> {
        use std::os::unix::ffi::OsStrExt as _;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(self.directory(path)?)? {
            let name = entry?;
            let name = name.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_os_string());
            }
        }
        Ok(names)
    }

    /// The deepest directory on the way to a path that exists.
    pub(crate) fn nearest<'a>(&self, path: &'a Path) -> io::Result<(&'a Path, OwnedFd)> {
        let mut at = path.parent().unwrap_or(Path::new(""));
        loop {
            match self.directory(at) {
                Ok(handle) => return Ok((at, handle)),
                Err(error) => match at.parent() {
                    Some(parent) => at = parent,
                    None => return Err(error),
                },
            }
        }
    }
}

/// Opens a path below a directory; no component of it may be a symbolic link, but the last may be
/// one when only a handle is asked for.
fn beneath(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    if path.as_os_str().is_empty() {
        return rustix::fs::openat(root, c".", flags, Mode::empty());
    }
    match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
        // A container's filter may not know the call, a path may be longer than the kernel takes,
        // and a rename elsewhere may have disturbed it.
        Err(Errno::NOSYS | Errno::PERM | Errno::NAMETOOLONG | Errno::AGAIN) => {
            by_component(root, path, flags)
        }
        answer => answer,
    }
}

fn by_component(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let way = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = rustix::fs::openat(root, c".", way, Mode::empty())?;
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let Component::Normal(name) = component else {
            return Err(Errno::XDEV);
        };
        let flags = if components.peek().is_some() {
            way
        } else {
            flags
        };
        here = rustix::fs::openat(&here, name, flags, Mode::empty())?;
    }
    Ok(here)
}

/// Opens for reading the very file that a handle stands for.
fn reopen(place: &OwnedFd) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(rustix::fs::open(link(place), flags, Mode::empty())?.into())
}

fn link(handle: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// Reads a file once: its digest, its size and whether it is text.
pub(crate) fn measure(mut file: File, mode: u32) -> io::Result<FileEntry> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 64 << 10];
    let (mut size, mut text) = (0_u64, true);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        let sniffed = SNIFFED.saturating_sub(usize::try_from(size).unwrap_or(SNIFFED));
        text &= !buffer[..read.min(sniffed)].contains(&0);
        hasher.update(&buffer[..read]);
        size += read as u64;
    }
    Ok(FileEntry {
        digest: Digest::from(hasher.finalize()),
        size,
        mode,
        text: text && size <= TEXT_BYTES_MAX,
    })
}

/// The stamp of a name in an open directory, if there is such a name.
pub(crate) fn stamp_at(directory: impl AsFd, name: &OsStr) -> io::Result<Option<Stamp>> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Stamp::of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// An error that names its path, as `fs_err` would say it.
pub(crate) fn named(path: &Path, errno: Errno) -> io::Error {
    renamed(path, &errno.into())
}

fn renamed(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let world = tempfile::tempdir().unwrap();
        let (inside, outside) = (world.path().join("in"), world.path().join("out"));
        fs_err::create_dir_all(&inside).unwrap();
        fs_err::create_dir_all(&outside).unwrap();
        fs_err::write(outside.join("secret"), "s").unwrap();
        symlink(&outside, inside.join("door")).unwrap();
        let ground = Ground::open(&inside).unwrap();
        assert_eq!(
            ground.look(Path::new("door/secret")).unwrap().entry,
            Entry::Blocked
        );
        assert!(ground.parent(Path::new("door/new")).is_err());
        assert!(ground.file(Path::new("../out/secret")).is_err());
        assert!(by_component(&ground.root, Path::new("door/secret"), OFlags::RDONLY).is_err());
        assert!(by_component(&ground.root, Path::new("../out"), OFlags::RDONLY).is_err());
    }

    #[test]
    fn each_kind_of_thing_is_seen_as_itself() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path();
        fs_err::write(root.join("text"), "a\n").unwrap();
        fs_err::write(root.join("binary"), b"\0").unwrap();
        fs_err::create_dir_all(root.join("directory")).unwrap();
        symlink("nowhere", root.join("link")).unwrap();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            root.join("pipe"),
            Mode::from_raw_mode(0o600),
        )
        .unwrap();
        let ground = Ground::open(root).unwrap();
        let entry = |path: &str| ground.look(Path::new(path)).unwrap().entry;
        assert!(matches!(entry("text"), Entry::File(file) if file.text && file.size == 2));
        assert!(matches!(entry("binary"), Entry::File(file) if !file.text));
        assert!(matches!(entry("directory"), Entry::Directory(_)));
        assert_eq!(entry("link"), Entry::Symlink(b"nowhere".to_vec()));
        assert_eq!(entry("pipe"), Entry::Special(Special::Fifo));
        assert_eq!(entry("missing/below"), Entry::Absent);
        assert_eq!(entry("text/below"), Entry::Blocked);
    }
}
