//! Clears away what nobody needs.

mod choose;

use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::remove::{self, RemovedView};
use crate::wishes::{self, GRACE_MS};
use crate::{Engine, layers, raise, travel, unpromoted};
use agar_core::fault::{Fault as _, Kind};
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use agar_core::settings::{Cleanup, Who};
use agar_core::size::Bytes;
use agar_core::state::State;
use agar_sandbox::base::Bases;
use agar_sandbox::trash::Trash;
use agar_store::{Sandbox, Scope};
use choose::{Candidate, Fate, Rules};
use serde::{Deserialize, Serialize};

/// Asks for a clean-up. What is left out comes from the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PruneRequest {
    /// Remove sandboxes that nothing happened to for this long.
    pub idle_ms: Option<u64>,
    /// Keep at least this many of the newest of each project.
    pub keep_last: Option<usize>,
    /// Remove the oldest until all sandboxes together are at most this large, but for those that
    /// `keep_last` keeps.
    pub disk_budget: Option<Bytes>,
    /// Of every project, not only the caller's.
    pub everywhere: bool,
    /// Empty the trash now, grace period or not.
    pub empty_trash: bool,
    /// Say what would happen, remove nothing.
    pub dry_run: bool,
}

/// What was cleared away, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PruneAnswer {
    /// Sandboxes.
    pub removed: Vec<RemovedView>,
    /// Sandboxes in which nothing ran, whose jails were taken down. They are kept.
    pub stopped: Vec<RemovedView>,
    /// Sandboxes that should go and could not, with what stood in the way.
    pub refused: Vec<RemovedView>,
    /// Automatic snapshots beyond what is kept.
    pub snapshots: u64,
    /// Generations that no sandbox needs any more.
    pub generations: u64,
    /// Entries of the trash that are gone for good.
    pub emptied: u64,
    /// Bytes given back to the disk.
    pub freed_bytes: u64,
    /// Bytes that wait in the trash.
    pub trash_bytes: u64,
    /// Whether this only says what would happen.
    pub dry_run: bool,
}

/// Clears away idle sandboxes, unneeded generations and old trash.
///
/// Never what agar did not make, never a sandbox in which something runs, and never unpromoted
/// changes without a grace period in the trash.
pub fn prune(engine: &Engine, request: &PruneRequest) -> Result<PruneAnswer, EngineError> {
    let here = engine.here()?;
    if !request.dry_run {
        here.state.spend_reserve();
    }
    let mut answer = sandboxes(engine, here, request)?;
    let keep = wishes::load(engine, here, Who::Person)?;
    let keep = keep.resolved.settings.snapshots.keep_automatic;
    if request.dry_run {
        answer.snapshots = travel::count_excess(engine, here, keep)?;
        answer.generations = generations(engine, here, Deed::Count)?;
        answer.emptied = count(&here.state.trash());
    } else {
        answer.snapshots = travel::retain_all(engine, here, keep)?;
        answer.generations = collect_generations(engine, here)?;
        answer.emptied = empty_trash(here)?;
    }
    Ok(answer)
}

/// Clears away sandboxes alone.
pub(crate) fn sandboxes(
    engine: &Engine,
    here: &Here,
    request: &PruneRequest,
) -> Result<PruneAnswer, EngineError> {
    let project = here.project_id().filter(|_| !request.everywhere);
    let records = here.read(|store| store.sandboxes(project, Scope::Kept))?;
    let candidates = records
        .iter()
        .map(|record| candidate(engine, here, record))
        .collect::<Result<Vec<_>, _>>()?;
    let (own, others) = (
        wishes::cleanup(engine, here)?,
        wishes::cleanup_elsewhere(engine, here)?,
    );
    let rules = |project: ProjectId| {
        let cleanup = if here.project_id() == Some(project) {
            own
        } else {
            others
        };
        rules(request, cleanup)
    };
    let mut answer = PruneAnswer {
        dry_run: request.dry_run,
        ..PruneAnswer::default()
    };
    // Somebody who names a size for every project means all of them together.
    let over_all = request.disk_budget.filter(|_| project.is_none());
    let over_all = over_all.map(|it| it.0);
    for (id, fate) in choose::choose(&candidates, &rules, over_all, engine.now()) {
        let found = records.iter().zip(&candidates).find(|(it, _)| it.id == id);
        if let Some((record, candidate)) = found {
            settle(engine, here, (record, candidate, fate), &mut answer)?;
        }
    }
    Ok(answer)
}

fn rules(request: &PruneRequest, cleanup: Cleanup) -> Rules {
    let keep_last = usize::try_from(cleanup.keep_last).unwrap_or(usize::MAX);
    // A size that somebody asks for is meant, unless they say beside it what is kept.
    let over_budget = match (request.keep_last, request.disk_budget) {
        (Some(asked), _) => asked,
        (None, Some(_)) => 0,
        (None, None) => keep_last,
    };
    Rules {
        idle_ms: request.idle_ms.or(cleanup.idle_ms).unwrap_or(u64::MAX),
        keep_last: request.keep_last.unwrap_or(keep_last),
        disk_budget: request.disk_budget.or(cleanup.disk_budget).map(|it| it.0),
        keep_last_over_budget: over_budget,
        grace_ms: GRACE_MS,
        empty_trash: request.empty_trash,
    }
}

fn candidate(engine: &Engine, here: &Here, record: &Sandbox) -> Result<Candidate, EngineError> {
    Ok(Candidate {
        id: record.id,
        project: record.project,
        state: record.state,
        created: record.created,
        active: active(here, record)?,
        ttl_ms: Blueprint::of(record)?.ttl_ms,
        busy: record.state == State::Running && raise::is_busy(engine, here, record.id),
        bytes: layers::disk_bytes(&here.sandbox(record.id)),
    })
}

/// When something last happened to a sandbox.
fn active(here: &Here, record: &Sandbox) -> Result<Timestamp, EngineError> {
    let run = here.read(|store| store.latest_run(record.id))?;
    let moments = run
        .into_iter()
        .flat_map(|run| [Some(run.started), run.ended]);
    Ok(moments.flatten().fold(record.updated, Ord::max))
}

/// Does to one sandbox what was decided, or says what would be done.
fn settle(
    engine: &Engine,
    here: &Here,
    (record, candidate, fate): (&Sandbox, &Candidate, Fate),
    answer: &mut PruneAnswer,
) -> Result<(), EngineError> {
    let (Fate::Stop(why) | Fate::GiveUp(why)) = fate;
    let described = RemovedView {
        id: record.id,
        alias: record.alias.clone(),
        in_trash: false,
        disk_bytes: Some(candidate.bytes),
        idle_ms: Some(engine.now().since(candidate.active)),
        why: why.words().to_owned(),
    };
    if let Fate::Stop(_) = fate {
        if answer.dry_run || raise::retire(engine, here, record)? {
            answer.stopped.push(described);
        }
        return Ok(());
    }
    let in_trash = if answer.dry_run {
        Some(unpromoted::is_unpromoted(here, record)?)
    } else {
        match remove::give_up_unchanged(engine, here, record) {
            Ok(given_up) => given_up,
            // Somebody put something of their own where the sandbox was: theirs to sort out.
            Err(error) if error.kind() == Kind::Refused => {
                answer.refused.push(RemovedView {
                    why: error.to_string(),
                    ..described
                });
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    };
    // Nothing: somebody used it since it was chosen, or another clean-up was quicker.
    if let Some(in_trash) = in_trash {
        if in_trash {
            answer.trash_bytes += candidate.bytes;
        } else {
            answer.freed_bytes += candidate.bytes;
        }
        answer.removed.push(RemovedView {
            in_trash,
            ..described
        });
    }
    Ok(())
}

/// Collects generations that no kept sandbox stands on.
pub(crate) fn collect_generations(engine: &Engine, here: &Here) -> Result<u64, EngineError> {
    generations(engine, here, Deed::Collect)
}

/// What is done about generations that no sandbox stands on.
#[derive(Clone, Copy)]
enum Deed {
    Count,
    Collect,
}

fn generations(engine: &Engine, here: &Here, deed: Deed) -> Result<u64, EngineError> {
    let Ok(known) = here.project(engine) else {
        return Ok(0);
    };
    let used = || here.read(|store| store.generations_in_use(known.id));
    let bases = Bases::new(&known.found, &here.state, known.id);
    if matches!(deed, Deed::Count) {
        return Ok(bases.count_unneeded(&used()?.into_iter().collect()));
    }
    let mut failed = None;
    let collected = bases.collect(|| match used() {
        Ok(used) => Some(used.into_iter().collect()),
        Err(error) => {
            failed = Some(error);
            None
        }
    })?;
    failed.map_or(Ok(collected), Err)
}

/// Deletes what waits to be deleted.
fn empty_trash(here: &Here) -> Result<u64, EngineError> {
    let trash = Trash::new(&here.state);
    let mut removed = 0;
    loop {
        let portion = trash.empty(PORTION)?;
        removed += portion.removed;
        if !portion.more || portion.removed == 0 {
            return Ok(removed);
        }
    }
}

/// Files and directories below a directory, entered without following anything.
fn count(directory: &std::path::Path) -> u64 {
    let Ok(entries) = directory.read_dir() else {
        return 0;
    };
    let entries = entries.flatten().map(|entry| {
        let below = entry.file_type().is_ok_and(|kind| kind.is_dir());
        1 + if below { count(&entry.path()) } else { 0 }
    });
    entries.sum()
}

/// Files deleted between two looks at the clock.
const PORTION: u64 = 100_000;
