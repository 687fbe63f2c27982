//! Directories go only when nothing of the person's is left in them.

use super::{Act, Outcome, Planned, PrepareError, Reason, read_error};
use crate::merge::{Clash, Entry};
use crate::promote::ground::Ground;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Looks at every directory that is to go, the deepest first, and keeps those that would take
/// something with them that nobody decided to remove.
pub(super) fn settle(ground: &Ground, files: &mut [Planned]) -> Result<(), PrepareError> {
    free_renamed_by_case(files);
    let mut going: BTreeSet<PathBuf> = files
        .iter()
        .filter(|file| file.act == Act::Remove && !matches!(file.seen.entry, Entry::Directory(_)))
        .map(|file| file.item.path.clone())
        .collect();
    // Sorted by path, a directory comes before what it holds.
    for file in files.iter_mut().rev() {
        if !matches!(file.seen.entry, Entry::Directory(_)) || !leaves(&file.act) {
            continue;
        }
        let path = &file.item.path;
        let names = ground
            .names(path)
            .map_err(|source| read_error("your", path, source))?;
        if names.iter().all(|name| going.contains(&path.join(name))) {
            going.insert(path.clone());
        } else {
            file.outcome = match file.act {
                Act::Remove => Outcome::LeftOut(Reason::HoldsYours),
                Act::Nothing
                | Act::Take { .. }
                | Act::Write { .. }
                | Act::Link(_)
                | Act::MakeDirectory { .. }
                | Act::Chmod { .. } => Outcome::Conflict(Clash::DirectoryInTheWay),
            };
            file.act = Act::Nothing;
        }
    }
    Ok(())
}

/// Whether a directory at the path would not survive.
fn leaves(act: &Act) -> bool {
    match act {
        Act::Remove | Act::Take { .. } | Act::Write { .. } | Act::Link(_) => true,
        Act::Nothing | Act::MakeDirectory { .. } | Act::Chmod { .. } => false,
    }
}

/// Where names that differ only in case are one, a file renamed by its case alone is found at its
/// new name too. That is the old file, which is to go, and not something the person added.
fn free_renamed_by_case(files: &mut [Planned]) {
    // By inode: a change set can have a hundred thousand entries.
    let mut going: BTreeMap<(u64, u64), Vec<PathBuf>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.act == Act::Remove) {
        if let Some(stamp) = file.seen.stamp {
            let names = going.entry((stamp.dev, stamp.ino)).or_default();
            names.push(file.item.path.clone());
        }
    }
    for file in files.iter_mut() {
        let Some(stamp) = file.seen.stamp else {
            continue;
        };
        let names = going.get(&(stamp.dev, stamp.ino));
        let is_it = names.into_iter().flatten().any(|path| {
            *path != file.item.path
                && path
                    .as_os_str()
                    .eq_ignore_ascii_case(file.item.path.as_os_str())
        });
        if !is_it {
            continue;
        }
        file.seen.entry = Entry::Absent;
        file.seen.stamp = None;
        file.outcome = Outcome::Clean;
        file.conflicts.clear();
        file.act = match &file.theirs {
            Entry::File(theirs) => Act::Take {
                mode: theirs.mode & 0o777,
            },
            Entry::Symlink(target) => Act::Link(target.clone()),
            Entry::Directory(mode) => Act::MakeDirectory {
                mode: *mode & 0o777,
            },
            Entry::Absent | Entry::Special(_) | Entry::Blocked | Entry::Unknown => Act::Nothing,
        };
    }
}
