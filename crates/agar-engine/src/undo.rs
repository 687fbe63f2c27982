//! Takes a promotion back.

use crate::apply::{AppliedFile, Side};
use crate::{Engine, EngineError};
use agar_core::id::PromotionId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
pub fn undo(_engine: &Engine, _request: &UndoRequest) -> Result<UndoAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "undo a promotion",
        missing: "promotion",
    })
}
