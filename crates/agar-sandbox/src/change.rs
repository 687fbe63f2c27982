//! The difference between a sandbox and its base, as data.
//!
//! Only the upper layers are walked, so the cost follows the size of the change and not the size of
//! the project. What the kernel copied up without a difference (a touched file, a file opened for
//! writing and left alone) is not a change.
//!
//! Changes to the project stand apart from those outside it, which are never applied unless named,
//! and from bulk (`target/`, `node_modules/`), which is counted rather than listed. `.git` is never
//! a set of files: what happened to a repository is told as refs and commits.

mod content;
mod copied;
pub mod git;
mod json;
mod lines;
mod quote;
mod rename;
mod stat;
mod unified;
mod walk;

pub use copied::Copied;
pub use lines::Lines;
pub use quote::quote;
pub use stat::{Stat, StatRow};
pub use unified::{Notice, Unified, unified};

use crate::layer::{Entry, Kind, Place, ViewError};
use crate::stack::{Role, Stack};
use agar_core::fault::{self, Fault};
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How much of the project's changed files is read to count lines, the first by path before the
/// rest. Past it, sizes are all that is told.
const PROJECT_BYTES_MAX: u64 = 256 << 20;

/// The same outside the project, where caches of tools are most of what changes.
const OUTSIDE_BYTES_MAX: u64 = 8 << 20;

/// The difference between a sandbox and its base.
///
/// It serialises to this shape, which is stable; fields may be added, never renamed:
///
/// ```json
/// {
///   "project": [{
///     "path": "src/lib.rs",
///     "action": "renamed", "from": "src/old.rs", "similarity": 87,
///     "role": "project", "masked": false, "binary": false,
///     "lines": {"added": 4, "removed": 1},
///     "before": {"kind": "file", "mode": "0644", "size": 120},
///     "after":  {"kind": "file", "mode": "0644", "size": 155}
///   }],
///   "outside": [],
///   "bulk": [{"path": "target", "tally": {"added": 12, "modified": 3, "deleted": 0, "bytes": 8190}}],
///   "repositories": [{
///     "directory": "/home/ann/shop/.git", "outside": false, "deleted": false,
///     "refs": [{"name": "refs/heads/main", "before": "1f0c…", "after": "9d2e…"}],
///     "commits": [{
///       "id": "9d2e…", "parents": ["1f0c…"], "author": "Ann", "time": 1700000000,
///       "subject": "fix the cart"
///     }],
///     "incomplete": null, "kept_back": ["hooks/post-checkout"]
///   }],
///   "unread": [{"path": "/home/ann/shop/locked", "reason": "Permission denied (os error 13)"}]
/// }
/// ```
///
/// `action` is one of `added`, `modified`, `deleted`, `renamed`, `mode_changed`, `type_changed`.
/// Project and bulk paths are relative to the project, outside paths absolute. A path that is not
/// UTF-8 is printable in `path`, and exact in `path_base64` beside it (likewise `from_base64`,
/// `target_base64`). A symbolic link's side carries `target`; a deleted directory carries `below`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChangeSet {
    /// Changes to the project, by path; a directory comes before what it holds.
    pub project: Vec<Change>,
    /// Changes elsewhere on the machine, by path.
    pub outside: Vec<Change>,
    /// Changes to ignored directories, summed up.
    pub bulk: Vec<Bulk>,
    /// What happened to git repositories.
    pub repositories: Vec<git::Repository>,
    /// What could not be read, and therefore may hide changes.
    pub unread: Vec<Unread>,
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Relative to the project for changes to it, absolute outside.
    pub path: PathBuf,
    /// The absolute path on the host.
    pub absolute: PathBuf,
    /// Which overlay it lies in.
    pub role: Role,
    /// What happened.
    pub action: Action,
    /// What was there; `None` when nothing was. For a rename, what was at the old path.
    pub before: Option<Side>,
    /// What is there; `None` when nothing is.
    pub after: Option<Side>,
    /// Lines added and removed, for text that is not too large.
    pub lines: Option<Lines>,
    /// Whether either side is a file that is not text.
    pub binary: bool,
    /// Whether the sandbox could not see what was here, so that it is never applied unless named.
    pub masked: bool,
    /// For a deleted directory, what it held.
    pub below: Option<Below>,
}

/// What happened to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nothing was there.
    Added,
    /// The content differs, and perhaps the mode.
    Modified,
    /// Nothing is there now.
    Deleted,
    /// It was at another path, perhaps with other content.
    Renamed {
        /// The old path, relative as [`Change::path`] is.
        from: PathBuf,
        /// The old path on the host.
        from_absolute: PathBuf,
        /// How much of it is the same, in percent.
        similarity: u8,
    },
    /// Only the permission bits differ.
    ModeChanged,
    /// A file became a link, a link a directory, and so on.
    TypeChanged,
}

/// One side of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// What it is.
    pub kind: Kind,
    /// Its permission bits.
    pub mode: u32,
    /// Its length in bytes.
    pub size: u64,
    /// Where a symbolic link points.
    pub target: Option<OsString>,
    /// Where it lies on disk.
    pub place: Place,
}

/// What a deleted directory held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Below {
    /// Entries that are not directories.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// The length of its files.
    pub bytes: u64,
    /// How many of these entries are listed as changes of their own. Fewer than `files` and
    /// `directories` together when [`Options::listed_max`] cut the list short.
    pub listed: u64,
}

/// Changes to one ignored directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bulk {
    /// Relative to the project.
    pub path: PathBuf,
    /// The absolute path on the host.
    pub absolute: PathBuf,
    /// How many.
    pub tally: Tally,
    /// Each of them, when [`Options::bulk_detail`] asked.
    pub changes: Vec<Change>,
}

/// Changes, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Files that were not there.
    pub added: u64,
    /// Files that differ, or were written to at all where contents are not compared.
    pub modified: u64,
    /// Files that are gone; a deleted directory counts once.
    pub deleted: u64,
    /// The length of what was added or modified.
    pub bytes: u64,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The absolute path on the host.
    pub path: PathBuf,
    /// Why, in words.
    pub reason: String,
}

/// A question about a path on the host.
pub type Predicate<'a> = &'a dyn Fn(&Path) -> bool;

/// How much to look at.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Whether an absolute path was hidden from the sandbox. It is asked for a directory before
    /// what it holds, and what a masked directory holds is masked.
    pub masked: Option<Predicate<'a>>,
    /// Whether an absolute path of the project is bulk although it has no overlay of its own.
    pub bulk: Option<Predicate<'a>>,
    /// Where the project's upper layer is a copy of all of it: what that was to begin with.
    pub copied: Option<&'a Copied>,
    /// How much to say of bulk.
    pub bulk_detail: Detail,
    /// Whether to recognise renames.
    pub renames: bool,
    /// Whether to count lines.
    pub lines: bool,
    /// Whether to look at git repositories.
    pub git: bool,
    /// How many entries below one deleted directory are listed; the rest is counted.
    pub listed_max: usize,
    /// Files longer than this are compared, but not diffed.
    pub text_bytes_max: u64,
}

/// How much to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Only numbers.
    Summary,
    /// Each change.
    Full,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            masked: None,
            bulk: None,
            copied: None,
            bulk_detail: Detail::Summary,
            renames: true,
            lines: true,
            git: true,
            listed_max: 10_000,
            text_bytes_max: 4 << 20,
        }
    }
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("masked", &self.masked.is_some())
            .field("bulk", &self.bulk.is_some())
            .field("copied", &self.copied.is_some())
            .field("bulk_detail", &self.bulk_detail)
            .field("renames", &self.renames)
            .field("lines", &self.lines)
            .field("git", &self.git)
            .field("listed_max", &self.listed_max)
            .field("text_bytes_max", &self.text_bytes_max)
            .finish()
    }
}

/// A change set could not be computed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// A layer is missing or was not made by agar.
    #[error("cannot tell what changed in {}", target.display())]
    Layer {
        /// Where the overlay appears.
        target: PathBuf,
        /// Which layer and why.
        source: ViewError,
    },
}

impl Fault for ChangeError {
    fn kind(&self) -> fault::Kind {
        match self {
            Self::Layer { source, .. } => source.kind(),
        }
    }
}

impl ChangeSet {
    /// Computes the difference between a sandbox and its base.
    ///
    /// A sandbox that is running may be looked at; what moves meanwhile is seen before or after,
    /// or not at all.
    pub fn compute(stacks: &[Stack], options: &Options<'_>) -> Result<Self, ChangeError> {
        let mut set = walk::walk(stacks, options)?;
        if options.renames {
            rename::join(&mut set.project, options.text_bytes_max);
            rename::join(&mut set.outside, options.text_bytes_max);
        }
        if options.lines {
            lines::count_all(&mut set.project, options.text_bytes_max, PROJECT_BYTES_MAX);
            lines::count_all(&mut set.outside, options.text_bytes_max, OUTSIDE_BYTES_MAX);
        }
        Ok(set)
    }

    /// Whether nothing changed in the project, bulk and repositories included.
    pub fn is_empty(&self) -> bool {
        self.project.is_empty() && self.bulk.is_empty() && self.repositories.is_empty()
    }

    /// The change to a path, written as [`Change::path`] is.
    pub fn get(&self, path: &Path) -> Option<&Change> {
        self.project
            .iter()
            .chain(&self.outside)
            .find(|change| change.path == path)
    }
}

impl Change {
    /// What the path is now, or was when it is gone.
    pub fn kind(&self) -> Option<Kind> {
        self.after
            .as_ref()
            .or(self.before.as_ref())
            .map(|side| side.kind)
    }

    /// Whether this is about a directory and nothing else.
    pub fn is_directory(&self) -> bool {
        let directory = |side: &Option<Side>| {
            side.as_ref()
                .is_none_or(|side| side.kind == Kind::Directory)
        };
        directory(&self.before) && directory(&self.after)
    }

    /// Whether the permission bits of a file or directory differ.
    pub fn mode_differs(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                before.kind == after.kind
                    && before.kind != Kind::Symlink
                    && before.mode != after.mode
            }
            (None, _) | (_, None) => false,
        }
    }
}

impl Action {
    /// The stable word for programs.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Renamed { .. } => "renamed",
            Self::ModeChanged => "mode_changed",
            Self::TypeChanged => "type_changed",
        }
    }

    /// The letter that git uses.
    pub const fn letter(&self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified | Self::ModeChanged => 'M',
            Self::Deleted => 'D',
            Self::Renamed { .. } => 'R',
            Self::TypeChanged => 'T',
        }
    }
}

impl Side {
    /// The side that an entry of a view makes.
    pub fn of(entry: Entry) -> Self {
        let target = match entry.kind {
            // A link that vanished while we looked has no target to tell.
            Kind::Symlink => entry.place.read_link().ok(),
            Kind::File | Kind::Directory | Kind::Fifo | Kind::Socket | Kind::Device => None,
        };
        Self {
            kind: entry.kind,
            mode: entry.mode,
            size: entry.size,
            target,
            place: entry.place,
        }
    }
}

#[cfg(test)]
mod tests;
