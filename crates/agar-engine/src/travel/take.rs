//! Taking a snapshot.

use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::travel::clones::{self, Clone};
use crate::travel::frozen::{Ground, Left};
use crate::travel::note::{Arrival, NewSnapshot, Note, Written, settle};
use crate::travel::rotate::{Enacted, Force, Guests, Places, enact};
use crate::travel::{self, condensed, to_text};
use crate::{Engine, raise, whereabouts};
use agar_core::snapshot::{SnapshotKind, Taken};
use agar_core::state::State;
use agar_sandbox::snapshot::{Shelf, is_untouched};
use agar_sandbox::stack::{Role, Stack};
use agar_store::{Sandbox, Snapshot};
use std::borrow::Cow;
use std::path::PathBuf;

/// The snapshot that is wanted.
#[derive(Debug)]
pub(crate) struct Wish<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) note: Option<&'a str>,
    pub(crate) kind: SnapshotKind,
}

/// A snapshot that was taken.
#[derive(Debug)]
pub(crate) struct Took {
    pub(crate) snapshot: Snapshot,
    /// Whether the jail, in which nothing ran, had to be ended for it.
    pub(crate) jail_ended: bool,
}

/// Takes a snapshot of a sandbox. The caller has the turn and a record that is settled.
pub(crate) fn take(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    wish: &Wish<'_>,
) -> Result<Took, EngineError> {
    let took = take_within(engine, here, (record, wish), u64::MAX)?;
    took.ok_or_else(|| EngineError::Invalid("no layer is that large".to_owned()))
}

/// The same, unless more than so many bytes would have to be cloned for it.
pub(crate) fn take_within(
    engine: &Engine,
    here: &Here,
    (record, wish): (&Sandbox, &Wish<'_>),
    clone_bytes_max: u64,
) -> Result<Option<Took>, EngineError> {
    let may_rotate = match record.state {
        State::Running | State::Finished | State::Promoted => true,
        State::Paused => false,
        State::Creating | State::Discarded | State::Collected => {
            return Err(EngineError::WrongState {
                doing: "take a snapshot of",
                alias: record.alias.clone(),
                state: record.state,
            });
        }
    };
    let blueprint = Blueprint::of(record)?;
    let taking = Taking {
        ground: Ground::of(engine, here, record, &blueprint)?,
        places: Places::of(engine, here, record),
        engine,
        here,
        record,
        blueprint: &blueprint,
        wish,
    };
    let fits = |is_cloned: fn(&Stack) -> bool| {
        let cloned = blueprint.stacks.iter().filter(|stack| is_cloned(stack));
        clones::fit(cloned.map(|stack| stack.upper.as_path()), clone_bytes_max)
    };
    if !fits(|stack| !stack.role.can_be_kept()) {
        return Ok(None);
    }
    if may_rotate
        && blueprint.copy.is_none()
        && !taking.is_busy()
        && let Some(took) = taking.rotate()?
    {
        return Ok(Some(took));
    }
    if !fits(|_| true) {
        return Ok(None);
    }
    taking.clone_all().map(Some)
}

/// The snapshot that shows a sandbox as it is, as far as a glance tells: nothing was written since.
pub(crate) fn shown_by(
    here: &Here,
    record: &Sandbox,
    blueprint: &Blueprint,
) -> Result<Option<Snapshot>, EngineError> {
    if blueprint.copy.is_some()
        || blueprint
            .stacks
            .iter()
            .any(|stack| is_written(&whereabouts::laid(here, blueprint, stack)))
    {
        return Ok(None);
    }
    kept_by(here, record, blueprint)
}

/// The snapshot of all that a sandbox stands on but what was written last. The one that it descends
/// from is that no longer when another one was removed in between.
pub(crate) fn kept_by(
    here: &Here,
    record: &Sandbox,
    blueprint: &Blueprint,
) -> Result<Option<Snapshot>, EngineError> {
    let Some(head) = record.head else {
        return Ok(None);
    };
    let Ok(head) = here.read(|store| store.snapshot(head)) else {
        return Ok(None);
    };
    let shelves = travel::shelves(&record.alias, &head)?;
    for stack in &blueprint.stacks {
        let Some(shelf) = shelves.iter().find(|it| it.target == stack.target) else {
            return Ok(None);
        };
        let same = shelf.kept == stack.kept
            || condensed(here, shelf.kept.clone())? == condensed(here, stack.kept.clone())?;
        if !same || shelf.lowers != stack.lowers {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

/// Whether something was written to a tree since its upper was made, as far as a glance tells.
fn is_written(stack: &Stack) -> bool {
    if stack.role.can_be_kept() {
        !is_untouched(stack)
    } else {
        clones::holds_something(&stack.upper)
    }
}

/// A snapshot under way.
struct Taking<'a> {
    engine: &'a Engine,
    here: &'a Here,
    record: &'a Sandbox,
    blueprint: &'a Blueprint,
    wish: &'a Wish<'a>,
    ground: Ground,
    places: Places,
}

/// What a snapshot will consist of.
#[derive(Default)]
struct Parts {
    shelves: Vec<Shelf>,
    stacks: Vec<Stack>,
    clones: Vec<Clone>,
    /// Trees that nothing was written to yet when their clone was planned, each with its clone as the
    /// upper, by their place among the shelves.
    doubtful: Vec<(usize, Stack)>,
    made: Vec<PathBuf>,
    spent: Vec<PathBuf>,
    moved: bool,
}

impl Taking<'_> {
    /// Whether something runs for certain. Looked at where layers would be cloned for the other case.
    fn is_busy(&self) -> bool {
        let to_clone =
            |stack: &Stack| !stack.role.can_be_kept() && clones::holds_something(&stack.upper);
        self.record.state == State::Running
            && self.blueprint.stacks.iter().any(to_clone)
            && raise::processes_inside(self.engine, self.here, self.record.id)
                .map_or(true, |processes| processes > 0)
    }

    /// Keeps the uppers as layers and puts new ones in their place: takes the same time whatever was
    /// written. Nothing if something runs inside.
    fn rotate(&self) -> Result<Option<Took>, EngineError> {
        let mut parts = Parts::default();
        for (tree, stack) in self.blueprint.stacks.iter().enumerate() {
            self.rotate_one(tree, stack, &mut parts)?;
        }
        for (index, left) in self.ground.bulk.iter().enumerate() {
            self.add_left(self.blueprint.stacks.len() + index, left, None, &mut parts);
        }
        let taken = if self.record.state == State::Running {
            Taken::Idle
        } else {
            Taken::Stopped
        };
        let note = Note {
            snapshot: Some(self.snapshot(&parts, taken)?),
            arrival: parts.moved.then_some(Arrival {
                stacks: parts.stacks,
                base: self.ground.base,
                generation: self.ground.generation,
                minimal_git_stat: self.ground.minimal_git_stat,
            }),
            made: parts.made,
            spent: parts.spent,
            restored: None,
            late: None,
        };
        if note.is_bare() {
            return self.conclude(&note, None, false).map(Some);
        }
        note.begin(self.engine, self.here, self.record)?;
        let enacted = clones::make(&parts.clones).and_then(|()| {
            let now = (self.record, self.blueprint);
            enact(self.engine, self.here, now, &note, Guests::Stay)
        });
        match enacted {
            Ok(Enacted {
                force: Force::Busy, ..
            }) => {
                note.withdraw(self.engine, self.here, self.record)?;
                Ok(None)
            }
            Ok(Enacted { force, written }) => {
                let jail_ended = matches!(force, Force::Ended { .. });
                self.conclude(&note, written, jail_ended).map(Some)
            }
            Err(error) => {
                self.settle();
                Err(error)
            }
        }
    }

    fn rotate_one(&self, tree: usize, stack: &Stack, parts: &mut Parts) -> Result<(), EngineError> {
        if !stack.role.can_be_kept() {
            self.clone_one((tree, stack), false, parts);
            parts.stacks.push(stack.clone());
            return Ok(());
        }
        let lowers = self.lowers(stack);
        if lowers == stack.lowers && is_untouched(&self.laid(stack)) {
            parts.shelves.push(Shelf::from(stack));
            parts.stacks.push(stack.clone());
            return Ok(());
        }
        let kept = std::iter::once(&stack.upper).chain(&stack.kept);
        let kept = condensed(self.here, kept.cloned().collect())?;
        parts.shelves.push(Shelf {
            role: stack.role,
            target: stack.target.clone(),
            kept: kept.clone(),
            lowers: lowers.clone(),
        });
        let next = Stack {
            role: stack.role,
            target: stack.target.clone(),
            upper: self.places.name("upper", tree),
            work: self.places.name("work", tree),
            kept,
            lowers,
        };
        parts.spent.push(stack.work.clone());
        parts.push(next);
        Ok(())
    }

    /// A directory that stays live below a base that was frozen just now; what the sandbox wrote to
    /// it lies in the project's layer, or in the clone of it.
    fn add_left(&self, tree: usize, left: &Left, clone: Option<&PathBuf>, parts: &mut Parts) {
        let project = self.blueprint.project_stack().map(|stack| &stack.upper);
        let layer = clone.or(project).map(|layer| layer.join(&left.path));
        let kept: Vec<PathBuf> = layer.filter(|_| left.written).into_iter().collect();
        let keep = Shelf {
            role: Left::ROLE,
            target: left.target.clone(),
            kept: kept.clone(),
            lowers: left.lowers(),
        };
        parts.push(Stack {
            role: keep.role,
            target: keep.target.clone(),
            upper: self.places.name("upper", tree),
            work: self.places.name("work", tree),
            kept,
            lowers: keep.lowers.clone(),
        });
        parts.shelves.push(keep);
    }

    /// Clones what was written, while everything inside stands still.
    fn clone_all(&self) -> Result<Took, EngineError> {
        let mut parts = Parts::default();
        let runs = self.record.state == State::Running;
        for place in self.blueprint.stacks.iter().enumerate() {
            self.clone_one(place, runs, &mut parts);
        }
        let project = parts.shelves.iter().find(|keep| keep.role == Role::Project);
        let clone = project.and_then(|keep| keep.kept.first()).cloned();
        for (index, left) in self.ground.bulk.iter().enumerate() {
            let mut bulk = Parts::default();
            let tree = self.blueprint.stacks.len() + index;
            self.add_left(tree, left, clone.as_ref(), &mut bulk);
            parts.shelves.append(&mut bulk.shelves);
        }
        let mut note = Note {
            snapshot: Some(self.snapshot(&parts, Taken::Running)?),
            arrival: None,
            made: parts.made.clone(),
            spent: Vec::new(),
            restored: None,
            late: None,
        };
        note.begin(self.engine, self.here, self.record)?;
        match self.clone_still(&parts.clones) {
            Ok(frozen_us) => {
                self.leave_untouched(&mut parts);
                if let Some(new) = &mut note.snapshot {
                    new.stacks = to_text(&parts.shelves)?;
                    new.frozen_us = frozen_us;
                    new.taken = match frozen_us {
                        Some(_) => Taken::Running,
                        None => Taken::Stopped,
                    };
                }
                self.conclude(&note, None, false)
            }
            Err(error) => {
                self.settle();
                Err(error)
            }
        }
    }

    /// Clones, and says for how many microseconds everything stood still.
    fn clone_still(&self, clones: &[Clone]) -> Result<Option<u64>, EngineError> {
        if self.record.state != State::Running {
            clones::make(clones)?;
            return Ok((self.record.state == State::Paused).then_some(0));
        }
        let keeper = self.here.keeper(self.engine, self.record.id)?;
        // Most of it while everything goes on, so that little is left for when it does not.
        let mut clones = clones::begin(clones)?;
        let still = keeper.freeze()?;
        for clone in &mut clones {
            clone.complete()?;
        }
        let stood = still.end()?;
        for clone in clones {
            clone.keep()?;
        }
        Ok(Some(u64::try_from(stood.as_micros()).unwrap_or(u64::MAX)))
    }

    fn clone_one(&self, (tree, stack): (usize, &Stack), runs: bool, parts: &mut Parts) {
        let mut keep = Shelf::from(stack);
        keep.lowers = self.lowers(stack);
        let written = is_written(&self.laid(stack));
        // What something runs in may be written to before it stands still.
        if written || runs {
            let target = self.places.name("kept", tree);
            if !written {
                let upper = target.clone();
                let stack = stack.clone();
                let place = parts.shelves.len();
                parts.doubtful.push((place, Stack { upper, ..stack }));
            }
            parts.clones.push(Clone {
                source: stack.upper.clone(),
                target: target.clone(),
            });
            parts.made.push(target.clone());
            keep.kept.insert(0, target);
        }
        parts.shelves.push(keep);
    }

    /// Leaves out clones of trees that nothing was written to until everything stood still.
    fn leave_untouched(&self, parts: &mut Parts) {
        for (place, stack) in std::mem::take(&mut parts.doubtful) {
            if let Some(keep) = parts
                .shelves
                .get_mut(place)
                .filter(|_| !is_written(&self.laid(&stack)))
            {
                keep.kept.remove(0);
                // Empty, and known to nobody.
                drop(self.here.throw_away(&stack.upper));
            }
        }
    }

    fn laid<'s>(&self, stack: &'s Stack) -> Cow<'s, Stack> {
        whereabouts::laid(self.here, self.blueprint, stack)
    }

    fn lowers(&self, stack: &Stack) -> Vec<PathBuf> {
        match stack.role {
            Role::Project => self.ground.lowers.clone(),
            Role::Bulk | Role::Home | Role::Root => stack.lowers.clone(),
        }
    }

    fn snapshot(&self, parts: &Parts, taken: Taken) -> Result<NewSnapshot, EngineError> {
        Ok(NewSnapshot {
            id: self.engine.new_snapshot_id(),
            name: self.wish.name.map(str::to_owned),
            kind: self.wish.kind,
            note: self.wish.note.map(str::to_owned),
            base: self.ground.base,
            generation: self.ground.generation,
            stacks: to_text(&parts.shelves)?,
            taken,
            frozen_us: None,
        })
    }

    fn conclude(
        &self,
        note: &Note,
        written: Option<Written>,
        jail_ended: bool,
    ) -> Result<Took, EngineError> {
        let snapshot = note.conclude((self.engine, self.here), self.record, written)?;
        let snapshot = snapshot.ok_or_else(|| {
            EngineError::Invalid("a snapshot was taken and not recorded".to_owned())
        })?;
        Ok(Took {
            snapshot,
            jail_ended,
        })
    }

    /// Takes back or finishes what failed half way; if that fails too, the next command does it.
    fn settle(&self) {
        if let Ok(record) = self.here.read(|store| store.sandbox(self.record.id)) {
            drop(settle(self.engine, self.here, &record));
        }
    }
}

impl Parts {
    /// A tree whose changes go to a new place.
    fn push(&mut self, stack: Stack) {
        self.made.push(stack.upper.clone());
        self.made.push(stack.work.clone());
        self.stacks.push(stack);
        self.moved = true;
    }
}
