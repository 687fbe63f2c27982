//! The git repository that a promotion also reaches.

use crate::failure::EngineError;
use crate::here::Here;
use crate::{Engine, view};
use agar_sandbox::change::git::Repository as Inside;
use agar_sandbox::git::{self, Checkout, Committed, GitError, Hooks};
use agar_sandbox::merge::Selection;
use agar_sandbox::project::{self, Git};
use agar_sandbox::promote::Item;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The repository around a project.
pub(super) struct Repository<'a> {
    git: Git,
    root: PathBuf,
    environment: &'a [(OsString, OsString)],
}

impl<'a> Repository<'a> {
    /// Finds it.
    pub(super) fn of(engine: &'a Engine, here: &Here, root: &Path) -> Result<Self, EngineError> {
        let project = project::at(root, here.around())?;
        let git = project.git.ok_or_else(|| EngineError::Missing {
            doing: "commit",
            what: format!("git repository around {}", view::shown(root)),
        })?;
        Ok(Self {
            git,
            root: project.root,
            environment: &engine.surroundings().environment,
        })
    }

    fn checkout(&self) -> Checkout<'_> {
        Checkout {
            git: &self.git,
            root: &self.root,
            environment: self.environment,
        }
    }

    /// Commits exactly these changes, on top of what is checked out.
    pub(super) fn commit(&self, items: &[Item], message: &str) -> Result<Committed, GitError> {
        git::commit(&self.checkout(), items, message, Hooks::Off)
    }

    /// Commits these changes on a branch, without touching the work tree.
    pub(super) fn branch(
        &self,
        name: &str,
        items: &[Item],
        message: &str,
        selection: &Selection,
    ) -> Result<Committed, GitError> {
        git::branch(&self.checkout(), name, items, message, selection)
    }

    /// Carries commits made inside; answers with the references that hold them.
    pub(super) fn carry(&self, made: &Inside, alias: &str) -> Result<Vec<String>, GitError> {
        let carried = git::carry(&self.checkout(), made, alias)?;
        Ok(carried.into_iter().map(|carried| carried.name).collect())
    }
}
