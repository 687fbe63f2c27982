//! Takes a promotion back.

use crate::apply::{AppliedFile, Side};
use crate::blueprint::Blueprint;
use crate::here::Here;
use crate::{Engine, EngineError};
use crate::{find, promotion, whereabouts};
use agar_core::id::{ProjectId, PromotionId};
use agar_sandbox::promote::{Label, Standing};
use agar_store::{Promotion, PromotionState, Sandbox};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Asks for a promotion to be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UndoRequest {
    /// A promotion's id or a unique beginning, or the alias of the sandbox it came from; the last
    /// one of the project if left out.
    pub promotion: Option<String>,
    /// Whose version wins where the project changed since.
    pub side: Option<Side>,
    /// Whose version wins, by path.
    pub choices: BTreeMap<String, Side>,
    /// Say what would happen, write nothing.
    pub dry_run: bool,
}

/// What was taken back, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoAnswer {
    /// The promotion.
    pub promotion: PromotionId,
    /// The alias of the sandbox it came from.
    pub sandbox: String,
    /// Whether anything was written.
    pub undone: bool,
    /// Every path.
    pub files: Vec<AppliedFile>,
    /// Things a person should know.
    pub notes: Vec<String>,
}

/// Takes a promotion back, or says which later edits stand in the way.
///
/// With conflicts nothing is written and `undone` is false: that is an answer, not an error.
pub fn undo(engine: &Engine, request: &UndoRequest) -> Result<UndoAnswer, EngineError> {
    let here = engine.here()?;
    let project = here.project(engine)?;
    let _turn = if request.dry_run {
        None
    } else {
        Some(promotion::begin(
            engine,
            here,
            project.id,
            &project.found.root,
        )?)
    };
    let promotion = wanted(here, project.id, request)?;
    let selection = promotion::selection(&[], request.side, &request.choices, &BTreeMap::new());
    let promotions = promotion::of_project(here, project.id);
    let went_to = promotions
        .root_of(promotion.id)
        .map_err(EngineError::io("read the promotions"))?;
    let sandbox = here.read(|store| store.sandbox(promotion.sandbox))?;
    let root = place(here, &sandbox, (went_to, &project.found.root))?;
    let proposal = promotions.undo(promotion.id, &root, &selection)?;
    let mut answer = UndoAnswer {
        promotion: promotion.id,
        sandbox: sandbox.alias.clone(),
        undone: false,
        files: promotion::files(&proposal, request.dry_run)?,
        notes: promotion::where_else(here, &root),
    };
    if request.dry_run || proposal.conflicts().count() > 0 {
        return Ok(answer);
    }
    let label = Label {
        id: engine.new_promotion_id(),
        at: engine.now(),
        title: format!("undo of {}", sandbox.alias),
    };
    // On record first: after a crash the disk says whether it came to anything.
    here.write(|store| store.undo_started(promotion.id, label.id))?;
    let applied = match promotions.apply(&proposal, &label) {
        Ok(applied) => applied,
        Err(error) => {
            if matches!(promotions.standing(label.id), Ok(Standing::Nothing)) {
                here.write(|store| store.undo_reversed(promotion.id))?;
            }
            return Err(error.into());
        }
    };
    here.write(|store| promotion::take_back(engine, store, &promotion, applied.promotion))?;
    answer.undone = true;
    Ok(answer)
}

/// Where a promotion that went to this place is taken back: the whole machine stays where it is, a
/// project may have moved. Where nobody wrote down which directory it was, it is the caller's.
fn place(
    here: &Here,
    sandbox: &Sandbox,
    (went_to, callers): (Option<PathBuf>, &Path),
) -> Result<PathBuf, EngineError> {
    let blueprint = Blueprint::of(sandbox)?;
    match went_to {
        Some(root) if root == Path::new("/") => Ok(root),
        Some(_) | None if blueprint.made_from.is_none() => Ok(callers.to_owned()),
        Some(_) | None => whereabouts::root_to_write(here, &blueprint, "undo"),
    }
}

/// The promotion that is meant: by id, by the sandbox it came from, or the last one that can be
/// taken back.
fn wanted(
    here: &Here,
    project: ProjectId,
    request: &UndoRequest,
) -> Result<Promotion, EngineError> {
    let promotions = promotion::of_project(here, project);
    let all = here.read(|store| store.promotions(project))?;
    let applied = || {
        all.iter().filter(|it| {
            it.state == PromotionState::Applied
                && !matches!(promotions.standing(it.id), Ok(Standing::Nothing))
        })
    };
    let missing = |what: String| EngineError::Missing {
        doing: "undo",
        what,
    };
    let Some(name) = request.promotion.as_deref() else {
        let none = || missing("promotion in this project that could be taken back".to_owned());
        return applied().next().cloned().ok_or_else(none);
    };
    let by_id: Vec<&Promotion> = applied()
        .filter(|promotion| promotion.id.to_string().starts_with(name))
        .collect();
    if let [promotion] = by_id.as_slice() {
        return Ok((*promotion).clone());
    }
    let sandbox = find::sandbox(here, Some(name))?;
    let found = applied().find(|promotion| promotion.sandbox == sandbox.id);
    found.cloned().ok_or_else(|| {
        let alias = sandbox.alias;
        missing(format!("promotion of {alias} that could be taken back"))
    })
}
