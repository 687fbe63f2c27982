//! Carrying changes into the real project, and taking them back.
//!
//! [`Proposal::prepare`] says what would happen and writes nothing. [`Promotions::apply`] does it: after a
//! crash at any point, [`Promotions::recover`] leaves the tree wholly before or wholly after. What was
//! replaced is kept, and [`Promotions::undo`] proposes the way back, which is a promotion like any
//! other and can itself be undone.
//!
//! ```text
//! items ──prepare──▶ Proposal ──apply──▶ <promotions>/<id>/ ──undo──▶ Proposal ──apply──▶ …
//! ```
//!
//! An edit of the person's is never lost: what is merged is checked again at the moment it is
//! replaced, and what was replaced stays on its own inode in the promotion's directory.

mod apply;
mod changes;
mod draft;
mod faults;
mod fingerprint;
mod ground;
mod item;
mod journal;
mod lock;
mod proposal;
mod recover;
mod stage;
mod step;
mod undo;
mod unlock;

pub use changes::items;
pub use faults::{Fate, Faults, NoFaults};
pub use fingerprint::fingerprint;
pub use ground::Stamp;
pub use item::{Content, Item, Source, compare};
pub use journal::Label;
pub(crate) use proposal::is_git;
pub use proposal::{Hunk, Outcome, Planned, PrepareError, Proposal, Reason};
pub use recover::{Recovered, Settled};
pub use undo::{Promotion, Standing, UndoError};

use agar_core::fault::{self, Fault, Remedy};
use agar_core::id::PromotionId;
use faults::{Effects, Halt};
use journal::OPEN;
use lock::Lock;
use recover::Wish;
use std::io;
use std::path::{Path, PathBuf};

/// A proposal was not carried out. Unless it says so, nothing of the project has changed.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Nobody chose a side for some paths.
    #[error("{} need a choice", count(*paths))]
    Conflicts {
        /// How many.
        paths: usize,
    },
    /// The project changed under the proposal.
    #[error("`{}` changed while it was being applied; nothing was written", path.display())]
    Moved {
        /// The path that changed.
        path: PathBuf,
    },
    /// The sandbox changed under the proposal.
    #[error("the sandbox changed `{}` while it was being applied; nothing was written", path.display())]
    SandboxMoved {
        /// The path that changed.
        path: PathBuf,
    },
    /// The file belongs to somebody else, and replacing it would make it the person's.
    #[error("`{}` belongs to another user, and replacing it would change its owner", path.display())]
    Owner {
        /// The path.
        path: PathBuf,
    },
    /// Another agar is changing the project.
    #[error("another agar is changing this project")]
    Busy,
    /// The system said no.
    #[error("cannot apply `{}`", path.display())]
    Io {
        /// The path that was worked on.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It could neither be done nor wholly undone; the next command tries again.
    #[error("cannot apply the changes, nor take them all back yet")]
    Stuck {
        /// Why it was not done.
        source: Box<ApplyError>,
        /// Why it was not undone.
        undoing: io::Error,
    },
    /// It was not done, and paths that somebody changed meanwhile could not be put back.
    #[error("cannot apply the changes; `{}` changed meanwhile and was left as it is", left[0].display())]
    Left {
        /// Why it was not done.
        source: Box<ApplyError>,
        /// The paths.
        left: Vec<PathBuf>,
    },
    /// A test ended the process here.
    #[error("ended by a test")]
    Crashed,
}

fn count(paths: usize) -> String {
    if paths == 1 {
        "1 path".to_owned()
    } else {
        format!("{paths} paths")
    }
}

impl ApplyError {
    fn from_halt(path: &Path, halt: Halt) -> Self {
        match halt {
            Halt::Error(source) => Self::Io {
                path: path.to_path_buf(),
                source,
            },
            Halt::Crash => Self::Crashed,
        }
    }
}

impl Fault for ApplyError {
    fn kind(&self) -> fault::Kind {
        match self {
            Self::Conflicts { .. }
            | Self::Moved { .. }
            | Self::SandboxMoved { .. }
            | Self::Busy => fault::Kind::Conflict,
            Self::Owner { .. } => fault::Kind::Refused,
            Self::Io { source, .. } => io_kind(source),
            Self::Stuck { .. } | Self::Crashed => fault::Kind::Internal,
            Self::Left { source, .. } => source.kind(),
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Conflicts { .. } => Some(Remedy::ChooseSide),
            Self::Moved { .. }
            | Self::SandboxMoved { .. }
            | Self::Owner { .. }
            | Self::Busy
            | Self::Io { .. }
            | Self::Stuck { .. }
            | Self::Left { .. }
            | Self::Crashed => None,
        }
    }
}

/// Whose move it is when the system says no.
fn io_kind(error: &io::Error) -> fault::Kind {
    const REFUSED: [io::ErrorKind; 2] = [
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::ReadOnlyFilesystem,
    ];
    const LIMIT: [io::ErrorKind; 2] = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
    if REFUSED.contains(&error.kind()) {
        fault::Kind::Refused
    } else if LIMIT.contains(&error.kind()) {
        fault::Kind::Limit
    } else if error.kind() == io::ErrorKind::ResourceBusy {
        fault::Kind::Conflict
    } else {
        fault::Kind::Internal
    }
}

/// A promotion was found open and could not be settled.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The system said no.
    #[error("cannot settle the promotion in {}", directory.display())]
    Io {
        /// Its directory.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A test ended the process here.
    #[error("ended by a test")]
    Crashed,
}

impl Fault for RecoverError {
    fn kind(&self) -> fault::Kind {
        match self {
            Self::Io { source, .. } => io_kind(source),
            Self::Crashed => fault::Kind::Internal,
        }
    }
}

/// What was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The promotion, to undo it by name; none when there was nothing to write.
    pub promotion: Option<PromotionId>,
    /// The paths written or removed.
    pub paths: Vec<PathBuf>,
    /// Promotions of an earlier process that were settled first.
    pub recovered: Vec<Recovered>,
}

/// The promotions of one project, in `<state>/projects/<id>/promotions`.
#[derive(Debug, Clone)]
pub struct Promotions {
    directory: PathBuf,
}

impl Promotions {
    /// The promotions kept in a directory, which need not exist yet.
    pub fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
        }
    }

    /// Carries out a proposal: all of it, or nothing.
    pub fn apply(&self, proposal: &Proposal, label: &Label) -> Result<Applied, ApplyError> {
        self.apply_with(proposal, label, &NoFaults)
    }

    /// The same, with faults.
    pub fn apply_with(
        &self,
        proposal: &Proposal,
        label: &Label,
        faults: &dyn Faults,
    ) -> Result<Applied, ApplyError> {
        let paths = proposal.conflicts().count();
        if paths > 0 {
            return Err(ApplyError::Conflicts { paths });
        }
        let failed = |source| ApplyError::Io {
            path: self.directory.clone(),
            source,
        };
        self.make_directory().map_err(failed)?;
        let lock = Lock::take(&self.directory).map_err(failed)?;
        let _lock = lock.ok_or(ApplyError::Busy)?;
        let recovered = self
            .settle_all(Some(proposal.ground.path()), Effects(faults))
            .map_err(|error| match error {
                RecoverError::Io { directory, source } => ApplyError::Io {
                    path: directory,
                    source,
                },
                RecoverError::Crashed => ApplyError::Crashed,
            })?;
        if proposal.is_empty() {
            return Ok(Applied {
                promotion: None,
                paths: Vec::new(),
                recovered,
            });
        }
        let effects = Effects(faults);
        let attempt = apply::Attempt::new(proposal, label, &self.directory, effects);
        let open = attempt.directory().to_path_buf();
        match attempt.run() {
            Ok(()) => {}
            Err(ApplyError::Crashed) => return Err(ApplyError::Crashed),
            Err(error) => give_up(&open, error, proposal.ground.path(), effects)?,
        }
        Ok(Applied {
            promotion: Some(label.id),
            paths: proposal.written().map(Path::to_path_buf).collect(),
            recovered,
        })
    }

    /// Settles every promotion that a dead process left open: finishes it or reverses it.
    ///
    /// Cheap when there is none: one look at a directory. A promotion that a living process is at
    /// work on is left to it. `root` is where the project is now, in case it has been moved.
    pub fn recover(&self, root: Option<&Path>) -> Result<Vec<Recovered>, RecoverError> {
        self.recover_with(root, &NoFaults)
    }

    /// The same, with faults.
    pub fn recover_with(
        &self,
        root: Option<&Path>,
        faults: &dyn Faults,
    ) -> Result<Vec<Recovered>, RecoverError> {
        if self
            .open_ones()
            .map_err(|source| self.unsettled(source))?
            .is_empty()
        {
            return Ok(Vec::new());
        }
        let lock = Lock::take(&self.directory).map_err(|source| self.unsettled(source))?;
        if lock.is_none() {
            return Ok(Vec::new());
        }
        self.settle_all(root, Effects(faults))
    }

    fn unsettled(&self, source: io::Error) -> RecoverError {
        RecoverError::Io {
            directory: self.directory.clone(),
            source,
        }
    }

    fn settle_all(
        &self,
        root: Option<&Path>,
        effects: Effects<'_>,
    ) -> Result<Vec<Recovered>, RecoverError> {
        let mut recovered = Vec::new();
        for directory in self.open_ones().map_err(|source| self.unsettled(source))? {
            match recover::settle(&directory, Wish::Whichever, root, effects) {
                Ok(settled) => recovered.push(settled),
                Err(Halt::Error(source)) => return Err(RecoverError::Io { directory, source }),
                Err(Halt::Crash) => return Err(RecoverError::Crashed),
            }
        }
        Ok(recovered)
    }

    /// The directories of promotions that are not settled, the oldest first.
    fn open_ones(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs_err::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut open = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            if name.as_encoded_bytes().ends_with(OPEN.as_bytes()) {
                open.push(entry.path());
            }
        }
        open.sort();
        Ok(open)
    }

    fn make_directory(&self) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.directory)
    }
}

/// Reverses a promotion that failed, unless it failed after all was done.
fn give_up(
    open: &Path,
    error: ApplyError,
    root: &Path,
    effects: Effects<'_>,
) -> Result<(), ApplyError> {
    if !open.exists() {
        return Err(error);
    }
    match recover::settle(open, Wish::Reverse, Some(root), effects) {
        Ok(settled) if settled.settled == Settled::Finished => Ok(()),
        Ok(settled) if settled.left.is_empty() => Err(error),
        Ok(settled) => Err(ApplyError::Left {
            source: Box::new(error),
            left: settled.left,
        }),
        Err(Halt::Error(undoing)) => Err(ApplyError::Stuck {
            source: Box::new(error),
            undoing,
        }),
        Err(Halt::Crash) => Err(ApplyError::Crashed),
    }
}
