//! Clears away what nobody needs.

use crate::blueprint::Blueprint;
use crate::here::Here;
use crate::remove::{self, RemovedView};
use crate::wishes::{self, GRACE_MS};
use crate::{Engine, EngineError, layers};
use agar_core::seam::Timestamp;
use agar_core::size::Bytes;
use agar_core::state::State;
use agar_sandbox::base::Bases;
use agar_sandbox::trash::Trash;
use agar_store::{Sandbox, Scope};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Asks for a clean-up. What is left out comes from the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PruneRequest {
    /// Remove sandboxes that nothing happened to for this long.
    pub idle_ms: Option<u64>,
    /// Keep at least this many of the newest.
    pub keep_last: Option<usize>,
    /// Remove the oldest until all sandboxes together are at most this large.
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
/// Never what agar did not make, never a sandbox whose jail is up, and never unpromoted changes
/// without a grace period in the trash.
pub fn prune(engine: &Engine, request: &PruneRequest) -> Result<PruneAnswer, EngineError> {
    let here = engine.here()?;
    let rules = Rules::of(engine, here, request)?;
    let project = here.project_id().filter(|_| !request.everywhere);
    let records = here.read(|store| store.sandboxes(project, Scope::Kept))?;
    let chosen = choose(here, records, &rules, engine.now());
    let mut answer = PruneAnswer {
        dry_run: request.dry_run,
        ..PruneAnswer::default()
    };
    for choice in &chosen {
        let removed = if request.dry_run {
            would_remove(choice)?
        } else {
            remove_chosen(engine, here, choice)?
        };
        let bytes = removed.disk_bytes.unwrap_or(0);
        if removed.in_trash {
            answer.trash_bytes += bytes;
        } else {
            answer.freed_bytes += bytes;
        }
        answer.removed.push(removed);
    }
    if !request.dry_run {
        answer.generations = collect_generations(engine, here)?;
        answer.emptied = empty_trash(here)?;
    }
    Ok(answer)
}

/// What is cleared away, with the settings filled in.
struct Rules {
    idle_ms: u64,
    keep_last: usize,
    disk_budget: Option<u64>,
    grace_ms: u64,
}

impl Rules {
    fn of(engine: &Engine, here: &Here, request: &PruneRequest) -> Result<Self, EngineError> {
        let cleanup = wishes::cleanup(engine, here)?;
        let keep_last = usize::try_from(cleanup.keep_last).unwrap_or(usize::MAX);
        Ok(Self {
            idle_ms: request.idle_ms.or(cleanup.idle_ms).unwrap_or(u64::MAX),
            keep_last: request.keep_last.unwrap_or(keep_last),
            disk_budget: request.disk_budget.or(cleanup.disk_budget).map(|it| it.0),
            grace_ms: if request.empty_trash { 0 } else { GRACE_MS },
        })
    }
}

/// A sandbox that shall go.
struct Chosen {
    record: Sandbox,
    why: &'static str,
    bytes: u64,
}

/// Decides which sandboxes go, oldest first.
fn choose(here: &Here, records: Vec<Sandbox>, rules: &Rules, now: Timestamp) -> Vec<Chosen> {
    let mut chosen = Vec::new();
    let mut rest = Vec::new();
    for record in records {
        let age = now.since(record.updated);
        match record.state {
            State::Discarded if age >= rules.grace_ms => chosen.push((record, "grace period over")),
            State::Creating
            | State::Running
            | State::Paused
            | State::Discarded
            | State::Collected => {}
            State::Finished | State::Promoted => rest.push(record),
        }
    }
    rest.sort_by_key(|record| record.updated);
    let spared = rest.split_off(rest.len().saturating_sub(rules.keep_last));
    let (idle, mut young): (Vec<_>, Vec<_>) = rest
        .into_iter()
        .partition(|record| now.since(record.updated) >= rules.idle_ms);
    chosen.extend(idle.into_iter().map(|record| (record, "idle")));
    let mut chosen: Vec<Chosen> = chosen
        .into_iter()
        .map(|(record, why)| measured(here, record, why))
        .collect();
    if let Some(budget) = rules.disk_budget {
        young.extend(spared);
        chosen.extend(over_budget(here, young, budget));
    }
    chosen
}

fn measured(here: &Here, record: Sandbox, why: &'static str) -> Chosen {
    let bytes = layers::disk_bytes(&here.sandbox(record.id));
    Chosen { record, why, bytes }
}

/// The oldest that have to go so that the rest fits.
fn over_budget(here: &Here, records: Vec<Sandbox>, budget: u64) -> Vec<Chosen> {
    let mut all: Vec<Chosen> = records
        .into_iter()
        .map(|record| measured(here, record, "over the disk budget"))
        .collect();
    let mut total: u64 = all.iter().map(|chosen| chosen.bytes).sum();
    let mut keep = 0;
    while total > budget && keep < all.len() {
        total -= all[keep].bytes;
        keep += 1;
    }
    all.truncate(keep);
    all
}

fn would_remove(choice: &Chosen) -> Result<RemovedView, EngineError> {
    let record = &choice.record;
    let unpromoted =
        record.state == State::Finished && layers::has_changes(&Blueprint::of(record)?);
    Ok(RemovedView {
        id: record.id,
        alias: record.alias.clone(),
        in_trash: unpromoted,
        disk_bytes: Some(choice.bytes),
        why: choice.why.to_owned(),
    })
}

fn remove_chosen(
    engine: &Engine,
    here: &Here,
    choice: &Chosen,
) -> Result<RemovedView, EngineError> {
    let removed = remove::give_up(engine, here, &choice.record, choice.why)?;
    Ok(RemovedView {
        disk_bytes: Some(choice.bytes),
        ..removed
    })
}

/// Collects generations that no kept sandbox stands on.
fn collect_generations(engine: &Engine, here: &Here) -> Result<u64, EngineError> {
    let Ok(known) = here.project(engine) else {
        return Ok(0);
    };
    let kept = here.read(|store| store.sandboxes(Some(known.id), Scope::Kept))?;
    let used: BTreeSet<u64> = kept.iter().filter_map(|record| record.generation).collect();
    let bases = Bases::new(&known.found, &here.state, known.id);
    Ok(bases.collect(&used)?)
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

/// Files deleted between two looks at the clock.
const PORTION: u64 = 100_000;
