//! The projects that agar knows.

use crate::view::shown;
use crate::{Engine, EngineError};
use agar_core::id::ProjectId;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A project that agar knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectView {
    /// Its permanent id.
    pub id: ProjectId,
    /// What people call it.
    pub name: String,
    /// Where it was last seen.
    pub path: String,
    /// Whether the caller stands in it.
    pub current: bool,
}

/// The projects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectsAnswer {
    /// Oldest first.
    pub projects: Vec<ProjectView>,
}

/// Lists the projects whose state lies where the caller's does.
pub fn projects(engine: &Engine) -> Result<ProjectsAnswer, EngineError> {
    let here = engine.here()?;
    let known = here.read(|store| store.projects())?;
    let projects = known
        .into_iter()
        .map(|project| ProjectView {
            current: here.project_id() == Some(project.id),
            path: shown(&project.path),
            id: project.id,
            name: project.name,
        })
        .collect();
    Ok(ProjectsAnswer { projects })
}

/// The directory of the caller's project.
pub fn current(engine: &Engine) -> Result<PathBuf, EngineError> {
    Ok(engine.here()?.project(engine)?.found.root.clone())
}

/// The directory of a project that agar knows, from a path that somebody else names: nothing is
/// made, and nothing that a person has not used agar in is touched.
pub fn registered(engine: &Engine, path: &Path) -> Result<PathBuf, EngineError> {
    let here = engine.here()?;
    let unknown = || EngineError::Missing {
        doing: "use a project",
        what: format!("project registered at {}", shown(path)),
    };
    if !path.is_absolute() {
        return Err(EngineError::Invalid(
            "the path of a project is absolute".to_owned(),
        ));
    }
    let real = path.canonicalize().map_err(|_| unknown())?;
    let is_there = here.read(|store| {
        for project in store.projects()? {
            if store.places(project.id)?.iter().any(|it| it.path == real) {
                return Ok(true);
            }
        }
        Ok(false)
    })?;
    if is_there { Ok(real) } else { Err(unknown()) }
}
