//! From what a person typed to the sandbox that was meant.

use crate::Engine;
use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::turn::Turn;
use crate::whereabouts;
use agar_core::fault::{Fault as _, Kind};
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

/// The sandbox of that name in the trash, or whatever else goes by it.
pub(crate) fn in_trash(here: &Here, name: &str) -> Result<Sandbox, EngineError> {
    match here.read(|store| store.find_in_trash(name, here.project_id()))? {
        Lookup::Missing { .. } => named(here, name),
        found @ (Lookup::Found(_) | Lookup::Ambiguous(_)) => told(name, found),
    }
}

fn named(here: &Here, name: &str) -> Result<Sandbox, EngineError> {
    let found = here.read(|store| store.find_sandbox(name, here.project_id()))?;
    told(name, found)
}

fn told(name: &str, found: Lookup) -> Result<Sandbox, EngineError> {
    match found {
        Lookup::Found(sandbox) => Ok(*sandbox),
        Lookup::Missing { nearest } => Err(EngineError::NoSuchSandbox {
            name: agar_core::text::printable(name).into_owned(),
            near: nearest,
        }),
        Lookup::Ambiguous(sandboxes) => Err(EngineError::Ambiguous {
            name: name.to_owned(),
            matches: sandboxes
                .iter()
                .map(|sandbox| told_apart(sandbox, &sandboxes))
                .collect(),
        }),
    }
}

/// What tells a sandbox from others: in the trash several may have the same alias.
fn told_apart(sandbox: &Sandbox, others: &[Sandbox]) -> String {
    let mut same = others.iter().filter(|it| it.alias == sandbox.alias);
    match (same.next(), same.next()) {
        (_, None) => sandbox.alias.clone(),
        (_, Some(_)) => sandbox.id.to_string(),
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

/// Why something could not be done to a sandbox: that it was removed meanwhile, if it was.
pub(crate) fn unless_removed(here: &Here, found: &Sandbox, error: EngineError) -> EngineError {
    let is_gone = |state| matches!(state, State::Discarded | State::Collected);
    // Whoever removes it has the turn until its record says so. Who works on it otherwise may have it
    // for long: what says enough by itself does not wait for them.
    if !says_enough(error.kind()) {
        drop(Turn::take_if_there(&here.sandbox(found.id)));
    }
    let now = here.read(|store| store.sandbox(found.id));
    if !is_gone(found.state) && now.is_ok_and(|now| is_gone(now.state)) {
        let alias = found.alias.clone();
        return EngineError::Removed { alias };
    }
    error
}

/// Whether a failure of this kind has its reason elsewhere, or in what the record says already.
const fn says_enough(kind: Kind) -> bool {
    match kind {
        Kind::Interrupted | Kind::Undecided | Kind::Conflict | Kind::Invalid | Kind::Limit => true,
        Kind::NotFound | Kind::Internal | Kind::Refused | Kind::Unsupported => false,
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
    let root = whereabouts::root_to_write(here, blueprint, "freeze the project")?;
    match here.project(engine) {
        Ok(known) if known.found.root == root => Ok(known.found.clone()),
        Ok(_) | Err(_) => Ok(project::discover(&root, here.around())?),
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
