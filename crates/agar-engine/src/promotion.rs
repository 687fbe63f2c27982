//! What applying and undoing share: the proposal, its words, and recovery after a crash.

use crate::Engine;
use crate::apply::{AppliedFile, HunkView, Merge, Side};
use crate::failure::EngineError;
use crate::here::Here;
use crate::view::shown;
use agar_core::id::{ProjectId, PromotionId};
use agar_core::state::Event;
use agar_sandbox::merge::{Choice, Pattern, Selection};
use agar_sandbox::promote::{Outcome, Planned, Promotions, Proposal, Recovered, Settled};
use agar_store::{PromotionState, StoreError, Writer};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The promotions of a project.
pub(crate) fn of_project(here: &Here, project: ProjectId) -> Promotions {
    Promotions::at(&here.state.project(project).join("promotions"))
}

/// Finishes or reverses promotions of the caller's project that a crash cut short.
pub(crate) fn recover(engine: &Engine, here: &Here) -> Result<(), EngineError> {
    let Some(known) = here.known() else {
        return Ok(());
    };
    let recovered = of_project(here, known.id).recover(Some(&known.found.root))?;
    record_recovered(engine, here, &recovered)
}

/// Brings the records in line with what was found on disk.
pub(crate) fn record_recovered(
    engine: &Engine,
    here: &Here,
    recovered: &[Recovered],
) -> Result<(), EngineError> {
    let ids = recovered.iter().filter_map(|it| Some((it.id?, it.settled)));
    for (id, settled) in ids {
        let state = match settled {
            Settled::Finished => PromotionState::Applied,
            Settled::Reversed => PromotionState::Reversed,
        };
        here.write(|store| match store.read().promotion(id) {
            Ok(promotion) => {
                store.promotion_recovered(id, state, engine.now())?;
                if settled == Settled::Finished {
                    promote_sandbox(engine, store, promotion.sandbox)?;
                }
                Ok(())
            }
            // An undo is not on record by itself; its effect is on disk and in the other's record.
            Err(StoreError::Missing { .. }) => Ok(()),
            Err(error) => Err(error),
        })?;
    }
    Ok(())
}

/// Says that a sandbox's changes are in the project, if its life allows it.
pub(crate) fn promote_sandbox(
    engine: &Engine,
    store: &Writer<'_>,
    sandbox: agar_core::id::SandboxId,
) -> Result<(), StoreError> {
    match store.advance_sandbox(sandbox, Event::Promote, engine.now()) {
        Ok(_) | Err(StoreError::OutOfTurn(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// What a person chose, as the merge wants to know it.
pub(crate) fn selection(
    paths: &[String],
    side: Option<Side>,
    choices: &BTreeMap<String, Side>,
    hunks: &BTreeMap<String, Vec<usize>>,
) -> Selection {
    Selection {
        only: paths.iter().map(|path| Pattern::new(path)).collect(),
        otherwise: side.map(choice),
        rules: choices
            .iter()
            .map(|(path, side)| (Pattern::new(path), choice(*side)))
            .collect(),
        hunks: hunks
            .iter()
            .map(|(path, picked)| (PathBuf::from(path), picked.clone()))
            .collect(),
    }
}

const fn choice(side: Side) -> Choice {
    match side {
        Side::Mine => Choice::Mine,
        Side::Theirs => Choice::Theirs,
        Side::Markers => Choice::Markers,
    }
}

/// Every path of a proposal as the faces show it, with its hunks if somebody is about to pick.
pub(crate) fn files(
    proposal: &Proposal,
    with_hunks: bool,
) -> Result<Vec<AppliedFile>, EngineError> {
    proposal
        .files()
        .iter()
        .map(|planned| {
            let hunks = if with_hunks {
                proposal.hunks(planned.path())?
            } else {
                Vec::new()
            };
            Ok(AppliedFile {
                path: shown(planned.path()),
                merge: merge(planned),
                reason: planned.explanation(),
                hunks: hunks
                    .into_iter()
                    .map(|hunk| HunkView {
                        number: hunk.number,
                        text: String::from_utf8_lossy(&hunk.text).into_owned(),
                    })
                    .collect(),
            })
        })
        .collect()
}

const fn merge(planned: &Planned) -> Merge {
    match planned.outcome {
        Outcome::Clean => Merge::Clean,
        Outcome::Merged => Merge::Merged,
        Outcome::AlreadyThere => Merge::Same,
        Outcome::Chosen(_) => Merge::Chosen,
        Outcome::Conflict(_) => Merge::Conflict,
        Outcome::LeftOut(_) => Merge::Skipped,
    }
}

/// A short name for a promotion that people can type.
pub(crate) fn short(id: PromotionId) -> String {
    id.to_string().chars().take(13).collect()
}
