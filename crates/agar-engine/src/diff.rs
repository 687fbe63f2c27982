//! What a sandbox changed.

use crate::{ChangeView, Engine, EngineError, SandboxView};
use crate::{changes, find, view, whereabouts};
use serde::{Deserialize, Serialize};

/// Asks what changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiffRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
    /// Only these paths and what is below them, relative to the project.
    pub paths: Vec<String>,
    /// Also compute the unified diff.
    pub patch: bool,
    /// Lines of context around each hunk of the diff; three if left out.
    pub context: Option<usize>,
    /// Include files outside the project in the diff.
    pub outside: bool,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiffAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// What changed.
    pub changes: ChangeView,
    /// The unified diff, if it was asked for.
    pub patch: Option<String>,
    /// Paths of the project that changed outside meanwhile, below a live base.
    pub drifted: Vec<String>,
}

/// Tells what a sandbox changed.
pub fn diff(engine: &Engine, request: &DiffRequest) -> Result<DiffAnswer, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, request.sandbox.as_deref())?;
    let blueprint = changes::kept(&record, "show the changes of")?;
    let mut set = changes::of(engine, &blueprint)?;
    let blueprint = whereabouts::outside(here, blueprint);
    changes::restrict(&mut set, &request.paths, &blueprint.root);
    let context = request.context.unwrap_or(CONTEXT);
    let patch = if request.patch {
        Some(changes::patch(&set, context, request.outside)?)
    } else {
        None
    };
    let drift = crate::drift::Drift::of(&record, &blueprint);
    let drifted = set
        .project
        .iter()
        .filter(|change| drift.has(&change.path))
        .map(|change| view::shown(&change.path))
        .collect();
    Ok(DiffAnswer {
        sandbox: view::sandbox(here, &record)?,
        changes: changes::shown(&set),
        patch,
        drifted,
    })
}

/// Lines around each hunk.
const CONTEXT: usize = 3;
