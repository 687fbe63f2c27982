//! Whether giving a sandbox up would lose work: changes that are nowhere but in its layers.
//!
//! Three things hold work: its files as they are, what an application left out of them, and snapshots
//! of states that it is not in any more. What cannot be told counts as work, since this decides what
//! waits in the trash and what goes for good.

use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::{layers, travel, whereabouts};
use agar_core::state::State;
use agar_sandbox::change::git::Repository;
use agar_sandbox::change::{Change, ChangeSet, Side};
use agar_sandbox::snapshot::Shelf;
use agar_sandbox::stack::{Role, Stack};
use agar_store::Sandbox;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where the summary of a promotion says how many changes it did not carry.
pub(crate) const LEFT_OUT: &str = "left_out";

/// Whether giving a sandbox up would lose changes that were never applied. What is in the trash was
/// given up before.
pub(crate) fn is_unpromoted(here: &Here, record: &Sandbox) -> Result<bool, EngineError> {
    let blueprint = whereabouts::outside_of(here, record)?;
    let now = match record.state {
        State::Discarded | State::Collected => return Ok(false),
        State::Promoted => is_partial(here, record)?,
        State::Creating | State::Running | State::Paused | State::Finished => {
            layers::has_changes_anywhere(&blueprint)
        }
    };
    Ok(now || is_in_snapshots(here, record, &blueprint)?)
}

/// Whether the last application left something out.
fn is_partial(here: &Here, record: &Sandbox) -> Result<bool, EngineError> {
    let applied = here.read(|store| store.last_applied_of(record.id))?;
    // Without one there was nothing to write: the project had it all.
    Ok(applied.is_some_and(|it| it.summary[LEFT_OUT].as_u64() != Some(0)))
}

/// Whether a snapshot holds what the sandbox as it is does not.
fn is_in_snapshots(
    here: &Here,
    record: &Sandbox,
    blueprint: &Blueprint,
) -> Result<bool, EngineError> {
    let mut now = None;
    for snapshot in here.read(|store| store.snapshots(record.id))? {
        let shelves = travel::shelves(&record.alias, &snapshot)?;
        let stacks: Vec<Stack> = shelves.into_iter().filter_map(stack).collect();
        if stacks.is_empty() {
            continue;
        }
        let now = now.get_or_insert_with(|| {
            let written = layers::written(blueprint, |role| role != Role::Bulk);
            layers::change_set(blueprint, &written)
        });
        let (Some(then), Some(now)) = (layers::change_set(blueprint, &stacks), now) else {
            return Ok(true);
        };
        if !is_within(&then, now) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A tree of a snapshot as one whose changes can be told; nothing if there are none.
fn stack(shelf: Shelf) -> Option<Stack> {
    let mut kept = shelf.kept.into_iter();
    let upper = kept.next().filter(|_| shelf.role != Role::Bulk)?;
    Some(Stack {
        role: shelf.role,
        target: shelf.target,
        upper,
        // Nothing is mounted.
        work: PathBuf::new(),
        kept: kept.collect(),
        lowers: shelf.lowers,
    })
}

/// Whether every change of a set is in another one: the same file of the same layer, which nobody
/// writes to any more.
fn is_within(then: &ChangeSet, now: &ChangeSet) -> bool {
    let same = |then: &[Change], now: &[Change]| {
        let now: BTreeMap<&Path, &Option<Side>> = now
            .iter()
            .map(|it| (it.path.as_path(), &it.after))
            .collect();
        then.iter()
            .filter(|change| layers::is_work(change))
            .all(|change| now.get(change.path.as_path()) == Some(&&change.after))
    };
    let repositories = then.repositories.iter().all(|then| {
        let mut others = now.repositories.iter();
        let now = others.find(|now| now.directory == then.directory);
        now.is_some_and(|now| leads_to(then, now))
    });
    then.unread.is_empty()
        && same(&then.project, &now.project)
        && same(&then.outside, &now.outside)
        && repositories
}

/// Whether everything that a repository's references lead to is in another state of it, too.
fn leads_to(then: &Repository, now: &Repository) -> bool {
    let commits = now.commits.iter().map(|commit| commit.id.as_str());
    let tips = now.refs.iter().filter_map(|it| it.after.as_deref());
    let known: BTreeSet<&str> = commits.chain(tips).collect();
    let mut tips = then.refs.iter().filter_map(|it| it.after.as_deref());
    then.deleted == now.deleted
        && (then.incomplete.is_none() || !then.refs.is_empty())
        && tips.all(|tip| known.contains(tip))
}
