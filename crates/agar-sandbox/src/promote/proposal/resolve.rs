//! From a decision and the person's wishes to what is done at a path.

use super::{Act, Outcome, Planned, PrepareError, Reason, read_error};
use crate::merge::{
    Choice, Clash, Decision, Entry, Markers, Origin, Pick, Region, Selection, TextMerge, decide,
    merged_mode,
};
use crate::promote::ground::{Ground, Seen};
use crate::promote::item::{Item, Source};
use std::path::{Path, PathBuf};

/// The three sides of a path.
#[derive(Debug)]
pub(super) struct Sides {
    pub(super) base: Entry,
    pub(super) base_source: Source,
    pub(super) mine: Entry,
    /// Where the person's side is, if not at the path itself.
    pub(super) mine_at: Option<PathBuf>,
    pub(super) theirs: Entry,
}

/// Decides what is done.
pub(super) fn resolve(
    ground: &Ground,
    selection: &Selection,
    sides: Sides,
    (item, seen): (Item, Seen),
) -> Result<Planned, PrepareError> {
    let case = Case {
        ground,
        selection,
        sides: &sides,
        item: &item,
    };
    let Verdict {
        outcome,
        act,
        conflicts,
    } = case.verdict()?;
    Ok(Planned {
        outcome,
        conflicts,
        item,
        seen,
        mine_at: sides.mine_at,
        theirs: sides.theirs,
        act,
    })
}

/// The texts of base, mine and theirs.
type Texts = (Vec<u8>, Vec<u8>, Vec<u8>);

/// What was decided.
struct Verdict {
    outcome: Outcome,
    act: Act,
    conflicts: Vec<Region>,
}

impl Verdict {
    fn new(outcome: Outcome, act: Act) -> Self {
        Self {
            outcome,
            act,
            conflicts: Vec::new(),
        }
    }
}

/// Everything that bears on one path.
struct Case<'a> {
    ground: &'a Ground,
    selection: &'a Selection,
    sides: &'a Sides,
    item: &'a Item,
}

impl Case<'_> {
    fn verdict(&self) -> Result<Verdict, PrepareError> {
        let Sides {
            base, mine, theirs, ..
        } = self.sides;
        match decide(base, mine, theirs) {
            Decision::AlreadyThere => self.already_there(),
            Decision::Refuse(special) => Ok(Verdict::new(
                Outcome::LeftOut(Reason::Special(special)),
                Act::Nothing,
            )),
            Decision::Chmod { mode } => self.chmod(mode),
            Decision::Take { mode } => self.take(mode),
            Decision::Merge { mode } => self.merge(mode),
            Decision::Conflict(clash) => self.conflict(clash),
        }
    }

    /// Nothing to do, unless the sandbox moved the file: then the person's edit goes along.
    fn already_there(&self) -> Result<Verdict, PrepareError> {
        match (&self.sides.mine_at, &self.sides.mine) {
            (Some(from), Entry::File(mine)) => self.carry(from, mine.mode),
            (Some(_) | None, _) => Ok(Verdict::new(Outcome::AlreadyThere, Act::Nothing)),
        }
    }

    fn chmod(&self, mode: u32) -> Result<Verdict, PrepareError> {
        match &self.sides.mine_at {
            Some(from) => self.carry(from, mode),
            None if self.is_unpicked() => Ok(left()),
            None => Ok(Verdict::new(self.single_or_both(), Act::Chmod { mode })),
        }
    }

    /// The person's file, edited, at the place the sandbox moved it to.
    fn carry(&self, from: &Path, mode: u32) -> Result<Verdict, PrepareError> {
        let content = self.mine(from)?;
        Ok(Verdict::new(Outcome::Merged, Act::Write { mode, content }))
    }

    fn take(&self, mode: u32) -> Result<Verdict, PrepareError> {
        let picked = self.selection.picked(&self.item.path);
        if let (Some(picked), true) = (picked, self.are_texts()) {
            return self.pick(picked, mode);
        }
        if self.is_unpicked() {
            return Ok(left());
        }
        Ok(Verdict::new(
            self.single_or_both(),
            self.become_theirs(mode),
        ))
    }

    /// Whether the person's side differs from the base at all, be it in its mode.
    fn single_or_both(&self) -> Outcome {
        if self.sides.mine == self.sides.base || self.sides.mine.is_nothing() {
            Outcome::Clean
        } else {
            Outcome::Merged
        }
    }

    fn merge(&self, mode: u32) -> Result<Verdict, PrepareError> {
        if let Some(picked) = self.selection.picked(&self.item.path) {
            return self.pick(picked, mode);
        }
        let (base, mine, theirs) = self.texts()?;
        let merge = TextMerge::new(&base, &mine, &theirs);
        if let Some(content) = merge.clean() {
            return Ok(Verdict::new(Outcome::Merged, Act::Write { mode, content }));
        }
        let conflicts: Vec<Region> = merge.conflicts().cloned().collect();
        let Some(choice) = self.selection.choice(&self.item.path) else {
            return Ok(Verdict {
                outcome: Outcome::Conflict(Clash::Lines),
                act: Act::Nothing,
                conflicts,
            });
        };
        // Only the lines in conflict are a matter of choice; the rest merges as ever.
        let content = merge.resolve(|region| match (region.origin, choice) {
            (Origin::Conflict, Choice::Mine) => Pick::Mine,
            (Origin::Conflict, Choice::Markers) => Pick::Markers(Markers::Sides),
            (Origin::Conflict, Choice::Theirs)
            | (Origin::Unchanged | Origin::Mine | Origin::Theirs | Origin::Both, _) => Pick::Theirs,
        });
        Ok(Verdict {
            outcome: Outcome::Chosen(choice),
            act: Act::Write { mode, content },
            conflicts,
        })
    }

    /// Takes the hunks with these numbers and no others.
    fn pick(&self, picked: &[usize], mode: u32) -> Result<Verdict, PrepareError> {
        let (base, mine, theirs) = self.texts()?;
        let merge = TextMerge::new(&base, &mine, &theirs);
        let mut number = 0;
        let content = merge.resolve(|_| {
            number += 1;
            if picked.contains(&number) {
                Pick::Theirs
            } else {
                Pick::Mine
            }
        });
        if content == mine {
            return Ok(left());
        }
        let outcome = if number == picked.len() && merge.is_clean() {
            self.single_or_both()
        } else {
            Outcome::Chosen(Choice::Theirs)
        };
        Ok(Verdict::new(outcome, Act::Write { mode, content }))
    }

    fn conflict(&self, clash: Clash) -> Result<Verdict, PrepareError> {
        let unsolved = Verdict::new(Outcome::Conflict(clash), Act::Nothing);
        let picked = self.selection.picked(&self.item.path);
        let choice = match picked {
            // What cannot be split is one hunk.
            Some(picked) if picked.contains(&1) => Some(Choice::Theirs),
            Some(_) => return Ok(left()),
            None => self.selection.choice(&self.item.path),
        };
        let act = match choice {
            None => return Ok(unsolved),
            Some(Choice::Mine) => Act::Nothing,
            Some(Choice::Theirs) if self.sides.mine == Entry::Blocked => return Ok(unsolved),
            Some(Choice::Theirs) => self.become_theirs(self.forced_mode()),
            Some(Choice::Markers) => match self.marked()? {
                Some(act) => act,
                None => return Ok(unsolved),
            },
        };
        Ok(Verdict::new(
            choice.map_or(Outcome::Conflict(clash), Outcome::Chosen),
            act,
        ))
    }

    /// Both whole files between markers, where both are text.
    fn marked(&self) -> Result<Option<Act>, PrepareError> {
        let (Entry::File(mine), Entry::File(theirs)) = (&self.sides.mine, &self.sides.theirs)
        else {
            return Ok(None);
        };
        if !mine.text || !theirs.text {
            return Ok(None);
        }
        let (_, my_text, their_text) = self.texts()?;
        let content =
            TextMerge::new(b"", &my_text, &their_text).resolve(|_| Pick::Markers(Markers::Sides));
        let mode = mine.mode | (theirs.mode & 0o111);
        Ok(Some(Act::Write { mode, content }))
    }

    /// What makes the path the same as in the sandbox.
    fn become_theirs(&self, mode: u32) -> Act {
        match (&self.sides.theirs, &self.sides.mine) {
            (Entry::File(theirs), Entry::File(mine)) if theirs.digest == mine.digest => {
                Act::Chmod { mode }
            }
            (Entry::File(_), _) => Act::Take { mode },
            (Entry::Symlink(target), _) => Act::Link(target.clone()),
            (Entry::Directory(_), Entry::Directory(_)) => Act::Chmod { mode },
            (Entry::Directory(_), _) => Act::MakeDirectory { mode },
            (Entry::Absent, mine) if mine.is_nothing() => Act::Nothing,
            (Entry::Absent, _) => Act::Remove,
            (Entry::Special(_) | Entry::Blocked | Entry::Unknown, _) => Act::Nothing,
        }
    }

    /// The permission bits when theirs is taken against mine.
    fn forced_mode(&self) -> u32 {
        match (&self.sides.base, &self.sides.mine, &self.sides.theirs) {
            (Entry::File(base), Entry::File(mine), Entry::File(theirs)) => {
                merged_mode(base.mode, mine.mode, theirs.mode)
            }
            (_, _, Entry::File(theirs)) => theirs.mode,
            (_, _, Entry::Directory(mode)) => *mode,
            _ => 0,
        }
    }

    /// Whether hunks were picked and the whole of this path is not among them.
    fn is_unpicked(&self) -> bool {
        let picked = self.selection.picked(&self.item.path);
        picked.is_some_and(|picked| !picked.contains(&1))
    }

    fn are_texts(&self) -> bool {
        let sides = [&self.sides.base, &self.sides.mine, &self.sides.theirs];
        sides
            .iter()
            .all(|side| matches!(side, Entry::File(file) if file.text))
    }

    fn texts(&self) -> Result<Texts, PrepareError> {
        let path = &self.item.path;
        let base = self.sides.base_source.read();
        let base = base.map_err(|source| read_error("the base's", path, source))?;
        let theirs = self.item.theirs.read();
        let theirs = theirs.map_err(|source| read_error("the sandbox's", path, source))?;
        let mine = self.mine(self.sides.mine_at.as_deref().unwrap_or(path))?;
        Ok((base, mine, theirs))
    }

    fn mine(&self, path: &Path) -> Result<Vec<u8>, PrepareError> {
        self.ground
            .read(path)
            .map_err(|source| read_error("your", path, source))
    }
}

fn left() -> Verdict {
    Verdict::new(Outcome::LeftOut(Reason::NotAsked), Act::Nothing)
}
