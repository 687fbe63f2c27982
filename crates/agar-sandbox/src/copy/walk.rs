//! Lists a tree, a large one with two threads, without following a link or leaving the filesystem.

use super::CopyError;
use super::entry::{Directory, Entry, Listing, as_path, join};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, Statx};
use rustix::fs::{StatxAttributes, StatxFlags, openat2, statx};
use rustix::io::Errno;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Whether a walk goes into a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descent {
    /// List what it holds.
    Enter,
    /// List the directory itself and stay out.
    StayOut,
}

/// Threads that list or copy. More than two gained nothing: the filesystem's own locks are the
/// limit.
pub(super) const THREADS: usize = 2;

/// Directories that one thread lists before it asks for company.
const ALONE: usize = 64;

/// Opens that must not leave the tree.
pub(super) const BENEATH: ResolveFlags = ResolveFlags::NO_SYMLINKS
    .union(ResolveFlags::BENEATH)
    .union(ResolveFlags::NO_XDEV);

/// Lists the tree below `root`. `decide` is asked for each directory, by its path relative to the
/// root; `name` is only for messages.
pub fn walk(
    root: &OwnedFd,
    name: &Path,
    decide: &(dyn Fn(&[u8], &Entry) -> Descent + Sync),
) -> Result<Listing, CopyError> {
    walk_from(root, name, vec![Vec::new()], decide)
}

/// The same for some directories of the tree only.
pub(crate) fn walk_from(
    root: &OwnedFd,
    name: &Path,
    starts: Vec<Vec<u8>>,
    decide: &(dyn Fn(&[u8], &Entry) -> Descent + Sync),
) -> Result<Listing, CopyError> {
    let queue = Queue::new(starts);
    let walker = Walker {
        root,
        name,
        decide,
        queue: &queue,
    };
    // A thread costs as much as a few dozen directories.
    let mut parts: Vec<Result<Listing, CopyError>> = vec![walker.run(ALONE)];
    if queue.is_done() {
        return parts.remove(0).map(sorted);
    }
    std::thread::scope(|scope| {
        let work = || walker.run(usize::MAX);
        let others: Vec<_> = (1..THREADS).map(|_| scope.spawn(work)).collect();
        parts.push(work());
        parts.extend(others.into_iter().map(|other| {
            other
                .join()
                .unwrap_or_else(|_| Err(CopyError::new("list", name, Errno::CANCELED)))
        }));
    });
    let mut whole = Listing::default();
    for part in parts {
        let part = part?;
        whole.directories.extend(part.directories);
        whole.unreadable.extend(part.unreadable);
        whole.mounts.extend(part.mounts);
    }
    Ok(sorted(whole))
}

fn sorted(mut listing: Listing) -> Listing {
    let directories = &mut listing.directories;
    directories.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    listing.unreadable.sort();
    listing.mounts.sort();
    listing
}

/// Directories still to be listed, and how many threads may yet add to them.
struct Queue {
    state: Mutex<Waiting>,
    changed: Condvar,
}

struct Waiting {
    paths: Vec<Vec<u8>>,
    busy: usize,
}

impl Queue {
    fn new(paths: Vec<Vec<u8>>) -> Self {
        Self {
            state: Mutex::new(Waiting { paths, busy: 0 }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next directory; nothing once all are done.
    fn take(&self) -> Option<Vec<u8>> {
        let mut state = self.lock();
        loop {
            if let Some(path) = state.paths.pop() {
                state.busy += 1;
                return Some(path);
            }
            if state.busy == 0 {
                self.changed.notify_all();
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether nothing is left to list.
    fn is_done(&self) -> bool {
        self.lock().paths.is_empty()
    }

    /// Hands in what a taken directory holds.
    fn give(&self, below: &mut Vec<Vec<u8>>) {
        let mut state = self.lock();
        state.busy -= 1;
        let wake = !below.is_empty() || state.busy == 0;
        state.paths.append(below);
        drop(state);
        if wake {
            self.changed.notify_all();
        }
    }
}

struct Walker<'a> {
    root: &'a OwnedFd,
    name: &'a Path,
    decide: &'a (dyn Fn(&[u8], &Entry) -> Descent + Sync),
    queue: &'a Queue,
}

impl Walker<'_> {
    /// Lists at most so many directories.
    fn run(&self, most: usize) -> Result<Listing, CopyError> {
        let mut part = Listing::default();
        let mut buffer = vec![MaybeUninit::uninit(); 64 * 1024];
        let mut below = Vec::new();
        let mut failure = None;
        let taken = std::iter::from_fn(|| self.queue.take()).take(most);
        for path in taken {
            // After a failure the queue is drained without work, so that no thread waits for ever.
            if failure.is_none() {
                failure = self.list(path, &mut part, &mut below, &mut buffer).err();
            }
            self.queue.give(&mut below);
        }
        failure.map_or(Ok(part), Err)
    }

    fn list(
        &self,
        path: Vec<u8>,
        part: &mut Listing,
        below: &mut Vec<Vec<u8>>,
        buffer: &mut [MaybeUninit<u8>],
    ) -> Result<(), CopyError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let relative: &[u8] = if path.is_empty() { b"." } else { &path };
        let dir = match openat2(self.root, relative, flags, Mode::empty(), BENEATH) {
            Ok(dir) => dir,
            Err(Errno::ACCESS | Errno::PERM | Errno::NAMETOOLONG) if !path.is_empty() => {
                part.unreadable.push(as_path(&path).to_owned());
                part.directories.push(Directory {
                    path,
                    entries: Vec::new(),
                });
                return Ok(());
            }
            // It went away, or became something else, after its parent was read.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) if !path.is_empty() => {
                return Ok(());
            }
            Err(error) => return Err(self.failed(&path, error)),
        };
        let mut directory = Directory {
            path,
            entries: Vec::new(),
        };
        let listed = each_name(&dir, buffer, &mut |name, _| {
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            match statx(&dir, name, flags, StatxFlags::BASIC_STATS) {
                Ok(found) => below.extend(self.add(&mut directory, name, &found, part)),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
            Ok(Next::Another)
        });
        match listed {
            Ok(()) => {}
            // Its names can be read and nothing behind them.
            Err(Errno::ACCESS) => {
                part.unreadable.push(as_path(&directory.path).to_owned());
                directory.entries.clear();
            }
            Err(error) => return Err(self.failed(&directory.path, error)),
        }
        directory
            .entries
            .sort_unstable_by(|a, b| a.name.cmp(&b.name));
        part.directories.push(directory);
        Ok(())
    }

    /// Lists an entry. Answers the path of a directory that is to be entered.
    fn add(
        &self,
        directory: &mut Directory,
        name: &CStr,
        found: &Statx,
        part: &mut Listing,
    ) -> Option<Vec<u8>> {
        let mut entry = Entry::new(name, found);
        let mut enter = None;
        if entry.is_directory() {
            let full = join(&directory.path, name);
            let mount = found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT);
            part.mounts.extend(mount.then(|| as_path(&full).to_owned()));
            entry.closed = mount || (self.decide)(&full, &entry) == Descent::StayOut;
            enter = (!entry.closed).then_some(full);
        }
        directory.entries.push(entry);
        enter
    }

    fn failed(&self, path: &[u8], error: Errno) -> CopyError {
        CopyError::new("list", &self.name.join(as_path(path)), error)
    }
}

/// Whether a directory is read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next name.
    Another,
    /// That is enough.
    Stop,
}

/// Calls `visit` with each name of a directory, except the two that every directory has.
pub(crate) fn each_name(
    dir: &OwnedFd,
    buffer: &mut [MaybeUninit<u8>],
    visit: &mut dyn FnMut(&CStr, FileType) -> Result<Next, Errno>,
) -> Result<(), Errno> {
    let mut entries = RawDir::new(dir, buffer);
    while let Some(found) = entries.next() {
        let found = found?;
        let name = found.file_name();
        let own = name == c"." || name == c"..";
        if !own && visit(name, found.file_type())? == Next::Stop {
            break;
        }
    }
    Ok(())
}
