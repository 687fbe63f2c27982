//! Settling a promotion that did not come to its end.
//!
//! What is on the disk decides, not what was meant to be: each step is looked at, and is either done
//! or not. If all are done the promotion is finished; otherwise it is reversed. Only when the person
//! has since edited something that was already applied, and nothing stands in the way of the rest,
//! is it carried to its end instead, so that their edit keeps its ground.
//!
//! Settling can itself be cut short anywhere and repeated: it keeps no state but the disk's.

use super::apply::{open_directory, second_barrier};
use super::faults::{Effects, Halt};
use super::ground::Ground;
use super::journal::{End, Intent, Journal, OPEN, Record, Started, Story};
use super::stage::Unsynced;
use super::step::{Side, Slot, Step, Trouble, Yard};
use agar_core::id::PromotionId;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// What became of a promotion that was found open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The promotion, where its journal could be read.
    pub id: Option<PromotionId>,
    /// How it was settled.
    pub settled: Settled,
    /// Paths left as they are, because somebody has changed them since. What stood there before the
    /// promotion is kept in its directory.
    pub left: Vec<PathBuf>,
}

/// How a promotion was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The tree is as the promotion makes it.
    Finished,
    /// The tree is as it was before.
    Reversed,
}

/// Which way to go if both are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Finish what is all but finished.
    Whichever,
    /// Back to how it was.
    Reverse,
}

/// Settles the promotion in a directory called `<id>.open`.
pub(super) fn settle(
    directory: &Path,
    wish: Wish,
    root: Option<&Path>,
    effects: Effects<'_>,
) -> Result<Recovered, Halt> {
    let story = Story::read(directory)?;
    let id = story.started.as_ref().map(|started| started.label.id);
    let answer = |settled, left| Recovered { id, settled, left };
    let Some(started) = story.started else {
        discard(directory, &[], effects)?;
        return Ok(answer(Settled::Reversed, Vec::new()));
    };
    match (story.end, story.intent) {
        (Some(End::Committed), _) => {
            tidy(directory, &started.stages, effects)?;
            Ok(answer(Settled::Finished, Vec::new()))
        }
        (Some(End::Reversed), _) | (None, None) => {
            discard(directory, &started.stages, effects)?;
            Ok(answer(Settled::Reversed, Vec::new()))
        }
        (None, Some(intent)) => {
            let ground = find_root(&started, root)?;
            let yard = Yard {
                ground: &ground,
                stages: open_stages(directory, &started.stages)?,
                effects,
            };
            let (settled, left) = walk(directory, &yard, &intent, (wish, &started))?;
            Ok(answer(settled, left))
        }
    }
}

/// The directory that a promotion went to, also if it has been moved to `elsewhere`.
fn find_root(started: &Started, elsewhere: Option<&Path>) -> io::Result<Ground> {
    let meant = (started.root_stamp.dev, started.root_stamp.ino);
    for path in std::iter::once(started.root.as_path()).chain(elsewhere) {
        let Ok(ground) = Ground::open(path) else {
            continue;
        };
        let stamp = ground.stamp()?;
        if (stamp.dev, stamp.ino) == meant {
            return Ok(ground);
        }
    }
    let message = format!(
        "{}: the project is not there any more",
        started.root.display()
    );
    Err(io::Error::new(io::ErrorKind::NotFound, message))
}

fn open_stages(directory: &Path, extra: &[PathBuf]) -> io::Result<Vec<OwnedFd>> {
    std::iter::once(directory)
        .chain(extra.iter().map(PathBuf::as_path))
        .map(open_directory)
        .collect()
}

/// Finishes or reverses the steps of a promotion.
fn walk(
    directory: &Path,
    yard: &Yard<'_>,
    intent: &Intent,
    (wish, started): (Wish, &Started),
) -> Result<(Settled, Vec<PathBuf>), Halt> {
    let mut sides = Vec::with_capacity(intent.steps.len());
    let (mut done_disturbed, mut pending_disturbed) = (false, false);
    for step in &intent.steps {
        let side = step.side(yard)?;
        let disturbed = step.is_disturbed(yard, side)?;
        match side {
            Side::After => done_disturbed |= disturbed,
            Side::Before => pending_disturbed |= disturbed,
        }
        sides.push(side);
    }
    let all_done = sides.iter().all(|side| *side == Side::After);
    let forward = all_done || (done_disturbed && !pending_disturbed);
    if forward && wish == Wish::Whichever {
        let pending = intent.steps.iter().zip(&sides);
        for (step, _) in pending.filter(|(_, side)| **side == Side::Before) {
            if let Err(Trouble::Halt(_, halt)) = step.forward(yard) {
                return Err(halt);
            }
        }
        second_barrier(yard, &intent.steps)?;
        commit(directory, yard, &intent.steps, &started.stages)?;
        return Ok((Settled::Finished, Vec::new()));
    }
    let left = reverse(yard, &intent.steps)?;
    second_barrier(yard, &intent.steps)?;
    record(directory, &Record::Reversed, yard.effects)?;
    if left.is_empty() {
        discard(directory, &started.stages, yard.effects)?;
    } else {
        // Something in the slots may be all there is of it.
        rescue(directory, yard, &intent.steps)?;
        tidy(directory, &started.stages, yard.effects)?;
    }
    Ok((Settled::Reversed, left))
}

/// Undoes the steps, the last first; tells which paths had to be left.
fn reverse(yard: &Yard<'_>, steps: &[Step]) -> Result<Vec<PathBuf>, Halt> {
    let mut left = Vec::new();
    for step in steps.iter().rev() {
        match step.backward(yard) {
            Ok(()) => {}
            Err(Trouble::Moved(path)) => left.push(path),
            Err(Trouble::Halt(_, halt)) => return Err(halt),
        }
    }
    Ok(left)
}

/// Records that all is done, and closes the promotion. What was replaced stays for the undo.
pub(super) fn commit(
    directory: &Path,
    yard: &Yard<'_>,
    steps: &[Step],
    stages: &[PathBuf],
) -> Result<(), Halt> {
    rescue(directory, yard, steps)?;
    record(directory, &Record::Committed, yard.effects)?;
    match tidy(directory, stages, yard.effects) {
        // It is done; the next command tidies.
        Ok(()) | Err(Halt::Error(_)) => Ok(()),
        Err(Halt::Crash) => Err(Halt::Crash),
    }
}

fn record(directory: &Path, record: &Record, effects: Effects<'_>) -> Result<(), Halt> {
    let mut journal = Journal::open(directory)?;
    // Not synced: if it is lost, the same is concluded from the disk again.
    effects.run("record the end", || journal.append(record))
}

/// Copies what was replaced from stages that will go into the promotion's own directory.
fn rescue(directory: &Path, yard: &Yard<'_>, steps: &[Step]) -> Result<(), Halt> {
    let own = &yard.stages[0];
    let (mut copies, mut any) = (Unsynced::default(), false);
    for step in steps {
        let slot = match step {
            Step::Out { slot, .. } | Step::Swap { slot, .. } if slot.stage != 0 => *slot,
            Step::Out { .. }
            | Step::Swap { .. }
            | Step::In { .. }
            | Step::MakeDirectory { .. }
            | Step::Unlock { .. }
            | Step::Chmod { .. } => continue,
        };
        if let Some(copy) = copy_slot(yard, slot, own)? {
            copies.push(copy);
            any = true;
        }
    }
    if any {
        yard.effects.run("sync what was replaced", || {
            copies.sync_with(&[own.as_fd()])?;
            fs_err::File::open(directory)?.sync_all()
        })?;
    }
    Ok(())
}

/// Copies a file from a slot of another stage; links and directories are in the journal.
fn copy_slot(yard: &Yard<'_>, slot: Slot, own: &OwnedFd) -> Result<Option<File>, Halt> {
    let name = OsString::from(slot.number.to_string());
    let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut from: File =
        match rustix::fs::openat(&yard.stages[slot.stage], &name, read, Mode::empty()) {
            Ok(file) => file.into(),
            Err(Errno::LOOP | Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
    if !from.metadata()?.is_file() {
        return Ok(None);
    }
    let write = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let owner_only = Mode::RUSR | Mode::WUSR;
    yard.effects.run("keep what was replaced", || {
        let mut to: File = rustix::fs::openat(own, &name, write, owner_only)?.into();
        super::item::copy_and_digest(&mut from, &mut to)?;
        Ok::<_, io::Error>(Some(to))
    })
}

/// Removes the extra stages and closes the promotion's directory.
fn tidy(directory: &Path, stages: &[PathBuf], effects: Effects<'_>) -> Result<(), Halt> {
    remove_stages(stages, effects)?;
    let name = directory.file_name().and_then(|name| name.to_str());
    let Some(closed) = name.and_then(|name| name.strip_suffix(OPEN)) else {
        return Ok(());
    };
    let closed = directory.with_file_name(closed);
    effects.run("close the promotion", || fs_err::rename(directory, closed))
}

/// Removes a promotion that came to nothing.
fn discard(directory: &Path, stages: &[PathBuf], effects: Effects<'_>) -> Result<(), Halt> {
    remove_stages(stages, effects)?;
    effects.run("remove the promotion", || remove_tree(directory))
}

fn remove_stages(stages: &[PathBuf], effects: Effects<'_>) -> Result<(), Halt> {
    for stage in stages {
        effects.run("remove a stage", || remove_tree(stage))?;
    }
    Ok(())
}

/// Removes a directory of agar's own: files and empty directories, one level deep, as promotions
/// make them. The journal goes last, so that half a removal is still known for what it is.
pub(super) fn remove_tree(directory: &Path) -> io::Result<()> {
    let handle = match open_directory(directory) {
        Ok(handle) => handle,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in rustix::fs::Dir::read_from(&handle)? {
        let entry = entry?;
        let name = entry.file_name();
        let bytes = name.to_bytes();
        if bytes == b"." || bytes == b".." || bytes == super::journal::JOURNAL.as_bytes() {
            continue;
        }
        match rustix::fs::unlinkat(handle.as_fd(), name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR | Errno::PERM) => {
                rustix::fs::unlinkat(handle.as_fd(), name, AtFlags::REMOVEDIR)?;
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    match rustix::fs::unlinkat(&handle, super::journal::JOURNAL, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    Ok(rustix::fs::rmdir(directory)?)
}
