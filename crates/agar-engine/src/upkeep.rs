//! Work for when nobody waits: a fresh generation for next time, a short log of the store, fewer
//! layers, a clean-up, a look for private keys, a portion of the trash.

use crate::draft::Freezing;
use crate::here::Here;
use crate::prune::{self, PruneRequest};
use crate::{Engine, EngineError, experiment, keys, layers, travel, wishes};
use agar_core::seam::Timestamp;
use agar_core::settings::Who;
use agar_sandbox::base::Bases;
use agar_sandbox::trash::Trash;
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;

/// How many files one portion of the trash is.
const PORTION: u64 = 20_000;

/// How long a clean-up is enough.
const OFTEN_ENOUGH_MS: u64 = 10 * 60_000;

/// The file whose time says when the last clean-up began, and whose lock says that one is under way.
const STAMP: &str = "upkeep";

/// So many things in the trash are worth a portion by themselves.
const TRASH_CROWDED: usize = 500;

/// What upkeep is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// Everything.
    #[default]
    Everything,
    /// The store's log alone, which is long again after a dozen sandboxes: what takes a look at every
    /// sandbox there is waits for its own time, or a crowd would be slower the larger it is.
    Log,
}

/// Asks for upkeep.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpkeepRequest {
    /// What it is for.
    pub due: Due,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UpkeepAnswer {
    /// The generation that the next sandbox can start from.
    pub generation: Option<u64>,
    /// Layers that stand for many.
    pub joined: u64,
    /// Sandboxes that were given up.
    pub removed: u64,
    /// Files and directories of the trash that are gone.
    pub emptied: u64,
}

/// Does what is due: freezes the project for next time, joins layers, clears away what the settings
/// say, and deletes a portion of the trash.
pub fn upkeep(engine: &Engine, request: &UpkeepRequest) -> Result<UpkeepAnswer, EngineError> {
    let here = engine.here()?;
    here.state.keep_reserve();
    match request.due {
        Due::Everything => everything(engine, here),
        Due::Log => log(here),
    }
}

/// Folds the store's log, and deletes a portion of the trash if that is worth it: deleting makes new
/// files slow for minutes on some filesystems.
fn log(here: &Here) -> Result<UpkeepAnswer, EngineError> {
    // Somebody else who saw the same may have done it.
    if here.wants_upkeep() {
        here.tidy()?;
    }
    let trash = Trash::new(&here.state);
    let mut answer = UpkeepAnswer::default();
    if trash.holds_more_than(TRASH_CROWDED)
        && let Some(_alone) = alone(here)?
    {
        answer.emptied = trash.empty(PORTION)?.removed;
    }
    Ok(answer)
}

fn everything(engine: &Engine, here: &Here) -> Result<UpkeepAnswer, EngineError> {
    let mut answer = UpkeepAnswer::default();
    if let Ok(known) = here.project(engine) {
        let rule = wishes::bulk(engine, here)?;
        let bases = Bases::new(&known.found, &here.state, known.id).leaving(rule);
        answer.generation = bases.freeze(&Freezing::of(engine))?;
    }
    here.tidy()?;
    answer.joined = travel::condense_all(engine, here)?;
    // One at a time is enough; whoever has it does it for all.
    let Some(_alone) = alone(here)? else {
        return Ok(answer);
    };
    let everywhere = PruneRequest {
        everywhere: true,
        ..PruneRequest::default()
    };
    let settings = wishes::load(engine, here, Who::Person)?.resolved.settings;
    travel::retain_all(engine, here, settings.snapshots.keep_automatic)?;
    let cleared = prune::sandboxes(engine, here, &everywhere)?;
    answer.removed = cleared.removed.len() as u64;
    prune::collect_generations(engine, here)?;
    experiment::tidy(engine, here)?;
    answer.emptied = Trash::new(&here.state).empty(PORTION)?.removed;
    if let Some(home) = layers::home(engine) {
        keys::look(here, &home, engine.now()).map_err(EngineError::io("look for private keys"))?;
    }
    Ok(answer)
}

/// Asks for upkeep if the last one is long ago. Costs one look at one file.
pub(crate) fn when_due(engine: &Engine, here: &Here) {
    let stamp = here.state.path().join(STAMP);
    let Ok(found) = rustix::fs::stat(&stamp) else {
        // The first command of all has nothing to clear.
        drop(open(here));
        return;
    };
    // Who cannot have it done leaves it to those who can.
    if engine.surroundings().background.is_none() {
        return;
    }
    let then = u64::try_from(found.st_mtime).unwrap_or(0) * 1000;
    if engine.now().since(Timestamp::from_millis(then)) < OFTEN_ENOUGH_MS {
        return;
    }
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let now = Timestamps {
        last_access: now,
        last_modification: now,
    };
    // First, so that nobody else asks; a clean-up that does not happen is asked for again.
    if rustix::fs::utimensat(CWD, &stamp, &now, AtFlags::empty()).is_ok() {
        engine.later(Due::Everything);
    }
}

fn open(here: &Here) -> Result<OwnedFd, Errno> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let owner_only = Mode::from_raw_mode(0o600);
    rustix::fs::open(here.state.path().join(STAMP), flags, owner_only)
}

/// The right to clear away, unless somebody has it.
fn alone(here: &Here) -> Result<Option<OwnedFd>, EngineError> {
    let doing = "see whether somebody clears away";
    let lock = open(here).map_err(|errno| EngineError::io(doing)(errno.into()))?;
    match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(lock)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(EngineError::io(doing)(errno.into())),
    }
}
