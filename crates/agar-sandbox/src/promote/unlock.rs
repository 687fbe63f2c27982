//! Directories that their owner has closed to themselves.
//!
//! An ordinary user can neither add to nor take from a directory without the permission to write,
//! and cannot move it elsewhere, although it is theirs. So it is opened first, as a step of its own
//! that recovery knows, and closed again at the end.

use super::ground::Ground;
use super::step::Step;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// What an owner needs to work in a directory.
const OWN: u32 = 0o700;

/// Puts the steps that open closed directories before the others, and those that close them again
/// after.
pub(super) fn unlock(ground: &Ground, steps: &mut Vec<Step>) -> io::Result<()> {
    let closed = closed(ground, steps)?;
    if closed.is_empty() {
        return Ok(());
    }
    let mut leaving = BTreeSet::new();
    let mut changing = BTreeSet::new();
    for step in steps.iter_mut() {
        match step {
            Step::Out { path, old, .. } if closed.contains_key(path) => {
                old.stamp.mode |= OWN;
                leaving.insert(path.clone());
            }
            Step::Chmod { path, from, .. } if closed.contains_key(path) => {
                *from |= OWN;
                changing.insert(path.clone());
            }
            Step::Out { .. }
            | Step::Swap { .. }
            | Step::In { .. }
            | Step::MakeDirectory { .. }
            | Step::Unlock { .. }
            | Step::Chmod { .. } => {}
        }
    }
    // What was opened to just the bits that it is to have needs no more.
    steps.retain(|step| !matches!(step, Step::Chmod { from, to, .. } if from == to));
    let opened = closed.iter().map(|(path, &from)| Step::Unlock {
        path: path.clone(),
        from,
        to: from | OWN,
    });
    steps.splice(0..0, opened.collect::<Vec<_>>());
    let stays = |path: &PathBuf| !leaving.contains(path) && !changing.contains(path);
    let staying = closed.iter().filter(|(path, _)| stays(path));
    steps.extend(staying.map(|(path, &to)| Step::Chmod {
        path: path.clone(),
        from: to | OWN,
        to,
    }));
    let first = steps
        .iter()
        .rposition(|step| !matches!(step, Step::Chmod { .. }))
        .map_or(0, |at| at + 1);
    // The deepest first: the others are the way to it.
    steps[first..].sort_by(|a, b| b.path().cmp(a.path()));
    Ok(())
}

/// The caller's directories that steps reach into or take away and that are closed, with their
/// permission bits.
fn closed(ground: &Ground, steps: &[Step]) -> io::Result<BTreeMap<PathBuf, u32>> {
    let mut reached: BTreeSet<&Path> = BTreeSet::new();
    for step in steps {
        match step {
            Step::Out { path, old, .. } => {
                reached.extend(path.parent());
                reached.extend(old.stamp.is_directory().then_some(path.as_path()));
            }
            Step::Swap { path, .. } | Step::In { path, .. } | Step::MakeDirectory { path } => {
                reached.extend(path.parent());
            }
            Step::Unlock { .. } | Step::Chmod { .. } => {}
        }
    }
    let me = rustix::process::geteuid().as_raw();
    let mut closed = BTreeMap::new();
    for path in reached {
        let found = ground
            .find(path)?
            .filter(|stamp| stamp.is_directory() && stamp.uid == me && stamp.mode & OWN != OWN);
        if let Some(stamp) = found {
            closed.insert(path.to_path_buf(), stamp.mode & 0o777);
        }
    }
    Ok(closed)
}
