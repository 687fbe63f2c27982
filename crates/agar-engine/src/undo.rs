//! Takes a promotion back.

use crate::apply::{AppliedFile, Side};
use crate::here::Here;
use crate::{Engine, EngineError};
use crate::{find, promotion};
use agar_core::id::PromotionId;
use agar_core::state::Event;
use agar_sandbox::promote::Label;
use agar_store::{Promotion, PromotionState, StoreError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

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
    let promotion = wanted(engine, here, request)?;
    let selection = promotion::selection(&[], request.side, &request.choices, &BTreeMap::new());
    let promotions = promotion::of_project(here, promotion.project);
    let past = promotions
        .list()
        .map_err(EngineError::io("read the promotions"))?
        .into_iter()
        .find(|past| past.label.id == promotion.id);
    let root = match past {
        Some(past) if past.root == Path::new("/") => past.root,
        Some(past) => here.root_of(promotion.project).unwrap_or(past.root),
        None => here.project(engine)?.found.root.clone(),
    };
    let proposal = promotions.undo(promotion.id, &root, &selection)?;
    let sandbox = here.read(|store| store.sandbox(promotion.sandbox))?;
    let mut answer = UndoAnswer {
        promotion: promotion.id,
        sandbox: sandbox.alias.clone(),
        undone: false,
        files: promotion::files(&proposal, request.dry_run)?,
        notes: Vec::new(),
    };
    if request.dry_run || proposal.conflicts().count() > 0 {
        return Ok(answer);
    }
    let label = Label {
        id: engine.new_promotion_id(),
        at: engine.now(),
        title: format!("undo of {}", sandbox.alias),
    };
    let applied = promotions.apply(&proposal, &label)?;
    promotion::record_recovered(engine, here, &applied.recovered)?;
    here.write(|store| {
        store.promotion_undone(promotion.id, applied.promotion, engine.now())?;
        match store.advance_sandbox(sandbox.id, Event::Undo, engine.now()) {
            Ok(_) | Err(StoreError::OutOfTurn(_)) => Ok(()),
            Err(error) => Err(error),
        }
    })?;
    answer.undone = true;
    Ok(answer)
}

/// The promotion that is meant: by id, by the sandbox it came from, or the last one.
fn wanted(engine: &Engine, here: &Here, request: &UndoRequest) -> Result<Promotion, EngineError> {
    let project = here.project(engine)?.id;
    let Some(name) = request.promotion.as_deref() else {
        return here
            .read(|store| store.last_applied(project))?
            .ok_or_else(|| EngineError::Missing {
                doing: "undo",
                what: "promotion in this project that could be taken back".to_owned(),
            });
    };
    let all = here.read(|store| store.promotions(project))?;
    let applied = || all.iter().filter(|it| it.state == PromotionState::Applied);
    let by_id: Vec<&Promotion> = applied()
        .filter(|promotion| promotion.id.to_string().starts_with(name))
        .collect();
    if let [promotion] = by_id.as_slice() {
        return Ok((*promotion).clone());
    }
    let sandbox = find::sandbox(here, Some(name))?;
    let found = applied().find(|promotion| promotion.sandbox == sandbox.id);
    found.cloned().ok_or_else(|| EngineError::Missing {
        doing: "undo",
        what: format!("promotion of {} that could be taken back", sandbox.alias),
    })
}
