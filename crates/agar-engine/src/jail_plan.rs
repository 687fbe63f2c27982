//! The jail a sandbox would get, as data.

use crate::blueprint::Blueprint;
use crate::draft::draft;
use crate::find;
use crate::raise::{self, Walls};
use crate::{Engine, EngineError, SandboxOptions};
use agar_sandbox::base::Choice;
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
    engine: &Engine,
    request: &JailPlanRequest,
) -> Result<JailPlanAnswer, EngineError> {
    let here = engine.here()?;
    let plan = if let Some(name) = &request.sandbox {
        let record = find::sandbox(here, Some(name))?;
        let blueprint = Blueprint::of(&record)?;
        raise::plan(engine, here, &Walls::of(&record), &blueprint)?
    } else {
        let draft = draft(engine, here, &request.options, (Choice::Live, None))?;
        let walls = Walls {
            tier: draft.new.tier,
            network: &draft.new.network,
            identity: draft.new.identity,
            limits: draft.new.limits,
        };
        raise::plan(engine, here, &walls, &draft.blueprint)?
    };
    Ok(JailPlanAnswer {
        text: plan.to_string(),
        plan: serde_json::to_value(&plan).unwrap_or_default(),
    })
}
