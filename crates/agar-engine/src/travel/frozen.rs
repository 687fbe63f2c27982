//! A live base is frozen before the first snapshot: what changes under a snapshot is none.

use crate::blueprint::Blueprint;
use crate::draft::Freezing;
use crate::failure::EngineError;
use crate::here::Here;
use crate::{Engine, find, wishes};
use agar_core::walls::BaseKind;
use agar_sandbox::base::{Bases, Choice, Lock};
use agar_sandbox::layer::{Found, Kind, View};
use agar_sandbox::stack::{Role, Stack};
use agar_store::Sandbox;
use std::path::PathBuf;

/// The ground that a sandbox's layers lie on.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) base: BaseKind,
    pub(crate) generation: Option<u64>,
    pub(crate) minimal_git_stat: bool,
    /// The layers of the project's base.
    pub(crate) lowers: Vec<PathBuf>,
    /// Directories that stay live below a base that was frozen just now, with what the sandbox
    /// wrote to each: a directory below the project's upper layer.
    pub(crate) bulk: Vec<Left>,
    /// Keeps the generation from being collected until it is on record.
    _hold: Option<Lock>,
}

/// A directory that stays live.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) target: PathBuf,
    /// Its path below the project.
    pub(crate) path: PathBuf,
    /// Whether the sandbox wrote to it.
    pub(crate) written: bool,
    /// Whether what the sandbox wrote hides all that lies below.
    pub(crate) hides: bool,
}

impl Ground {
    /// The ground of a sandbox, frozen now if it is not.
    pub(crate) fn of(
        engine: &Engine,
        here: &Here,
        record: &Sandbox,
        blueprint: &Blueprint,
    ) -> Result<Self, EngineError> {
        let project = blueprint.project_stack();
        let as_it_is = Self {
            base: record.base,
            generation: record.generation,
            minimal_git_stat: blueprint.minimal_git_stat,
            lowers: project.map_or_else(Vec::new, |stack| stack.lowers.clone()),
            bulk: Vec::new(),
            _hold: None,
        };
        let (BaseKind::Live, None, Some(project)) = (record.base, &blueprint.copy, project) else {
            return Ok(as_it_is);
        };
        let known = find::project_of(engine, here, blueprint)?;
        let rule = wishes::bulk(engine, here)?;
        let bases = Bases::new(&known, &here.state, record.project).leaving(rule);
        let prepared = bases.prepare(Choice::Frozen, &Freezing::of(engine))?;
        engine.surroundings().progress.end();
        let bulk = prepared
            .bulk
            .iter()
            .filter_map(|bulk| left(&blueprint.root, project, &bulk.path).transpose())
            .collect::<Result<_, _>>()?;
        Ok(Self {
            base: prepared.kind,
            generation: prepared.generation,
            minimal_git_stat: prepared.minimal_git_stat,
            lowers: prepared.lowers,
            bulk,
            _hold: prepared.hold,
        })
    }
}

/// A directory that stays live, unless the sandbox removed it.
fn left(
    root: &std::path::Path,
    project: &Stack,
    path: &std::path::Path,
) -> Result<Option<Left>, EngineError> {
    let written = View::written(project)?;
    let parent = written.folder(path.parent().unwrap_or(std::path::Path::new("")))?;
    let found = match (&parent, path.file_name()) {
        (Some(parent), Some(name)) => parent.inspect(name)?,
        (None | Some(_), _) => None,
    };
    let (is_written, hides) = match found {
        None => (false, false),
        Some(Found::Entry(entry)) if entry.kind == Kind::Directory => {
            let hides = written
                .folder(path)?
                .is_some_and(|folder| folder.is_opaque());
            (true, hides)
        }
        Some(Found::Whiteout | Found::Entry(_)) => return Ok(None),
    };
    Ok(Some(Left {
        target: root.join(path),
        path: path.to_owned(),
        written: is_written,
        hides,
    }))
}

impl Left {
    /// Its role among the trees of a sandbox.
    pub(crate) const ROLE: Role = Role::Bulk;

    /// The layers that it lies on.
    pub(crate) fn lowers(&self) -> Vec<PathBuf> {
        if self.hides {
            Vec::new()
        } else {
            vec![self.target.clone()]
        }
    }
}
