//! What a promotion does with git: a commit, a branch, or commits made inside carried over.
//!
//! A commit holds exactly the change that was promoted, merged onto what is committed already, and
//! nothing else: the person's own uncommitted edits stay uncommitted, in the same file too, and what
//! they have staged stays staged. It is put together in an index of its own. A branch is made
//! without touching work tree or index at all.
//!
//! git is run with an environment that only says who the person is. Hooks do not run unless asked
//! for; nothing that merely happens to be in the environment decides where git writes.

mod branch;
mod carry;
mod command;
mod commit;
mod onto;

pub use branch::branch;
pub use carry::{Carried, carry};
pub use commit::commit;

use crate::project::Git;
use agar_core::fault::{self, Fault, Remedy};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Whether the person's hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hooks {
    /// None runs.
    #[default]
    Off,
    /// They run, as they would with `git commit`.
    On,
}

/// Where and as whom git is run.
#[derive(Debug, Clone)]
pub struct Checkout<'a> {
    /// The repository.
    pub git: &'a Git,
    /// The directory that paths are relative to: the project, which may lie below the top level.
    pub root: &'a Path,
    /// The caller's environment; only what says who the person is and where git is gets through.
    pub environment: &'a [(OsString, OsString)],
}

/// What was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The commit's id.
    pub id: String,
    /// The full name of the branch it is on; none with a detached head.
    pub branch: Option<String>,
    /// Paths that are not in it, and why.
    pub left_out: Vec<(PathBuf, Omitted)>,
}

/// Why a path is not in a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Omitted {
    /// git ignores it.
    Ignored,
    /// It is in a submodule, which has commits of its own.
    Submodule,
    /// It meets edits of the person's that are not committed; it is in the work tree only.
    MeetsYours,
}

impl std::fmt::Display for Omitted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ignored => "git ignores it",
            Self::Submodule => "it is in a submodule",
            Self::MeetsYours => "it meets edits of yours that are not committed",
        })
    }
}

/// git did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// git is not there.
    #[error("git is not installed")]
    Missing,
    /// git said no.
    #[error("git {verb} failed: {message}")]
    Failed {
        /// What it was asked.
        verb: &'static str,
        /// The first line it said.
        message: String,
    },
    /// git does not know who the person is.
    #[error("git does not know your name and address yet")]
    Identity,
    /// Another operation is half way.
    #[error("a {operation} is in progress")]
    InProgress {
        /// What: a merge, a rebase.
        operation: &'static str,
    },
    /// There is nothing to commit.
    #[error("there is nothing to commit: git has all of it, or ignores it")]
    Nothing,
    /// The branch is checked out, so that moving it would leave its work tree behind.
    #[error("`{name}` is checked out at {}", at.display())]
    CheckedOut {
        /// The branch.
        name: String,
        /// The work tree.
        at: PathBuf,
    },
    /// The name is not one that a branch can have.
    #[error("`{name}` cannot be the name of a branch")]
    BadName {
        /// The name.
        name: String,
    },
    /// What is on the branch and the change do not go together.
    #[error("{} paths do not merge with `{name}`", paths.len())]
    Conflicts {
        /// The branch.
        name: String,
        /// The paths.
        paths: Vec<PathBuf>,
    },
    /// Commits made inside cannot be carried.
    #[error("the commits made inside cannot be carried: {reason}")]
    Uncarried {
        /// Why.
        reason: String,
    },
    /// The system said no.
    #[error("cannot {doing}")]
    Io {
        /// What agar was doing.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl Fault for GitError {
    fn kind(&self) -> fault::Kind {
        match self {
            Self::Missing => fault::Kind::Unsupported,
            Self::Failed { .. } | Self::Identity | Self::Nothing | Self::Uncarried { .. } => {
                fault::Kind::Refused
            }
            Self::InProgress { .. } | Self::CheckedOut { .. } | Self::Conflicts { .. } => {
                fault::Kind::Conflict
            }
            Self::BadName { .. } => fault::Kind::Invalid,
            Self::Io { .. } => fault::Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        let command = |line: &str| {
            Some(Remedy::Command {
                line: line.to_owned(),
            })
        };
        match self {
            Self::Identity => command("git config --global user.email you@example.com"),
            Self::Conflicts { .. } => Some(Remedy::ChooseSide),
            Self::CheckedOut { .. } => command("agar apply --commit"),
            Self::Missing
            | Self::Failed { .. }
            | Self::InProgress { .. }
            | Self::Nothing
            | Self::BadName { .. }
            | Self::Uncarried { .. }
            | Self::Io { .. } => None,
        }
    }
}
