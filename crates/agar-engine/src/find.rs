//! From what a person typed to the sandbox that was meant.

use crate::Engine;
use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use agar_core::state::State;
use agar_sandbox::project::{self, Project};
use agar_store::{Lookup, Sandbox, Scope};

/// The sandbox of that name, or the only one of the project when there is no name.
pub(crate) fn sandbox(here: &Here, name: Option<&str>) -> Result<Sandbox, EngineError> {
    match name {
        Some(name) => named(here, name),
        None => only(here),
    }
}

fn named(here: &Here, name: &str) -> Result<Sandbox, EngineError> {
    match here.read(|store| store.find_sandbox(name, here.project_id()))? {
        Lookup::Found(sandbox) => Ok(*sandbox),
        Lookup::Missing { nearest } => Err(EngineError::NoSuchSandbox {
            name: agar_core::text::printable(name).into_owned(),
            near: nearest,
        }),
        Lookup::Ambiguous(sandboxes) => Err(EngineError::Ambiguous {
            name: name.to_owned(),
            matches: sandboxes.into_iter().map(|sandbox| sandbox.alias).collect(),
        }),
    }
}

fn only(here: &Here) -> Result<Sandbox, EngineError> {
    let mut sandboxes = of_project(here)?;
    match (sandboxes.pop(), sandboxes.len()) {
        (Some(sandbox), 0) => Ok(sandbox),
        (None, _) => Err(EngineError::SayWhich { count: 0 }),
        (Some(_), others) => Err(EngineError::SayWhich { count: others + 1 }),
    }
}

/// The named ones, or all of the project, or the only one when nothing is said.
pub(crate) fn several(
    here: &Here,
    names: &[String],
    all: bool,
) -> Result<Vec<Sandbox>, EngineError> {
    match (all, names) {
        (true, _) => of_project(here),
        (false, []) => Ok(vec![sandbox(here, None)?]),
        (false, names) => names.iter().map(|name| sandbox(here, Some(name))).collect(),
    }
}

/// The project that a sandbox is a copy of, as it is now.
pub(crate) fn project_of(
    engine: &Engine,
    here: &Here,
    blueprint: &Blueprint,
) -> Result<Project, EngineError> {
    match here.project(engine) {
        Ok(known) if known.found.root == blueprint.root => Ok(known.found.clone()),
        Ok(_) | Err(_) => Ok(project::discover(&blueprint.root, here.around())?),
    }
}

/// The sandboxes of the caller's project that a person would name, oldest first.
pub(crate) fn of_project(here: &Here) -> Result<Vec<Sandbox>, EngineError> {
    let Some(project) = here.project_id() else {
        return Ok(Vec::new());
    };
    let sandboxes = here.read(|store| store.sandboxes(Some(project), Scope::Kept))?;
    Ok(sandboxes
        .into_iter()
        .filter(|sandbox| sandbox.state != State::Discarded)
        .collect())
}
