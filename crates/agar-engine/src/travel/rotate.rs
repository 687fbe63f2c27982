//! New places for changes, and putting them in force.

use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::travel::note::{Note, Written};
use crate::{Engine, layers, raise, whereabouts};
use agar_core::state::State;
use agar_core::walls::Tier;
use agar_jail::client::{Keeper, Laid, Remount, TalkError};
use agar_sandbox::snapshot;
use agar_sandbox::stack::Stack;
use agar_store::Sandbox;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Names for new directories of one sandbox.
#[derive(Debug)]
pub(crate) struct Places {
    directory: PathBuf,
    mark: String,
}

impl Places {
    /// Names that no directory of the sandbox has: drawn, since to count those that are there takes
    /// longer with every snapshot.
    pub(crate) fn of(engine: &Engine, here: &Here, record: &Sandbox) -> Self {
        Self {
            directory: here.sandbox(record.id),
            mark: engine.new_mark(),
        }
    }

    /// A place for what the tree of this number in the list is given.
    pub(crate) fn name(&self, word: &str, tree: usize) -> PathBuf {
        self.directory.join(format!("{word}-{tree}-{}", self.mark))
    }
}

/// How a change came into force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Force {
    /// Without a jail there was nothing to do.
    Stopped,
    /// The jail took the new layers; so many processes were ended for it.
    Laid {
        /// Processes that were ended.
        ended: u32,
    },
    /// Something runs inside, and nothing was done.
    Busy,
    /// The jail could not take them, and was ended with so many processes.
    Ended {
        /// Processes that were ended.
        ended: u32,
    },
}

/// Whether whoever runs inside is ended for new layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guests {
    /// They stay, and nothing is done.
    Stay,
    /// They are ended.
    Leave,
}

/// A change that is in force, or is not.
#[derive(Debug)]
pub(crate) struct Enacted {
    /// How it came into force.
    pub(crate) force: Force,
    /// What was written down about it meanwhile; nothing if that is still to be done.
    pub(crate) written: Option<Written>,
}

impl From<Force> for Enacted {
    fn from(force: Force) -> Self {
        let written = None;
        Self { force, written }
    }
}

/// Makes the directories of a note that hold changes from now on, and has the jail use them. While it
/// takes them the note is written down as done, where that is possible.
///
/// `now` is what the sandbox is made of until then.
pub(crate) fn enact(
    engine: &Engine,
    here: &Here,
    (record, now): (&Sandbox, &Blueprint),
    note: &Note,
    guests: Guests,
) -> Result<Enacted, EngineError> {
    let Some(arrival) = &note.arrival else {
        return Ok(Force::Stopped.into());
    };
    let laid = |stack| whereabouts::laid(here, now, stack);
    make(note, &arrival.stacks, laid)?;
    if !matches!(record.state, State::Running | State::Paused) {
        return Ok(Force::Stopped.into());
    }
    let moved = |stack: &&Stack| now.stacks.iter().all(|old| old.upper != stack.upper);
    let overlays: Vec<_> = arrival
        .stacks
        .iter()
        .filter(moved)
        .map(|stack| raise::overlay(&laid(stack)))
        .collect();
    // Only an init of ours can lay overlays anew; the weaker tiers have copies and no overlays.
    let fits = record.tier == Tier::Full
        && arrival.stacks.len() == now.stacks.len()
        && arrival
            .stacks
            .iter()
            .filter(moved)
            .all(|stack| stack.role.can_be_kept());
    match here.keeper(engine, record.id) {
        Ok(keeper) if fits => {
            let order = Remount {
                overlays,
                layers: raise::counted(&arrival.stacks),
                evict: guests == Guests::Leave,
            };
            let laying = keeper.begin_remount(&order)?;
            let (laid, written) = note.commit_when_laid((engine, here), record, &laying)?;
            let force = after(engine, here, record, &laid)?;
            Ok(Enacted { force, written })
        }
        keeper => without_layers(engine, here, record, (keeper, guests)).map(Enacted::from),
    }
}

/// What a jail made of new layers means for the sandbox.
fn after(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    laid: &Laid,
) -> Result<Force, EngineError> {
    match laid {
        Laid::Done { ended } => Ok(Force::Laid { ended: *ended }),
        Laid::Busy => Ok(Force::Busy),
        Laid::Unable(_) | Laid::Lost(_) => {
            raise::down_in_turn(engine, here, record)?;
            Ok(Force::Ended { ended: 0 })
        }
    }
}

/// A jail that cannot be given the new layers is ended, if it may be.
fn without_layers(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    (keeper, guests): (Result<Keeper, TalkError>, Guests),
) -> Result<Force, EngineError> {
    // It died; nothing is mounted any more.
    let Ok(keeper) = keeper else {
        return Ok(Force::Stopped);
    };
    let ended = keeper.status()?.processes;
    if guests == Guests::Stay && ended > 0 {
        return Ok(Force::Busy);
    }
    raise::down_in_turn(engine, here, record)?;
    Ok(Force::Ended { ended })
}

/// Makes the uppers and work directories that a note promises. The uppers first: whoever finds every
/// directory there after a crash takes them for whole, and a work directory is whole when it is there.
fn make<'s>(
    note: &Note,
    stacks: &'s [Stack],
    laid: impl Fn(&'s Stack) -> Cow<'s, Stack>,
) -> Result<(), EngineError> {
    let is_new = |path: &Path| note.made.iter().any(|made| made == path);
    let failed = |stack: &Stack| {
        let target = stack.target.display();
        EngineError::io(format!("make a layer for the changes to {target}"))
    };
    // A clone is there already.
    for stack in stacks
        .iter()
        .filter(|stack| is_new(&stack.upper) && !stack.upper.exists())
    {
        layers::make_upper(&laid(stack)).map_err(failed(stack))?;
    }
    for stack in stacks.iter().filter(|stack| is_new(&stack.work)) {
        snapshot::make_private(&stack.work).map_err(failed(stack))?;
    }
    Ok(())
}
