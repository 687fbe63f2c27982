//! Copying trees: fast, faithful, and never through a symbolic link.
//!
//! A copy has two halves that are useful apart. [`walk()`] lists a tree as it is now; [`Copier`]
//! brings listed entries to another place. What the second half brought over may have changed since
//! the first, so a caller who needs a picture of one moment walks again and compares; one who does
//! not calls [`tree()`].
//!
//! The system calls are counted: a small file costs two opens, a read, a write, one call each for
//! extended attributes and time, one look at the result and two closes.

mod attributes;
mod chase;
mod data;
mod entry;
mod landing;
mod transfer;
mod walk;
mod worker;

pub use chase::Chase;
pub use entry::{Directory, Entry, Gone, Landed, Listing, Shape};
pub(crate) use entry::{as_path, join, last, parent};
pub(crate) use landing::{change_time, touched};
pub use transfer::{Copier, Fidelity, LeftOut, LeftOutReason, Linking, Transferred, Writers};
pub(crate) use transfer::{Made, Trouble};
pub use walk::{Descent, walk};
pub(crate) use walk::{Next, each_name, walk_from};

use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// A tree could not be copied.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} {}", path.display())]
pub struct CopyError {
    /// What agar was doing.
    pub doing: &'static str,
    /// To what.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

impl CopyError {
    pub(crate) fn new(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self {
            doing,
            path: path.to_owned(),
            source: source.into(),
        }
    }
}

/// Clocks of filesystems tick every ten milliseconds at worst; a change that recent may be followed
/// by another with the same time.
pub(crate) const TICK_NS: i64 = 20_000_000;

/// How often a copy that was overtaken by changes starts over.
const ROUNDS_MAX: u32 = 4;

/// Copies a whole tree into an existing empty directory.
///
/// Files that change while they are copied are copied again; those that will not hold still are
/// named in the answer.
pub fn tree(source: &Path, target: &Path, fidelity: Fidelity) -> Result<Transferred, CopyError> {
    let from = open_directory(source)?;
    let to = open_directory(target)?;
    let copier = Copier {
        source: &from,
        target: &to,
        fidelity,
        linking: Linking::Never,
        writers: Writers::Ignored,
    };
    let enter = |_: &[u8], _: &Entry| Descent::Enter;
    let mut whole = Transferred::default();
    let mut listing = walk(&from, source, &enter)?;
    for round in 1..=ROUNDS_MAX {
        let brought = make_directories(&copier, &mut listing)
            .and_then(|()| copier.bring(&mut listing, &|_, _| {}));
        whole.absorb(brought.map_err(|trouble| trouble.at(target))?);
        let mut again = walk(&from, source, &enter)?;
        let gone = listing.carry_into(&mut again);
        whole.unstable = again.missing();
        if round == ROUNDS_MAX && !whole.unstable.is_empty() {
            break;
        }
        for path in &gone.entries {
            let cleared = copier.clear(path);
            cleared.map_err(|error| CopyError::new("clear", &target.join(as_path(path)), error))?;
        }
        listing = again;
        if whole.unstable.is_empty() {
            break;
        }
    }
    whole.unreadable.clone_from(&listing.unreadable);
    finish(&copier, &listing).map_err(|trouble| trouble.at(target))?;
    Ok(whole)
}

fn make_directories(copier: &Copier<'_>, listing: &mut Listing) -> Result<(), Trouble> {
    for Directory { path, entries } in &mut listing.directories {
        for entry in entries.iter_mut().filter(|entry| entry.is_directory()) {
            if entry.landed.is_none() {
                copier.make_directory(&join(path, &entry.name))?;
                entry.landed = Some(Landed::default());
            }
        }
    }
    Ok(())
}

fn finish(copier: &Copier<'_>, listing: &Listing) -> Result<(), Trouble> {
    for (path, entry) in listing.folders().rev() {
        copier.finish_directory(&path, entry)?;
    }
    copier.finish_root()
}

pub(crate) fn open_directory(path: &Path) -> Result<OwnedFd, CopyError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .map_err(|error| CopyError::new("open", path, error))
}

/// Copies the attributes of an open directory that are not overlay's own marks.
pub(crate) fn project_attributes(from: &OwnedFd, to: &OwnedFd) -> Result<(), rustix::io::Errno> {
    attributes::copy(from, to, Fidelity::Project)
}

/// The attributes of an open directory that are not overlay's own marks.
pub(crate) fn list_project_attributes(
    from: &OwnedFd,
) -> Result<std::collections::BTreeMap<Vec<u8>, Vec<u8>>, rustix::io::Errno> {
    attributes::list(from, Fidelity::Project)
}
