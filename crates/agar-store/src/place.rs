//! Where a project is, and how it is recognised after it moved.

use std::path::PathBuf;

/// A directory as the filesystem knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The absolute path, without symlinks.
    pub path: PathBuf,
    /// The number of its filesystem.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// When it was made, in nanoseconds since 1970, where the filesystem knows. Numbers of deleted
    /// directories are given out again; together with the birth they are not.
    pub born_ns: Option<i64>,
    /// The repository it belongs to, where it is a git work tree or lies in one.
    pub repository: Option<Repository>,
}

/// A git repository, the same one for all its linked worktrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The absolute path of the common directory (`git rev-parse --git-common-dir`).
    pub common_dir: PathBuf,
    /// The number of its filesystem.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Where the project lies below the top of the work tree; empty for the top itself.
    pub within: PathBuf,
}
