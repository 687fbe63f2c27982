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

mod bulk;
mod compact;
pub mod estimate;
mod freeze;
mod generations;
pub mod index;
mod layer;
mod lock;
pub mod manifest;
mod repositories;
mod survey;

pub use bulk::BulkRule;
pub use lock::Lock;

use crate::copy::CopyError;
use crate::project::{Project, StateDir};
use crate::trash::{Trash, TrashError};
use agar_core::fault::{Fault, Kind, Remedy};
use agar_core::id::ProjectId;
use agar_core::walls::BaseKind;
use freeze::{Frozen, Patience};
use generations::Generations;
use lock::Sharing;
use manifest::Manifest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
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
    #[serde(with = "crate::spelling::path")]
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
    /// Keeps the generation from being collected until the sandbox is on record.
    pub hold: Option<Lock>,
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
    /// What is no longer needed could not be moved away.
    #[error(transparent)]
    Trash(#[from] TrashError),
}

impl From<CopyError> for PrepareError {
    fn from(error: CopyError) -> Self {
        Self::Disk {
            doing: error.doing,
            path: error.path,
            source: error.source,
        }
    }
}

impl Fault for PrepareError {
    fn kind(&self) -> Kind {
        match self {
            Self::MountsBelow { .. } => Kind::Unsupported,
            Self::Disk { source, .. } if is_full(source) => Kind::Limit,
            Self::Disk { source, .. } if source.kind() == io::ErrorKind::NotFound => Kind::NotFound,
            Self::Disk { .. } => Kind::Internal,
            Self::Trash(error) => error.kind(),
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::MountsBelow { .. } => Some(Remedy::Suggest {
                value: "--base frozen".to_owned(),
            }),
            Self::Disk { source, .. } if is_full(source) => Some(Remedy::Command {
                line: "agar prune".to_owned(),
            }),
            Self::Disk { .. } | Self::Trash(_) => None,
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Layers beyond this number are joined by the next freeze in the background.
const LAYERS_SOFT_MAX: usize = 16;

/// Layers beyond this number are joined before anything else happens.
const LAYERS_HARD_MAX: usize = 40;

/// Removes the generations of work trees of a project that are gone, or have become another
/// directory. `is_used` says whether a sandbox still has layers below a directory.
pub fn collect_abandoned(
    state: &StateDir,
    id: ProjectId,
    is_used: &dyn Fn(&Path) -> bool,
) -> Result<u64, TrashError> {
    let Ok(entries) = state.project(id).join("generations").read_dir() else {
        return Ok(0);
    };
    let mut removed = 0;
    for directory in entries.flatten().map(|entry| entry.path()) {
        let Ok(root) = fs_err::read(directory.join("root")) else {
            continue;
        };
        let found = crate::copy::as_path(&root).symlink_metadata();
        let key = found.map(|found| crate::project::key(found.dev(), found.ino()));
        let is_alive = key.is_ok_and(|key| directory.ends_with(key));
        if !is_alive && !is_used(&directory) {
            Trash::new(state).discard(&directory)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// The bases of one project.
#[derive(Debug)]
pub struct Bases<'a> {
    project: &'a Project,
    rule: BulkRule,
    trash: Trash,
    directory: PathBuf,
    boot: String,
}

impl<'a> Bases<'a> {
    /// The bases of a project that agar knows by `id`.
    pub fn new(project: &'a Project, state: &StateDir, id: ProjectId) -> Self {
        let directory = state.project(id).join("generations").join(project.key());
        let boot = fs_err::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self {
            project,
            rule: BulkRule::Usual,
            trash: Trash::new(state),
            directory,
            boot: boot.trim().to_owned(),
        }
    }

    /// The same, with another rule for what stays live below a frozen base.
    #[must_use]
    pub fn leaving(mut self, rule: BulkRule) -> Self {
        self.rule = rule;
        self
    }

    /// The same, as if during another boot of the machine.
    #[must_use]
    pub fn during_boot(mut self, boot: &str) -> Self {
        boot.clone_into(&mut self.boot);
        self
    }

    /// Where this project's generations are kept.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The number of the newest generation, without checking it.
    pub fn newest(&self) -> Option<u64> {
        self.generations().numbers().ok()?.pop()
    }

    /// Makes a base ready to be mounted.
    ///
    /// `Quick` answers a live base where freezing would take more than a moment; mounts below the
    /// project force a frozen one, since no overlay can be made over them.
    pub fn prepare(
        &self,
        choice: Choice,
        progress: &dyn Progress,
    ) -> Result<Prepared, PrepareError> {
        let patience = match choice {
            // Asked for by name: a generation that is made meanwhile would serve nobody.
            Choice::Live => {
                return Ok(Prepared {
                    freeze_later: false,
                    ..self.live()?
                });
            }
            Choice::Frozen => Patience::Endless,
            Choice::Quick if !self.project.nested_mounts.is_empty() => Patience::Endless,
            Choice::Quick => Patience::Moment,
        };
        let is_first = self.newest().is_none();
        if patience == Patience::Moment
            && is_first
            && !estimate::first_is_quick(self.project, &self.rule)
        {
            return self.live();
        }
        self.make_directory()?;
        let hold = self.lock("use.lock", Sharing::Shared)?;
        let build = self.lock("build.lock", Sharing::Alone)?;
        let frozen = freeze::freeze(self, patience, progress)?;
        let manifest = match frozen {
            Frozen::TooSlow => return self.live(),
            Frozen::Ready(manifest) if manifest.facts.layers.len() > LAYERS_HARD_MAX => {
                compact::compact(self, &manifest)?
            }
            Frozen::Ready(manifest) => *manifest,
        };
        drop(build);
        Ok(self.frozen(&manifest, hold))
    }

    /// Freezes the project as it is now and joins layers where there are many: what a process in
    /// the background does for the next command. Does nothing while another one is at it.
    pub fn freeze(&self, progress: &dyn Progress) -> Result<Option<u64>, PrepareError> {
        self.make_directory()?;
        let Some(_build) = self.attempt("build.lock")? else {
            return Ok(None);
        };
        let _hold = self.lock("use.lock", Sharing::Shared)?;
        match freeze::freeze(self, Patience::Endless, progress)? {
            Frozen::TooSlow => Ok(None),
            Frozen::Ready(manifest) if manifest.facts.layers.len() > LAYERS_SOFT_MAX => {
                compact::compact(self, &manifest).map(|manifest| Some(manifest.facts.number))
            }
            Frozen::Ready(manifest) => Ok(Some(manifest.facts.number)),
        }
    }

    /// Removes the generations that no sandbox uses, except the newest. Answers how many went; none
    /// while a sandbox is being made. Which are used is asked when none can be.
    pub fn collect(
        &self,
        used: impl FnOnce() -> Option<BTreeSet<u64>>,
    ) -> Result<u64, PrepareError> {
        if !self.directory.is_dir() {
            return Ok(0);
        }
        let Some(_build) = self.attempt("build.lock")? else {
            return Ok(0);
        };
        let Some(_alone) = self.attempt("use.lock")? else {
            return Ok(0);
        };
        let generations = self.generations();
        generations.clear_workshops(&self.trash)?;
        match used() {
            Some(used) => Ok(generations.collect(&used, &self.trash)?),
            None => Ok(0),
        }
    }

    /// How many generations [`collect`](Self::collect) would remove now.
    pub fn count_unneeded(&self, used: &BTreeSet<u64>) -> u64 {
        self.generations().count_unneeded(used)
    }

    /// Clears what a crash left half built: one directory read where there is nothing to do.
    pub fn recover(&self) -> Result<(), PrepareError> {
        let Ok(mut entries) = self.directory.read_dir() else {
            return Ok(());
        };
        let is_left = |entry: io::Result<std::fs::DirEntry>| {
            entry.is_ok_and(|e| e.file_name().as_encoded_bytes().starts_with(b"tmp-"))
        };
        if !entries.any(is_left) {
            return Ok(());
        }
        // Held by a freeze that is under way, not by one that crashed.
        let Some(_build) = self.attempt("build.lock")? else {
            return Ok(());
        };
        Ok(self.generations().clear_workshops(&self.trash)?)
    }

    /// The layers, topmost first, and the bulk of a generation that a sandbox was made from.
    pub fn layers_of(&self, generation: u64) -> Result<Prepared, PrepareError> {
        let hold = self.lock("use.lock", Sharing::Shared)?;
        let path = self.generations().manifest(generation);
        let manifest = Manifest::read(&path).map_err(|error| {
            let source = io::Error::other(error);
            PrepareError::Disk {
                doing: "read",
                path,
                source,
            }
        })?;
        Ok(self.frozen(&manifest, hold))
    }

    fn generations(&self) -> Generations<'_> {
        Generations {
            directory: &self.directory,
            boot: &self.boot,
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
            hold: None,
        })
    }

    fn frozen(&self, manifest: &Manifest, hold: Lock) -> Prepared {
        let facts = &manifest.facts;
        Prepared {
            kind: BaseKind::Frozen,
            lowers: self.generations().lowers(manifest),
            bulk: facts.bulk.clone(),
            generation: Some(facts.number),
            notes: facts.notes.clone(),
            minimal_git_stat: facts.minimal_git_stat,
            freeze_later: facts.layers.len() > LAYERS_SOFT_MAX,
            hold: Some(hold),
        }
    }

    fn make_directory(&self) -> Result<(), PrepareError> {
        let mut builder = std::fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)
            .map_err(|source| PrepareError::Disk {
                doing: "make",
                path: self.directory.clone(),
                source,
            })?;
        let root = self.directory.join("root");
        let bytes = self.project.root.as_os_str().as_encoded_bytes();
        if fs_err::read(&root).is_ok_and(|known| known == bytes) {
            return Ok(());
        }
        fs_err::write(&root, bytes).map_err(|source| PrepareError::Disk {
            doing: "write",
            path: root.clone(),
            source,
        })
    }

    fn lock(&self, name: &str, sharing: Sharing) -> Result<Lock, PrepareError> {
        let path = self.directory.join(name);
        Lock::wait(&path, sharing).map_err(|error| PrepareError::Disk {
            doing: "lock",
            path: path.clone(),
            source: error.into(),
        })
    }

    fn attempt(&self, name: &str) -> Result<Option<Lock>, PrepareError> {
        let path = self.directory.join(name);
        Lock::attempt(&path).map_err(|error| PrepareError::Disk {
            doing: "lock",
            path: path.clone(),
            source: error.into(),
        })
    }
}
