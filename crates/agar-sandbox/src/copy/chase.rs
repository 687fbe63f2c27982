//! Copying a tree that is written to meanwhile, so that little is left to do once it stands still.
//!
//! A few rounds of looking and copying go by while the tree changes, and a last one when it does not.
//! The last one copies again whatever is not known to be as it was when it was copied:
//!
//! - Its inode, size, mode and times are the same. The change time is the kernel's, and nobody can set
//!   it; but it is as coarse as the kernel's tick, so what changed within a tick of the look is copied
//!   again.
//! - Nobody had it open for writing when it was copied. The change time moves when a write begins and
//!   when a page of a mapping is first written to, and not when either ends; so what is written to a
//!   file that is open may come after the copy and show nothing.
//!
//! The second holds on filesystems that stamp a file when a page of it that is mapped becomes writable.
//! On others everything is left to the last round.

use super::entry::{Directory, Entry, Landed, Listing, Shape, parent};
use super::transfer::{Copier, Fidelity, Linking, Transferred, Trouble, Writers};
use super::walk::{Descent, each_name, walk};
use super::{CopyError, Next, TICK_NS, as_path, make_directories, open_directory, touched};
use rustix::fs::FsWord;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Rounds before the last one.
const ROUNDS_MAX: u32 = 4;

/// Doubtful entries and bytes that are not worth another round.
const LITTLE: Doubt = Doubt {
    entries: 32,
    bytes: 256 << 10,
};

/// Filesystems that stamp a file when a page of it becomes writable: ext4, XFS, Btrfs and F2FS.
const STAMPING: [FsWord; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010];

/// A copy under way of a tree that is still written to.
#[derive(Debug)]
pub struct Chase {
    source: PathBuf,
    target: PathBuf,
    from: OwnedFd,
    to: OwnedFd,
    /// The last look, with what became of each entry.
    seen: Listing,
    /// When it began, by the clock that stamps files.
    looked_ns: i64,
    /// Directories whose copies need nothing more unless something happens to them: the change time
    /// that each had.
    finished: BTreeMap<Vec<u8>, i64>,
}

/// What would have to be copied again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Doubt {
    entries: u64,
    bytes: u64,
}

impl Doubt {
    const fn is_little(self) -> bool {
        self.entries <= LITTLE.entries && self.bytes <= LITTLE.bytes
    }
}

impl Chase {
    /// Copies what it can of a layer into an empty directory of the same filesystem.
    ///
    /// A failure on the way is none yet: the last round begins anew, and tells what fails then.
    pub fn begin(source: &Path, target: &Path) -> Result<Self, CopyError> {
        let mut chase = Self {
            from: open_directory(source)?,
            to: open_directory(target)?,
            source: source.to_owned(),
            target: target.to_owned(),
            seen: Listing::default(),
            looked_ns: 0,
            finished: BTreeMap::new(),
        };
        if chase.is_stamped() && chase.approach().is_err() {
            chase.start_over()?;
        }
        Ok(chase)
    }

    /// The last round. Nothing may write to the tree any more.
    pub fn catch_up(&mut self) -> Result<Transferred, CopyError> {
        let (mut brought, touched) = self.round(Writers::Ignored)?;
        brought.unstable = self.seen.missing();
        brought.unreadable.clone_from(&self.seen.unreadable);
        self.finish(&touched).map_err(|it| it.at(&self.target))?;
        Ok(brought)
    }

    fn is_stamped(&self) -> bool {
        rustix::fs::fstatfs(&self.from).is_ok_and(|found| STAMPING.contains(&found.f_type))
    }

    fn copier(&self, writers: Writers) -> Copier<'_> {
        Copier {
            source: &self.from,
            target: &self.to,
            fidelity: Fidelity::Layer,
            linking: Linking::Never,
            writers,
        }
    }

    fn failed(&self, doing: &'static str) -> impl Fn(rustix::io::Errno) -> CopyError {
        let path = self.target.clone();
        move |error| CopyError::new(doing, &path, error)
    }

    /// Rounds until little is in doubt.
    fn approach(&mut self) -> Result<(), CopyError> {
        for left in (0..ROUNDS_MAX).rev() {
            self.looked_ns = self.stamp()?;
            self.round(Writers::Suspected)?;
            if left == 0 || suspect(&mut self.seen, self.looked_ns).is_little() {
                break;
            }
            // What changed just now cannot be told from what changes in the same tick.
            std::thread::park_timeout(Duration::from_nanos(TICK_NS.unsigned_abs()));
        }
        suspect(&mut self.seen, self.looked_ns);
        self.finish_plain().map_err(|it| it.at(&self.target))
    }

    /// The time now, by the clock that stamps files.
    fn stamp(&self) -> Result<i64, CopyError> {
        touched(&self.to).map_err(self.failed("stamp"))
    }

    /// One look, after which everything that changed since the one before is brought over, and what
    /// is gone is gone from the copy. Answers which directories of the copy that touched.
    fn round(&mut self, writers: Writers) -> Result<(Transferred, BTreeSet<Vec<u8>>), CopyError> {
        let enter = |_: &[u8], _: &Entry| Descent::Enter;
        let mut again = walk(&self.from, &self.source, &enter)?;
        let gone = self.seen.carry_into(&mut again);
        for entry in again.leaves_mut() {
            // What could not be copied is tried again, so that the last round says why.
            entry.landed = entry.landed.filter(|landed| !landed.left_out);
        }
        let copier = self.copier(writers);
        let mut touched = BTreeSet::new();
        for path in &gone.entries {
            touched.insert(parent(path).to_vec());
            let cleared = copier.clear(path);
            cleared.map_err(|error| {
                CopyError::new("clear", &self.target.join(as_path(path)), error)
            })?;
        }
        let is_open = |it: &&Directory| it.entries.iter().any(|entry| entry.landed.is_none());
        let open = again.directories.iter().filter(is_open);
        touched.extend(open.map(|directory| directory.path.clone()));
        let brought = make_directories(&copier, &mut again)
            .and_then(|()| copier.bring(&mut again, &|_, _| {}))
            .map_err(|trouble| trouble.at(&self.target))?;
        self.seen = again;
        Ok((brought, touched))
    }

    /// Finishes directories ahead of time that nothing happens to any more, it seems.
    fn finish_plain(&mut self) -> Result<(), Trouble> {
        let mut finished = BTreeMap::new();
        let copier = self.copier(Writers::Ignored);
        let since = self.looked_ns.saturating_sub(TICK_NS);
        let quiet = |(_, entry): &(Vec<u8>, &Entry)| entry.ctime_ns < since;
        for (path, entry) in self.seen.folders().filter(quiet) {
            if copier.finish_plain(&path, entry)? {
                finished.insert(path, entry.ctime_ns);
            }
        }
        self.finished = finished;
        Ok(())
    }

    /// Finishes every directory that was not, or that something happened to since. Children first: a
    /// directory may be closed to its own owner.
    fn finish(&self, touched: &BTreeSet<Vec<u8>>) -> Result<(), Trouble> {
        let copier = self.copier(Writers::Ignored);
        for (path, entry) in self.seen.folders().rev() {
            let quiet = self.finished.get(&path) == Some(&entry.ctime_ns);
            if !quiet || touched.contains(&path) {
                copier.finish_directory(&path, entry)?;
            }
        }
        copier.finish_root()
    }

    /// Forgets everything that was copied.
    fn start_over(&mut self) -> Result<(), CopyError> {
        self.seen = Listing::default();
        self.finished.clear();
        let copier = self.copier(Writers::Ignored);
        let mut names = Vec::new();
        let mut buffer = vec![MaybeUninit::uninit(); 8 * 1024];
        each_name(&self.to, &mut buffer, &mut |name, _| {
            names.push(name.to_owned());
            Ok(Next::Another)
        })
        .and_then(|()| {
            names
                .iter()
                .try_for_each(|name| copier.clear(name.to_bytes()))
        })
        .map_err(self.failed("clear"))
    }
}

/// Marks what may have changed after it was copied and show nothing. How much that is.
fn suspect(seen: &mut Listing, looked_ns: i64) -> Doubt {
    let mut names_of: HashSet<u64> = HashSet::new();
    for entry in seen.leaves_mut().filter(|it| it.shape() != Shape::Device) {
        entry.racy |= entry.ctime_ns >= looked_ns.saturating_sub(TICK_NS);
        if entry.racy && entry.nlink > 1 {
            names_of.insert(entry.ino);
        }
    }
    let mut doubt = Doubt::default();
    for entry in seen.leaves_mut() {
        // All names of a file are copied together.
        entry.racy |= names_of.contains(&entry.ino);
        let open = entry.landed.is_none_or(|landed: Landed| landed.left_out);
        if entry.racy || open {
            doubt.entries += 1;
            doubt.bytes = doubt.bytes.saturating_add(entry.size);
        }
    }
    doubt
}
