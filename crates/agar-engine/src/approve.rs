//! A person's consent to a project's settings.

use crate::{Engine, EngineError};
use serde::{Deserialize, Serialize};

/// Gives or asks about consent to the project's settings, exactly as they are now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApproveRequest {
    /// The hash the person looked at; consent is to that content and no other. Only asks if left
    /// out.
    pub hash: Option<String>,
}

/// What waits for consent, or has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApproveAnswer {
    /// The settings file.
    pub path: String,
    /// The hash of its content.
    pub hash: String,
    /// What it loosens, and the commands it would run outside a sandbox.
    pub loosens: Vec<String>,
    /// Whether this content is approved now.
    pub approved: bool,
}

/// Records a person's consent to the project's settings.
pub fn approve(_engine: &Engine, _request: &ApproveRequest) -> Result<ApproveAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "approve settings",
        missing: "settings",
    })
}
