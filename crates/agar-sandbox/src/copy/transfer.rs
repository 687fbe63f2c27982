//! Brings listed entries to another place.

use super::data::Means;
use super::entry::{Directory, Entry, Landed, Listing, Shape, as_path, join};
use super::landing::{change_time, settle};
use super::walk::{BENEATH, THREADS};
use super::worker::{Worker, tasks};
use super::{CopyError, attributes};
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, linkat, openat2, unlinkat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Entries that one thread brings over without company.
const ALONE: u64 = 64;

/// How literally a tree is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fidelity {
    /// A person's files: overlay's marks are not carried, devices are left out.
    Project,
    /// A layer of an overlay: whiteouts and opaque marks are part of it.
    Layer,
}

/// Whether files may share their inode with the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linking {
    /// Always a copy of its own.
    Never,
    /// Git's objects are never written in place, so they are linked, as `git clone` does.
    GitObjects,
    /// Everything: the source is immutable.
    Always,
}

/// Whether somebody may write to the tree while it is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    /// Nobody does, or whoever compares afterwards finds out.
    Ignored,
    /// A file that somebody has open for writing while it is copied is marked as racy.
    Suspected,
}

/// Why an entry has no copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOutReason {
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// The user may not read it.
    Unreadable,
}

/// An entry without a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path relative to the root of the tree.
    pub path: PathBuf,
    /// Why.
    pub reason: LeftOutReason,
}

/// What a copy did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transferred {
    /// Entries brought over.
    pub entries: u64,
    /// Entries left out.
    pub left_out: Vec<LeftOut>,
    /// Entries that kept changing; their copies may be torn.
    pub unstable: Vec<PathBuf>,
    /// Directories that could not be read; their copies are empty.
    pub unreadable: Vec<PathBuf>,
}

impl Transferred {
    /// Adds what a further round did.
    pub fn absorb(&mut self, other: Self) {
        self.entries += other.entries;
        self.left_out.extend(other.left_out);
        self.left_out.sort_by(|a, b| a.path.cmp(&b.path));
        self.left_out.dedup();
    }
}

/// Copies entries from one open directory to another.
#[derive(Debug)]
pub struct Copier<'a> {
    /// The root of the tree to copy.
    pub source: &'a OwnedFd,
    /// The root of the copy.
    pub target: &'a OwnedFd,
    /// How literally.
    pub fidelity: Fidelity,
    /// Whether inodes may be shared.
    pub linking: Linking,
    /// Whether somebody may write meanwhile.
    pub writers: Writers,
}

/// A failure with its place in the tree, before the caller says which tree.
#[derive(Debug)]
pub(crate) struct Trouble {
    doing: &'static str,
    path: Vec<u8>,
    error: Errno,
}

impl Trouble {
    pub(crate) fn new(doing: &'static str, path: &[u8], error: Errno) -> Self {
        Self {
            doing,
            path: path.to_vec(),
            error,
        }
    }

    /// The failure with its full path.
    pub(crate) fn at(self, root: &Path) -> CopyError {
        CopyError::new(self.doing, &root.join(as_path(&self.path)), self.error)
    }
}

impl Copier<'_> {
    /// Brings over every entry that has not landed yet. The directories they lie in must exist.
    pub(crate) fn bring(
        &self,
        listing: &mut Listing,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Transferred, Trouble> {
        let groups = self.join_names(listing);
        let (tasks, total) = tasks(listing);
        let (tasks, means, done) = (Mutex::new(tasks), Means::new(), AtomicU64::new(0));
        let results = Mutex::new(Vec::new());
        let count = |count| progress(done.fetch_add(count, Ordering::Relaxed) + count, total);
        let work = || {
            let mut worker = Worker::new(self, &means);
            let result = worker.run(&tasks, &count).map(|()| worker.transferred);
            results
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(result);
        };
        // A thread costs as much as a few dozen files.
        let company = if total > ALONE { THREADS - 1 } else { 0 };
        std::thread::scope(|scope| {
            for _ in 0..company {
                scope.spawn(work);
            }
            work();
        });
        let mut whole = Transferred::default();
        for result in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
            whole.absorb(result?);
        }
        for (first, others) in groups {
            self.link_names(listing, &first, &others)?;
        }
        Ok(whole)
    }

    /// Finds the names that share an inode: the first brings it over, the others follow.
    fn join_names(&self, listing: &mut Listing) -> Vec<(Vec<u8>, Vec<Vec<u8>>)> {
        let mut firsts: HashMap<u64, usize> = HashMap::new();
        let mut groups: Vec<(Vec<u8>, Vec<Vec<u8>>)> = Vec::new();
        for Directory { path, entries } in &mut listing.directories {
            for entry in entries
                .iter_mut()
                .filter(|entry| self.has_more_names(path, entry))
            {
                let name = join(path, &entry.name);
                let group = *firsts.entry(entry.ino).or_insert(groups.len());
                entry.follower = group < groups.len();
                match groups.get_mut(group) {
                    Some((_, others)) => others.push(name),
                    None => groups.push((name, Vec::new())),
                }
            }
        }
        groups.retain(|(_, others)| !others.is_empty());
        groups
    }

    fn has_more_names(&self, directory: &[u8], entry: &Entry) -> bool {
        entry.nlink > 1
            && entry.shape() == Shape::File
            && entry.landed.is_none()
            && !self.is_linkable(directory, entry)
    }

    fn link_names(
        &self,
        listing: &mut Listing,
        first: &[u8],
        others: &[Vec<u8>],
    ) -> Result<(), Trouble> {
        let landed = listing.entry(first).and_then(|entry| entry.landed);
        let Some(landed) = landed.filter(|landed| !landed.left_out) else {
            return Ok(());
        };
        for other in others {
            let failed = |error| Trouble::new("link", other, error);
            self.clear(other).map_err(failed)?;
            linkat(self.target, first, self.target, other, AtFlags::empty()).map_err(failed)?;
        }
        let found = rustix::fs::statat(self.target, first, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| Trouble::new("look at", first, error))?;
        let landed = Landed {
            ctime_ns: change_time(&found),
            ..landed
        };
        for path in others.iter().map(Vec::as_slice).chain([first]) {
            if let Some(entry) = listing.entry_mut(path) {
                entry.landed = Some(landed);
            }
        }
        Ok(())
    }

    /// Whether an entry is brought over as a further name of the same inode.
    pub(super) fn is_linkable(&self, directory: &[u8], entry: &Entry) -> bool {
        match self.linking {
            Linking::Never => false,
            Linking::GitObjects => {
                entry.shape() == Shape::File
                    && entry.mode & 0o222 == 0
                    && is_object_directory(directory)
            }
            Linking::Always => entry.shape() == Shape::File,
        }
    }

    /// Makes a directory, whatever was there before. Says whether something else was.
    pub(crate) fn make_directory(&self, path: &[u8]) -> Result<Made, Trouble> {
        let failed = |error| Trouble::new("make", path, error);
        match rustix::fs::mkdirat(self.target, path, Mode::RWXU) {
            Ok(()) => return Ok(Made::New),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        let found = rustix::fs::statat(self.target, path, AtFlags::SYMLINK_NOFOLLOW);
        if rustix::fs::FileType::from_raw_mode(found.map_err(failed)?.st_mode).is_dir() {
            return Ok(Made::WasThere);
        }
        unlinkat(self.target, path, AtFlags::empty()).map_err(failed)?;
        rustix::fs::mkdirat(self.target, path, Mode::RWXU).map_err(failed)?;
        Ok(Made::Replaced)
    }

    /// Removes whatever is at a path of the copy, with all it holds.
    pub(crate) fn clear(&self, path: &[u8]) -> Result<(), Errno> {
        match unlinkat(self.target, path, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
            Err(Errno::ISDIR | Errno::PERM) => self.clear_directory(path),
            Err(error) => Err(error),
        }
    }

    fn clear_directory(&self, path: &[u8]) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = openat2(self.target, path, flags, Mode::empty(), BENEATH)?;
        for entry in rustix::fs::Dir::read_from(&dir)? {
            let entry = entry?;
            if entry.file_name() != c"." && entry.file_name() != c".." {
                self.clear(&join(path, entry.file_name()))?;
            }
        }
        unlinkat(self.target, path, AtFlags::REMOVEDIR)
    }

    /// Gives a directory its final mode, owner, attributes and time. Children first: a directory
    /// may be closed to its own owner.
    pub(crate) fn finish_directory(&self, path: &[u8], entry: &Entry) -> Result<(), Trouble> {
        let failed = |error| Trouble::new("finish", path, error);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let to = openat2(self.target, path, flags, Mode::empty(), BENEATH).map_err(failed)?;
        // An unreadable or vanished source has no attributes to give.
        if let Ok(from) = openat2(self.source, path, flags, Mode::empty(), BENEATH) {
            attributes::copy(&from, &to, self.fidelity).map_err(failed)?;
        }
        settle(&to, entry).map_err(failed)?;
        Ok(())
    }

    /// The same before the tree stands still, for a directory that can still be added to afterwards and
    /// has no attributes that could be there no more by then. Whether it was one.
    pub(crate) fn finish_plain(&self, path: &[u8], entry: &Entry) -> Result<bool, Trouble> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let from = openat2(self.source, path, flags, Mode::empty(), BENEATH);
        let failed = |error| Trouble::new("finish", path, error);
        let Ok(from) = from else { return Ok(false) };
        if entry.mode & 0o700 != 0o700 || !attributes::is_bare(&from).map_err(failed)? {
            return Ok(false);
        }
        let to = openat2(self.target, path, flags, Mode::empty(), BENEATH).map_err(failed)?;
        settle(&to, entry).map_err(failed)?;
        Ok(true)
    }

    /// The same for the root of the copy.
    pub(crate) fn finish_root(&self) -> Result<(), Trouble> {
        let failed = |error| Trouble::new("finish", b"", error);
        let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
        let found = rustix::fs::statx(self.source, c"", flags, StatxFlags::BASIC_STATS);
        let entry = Entry::new(c"", &found.map_err(failed)?);
        attributes::copy(self.source, self.target, self.fidelity).map_err(failed)?;
        settle(self.target, &entry).map_err(failed)?;
        Ok(())
    }
}

/// What making a directory met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// Nothing was there.
    New,
    /// The directory was there.
    WasThere,
    /// Something else was there, and is gone.
    Replaced,
}

/// Below `objects` of a git directory, of the project or of a submodule.
fn is_object_directory(path: &[u8]) -> bool {
    let mut parts = path
        .split(|&byte| byte == b'/')
        .skip_while(|part| *part != b".git")
        .skip(1);
    match parts.next() {
        Some(b"objects") => true,
        Some(b"modules") => parts.any(|part| part == b"objects"),
        Some(_) | None => false,
    }
}
