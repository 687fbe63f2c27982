//! What a sandbox did to git repositories: refs and commits, never files.

use super::Unread;
use crate::stack::Stack;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What happened to one repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repository {
    /// Its git directory, absolute, as the sandbox and the host both name it.
    #[serde(with = "crate::spelling::path")]
    pub directory: PathBuf,
    /// Whether it is not the project's own, nor within the project.
    pub outside: bool,
    /// Whether the git directory was deleted.
    pub deleted: bool,
    /// The refs that differ, `HEAD` among them.
    pub refs: Vec<RefChange>,
    /// Commits that no ref of the base reaches, newest first.
    pub commits: Vec<Commit>,
    /// Why `commits` is not the whole list, when it is not.
    pub incomplete: Option<String>,
    /// What changed in it that never leaves the sandbox: hooks, configuration and the like.
    #[serde(with = "crate::spelling::paths")]
    pub kept_back: Vec<PathBuf>,
    /// The object directories of the layers, topmost first, that hold the commits.
    #[serde(skip)]
    pub objects: Vec<PathBuf>,
}

/// A ref that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefChange {
    /// The full name: `refs/heads/main`, `HEAD`.
    pub name: String,
    /// What it pointed to: an object id, or `ref: …`; `None` when it was not there.
    pub before: Option<String>,
    /// What it points to.
    pub after: Option<String>,
}

/// A commit made inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Commit {
    /// The object id.
    pub id: String,
    /// The ids of its parents.
    pub parents: Vec<String>,
    /// The author's name, as far as it is text.
    pub author: String,
    /// When it was written, in seconds since 1970.
    pub time: i64,
    /// The first line of the message.
    pub subject: String,
}

/// Compares the git directories that a sandbox wrote to.
pub(super) fn compare(
    _stacks: &[Stack],
    _touched: &BTreeSet<PathBuf>,
    _unread: &mut Vec<Unread>,
) -> Vec<Repository> {
    Vec::new()
}
