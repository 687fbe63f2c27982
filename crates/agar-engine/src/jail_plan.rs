//! The jail a sandbox would get, as data.

use crate::{Engine, EngineError, SandboxOptions};
use serde::{Deserialize, Serialize};

/// Asks for the plan of a jail that is not built.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JailPlanRequest {
    /// An existing sandbox, or the one that `options` describe.
    pub sandbox: Option<String>,
    /// What a new sandbox should be.
    pub options: SandboxOptions,
}

/// The plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JailPlanAnswer {
    /// The steps, one a line, for a reader.
    pub text: String,
    /// The same as data.
    pub plan: serde_json::Value,
}

/// Plans a jail without building it.
pub fn jail_plan(
    _engine: &Engine,
    _request: &JailPlanRequest,
) -> Result<JailPlanAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "plan a jail",
        missing: "jail",
    })
}
