//! What applying and undoing share: the proposal, its words, and recovery after a crash.

use crate::Engine;
use crate::apply::{AppliedFile, HunkView, Merge, Side};
use crate::failure::EngineError;
use crate::here::Here;
use crate::turn::Turn;
use crate::view::shown;
use agar_core::id::{ProjectId, PromotionId};
use agar_core::state::Event;
use agar_sandbox::merge::{Choice, Pattern, Selection};
use agar_sandbox::promote::{Outcome, Planned, Promotions, Proposal, Standing};
use agar_store::{Promotion, PromotionState, StoreError, Writer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The promotions of a project.
pub(crate) fn of_project(here: &Here, project: ProjectId) -> Promotions {
    Promotions::at(&here.state.project(project).join("promotions"))
}

/// Finishes or reverses promotions of the caller's project that a crash cut short.
pub(crate) fn recover(engine: &Engine, here: &Here) -> Result<(), EngineError> {
    let Some(known) = here.known() else {
        return Ok(());
    };
    of_project(here, known.id).recover(Some(&known.found.root))?;
    let open = here.read(|store| store.unsettled_promotions(known.id))?;
    if open.is_empty() {
        return Ok(());
    }
    // Whoever has the turn is alive, and says for themselves how it ended.
    match Turn::try_project(&here.state.project(known.id))? {
        Some(_turn) => settle_records(engine, here, known.id),
        None => Ok(()),
    }
}

/// Waits for the right to change a project, and mends what the last one who had it left behind.
pub(crate) fn begin(
    engine: &Engine,
    here: &Here,
    project: ProjectId,
    root: &Path,
) -> Result<Turn, EngineError> {
    let turn = Turn::take_project(&here.state.project(project))?;
    of_project(here, project).recover(Some(root))?;
    settle_records(engine, here, project)?;
    Ok(turn)
}

/// Brings the records in line with the disk, which alone knows what a crash left. The caller has the
/// project's turn, so nobody is in between.
fn settle_records(engine: &Engine, here: &Here, project: ProjectId) -> Result<(), EngineError> {
    let promotions = of_project(here, project);
    for open in here.read(|store| store.unsettled_promotions(project))? {
        let by = open
            .undone_by
            .filter(|_| open.state == PromotionState::Applied);
        let standing = promotions
            .standing(by.unwrap_or(open.id))
            .map_err(EngineError::io("read the promotions"))?;
        let (id, now) = (open.id, engine.now());
        here.write(|store| match (standing, by) {
            // The next command tries again.
            (Standing::Open, _) => Ok(()),
            (Standing::Applied, Some(by)) => take_back(engine, store, &open, Some(by)),
            (Standing::Nothing, Some(_)) => store.undo_reversed(id),
            (Standing::Applied, None) => {
                store.promotion_recovered(id, PromotionState::Applied, now)?;
                promote_sandbox(engine, store, open.sandbox)
            }
            (Standing::Nothing, None) => {
                store.promotion_recovered(id, PromotionState::Reversed, now)
            }
        })?;
    }
    Ok(())
}

/// Says that a promotion was taken back, and what that means for its sandbox.
pub(crate) fn take_back(
    engine: &Engine,
    store: &Writer<'_>,
    promotion: &Promotion,
    by: Option<PromotionId>,
) -> Result<(), StoreError> {
    store.promotion_undone(promotion.id, by, engine.now())?;
    match store.advance_sandbox(promotion.sandbox, Event::Undo, engine.now()) {
        Ok(_) | Err(StoreError::OutOfTurn(_)) => Ok(()),
        Err(error) => Err(error),
    }
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
                        conflict: hunk.conflict,
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

/// Says where changes to a project go, if that is not where the caller stands.
pub(crate) fn where_else(here: &Here, root: &Path) -> Vec<String> {
    let there =
        root == Path::new("/") || here.known().is_some_and(|known| known.found.root == root);
    let note = || format!("the project of this sandbox is at {}", shown(root));
    (!there).then(note).into_iter().collect()
}

/// A short name for a promotion that people can type.
pub(crate) fn short(id: PromotionId) -> String {
    id.to_string().chars().take(13).collect()
}
