//! The repository around a project, read from files alone.
//!
//! No git program is started to find out: a repository's own configuration can name programs to
//! run, and agar has not been told that it may run them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// How a work tree is tied to its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitKind {
    /// The usual `.git` directory at the top.
    Plain,
    /// A further work tree of a repository elsewhere (`git worktree add`).
    LinkedWorktree,
    /// A submodule: its git directory is kept by the project around it.
    Submodule,
    /// A `.git` file that points somewhere else (`--separate-git-dir`).
    Separate,
}

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    /// The top level of the work tree.
    pub top: PathBuf,
    /// This work tree's own git directory: `HEAD` and the index are here.
    pub dir: PathBuf,
    /// The directory shared by all work trees: objects and refs are here.
    pub common_dir: PathBuf,
    /// How the work tree is tied to it.
    pub kind: GitKind,
}

impl Git {
    /// The index of this work tree.
    pub fn index(&self) -> PathBuf {
        self.dir.join("index")
    }

    /// Whether every part of the repository lies below a directory.
    pub fn is_within(&self, directory: &Path) -> bool {
        self.dir.starts_with(directory) && self.common_dir.starts_with(directory)
    }
}

/// Whether a directory is the top of a work tree.
pub(super) fn marks(directory: &Path) -> bool {
    let dot_git = directory.join(".git");
    dot_git.join("HEAD").symlink_metadata().is_ok() || pointer(&dot_git).is_some()
}

/// Reads the repository of the work tree at `top`.
pub(super) fn open(top: &Path) -> Option<Git> {
    let dot_git = top.join(".git");
    let pointed = if dot_git.is_dir() {
        None
    } else {
        Some(top.join(pointer(&dot_git)?))
    };
    let dir = pointed.as_deref().unwrap_or(&dot_git);
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let common_dir = match line_of(&dir.join("commondir")) {
        Some(common) => {
            let common = dir.join(common);
            common.canonicalize().unwrap_or(common)
        }
        None => dir.clone(),
    };
    let kind = if pointed.is_none() && common_dir == dir {
        GitKind::Plain
    } else if common_dir != dir {
        GitKind::LinkedWorktree
    } else if dir
        .components()
        .any(|part| part == Component::Normal(OsStr::new("modules")))
    {
        GitKind::Submodule
    } else {
        GitKind::Separate
    };
    Some(Git {
        top: top.to_owned(),
        dir,
        common_dir,
        kind,
    })
}

/// Where a `.git` file points, relative to its directory or absolute.
fn pointer(dot_git: &Path) -> Option<PathBuf> {
    if !dot_git.is_file() {
        return None;
    }
    let text = fs_err::read(dot_git).ok()?;
    let path = text.strip_prefix(b"gitdir:")?.trim_ascii();
    (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
}

fn line_of(file: &Path) -> Option<PathBuf> {
    let text = fs_err::read(file).ok()?;
    let line = text.trim_ascii();
    (!line.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(line)))
}
