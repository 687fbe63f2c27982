//! Brings listed entries to another place.

use super::data::{BUFFER, Means};
use super::entry::{Directory, Entry, Landed, Listing, Shape, as_path, join};
use super::walk::{BENEATH, THREADS};
use super::{CopyError, attributes};
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Stat, StatxFlags, Timespec, Timestamps, UTIME_OMIT, Uid,
};
use rustix::fs::{fchmod, fchown, fstat, futimens, linkat, openat, openat2, unlinkat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

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

/// Files handled by a thread before it asks for more.
const CHUNK: usize = 128;

type Task<'t> = (&'t [u8], &'t mut [Entry]);

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
        std::thread::scope(|scope| {
            for _ in 1..THREADS {
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
    fn is_linkable(&self, directory: &[u8], entry: &Entry) -> bool {
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

fn tasks(listing: &mut Listing) -> (Vec<Task<'_>>, u64) {
    let mut tasks: Vec<Task<'_>> = Vec::new();
    let mut total = 0;
    for directory in &mut listing.directories {
        let Directory { path, entries } = directory;
        for chunk in entries.chunks_mut(CHUNK) {
            let open = chunk.iter().filter(|entry| is_open(entry)).count();
            if open > 0 {
                total += open as u64;
                tasks.push((path, chunk));
            }
        }
    }
    // Taken from the end: in order, so that neighbours are made together.
    tasks.reverse();
    (tasks, total)
}

fn is_open(entry: &Entry) -> bool {
    entry.landed.is_none() && !entry.is_directory() && !entry.follower
}

struct Worker<'a> {
    copier: &'a Copier<'a>,
    means: &'a Means,
    buffer: Vec<u8>,
    transferred: Transferred,
}

impl<'a> Worker<'a> {
    fn new(copier: &'a Copier<'a>, means: &'a Means) -> Self {
        let transferred = Transferred::default();
        Self {
            copier,
            means,
            buffer: vec![0; BUFFER],
            transferred,
        }
    }

    fn run(&mut self, tasks: &Mutex<Vec<Task<'_>>>, count: &dyn Fn(u64)) -> Result<(), Trouble> {
        loop {
            let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some((directory, entries)) = task else {
                return Ok(());
            };
            let before = self.transferred.entries;
            if let Err(trouble) = self.bring_chunk(directory, entries) {
                tasks.lock().unwrap_or_else(PoisonError::into_inner).clear();
                return Err(trouble);
            }
            count(self.transferred.entries - before);
        }
    }

    fn bring_chunk(&mut self, directory: &[u8], entries: &mut [Entry]) -> Result<(), Trouble> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let relative = if directory.is_empty() {
            b"."
        } else {
            directory
        };
        let from = match openat2(self.copier.source, relative, flags, Mode::empty(), BENEATH) {
            Ok(from) => from,
            // Gone or closed meanwhile: nothing lands, and the next walk says so.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(()),
            Err(error) => return Err(Trouble::new("open", directory, error)),
        };
        let to = openat2(self.copier.target, relative, flags, Mode::empty(), BENEATH)
            .map_err(|error| Trouble::new("open", directory, error))?;
        let place = Place { from, to };
        for entry in entries.iter_mut().filter(|entry| is_open(entry)) {
            self.bring_entry(directory, &place, entry)?;
        }
        Ok(())
    }

    fn bring_entry(
        &mut self,
        directory: &[u8],
        place: &Place,
        entry: &mut Entry,
    ) -> Result<(), Trouble> {
        let outcome = match entry.shape() {
            Shape::File if self.copier.is_linkable(directory, entry) => self.link(place, entry),
            Shape::File => self.copy_file(place, entry),
            Shape::Symlink => place.copy_symlink(entry),
            Shape::Fifo => place.make_node(entry, rustix::fs::FileType::Fifo),
            Shape::Device if self.is_whiteout(place, entry) => {
                place.make_node(entry, rustix::fs::FileType::CharacterDevice)
            }
            Shape::Socket => Ok(self.leave_out(directory, entry, LeftOutReason::Socket)),
            Shape::Device => Ok(self.leave_out(directory, entry, LeftOutReason::Device)),
            Shape::Directory => return Ok(()),
        };
        match outcome {
            Ok(landed) => entry.landed = Some(landed),
            // It went away or turned into something else; the next walk will say so.
            Err(Step {
                side: Side::Source,
                error: Errno::NOENT | Errno::LOOP | Errno::NXIO,
            }) => {}
            Err(Step {
                side: Side::Source,
                error: Errno::ACCESS | Errno::PERM,
            }) => {
                entry.landed = Some(self.leave_out(directory, entry, LeftOutReason::Unreadable));
            }
            Err(step) => {
                return Err(Trouble::new(
                    "copy",
                    &join(directory, &entry.name),
                    step.error,
                ));
            }
        }
        self.transferred.entries += 1;
        Ok(())
    }

    fn leave_out(&mut self, directory: &[u8], entry: &Entry, reason: LeftOutReason) -> Landed {
        let path = as_path(&join(directory, &entry.name)).to_owned();
        self.transferred.left_out.push(LeftOut { path, reason });
        Landed {
            left_out: true,
            ..Landed::default()
        }
    }

    fn is_whiteout(&self, place: &Place, entry: &Entry) -> bool {
        self.copier.fidelity == Fidelity::Layer
            && rustix::fs::statat(&place.from, &entry.name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|found| found.st_rdev == 0)
    }

    fn link(&mut self, place: &Place, entry: &Entry) -> Result<Landed, Step> {
        let link = || {
            linkat(
                &place.from,
                &entry.name,
                &place.to,
                &entry.name,
                AtFlags::empty(),
            )
        };
        let linked = match link() {
            Err(Errno::EXIST) => {
                place.make_room(entry)?;
                link()
            }
            other => other,
        };
        if linked.is_err() {
            return self.copy_file(place, entry);
        }
        let found = rustix::fs::statat(&place.to, &entry.name, AtFlags::SYMLINK_NOFOLLOW);
        let found = found.map_err(Step::target)?;
        // Another file may have taken the name since the walk; then the next walk says so.
        let linked = found.st_ino == entry.ino;
        Ok(Landed {
            ino: found.st_ino,
            ctime_ns: change_time(&found),
            linked,
            left_out: false,
        })
    }

    fn copy_file(&mut self, place: &Place, entry: &Entry) -> Result<Landed, Step> {
        // Without blocking: the name may have become a pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let from = openat(
            &place.from,
            &entry.name,
            flags | OFlags::NOCTTY,
            Mode::empty(),
        );
        let from = from.map_err(Step::source)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(entry.mode & 0o777);
        let create = || openat(&place.to, &entry.name, flags | OFlags::NOFOLLOW, mode);
        let to = match create() {
            Err(Errno::EXIST) => {
                place.make_room(entry)?;
                create()
            }
            other => other,
        };
        let to = to.map_err(Step::target)?;
        self.means
            .copy(&from, &to, entry, &mut self.buffer)
            .map_err(Step::target)?;
        attributes::copy(&from, &to, self.copier.fidelity).map_err(Step::target)?;
        let found = settle(&to, entry).map_err(Step::target)?;
        Ok(landed(&found))
    }
}

/// A directory of the source and its counterpart.
struct Place {
    from: OwnedFd,
    to: OwnedFd,
}

impl Place {
    /// Clears the name in the target: an earlier round left something there.
    fn make_room(&self, entry: &Entry) -> Result<(), Step> {
        let copier = Copier {
            source: &self.from,
            target: &self.to,
            fidelity: Fidelity::Layer,
            linking: Linking::Never,
        };
        copier.clear(entry.name.to_bytes()).map_err(Step::target)
    }

    fn copy_symlink(&self, entry: &Entry) -> Result<Landed, Step> {
        let text = match rustix::fs::readlinkat(&self.from, &entry.name, Vec::new()) {
            Ok(text) => text,
            // No link any more.
            Err(Errno::INVAL) => return Err(Step::source(Errno::NOENT)),
            Err(error) => return Err(Step::source(error)),
        };
        let make = || rustix::fs::symlinkat(&text, &self.to, &entry.name);
        match make() {
            Err(Errno::EXIST) => {
                self.make_room(entry)?;
                make()
            }
            other => other,
        }
        .map_err(Step::target)?;
        self.settle_name(entry)
    }

    fn make_node(&self, entry: &Entry, kind: rustix::fs::FileType) -> Result<Landed, Step> {
        let mode = Mode::from_raw_mode(entry.mode & 0o7777);
        let make = || rustix::fs::mknodat(&self.to, &entry.name, kind, mode, 0);
        match make() {
            Err(Errno::EXIST) => {
                self.make_room(entry)?;
                make()
            }
            other => other,
        }
        .map_err(Step::target)?;
        if kind == rustix::fs::FileType::Fifo {
            let chmod = rustix::fs::chmodat(&self.to, &entry.name, mode, AtFlags::empty());
            chmod.map_err(Step::target)?;
        }
        self.settle_name(entry)
    }

    /// Owner and time of something that is not opened.
    fn settle_name(&self, entry: &Entry) -> Result<Landed, Step> {
        let look = || rustix::fs::statat(&self.to, &entry.name, AtFlags::SYMLINK_NOFOLLOW);
        let found = look().map_err(Step::target)?;
        if (found.st_uid, found.st_gid) != (entry.uid, entry.gid) {
            let (uid, gid) = (Uid::from_raw(entry.uid), Gid::from_raw(entry.gid));
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            // Only root can give files away; others keep what they made.
            let _ = rustix::fs::chownat(&self.to, &entry.name, Some(uid), Some(gid), flags);
        }
        rustix::fs::utimensat(
            &self.to,
            &entry.name,
            &times(entry),
            AtFlags::SYMLINK_NOFOLLOW,
        )
        .map_err(Step::target)?;
        look().map(|found| landed(&found)).map_err(Step::target)
    }
}

/// Gives an open file or directory the owner, mode and time of the original.
fn settle(to: &OwnedFd, entry: &Entry) -> Result<Stat, Errno> {
    futimens(to, &times(entry))?;
    let found = fstat(to)?;
    let mode = entry.mode & 0o7777;
    let owned = (found.st_uid, found.st_gid) == (entry.uid, entry.gid);
    if owned && found.st_mode & 0o7777 == mode {
        return Ok(found);
    }
    if !owned {
        // Only root can give files away; others keep what they made.
        let _ = fchown(
            to,
            Some(Uid::from_raw(entry.uid)),
            Some(Gid::from_raw(entry.gid)),
        );
    }
    // After the owner: changing it takes the set-user bit away.
    fchmod(to, Mode::from_raw_mode(mode))?;
    fstat(to)
}

fn times(entry: &Entry) -> Timestamps {
    let (seconds, rest) = (
        entry.mtime_ns.div_euclid(1_000_000_000),
        entry.mtime_ns.rem_euclid(1_000_000_000),
    );
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: seconds,
            tv_nsec: rest,
        },
    }
}

fn landed(found: &Stat) -> Landed {
    let ctime_ns = change_time(found);
    Landed {
        ino: found.st_ino,
        ctime_ns,
        linked: false,
        left_out: false,
    }
}

pub(crate) fn change_time(found: &Stat) -> i64 {
    let nanoseconds = u32::try_from(found.st_ctime_nsec).unwrap_or(0);
    super::entry::nanoseconds(found.st_ctime, nanoseconds)
}

/// Which side of a copy refused.
enum Side {
    Source,
    Target,
}

struct Step {
    side: Side,
    error: Errno,
}

impl Step {
    fn source(error: Errno) -> Self {
        Self {
            side: Side::Source,
            error,
        }
    }

    fn target(error: Errno) -> Self {
        Self {
            side: Side::Target,
            error,
        }
    }
}
