//! From a proposal to filled slots and the steps that use them. Nothing of the project is touched.

use super::ApplyError;
use super::apply::failed;
use super::faults::Effects;
use super::ground::Stamp;
use super::item::Source;
use super::journal::{Change, Intent, Kept, Where};
use super::proposal::{Act, Planned, Proposal};
use super::stage::{Bytes, Recipe, Staged, Unstaged, Unsynced, group_of, stage_file, stage_link};
use super::step::{Old, Slot, Step};
use super::unlock::unlock;
use crate::merge::{Entry, FileEntry};
use crate::spelling;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// New texts beyond this are not kept a second time; undoing around later edits then needs a choice.
const AFTER_BYTES_MAX: u64 = 64 << 20;

/// What a promotion will do, as far as it is prepared.
pub(super) struct Draft<'a> {
    proposal: &'a Proposal,
    effects: Effects<'a>,
    slots: u32,
    outs: Vec<Step>,
    makes: Vec<Step>,
    puts: Vec<Step>,
    chmods: Vec<Step>,
    changes: Vec<Change>,
    /// The new files, to make them durable.
    pub(super) to_sync: Unsynced,
    /// The new texts, one after another.
    pub(super) after: Vec<u8>,
}

impl<'a> Draft<'a> {
    /// Fills the slots and works out the steps.
    pub(super) fn fill(
        proposal: &'a Proposal,
        stages: &[OwnedFd],
        placed: &BTreeMap<PathBuf, usize>,
        effects: Effects<'a>,
    ) -> Result<Self, ApplyError> {
        let mut draft = Self::new(proposal, effects);
        draft.fill_slots(stages, placed)?;
        Ok(draft)
    }

    fn new(proposal: &'a Proposal, effects: Effects<'a>) -> Self {
        Self {
            proposal,
            effects,
            slots: 0,
            outs: Vec::new(),
            makes: Vec::new(),
            puts: Vec::new(),
            chmods: Vec::new(),
            changes: Vec::new(),
            to_sync: Unsynced::default(),
            after: Vec::new(),
        }
    }

    fn fill_slots(
        &mut self,
        stages: &[OwnedFd],
        placed: &BTreeMap<PathBuf, usize>,
    ) -> Result<(), ApplyError> {
        let proposal = self.proposal;
        let made: BTreeSet<&Path> = proposal
            .files
            .iter()
            .filter(|file| matches!(file.act, Act::MakeDirectory { .. }))
            .map(Planned::path)
            .collect();
        let mut implied = BTreeSet::new();
        for file in &proposal.files {
            let Some(&stage) = placed.get(&file.item.path) else {
                continue;
            };
            self.imply_parents(file, &made, &mut implied)?;
            let place = Place { stage, stages };
            match &file.act {
                Act::Nothing => {}
                Act::Remove => self.remove(file, place),
                Act::Chmod { mode } => self.change_mode(file, *mode),
                Act::MakeDirectory { mode } => self.make_directory(file, *mode, place),
                Act::Take { mode } => self.put_theirs(file, *mode, place)?,
                Act::Write { mode, content } => {
                    self.put_file(file, Bytes::Made(content), *mode, place)?;
                }
                Act::Link(target) => self.put_link(file, target, place)?,
            }
        }
        Ok(())
    }

    fn next_slot(&mut self, place: Place<'_>) -> Slot {
        self.slots += 1;
        Slot {
            stage: place.stage,
            number: self.slots,
        }
    }

    fn remove(&mut self, file: &Planned, place: Place<'_>) {
        let before = self.move_out(file, place);
        self.note(file, before, Kept::Nothing);
    }

    /// Moves what is there out of the way; tells how it is kept.
    fn move_out(&mut self, file: &Planned, place: Place<'_>) -> Kept {
        let (slot, old) = (self.next_slot(place), old(file));
        if let Some(old) = old {
            self.outs.push(Step::Out {
                path: file.item.path.clone(),
                slot,
                old,
            });
        }
        kept(&file.seen.entry, Where::Slot(slot.number))
    }

    fn change_mode(&mut self, file: &Planned, mode: u32) {
        let (before, after) = match &file.seen.entry {
            Entry::File(was) => {
                let keep = |mode| Kept::File {
                    file: FileEntry { mode, ..*was },
                    at: Where::Gone,
                };
                (keep(was.mode & 0o777), keep(mode))
            }
            Entry::Directory(was) => (
                Kept::Directory { mode: was & 0o777 },
                Kept::Directory { mode },
            ),
            Entry::Absent
            | Entry::Symlink(_)
            | Entry::Special(_)
            | Entry::Blocked
            | Entry::Unknown => return,
        };
        self.chmods.push(Step::Chmod {
            path: file.item.path.clone(),
            from: file.seen.stamp.map_or(0, |stamp| stamp.mode & 0o777),
            to: mode,
        });
        self.note(file, before, after);
    }

    fn make_directory(&mut self, file: &Planned, mode: u32, place: Place<'_>) {
        let before = if file.seen.entry.is_nothing() {
            Kept::Nothing
        } else {
            self.move_out(file, place)
        };
        self.make(file.item.path.clone(), mode);
        self.note(file, before, Kept::Directory { mode });
    }

    /// Makes a directory, open to its owner until everything is in it.
    fn make(&mut self, path: PathBuf, mode: u32) {
        self.makes.push(Step::MakeDirectory { path: path.clone() });
        if mode != 0o700 {
            self.chmods.push(Step::Chmod {
                path,
                from: 0o700,
                to: mode,
            });
        }
    }

    /// Makes the directories above a path that the person does not have (any more).
    fn imply_parents(
        &mut self,
        file: &Planned,
        planned: &BTreeSet<&Path>,
        implied: &mut BTreeSet<PathBuf>,
    ) -> Result<(), ApplyError> {
        if matches!(file.act, Act::Nothing | Act::Remove | Act::Chmod { .. }) {
            return Ok(());
        }
        let ground = &self.proposal.ground;
        let (nearest, handle) = ground
            .nearest(&file.item.path)
            .map_err(|error| failed(&file.item.path, error))?;
        let mode = rustix::fs::fstat(&handle).map_or(0o755, |stat| stat.st_mode & 0o777);
        let mut missing: Vec<PathBuf> = file
            .item
            .path
            .ancestors()
            .skip(1)
            .take_while(|above| *above != nearest)
            .filter(|above| !planned.contains(above) && !implied.contains(*above))
            .map(Path::to_path_buf)
            .collect();
        missing.reverse();
        for path in missing {
            let mode = self.theirs_mode(&path).unwrap_or(mode);
            self.changes.push(Change {
                path: path.clone(),
                before: Kept::Nothing,
                after: Kept::Directory { mode },
            });
            self.make(path.clone(), mode);
            implied.insert(path);
        }
        Ok(())
    }

    /// The permission bits that the sandbox gave a directory.
    fn theirs_mode(&self, path: &Path) -> Option<u32> {
        let file = self
            .proposal
            .files
            .iter()
            .find(|file| file.path() == path)?;
        match &file.item.theirs {
            Source::Directory(mode) => Some(mode & 0o777),
            Source::Nothing
            | Source::Unknown
            | Source::File { .. }
            | Source::Symlink(_)
            | Source::Special(_) => None,
        }
    }

    fn put_theirs(
        &mut self,
        file: &Planned,
        mode: u32,
        place: Place<'_>,
    ) -> Result<(), ApplyError> {
        match &file.theirs {
            Entry::File(theirs) => {
                let bytes = Bytes::Theirs(&file.item, theirs.digest);
                self.put_file(file, bytes, mode, place)
            }
            Entry::Absent
            | Entry::Symlink(_)
            | Entry::Directory(_)
            | Entry::Special(_)
            | Entry::Blocked
            | Entry::Unknown => Ok(()),
        }
    }

    fn put_file(
        &mut self,
        file: &Planned,
        bytes: Bytes<'_>,
        mode: u32,
        place: Place<'_>,
    ) -> Result<(), ApplyError> {
        let path = &file.item.path;
        let ground = &self.proposal.ground;
        let replaces = match (&file.seen.entry, file.seen.stamp) {
            (Entry::File(_), Some(stamp)) => Some((path.as_path(), stamp)),
            _ => None,
        };
        let group = group_of(ground, path).map_err(|error| failed(path, error))?;
        let recipe = Recipe {
            bytes,
            mode,
            replaces,
            group,
        };
        let (before, slot) = self.vacate(file, place);
        let name = slot.number.to_string();
        let staged = stage_file(ground, place.handle(), &name, &recipe, self.effects)
            .map_err(|unstaged| not_staged(path, unstaged))?;
        let Staged {
            stamp,
            file: entry,
            handle,
            text,
        } = staged;
        let at = self.keep_after(text.as_deref());
        self.to_sync.push(handle);
        self.put(file, slot, stamp);
        self.note(file, before, Kept::File { file: entry, at });
        Ok(())
    }

    fn put_link(
        &mut self,
        file: &Planned,
        target: &[u8],
        place: Place<'_>,
    ) -> Result<(), ApplyError> {
        let (before, slot) = self.vacate(file, place);
        let name = slot.number.to_string();
        let stamp = stage_link(place.handle(), &name, target, self.effects)
            .map_err(|halt| failed(&file.item.path, halt))?;
        self.put(file, slot, stamp);
        let after = Kept::Symlink {
            target: spelling::base64(target),
        };
        self.note(file, before, after);
        Ok(())
    }

    /// Chooses the slot for what comes, and moves a directory out of its way. Anything else that is
    /// there will change places with it, so that the slot keeps what was there.
    fn vacate(&mut self, file: &Planned, place: Place<'_>) -> (Kept, Slot) {
        if matches!(file.seen.entry, Entry::Directory(_)) {
            let before = self.move_out(file, place);
            return (before, self.next_slot(place));
        }
        let slot = self.next_slot(place);
        (kept(&file.seen.entry, Where::Slot(slot.number)), slot)
    }

    fn put(&mut self, file: &Planned, slot: Slot, new: Stamp) {
        let path = file.item.path.clone();
        let is_directory = matches!(file.seen.entry, Entry::Directory(_));
        self.puts.push(match old(file) {
            Some(old) if !is_directory => Step::Swap {
                path,
                slot,
                new,
                old,
            },
            Some(_) | None => Step::In { path, slot, new },
        });
    }

    /// Keeps a new text, for the undo that has to tell it from later edits.
    fn keep_after(&mut self, text: Option<&[u8]>) -> Where {
        let Some(text) = text else {
            return Where::Gone;
        };
        let (offset, length) = (self.after.len() as u64, text.len() as u64);
        if offset + length > AFTER_BYTES_MAX {
            return Where::Gone;
        }
        self.after.extend_from_slice(text);
        Where::After { offset, length }
    }

    fn note(&mut self, file: &Planned, before: Kept, after: Kept) {
        self.changes.push(Change {
            path: file.item.path.clone(),
            before,
            after,
        });
    }

    /// The steps in the order in which they can be done: out with the old, the deepest first, then
    /// directories, then what goes into them, then permission bits, the deepest first.
    pub(super) fn intent(&mut self) -> io::Result<Intent> {
        self.outs.sort_by(|a, b| b.path().cmp(a.path()));
        self.makes.sort_by(|a, b| a.path().cmp(b.path()));
        self.chmods.sort_by(|a, b| b.path().cmp(a.path()));
        let mut steps = std::mem::take(&mut self.outs);
        steps.append(&mut self.makes);
        steps.append(&mut self.puts);
        steps.append(&mut self.chmods);
        unlock(&self.proposal.ground, &mut steps)?;
        Ok(Intent {
            steps,
            changes: std::mem::take(&mut self.changes),
        })
    }
}

fn not_staged(path: &Path, unstaged: Unstaged) -> ApplyError {
    let path = path.to_path_buf();
    match unstaged {
        Unstaged::TheirsMoved => ApplyError::SandboxMoved { path },
        Unstaged::Owner => ApplyError::Owner { path },
        Unstaged::Halt(halt) => failed(&path, halt),
    }
}

/// Which stage, and all of them.
#[derive(Clone, Copy)]
struct Place<'a> {
    stage: usize,
    stages: &'a [OwnedFd],
}

impl<'a> Place<'a> {
    fn handle(self) -> &'a OwnedFd {
        &self.stages[self.stage]
    }
}

/// What a step must find at a path.
fn old(file: &Planned) -> Option<Old> {
    let digest = match &file.seen.entry {
        Entry::File(file) => Some(file.digest),
        Entry::Absent
        | Entry::Symlink(_)
        | Entry::Directory(_)
        | Entry::Special(_)
        | Entry::Blocked
        | Entry::Unknown => None,
    };
    let stamp = file.seen.stamp?;
    Some(Old { stamp, digest })
}

/// How what was at a path is kept.
fn kept(entry: &Entry, at: Where) -> Kept {
    match entry {
        Entry::File(file) => Kept::File {
            file: FileEntry {
                mode: file.mode & 0o777,
                ..*file
            },
            at,
        },
        Entry::Symlink(target) => Kept::Symlink {
            target: spelling::base64(target),
        },
        Entry::Directory(mode) => Kept::Directory { mode: mode & 0o777 },
        Entry::Absent | Entry::Special(_) | Entry::Blocked | Entry::Unknown => Kept::Nothing,
    }
}
