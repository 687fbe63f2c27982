//! Which sandboxes may have a jail up, seen with one directory read.
//!
//! Whoever raises a jail first leaves a mark under `alive/` and holds a lock on it until the jail's
//! keeper holds its own lock on the sandbox's directory. A mark whose locks nobody holds belongs to
//! something that died. So the next command finds every crash, at any moment of a sandbox's life,
//! without looking at the sandboxes that are merely kept.

mod held;

pub(crate) use self::held::Held;

use agar_core::id::SandboxId;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::DirEntryExt as _;
use std::path::{Path, PathBuf};

/// How long the jail behind a mark is meant to stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stay {
    /// No longer: somebody is ending it.
    Ending,
    /// As long as the command that raised it.
    OneRun,
    /// Until somebody ends it.
    UntilStopped,
}

/// A mark that this process holds.
#[derive(Debug)]
pub(crate) struct Mark {
    path: PathBuf,
    lock: OwnedFd,
}

/// A mark found on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) id: SandboxId,
    pub(crate) stay: Stay,
    path: PathBuf,
    inode: u64,
}

fn directory(state: &Path) -> PathBuf {
    state.join("alive")
}

fn file_name(id: SandboxId, stay: Stay) -> String {
    match stay {
        Stay::Ending => format!("{id}.ending"),
        Stay::OneRun => format!("{id}.once"),
        Stay::UntilStopped => id.to_string(),
    }
}

/// The mark that the keeper of a sandbox that stays holds, beside its lock.
pub(crate) fn mark_of_one_that_stays(state: &Path, id: SandboxId) -> PathBuf {
    directory(state).join(file_name(id, Stay::UntilStopped))
}

/// Where a keeper keeps its lock.
pub(crate) fn keeper_lock(sandbox: &Path) -> PathBuf {
    sandbox.join("lock")
}

impl Mark {
    /// Leaves a mark and holds it.
    pub(crate) fn leave(state: &Path, id: SandboxId, stay: Stay) -> io::Result<Self> {
        let path = directory(state).join(file_name(id, stay));
        let lock = hold(&path, FlockOperation::LockShared)?;
        Ok(Self { path, lock })
    }

    /// Takes the mark away: the sandbox has no jail any more.
    pub(crate) fn remove(self) {
        // A mark left behind is found and removed by the next command.
        if is_same_file(&self.lock, &self.path) {
            let _ = rustix::fs::unlink(&self.path);
        }
    }
}

/// Takes the mark of a sandbox away whose jail was ended.
pub(crate) fn forget(state: &Path, id: SandboxId) {
    for stay in [Stay::Ending, Stay::OneRun, Stay::UntilStopped] {
        // A mark left behind is found and removed by the next command.
        let _ = rustix::fs::unlink(directory(state).join(file_name(id, stay)));
    }
}

/// Makes a file that says by its lock whether somebody minds it, and holds it.
pub(crate) fn hold(path: &Path, how: FlockOperation) -> io::Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let open = || rustix::fs::open(path, flags, Mode::from_raw_mode(0o600));
    loop {
        let lock = match (open(), path.parent()) {
            (Err(Errno::NOENT), Some(directory)) => {
                crate::layers::make_private(directory)?;
                open()?
            }
            (other, _) => other?,
        };
        rustix::fs::flock(&lock, how)?;
        // A sweep may have removed the name between the open and the lock.
        if is_same_file(&lock, path) {
            return Ok(lock);
        }
    }
}

fn is_same_file(lock: &OwnedFd, path: &Path) -> bool {
    match (rustix::fs::fstat(lock), rustix::fs::lstat(path)) {
        (Ok(held), Ok(named)) => (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino),
        (Ok(_) | Err(_), _) => false,
    }
}

/// What a keeper left outside its sandbox and the kernel would not let go of yet: written down beside
/// the marks, since the sandbox's directory may be gone by the time it goes.
pub(crate) fn note_lingering(state: &Path, id: SandboxId, what: &[PathBuf]) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let lines: Vec<&[u8]> = what
        .iter()
        .map(|path| path.as_os_str().as_bytes())
        .collect();
    let directory = directory(state);
    fs_err::create_dir_all(&directory)?;
    fs_err::write(directory.join(format!("{id}.groups")), lines.join(&b'\n'))
}

/// What was written down by [`note_lingering`], each with its note.
pub(crate) fn lingering(state: &Path) -> Vec<(PathBuf, Vec<PathBuf>)> {
    use std::os::unix::ffi::OsStrExt as _;
    let read = |note: PathBuf| {
        let text = fs_err::read(&note).ok()?;
        let lines = text.split(|byte| *byte == b'\n');
        let paths = lines.map(|line| PathBuf::from(std::ffi::OsStr::from_bytes(line)));
        Some((note, paths.collect()))
    };
    let entries = directory(state).read_dir().into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().as_bytes().ends_with(b".groups"))
        .filter_map(|entry| read(entry.path()))
        .collect()
}

/// Every mark there is.
pub(crate) fn marks(state: &Path) -> io::Result<Vec<Found>> {
    let directory = directory(state);
    let entries = match directory.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut marks = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(text) = name.to_str() else { continue };
        let (id, stay) = match text.split_once('.') {
            Some((id, "ending")) => (id, Stay::Ending),
            Some((id, "once")) => (id, Stay::OneRun),
            Some(_) => continue,
            None => (text, Stay::UntilStopped),
        };
        if let Ok(id) = id.parse() {
            let path = directory.join(&name);
            let inode = entry.ino();
            marks.push(Found {
                id,
                stay,
                path,
                inode,
            });
        }
    }
    // A sandbox that was being ended when its command died is ended before its other mark is looked at.
    marks.sort_by_key(|mark| (mark.id, mark.stay));
    Ok(marks)
}

/// What stands behind a mark.
#[derive(Debug)]
pub(crate) enum Behind {
    /// The command that raised it, or its keeper, or both; or the mark is not there any more.
    Alive,
    /// The command is gone; the keeper, which should have ended with it, is not yet.
    Orphaned,
    /// Nobody. The caller holds both locks and may clear away.
    Nobody(Vacant),
}

/// Both locks of a sandbox that nobody else holds.
#[derive(Debug)]
pub(crate) struct Vacant {
    path: PathBuf,
    mark: OwnedFd,
    _keeper: Option<OwnedFd>,
}

impl Vacant {
    /// Takes the mark away.
    pub(crate) fn remove(self) {
        // A mark left behind is found and removed by the next command.
        if is_same_file(&self.mark, &self.path) {
            let _ = rustix::fs::unlink(&self.path);
        }
    }
}

/// The lock of a sandbox's keeper, if no keeper holds it: none starts for as long as it is held.
/// Nothing if there is one.
pub(crate) fn without_keeper(sandbox: &Path) -> io::Result<Option<impl Sized>> {
    // Made if need be: a keeper on its way to its lock must find it taken.
    try_lock(&keeper_lock(sandbox), OFlags::CREATE | OFlags::RDWR)
}

impl Found {
    /// Whether it is the mark of a sandbox that stays and has a keeper, about which nothing more is to
    /// be seen. Every command asks for every mark, so this takes few calls and short ways:
    /// `sandboxes` is the directory of all sandboxes.
    pub(crate) fn has_keeper(&self, sandboxes: BorrowedFd<'_>) -> bool {
        if self.stay != Stay::UntilStopped {
            return false;
        }
        let path = keeper_lock(Path::new(&self.id.to_string()));
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        // Shared and let go at once, so that many who ask do not take each other for the keeper.
        rustix::fs::openat(sandboxes, path, flags, Mode::empty())
            .and_then(|lock| rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared))
            == Err(Errno::WOULDBLOCK)
    }

    /// Tries both locks.
    pub(crate) fn look_behind(&self, sandbox: &Path) -> io::Result<Behind> {
        let mark = match try_lock(&self.path, OFlags::RDONLY)? {
            // Another command may have cleared this mark away since it was seen, and a third may have
            // left a new one of the same name: whoever holds the old file holds nothing.
            Some(Some(mark)) if is_same_file(&mark, &self.path) => mark,
            Some(_) | None => return Ok(Behind::Alive),
        };
        // Made if need be: a keeper on its way to its lock must find it taken while its sandbox is
        // being cleared away.
        let lock = || try_lock(&keeper_lock(sandbox), OFlags::CREATE | OFlags::RDWR);
        // Twice, since it may have been held for a moment by somebody who asked the same.
        let keeper = match lock()? {
            None => {
                std::thread::yield_now();
                lock()?
            }
            keeper => keeper,
        };
        let Some(keeper) = keeper else {
            return Ok(match self.stay {
                Stay::Ending | Stay::OneRun => Behind::Orphaned,
                Stay::UntilStopped => Behind::Alive,
            });
        };
        Ok(Behind::Nobody(Vacant {
            path: self.path.clone(),
            mark,
            _keeper: keeper,
        }))
    }
}

/// Takes a lock for itself: nothing if somebody holds it, an empty lock if there is no file, or with
/// [`OFlags::CREATE`] no directory.
#[expect(
    clippy::option_option,
    reason = "the outer says whether it is free, the inner whether there is a file"
)]
fn try_lock(path: &Path, how: OFlags) -> io::Result<Option<Option<OwnedFd>>> {
    let flags = how | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let lock = match rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)) {
        Ok(lock) => lock,
        Err(Errno::NOENT) => return Ok(Some(None)),
        Err(error) => return Err(error.into()),
    };
    match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Some(lock))),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agar_core::seam::Timestamp;
    use std::os::fd::AsFd as _;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn id() -> SandboxId {
        SandboxId::new(Timestamp::from_millis(1), [7; 10])
    }

    #[test]
    fn a_mark_that_is_held_is_alive_and_one_that_is_not_is_found() {
        let state = tempfile::tempdir().unwrap();
        let sandbox = state.path().join("sandboxes/x");
        assert_eq!(marks(state.path()).unwrap(), []);
        let mark = Mark::leave(state.path(), id(), Stay::OneRun).unwrap();
        let found = marks(state.path()).unwrap();
        assert_eq!((found[0].id, found[0].stay), (id(), Stay::OneRun));
        assert!(matches!(
            found[0].look_behind(&sandbox).unwrap(),
            Behind::Alive
        ));
        drop(mark);
        assert!(matches!(
            found[0].look_behind(&sandbox).unwrap(),
            Behind::Nobody(_)
        ));
    }

    #[test]
    fn a_mark_that_was_cleared_and_left_again_since_it_was_seen_is_not_cleared_twice() {
        let state = tempfile::tempdir().unwrap();
        let sandbox = state.path().join("sandboxes/x");
        drop(Mark::leave(state.path(), id(), Stay::OneRun).unwrap());
        let found = marks(state.path()).unwrap();
        let look = || found[0].look_behind(&sandbox).unwrap();
        let Behind::Nobody(vacant) = look() else {
            panic!("nobody holds it");
        };
        vacant.remove();
        assert!(matches!(look(), Behind::Alive), "it is gone");
        let again = Mark::leave(state.path(), id(), Stay::OneRun).unwrap();
        assert!(matches!(look(), Behind::Alive), "it is somebody else's");
        drop(again);
        assert!(matches!(look(), Behind::Nobody(_)));
    }

    #[test]
    fn a_crowd_that_sweeps_never_clears_a_mark_that_is_held() {
        let state = tempfile::tempdir().unwrap();
        let sandbox = state.path().join("sandboxes/x");
        let over = AtomicBool::new(false);
        let clear = |found: Found| match found.look_behind(&sandbox).unwrap() {
            Behind::Nobody(vacant) => vacant.remove(),
            Behind::Alive | Behind::Orphaned => {}
        };
        let sweep = || {
            while !over.load(Ordering::SeqCst) {
                marks(state.path()).unwrap().into_iter().for_each(clear);
            }
        };
        let stays = || {
            let mark = Mark::leave(state.path(), id(), Stay::OneRun).unwrap();
            std::thread::yield_now();
            let stays = is_same_file(&mark.lock, &mark.path);
            mark.remove();
            stays
        };
        let all_stay = std::thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(sweep)));
            let all_stay = (0..300).all(|_| stays());
            over.store(true, Ordering::SeqCst);
            all_stay
        });
        assert!(all_stay, "a mark that was held is gone");
    }

    #[test]
    fn only_a_sandbox_that_stays_is_well_when_its_keeper_holds_its_lock() {
        let state = tempfile::tempdir().unwrap();
        let sandboxes = state.path().join("sandboxes");
        let lock = keeper_lock(&sandboxes.join(id().to_string()));
        fs_err::create_dir_all(lock.parent().unwrap()).unwrap();
        let directory = fs_err::File::open(&sandboxes).unwrap();
        let is_well = |stay| {
            let mark = Mark::leave(state.path(), id(), stay).unwrap();
            let found = marks(state.path()).unwrap();
            mark.remove();
            found[0].has_keeper(directory.as_fd())
        };
        assert!(!is_well(Stay::UntilStopped), "there is no lock");
        fs_err::write(&lock, b"").unwrap();
        assert!(!is_well(Stay::UntilStopped), "nobody holds it");
        let asking = fs_err::File::open(&lock).unwrap();
        rustix::fs::flock(&asking, FlockOperation::LockShared).unwrap();
        assert!(!is_well(Stay::UntilStopped), "somebody else asks");
        drop(asking);
        let keeper = fs_err::File::open(&lock).unwrap();
        rustix::fs::flock(&keeper, FlockOperation::LockExclusive).unwrap();
        assert!(is_well(Stay::UntilStopped));
        assert!(!is_well(Stay::OneRun) && !is_well(Stay::Ending));
    }

    #[test]
    fn what_lingers_is_found_again_with_its_note() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(lingering(state.path()), []);
        let groups = [PathBuf::from("/a/b"), PathBuf::from("/c d")];
        note_lingering(state.path(), id(), &groups).unwrap();
        let found = lingering(state.path());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1, groups);
        assert!(found[0].0.starts_with(state.path()));
        assert_eq!(marks(state.path()).unwrap(), [], "it is not a mark");
    }

    #[test]
    fn a_keeper_that_outlives_its_command_is_an_orphan_only_after_one_run() {
        let state = tempfile::tempdir().unwrap();
        let sandbox = state.path().join("x");
        fs_err::create_dir_all(&sandbox).unwrap();
        fs_err::write(keeper_lock(&sandbox), b"").unwrap();
        let keeper = fs_err::File::open(keeper_lock(&sandbox)).unwrap();
        rustix::fs::flock(&keeper, FlockOperation::LockExclusive).unwrap();
        for (stay, orphaned) in [(Stay::OneRun, true), (Stay::UntilStopped, false)] {
            drop(Mark::leave(state.path(), id(), stay).unwrap());
            let found = marks(state.path()).unwrap();
            let found = found.iter().find(|found| found.stay == stay).unwrap();
            let behind = found.look_behind(&sandbox).unwrap();
            assert_eq!(matches!(behind, Behind::Orphaned), orphaned, "{stay:?}");
            assert!(!matches!(behind, Behind::Nobody(_)));
        }
    }
}
