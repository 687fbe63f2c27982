//! Returns a sandbox to a snapshot.

use crate::answer::SnapshotView;
use crate::blueprint::Blueprint;
use crate::here::Here;
use crate::snapshot::settled;
use crate::travel::{
    self, Arrival, Clone, Enacted, Force, Guests, Late, NewSnapshot, Note, Places,
};
use crate::turn::Turn;
use crate::{Engine, EngineError, SandboxView};
use crate::{find, layers, raise, view, whereabouts};
use agar_core::snapshot::{SnapshotKind, Taken};
use agar_core::state::{Event, State};
use agar_sandbox::snapshot::{Shelf, is_untouched};
use agar_sandbox::stack::Stack;
use agar_store::{Sandbox, Snapshot};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Asks for a sandbox to return to a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RestoreRequest {
    /// `calm-fern@name`; without a name the snapshot that its state descends from.
    pub snapshot: Option<String>,
}

/// The sandbox is as it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RestoreAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// The snapshot that it returned to.
    pub snapshot: SnapshotView,
    /// The state that was left, if it was not a snapshot already.
    pub left: Option<SnapshotView>,
    /// Processes that were ended.
    pub ended: u32,
    /// Whether its jail was ended, too: the next command puts it up again.
    pub jail_ended: bool,
}

/// Returns the files of a sandbox to a snapshot. What runs in it is ended; what it looked like is
/// kept as a snapshot of its own.
pub fn restore(engine: &Engine, request: &RestoreRequest) -> Result<RestoreAnswer, EngineError> {
    let here = engine.here()?;
    let name = request.snapshot.as_deref().unwrap_or_default();
    let (sandbox, snapshot) = travel::split(name);
    let record = find::sandbox(here, sandbox)?;
    let _span = tracing::debug_span!("restore", sandbox = %record.id).entered();
    let _turn = Turn::take(&here.sandbox(record.id))?;
    let record = settled(engine, here, &record)?;
    let target = travel::find(here, &record, snapshot)?;
    let done = return_to(engine, here, &record, &target)?;
    let record = here.read(|store| store.sandbox(record.id))?;
    let snapshot = if target.sandbox == record.id {
        view::snapshot(&record, &target)
    } else {
        // A fork that has none of its own returns to the one that it was made from.
        let owner = here.read(|store| store.sandbox(target.sandbox))?;
        view::snapshot(&owner, &target)
    };
    Ok(RestoreAnswer {
        sandbox: view::sandbox(here, &record)?,
        snapshot,
        left: done.left.map(|left| view::snapshot(&record, &left)),
        ended: done.ended,
        jail_ended: done.jail_ended,
    })
}

/// What returning did.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) left: Option<Snapshot>,
    pub(crate) ended: u32,
    pub(crate) jail_ended: bool,
}

/// Returns a sandbox to a snapshot. The caller has the turn and a record that is settled.
pub(crate) fn return_to(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    target: &Snapshot,
) -> Result<Returned, EngineError> {
    match record.state {
        State::Running | State::Paused | State::Finished | State::Promoted => {}
        State::Creating | State::Discarded | State::Collected => {
            return Err(EngineError::WrongState {
                doing: "restore",
                alias: record.alias.clone(),
                state: record.state,
            });
        }
    }
    let blueprint = Blueprint::of(record)?;
    let plan = Plan::of((engine, here), record, (&blueprint, target))?;
    let mut note = plan.note((engine, here), record, (&blueprint, target))?;
    note.begin(engine, here, record)?;
    let now = (record, &blueprint);
    let enacted = travel::make_clones(&plan.clones)
        .and_then(|()| travel::enact(engine, here, now, &note, Guests::Leave));
    let (force, written) = match enacted {
        Ok(Enacted { force, written }) => (Ok(force), written),
        Err(error) => (Err(error), None),
    };
    let (ended, jail_ended) = match force {
        Ok(Force::Stopped) => (0, false),
        Ok(Force::Laid { ended }) => (ended, false),
        Ok(Force::Ended { ended }) => (ended, true),
        Ok(Force::Busy) => {
            note.withdraw(engine, here, record)?;
            let count = raise::processes_inside(engine, here, record.id)?;
            return Err(EngineError::Busy {
                doing: "restore",
                alias: record.alias.clone(),
                count,
            });
        }
        Err(error) => {
            if let Ok(record) = here.read(|store| store.sandbox(record.id)) {
                drop(travel::settle(engine, here, &record));
            }
            return Err(error);
        }
    };
    note.restored = Some((target.id, ended));
    let left = note.conclude((engine, here), record, written)?;
    // Ended with its jail, it is not paused any more.
    if record.state == State::Paused
        && here.read(|store| store.sandbox(record.id))?.state == State::Paused
    {
        here.write(|store| store.advance_sandbox(record.id, Event::Resume, engine.now()))?;
    }
    Ok(Returned {
        left,
        ended,
        jail_ended,
    })
}

/// What returning takes.
struct Plan {
    /// Something runs, and may write anywhere until it is ended.
    busy: bool,
    stacks: Vec<Stack>,
    left: Vec<Shelf>,
    is_left: bool,
    clones: Vec<Clone>,
    made: Vec<PathBuf>,
    spent: Vec<PathBuf>,
    /// Uppers that nothing was written to and that are left, each with its place in `left`.
    unwritten: Vec<(usize, PathBuf)>,
}

impl Plan {
    fn of(
        (engine, here): (&Engine, &Here),
        record: &Sandbox,
        (blueprint, target): (&Blueprint, &Snapshot),
    ) -> Result<Self, EngineError> {
        let places = Places::of(engine, here, record);
        let shelves = travel::shelves(&record.alias, target)?;
        let is_up = matches!(record.state, State::Running | State::Paused);
        let busy = is_up
            && raise::processes_inside(engine, here, record.id).map_or(true, |count| count > 0);
        let mut plan = Self {
            busy,
            stacks: Vec::new(),
            left: Vec::new(),
            is_left: false,
            clones: Vec::new(),
            made: Vec::new(),
            spent: Vec::new(),
            unwritten: Vec::new(),
        };
        for stack in &blueprint.stacks {
            let again = shelves.iter().find(|keep| keep.target == stack.target);
            plan.leave((here, blueprint), stack, again);
        }
        for (tree, keep) in shelves.iter().enumerate() {
            let stack = blueprint
                .stacks
                .iter()
                .find(|stack| stack.target == keep.target);
            let copied = blueprint.copy.is_some();
            plan.arrive((tree, &places), (keep, copied), stack);
        }
        Ok(plan)
    }

    /// What there is now, as a snapshot would have it: nothing writes to its layers any more.
    fn leave(
        &mut self,
        (here, blueprint): (&Here, &Blueprint),
        stack: &Stack,
        again: Option<&Shelf>,
    ) {
        let copied = blueprint.copy.is_some();
        let mut keep = Shelf::from(stack);
        let written = if stack.role.can_be_kept() {
            !is_untouched(&whereabouts::laid(here, blueprint, stack))
        } else {
            !layers::is_empty(&stack.upper)
        };
        if written || copied || self.busy {
            self.is_left = true;
            keep.kept.insert(0, stack.upper.clone());
        } else if again.is_none_or(|again| !self.stays(stack, again)) {
            self.spent.push(stack.upper.clone());
            self.unwritten.push((self.left.len(), stack.upper.clone()));
        }
        if again.is_none_or(|again| copied || !self.stays(stack, again)) {
            self.spent.push(stack.work.clone());
        }
        self.left.push(keep);
    }

    /// A tree as the snapshot has it, with a new place for changes.
    fn arrive(
        &mut self,
        (tree, places): (usize, &Places),
        (keep, copied): (&Shelf, bool),
        stack: Option<&Stack>,
    ) {
        if let Some(stack) = stack.filter(|stack| !copied && self.stays(stack, keep)) {
            self.stacks.push(stack.clone());
            return;
        }
        let (upper, work) = (places.name("upper", tree), places.name("work", tree));
        let kept = match keep.kept.split_first() {
            // What lies outside the project has one layer, and so has a copy.
            Some((top, rest)) if copied || !keep.role.can_be_kept() => {
                self.clones.push(Clone {
                    source: top.clone(),
                    target: upper.clone(),
                });
                rest.to_vec()
            }
            Some(_) | None => keep.kept.clone(),
        };
        self.made.extend([upper.clone(), work.clone()]);
        self.stacks.push(Stack {
            role: keep.role,
            target: keep.target.clone(),
            upper,
            work,
            kept,
            lowers: keep.lowers.clone(),
        });
    }

    /// Whether a tree can stay as it is: what lies outside the project and is empty on both sides.
    fn stays(&self, stack: &Stack, keep: &Shelf) -> bool {
        let is_empty = keep.kept.is_empty() && layers::is_empty(&stack.upper);
        !self.busy && !stack.role.can_be_kept() && is_empty
    }

    fn note(
        &self,
        (engine, here): (&Engine, &Here),
        record: &Sandbox,
        (blueprint, target): (&Blueprint, &Snapshot),
    ) -> Result<Note, EngineError> {
        // A state that nobody wrote to since a snapshot is that snapshot.
        let is_left = self.is_left || travel::kept_by(here, record, blueprint)?.is_none();
        let left = before(engine, record, (target, &self.left))?;
        Ok(Note {
            arrival: Some(Arrival {
                stacks: self.stacks.clone(),
                base: target.base,
                generation: target.generation,
                minimal_git_stat: blueprint.minimal_git_stat,
            }),
            snapshot: is_left.then_some(left),
            made: self.made.clone(),
            spent: self.spent.clone(),
            restored: Some((target.id, 0)),
            late: self.late(engine, record, target)?,
        })
    }

    /// What will be kept if it is written after this plan was made.
    fn late(
        &self,
        engine: &Engine,
        record: &Sandbox,
        target: &Snapshot,
    ) -> Result<Option<Late>, EngineError> {
        if self.unwritten.is_empty() {
            return Ok(None);
        }
        let (trees, uppers) = self.unwritten.iter().cloned().unzip();
        Ok(Some(Late {
            snapshot: before(engine, record, (target, &self.left))?,
            uppers,
            trees,
        }))
    }
}

/// The snapshot of what is left for another one.
fn before(
    engine: &Engine,
    record: &Sandbox,
    (target, left): (&Snapshot, &[Shelf]),
) -> Result<NewSnapshot, EngineError> {
    Ok(NewSnapshot {
        id: engine.new_snapshot_id(),
        name: None,
        kind: SnapshotKind::BeforeRestore,
        note: Some(format!("before the return to {}", target.name)),
        base: record.base,
        generation: record.generation,
        stacks: travel::to_text(left)?,
        taken: Taken::Stopped,
        frozen_us: None,
    })
}
