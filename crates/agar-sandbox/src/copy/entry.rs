//! A tree as a list: what `stat` says of each entry, directory by directory.

use rustix::fs::{FileType, Statx};
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block or character device; overlay's whiteout is one of them.
    Device,
}

/// Where an entry was brought to, or the fact that it was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Landed {
    /// The inode of the copy; zero if the entry was left out.
    pub ino: u64,
    /// The change time of the copy.
    pub ctime_ns: i64,
    /// The copy shares its inode with the original, so the original's change time means nothing.
    pub linked: bool,
    /// There is no copy: a socket, a device, or something that cannot be read.
    pub left_out: bool,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: CString,
    /// Type and permissions, as `st_mode`.
    pub mode: u32,
    /// Names that the inode has.
    pub nlink: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The size in bytes.
    pub size: u64,
    /// Blocks of 512 bytes that it occupies.
    pub blocks: u64,
    /// The modification time.
    pub mtime_ns: i64,
    /// The change time.
    pub ctime_ns: i64,
    /// The inode.
    pub ino: u64,
    /// A directory that the walk did not enter: another mount, or bulk.
    pub closed: bool,
    /// Changed so recently that an equal time later would prove nothing.
    pub racy: bool,
    /// What became of it.
    pub landed: Option<Landed>,
    /// Another name of an inode that an earlier entry brings over.
    pub(crate) follower: bool,
}

impl Entry {
    pub(super) fn new(name: &CStr, found: &Statx) -> Self {
        Self {
            name: name.to_owned(),
            mode: found.stx_mode.into(),
            nlink: found.stx_nlink,
            uid: found.stx_uid,
            gid: found.stx_gid,
            size: found.stx_size,
            blocks: found.stx_blocks,
            mtime_ns: nanoseconds(found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
            ctime_ns: nanoseconds(found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
            ino: found.stx_ino,
            closed: false,
            racy: false,
            landed: None,
            follower: false,
        }
    }

    /// What it is.
    pub fn shape(&self) -> Shape {
        match FileType::from_raw_mode(self.mode) {
            FileType::RegularFile => Shape::File,
            FileType::Directory => Shape::Directory,
            FileType::Symlink => Shape::Symlink,
            FileType::Fifo => Shape::Fifo,
            FileType::Socket => Shape::Socket,
            FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => Shape::Device,
        }
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.shape() == Shape::Directory
    }

    /// Whether nothing that `stat` can show happened to it between two walks.
    ///
    /// A directory's own times do not count: they move whenever an entry comes or goes, and the
    /// entries are compared themselves.
    pub fn is_same(&self, later: &Self) -> bool {
        if self.is_directory() || later.is_directory() {
            return self.mode == later.mode && self.closed == later.closed;
        }
        let linked = self.landed.is_some_and(|landed| landed.linked);
        // Overlay gives one inode a name for each whiteout, and each moves its change time.
        let timeless = linked || self.shape() == Shape::Device;
        self.mode == later.mode
            && self.ino == later.ino
            && self.size == later.size
            && self.mtime_ns == later.mtime_ns
            && (timeless || self.ctime_ns == later.ctime_ns)
    }

    /// Whether there is a copy of it.
    pub fn is_present(&self) -> bool {
        self.landed.is_some_and(|landed| !landed.left_out)
    }
}

/// Nanoseconds since 1970, which fit until the year 2262.
pub(crate) const fn nanoseconds(seconds: i64, nanoseconds: u32) -> i64 {
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds as i64)
}

/// One directory with what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directory {
    /// Its path relative to the root of the tree; empty for the root itself.
    pub path: Vec<u8>,
    /// Its entries, sorted by name.
    pub entries: Vec<Entry>,
}

impl Directory {
    /// The path of one of its entries, relative to the root of the tree.
    pub fn path_of(&self, name: &CStr) -> Vec<u8> {
        join(&self.path, name)
    }
}

pub(crate) fn join(directory: &[u8], name: &CStr) -> Vec<u8> {
    let mut path = Vec::with_capacity(directory.len() + 1 + name.count_bytes());
    path.extend_from_slice(directory);
    if !directory.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name.to_bytes());
    path
}

/// The directory part of a relative path; empty at the top.
pub(crate) fn parent(path: &[u8]) -> &[u8] {
    path.iter()
        .rposition(|&byte| byte == b'/')
        .map_or(b"", |at| &path[..at])
}

/// The last part of a relative path.
pub(crate) fn last(path: &[u8]) -> &[u8] {
    path.iter()
        .rposition(|&byte| byte == b'/')
        .map_or(path, |at| &path[at + 1..])
}

/// Raw bytes as a path.
pub(crate) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// A tree as it was when it was walked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Its directories, sorted by path, so that each follows its parent.
    pub directories: Vec<Directory>,
    /// Directories that could not be read.
    pub unreadable: Vec<PathBuf>,
    /// Mounts below the root, which were not entered.
    pub mounts: Vec<PathBuf>,
}

/// What a later walk did not find any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gone {
    /// Entries that are gone, whether the last round got to copy them or only an earlier one did;
    /// nothing below a directory that is gone itself.
    pub entries: Vec<Vec<u8>>,
    /// Directories that are still there and no longer entered: bulk, or covered by a mount.
    pub closed: Vec<Vec<u8>>,
}

impl Gone {
    /// Whether nothing is gone.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.closed.is_empty()
    }
}

impl Listing {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.directories
            .iter()
            .map(|directory| directory.entries.len())
            .sum()
    }

    /// Whether the tree is an empty directory.
    pub fn is_empty(&self) -> bool {
        self.directories
            .iter()
            .all(|directory| directory.entries.is_empty())
    }

    /// The directory of that path.
    pub fn directory(&self, path: &[u8]) -> Option<&Directory> {
        let at = self
            .directories
            .binary_search_by(|directory| directory.path.as_slice().cmp(path));
        at.ok().and_then(|at| self.directories.get(at))
    }

    /// The entry of that path; the root has none.
    pub fn entry(&self, path: &[u8]) -> Option<&Entry> {
        let entries = &self.directory(parent(path))?.entries;
        let name = last(path);
        let at = entries
            .binary_search_by(|entry| entry.name.to_bytes().cmp(name))
            .ok()?;
        entries.get(at)
    }

    /// The same, to be changed.
    pub fn entry_mut(&mut self, path: &[u8]) -> Option<&mut Entry> {
        let (above, name) = (parent(path), last(path));
        let at = self
            .directories
            .binary_search_by(|directory| directory.path.as_slice().cmp(above));
        let entries = &mut self.directories.get_mut(at.ok()?)?.entries;
        let at = entries
            .binary_search_by(|entry| entry.name.to_bytes().cmp(name))
            .ok()?;
        entries.get_mut(at)
    }

    /// Everything but directories, to be changed.
    pub(crate) fn leaves_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.directories
            .iter_mut()
            .flat_map(|directory| &mut directory.entries)
            .filter(|entry| !entry.is_directory())
    }

    /// Every directory below the root with its path, each after its parent.
    pub(crate) fn folders(&self) -> impl DoubleEndedIterator<Item = (Vec<u8>, &Entry)> {
        self.directories.iter().flat_map(|directory| {
            let entries = directory.entries.iter();
            entries
                .filter(|entry| entry.is_directory())
                .map(|entry| (directory.path_of(&entry.name), entry))
        })
    }

    /// The paths of entries that were not brought over.
    pub fn missing(&self) -> Vec<PathBuf> {
        let missing = |directory: &Directory| -> Vec<PathBuf> {
            let entries = directory
                .entries
                .iter()
                .filter(|entry| entry.landed.is_none());
            entries
                .map(|entry| as_path(&directory.path_of(&entry.name)).to_owned())
                .collect()
        };
        self.directories.iter().flat_map(missing).collect()
    }

    /// Hands to a later walk of the same tree what became of each entry that did not change, and
    /// says what is gone.
    pub fn carry_into(&self, later: &mut Self) -> Gone {
        let mut gone = Gone::default();
        let mut after = later.directories.iter_mut().peekable();
        for before in &self.directories {
            while after
                .peek()
                .is_some_and(|directory| directory.path < before.path)
            {
                after.next();
            }
            match after.next_if(|directory| directory.path == before.path) {
                Some(directory) => carry(before, directory, &mut gone.entries),
                None => gone.closed.push(before.path.clone()),
            }
        }
        // A directory without a list of its own is gone with its entry above, became something
        // else, or was closed. Only the last needs a word here.
        gone.closed
            .retain(|path| later.entry(path).is_some_and(|entry| entry.closed));
        gone
    }
}

fn carry(before: &Directory, after: &mut Directory, gone: &mut Vec<Vec<u8>>) {
    let mut entries = after.entries.iter_mut().peekable();
    for old in &before.entries {
        while entries.next_if(|new| new.name < old.name).is_some() {}
        if let Some(new) = entries.next_if(|new| new.name == old.name) {
            inherit(old, new);
        } else if old.landed.is_none_or(|landed| !landed.left_out) {
            gone.push(before.path_of(&old.name));
        }
    }
}

fn inherit(old: &Entry, new: &mut Entry) {
    if !old.racy && old.is_same(new) {
        new.landed = old.landed;
    }
}

#[cfg(test)]
mod tests;
