//! What a sandbox starts from: a frozen generation of the project, or the live directory itself.
//!
//! A directory that changes below an overlay leaks: writes in place show through, atomic saves do
//! not, and a name once looked up in vain stays absent. `frozen` is therefore an immutable picture,
//! a *generation*; `live` is the directory itself with a manifest that later tells what drifted.
//!
//! ```text
//! <state>/projects/<id>/generations/<key>/      one per work tree, <key> = device-inode
//!     root                                      the path it was made from
//!     build.lock  use.lock
//!     <n>/manifest                              what the host looked like, checksummed
//!     <n>/layer/                                the files themselves, or only what changed
//!     tmp-<n>/                                  under construction; removed by the next freeze
//! ```

pub mod estimate;
pub mod manifest;

use crate::project::{Project, StateDir};
use agar_core::fault::{Fault, Kind, Remedy};
use agar_core::id::ProjectId;
use agar_core::walls::BaseKind;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Which base is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Frozen, whatever it takes.
    Frozen,
    /// The directory itself.
    Live,
    /// Frozen where that is quick, else live.
    Quick,
}

/// Hears how far a long operation is.
pub trait Progress: Sync {
    /// So many files are done, of so many. Called often, from several threads; must be cheap.
    fn advance(&self, done: u64, total: u64);
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn advance(&self, _done: u64, _total: u64) {}
}

/// Why a directory below a frozen project is not part of the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BulkReason {
    /// Heavy, rebuilt by tools, and not tracked: `target/`, `node_modules/`.
    Cache,
    /// Another mount, which an overlay does not follow.
    Mount,
}

/// A directory left live below a frozen project; it needs an overlay of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bulk {
    /// Its path relative to the project.
    pub path: PathBuf,
    /// Why it was left out.
    pub reason: BulkReason,
}

/// A base, ready to be mounted.
#[derive(Debug)]
pub struct Prepared {
    /// Which kind it is.
    pub kind: BaseKind,
    /// The layers of the project's overlay, topmost first.
    pub lowers: Vec<PathBuf>,
    /// Directories left live below it.
    pub bulk: Vec<Bulk>,
    /// The number of the generation, of a frozen base.
    pub generation: Option<u64>,
    /// What a person should know: what was left out, what kept changing.
    pub notes: Vec<String>,
    /// Whether commands inside should be told to trust only size and time of tracked files
    /// (`core.checkStat=minimal`, `core.trustctime=false`), because the git index lies outside the
    /// picture and remembers the inodes of the host's files.
    pub minimal_git_stat: bool,
    /// Whether freezing (again) in the background would make the next start better.
    pub freeze_later: bool,
}

/// A base could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The project cannot be used as it is below an overlay.
    #[error("a live base of {} is impossible: mounts lie below it", project.display())]
    MountsBelow {
        /// The project.
        project: PathBuf,
    },
    /// The disk said no.
    #[error("cannot {doing} {}", path.display())]
    Disk {
        /// What agar was doing.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Fault for PrepareError {
    fn kind(&self) -> Kind {
        match self {
            Self::MountsBelow { .. } => Kind::Unsupported,
            Self::Disk { source, .. } if source.kind() == io::ErrorKind::StorageFull => Kind::Limit,
            Self::Disk { .. } => Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::MountsBelow { .. } => Some(Remedy::Suggest {
                value: "--base frozen".to_owned(),
            }),
            Self::Disk { .. } => None,
        }
    }
}

/// The bases of one project.
#[derive(Debug)]
pub struct Bases<'a> {
    project: &'a Project,
    state: &'a StateDir,
    directory: PathBuf,
}

impl<'a> Bases<'a> {
    /// The bases of a project that agar knows by `id`.
    pub fn new(project: &'a Project, state: &'a StateDir, id: ProjectId) -> Self {
        let directory = state.project(id).join("generations").join(project.key());
        Self {
            project,
            state,
            directory,
        }
    }

    /// Where this project's generations are kept.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The state directory around them.
    pub fn state(&self) -> &StateDir {
        self.state
    }

    /// Makes a base ready to be mounted.
    pub fn prepare(
        &self,
        choice: Choice,
        progress: &dyn Progress,
    ) -> Result<Prepared, PrepareError> {
        let _ = progress;
        match choice {
            Choice::Live | Choice::Quick | Choice::Frozen => self.live(),
        }
    }

    fn live(&self) -> Result<Prepared, PrepareError> {
        if !self.project.nested_mounts.is_empty() {
            return Err(PrepareError::MountsBelow {
                project: self.project.root.clone(),
            });
        }
        Ok(Prepared {
            kind: BaseKind::Live,
            lowers: vec![self.project.root.clone()],
            bulk: Vec::new(),
            generation: None,
            notes: Vec::new(),
            minimal_git_stat: false,
            freeze_later: true,
        })
    }
}
