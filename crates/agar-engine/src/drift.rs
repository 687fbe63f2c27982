//! A guard over a live base: what the person changed after the sandbox began.
//!
//! Only the paths of the change set are looked at, so that the cost follows the change and not the
//! project. The kernel stamps every change with its own clock, which nobody can turn back: a file or
//! a directory with a stamp later than the sandbox is not what both sides started from. The reasons
//! are in `docs/decisions/0006-drift-of-a-live-base.md`.

use crate::blueprint::Blueprint;
use agar_core::seam::Timestamp;
use agar_core::walls::BaseKind;
use agar_sandbox::stack::Stack;
use agar_store::Sandbox;
use rustix::io::Errno;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Which paths of a live base the person changed after the sandbox began.
pub(crate) struct Drift<'a> {
    root: &'a Path,
    /// Where the sandbox's changes lie, and since when the base was live; nothing for a base that was
    /// frozen from the beginning, which does not move.
    live: Option<(Vec<&'a Path>, Timestamp)>,
    /// Whether the project is not where it was when the sandbox was made.
    moved: bool,
}

impl<'a> Drift<'a> {
    pub(crate) fn of(record: &Sandbox, blueprint: &'a Blueprint) -> Self {
        let since = match record.base {
            BaseKind::Live => Some(record.created),
            // Frozen by a later snapshot: what the person changed before that is in the picture, and
            // the sandbox may have started from something else.
            BaseKind::Frozen => blueprint.live_since,
        };
        let written = blueprint.project_stack().map(Stack::written);
        Self {
            root: &blueprint.root,
            live: written.map(Iterator::collect).zip(since),
            moved: Blueprint::of(record).is_ok_and(|made| made.root != blueprint.root),
        }
    }

    /// Whether a path relative to the project was changed, or may have been deleted.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let Some((written, since)) = &self.live else {
            return false;
        };
        match self.root.join(path).symlink_metadata() {
            Ok(metadata) => !metadata.is_dir() && is_later(&metadata, *since),
            Err(_) => written
                .iter()
                .any(|layer| self.may_be_deleted(layer, path, *since)),
        }
    }

    /// Whether something that is not there now may have been there when the sandbox began.
    fn may_be_deleted(&self, upper: &Path, path: &Path, since: Timestamp) -> bool {
        let written = upper.join(path);
        let holds_something = written.symlink_metadata().is_ok_and(|metadata| {
            // A directory holds nothing of its own; deleted on both sides is no loss.
            metadata.is_file() || metadata.is_symlink()
        });
        if !holds_something {
            return false;
        }
        if was_below(&written) {
            return true;
        }
        // A file that was written anew, perhaps over one that was there: nothing was deleted beside
        // it if its directory has not changed since.
        let Some(parent) = path.parent() else {
            return false;
        };
        match self.root.join(parent).symlink_metadata() {
            // To move a directory is a change to it, which tells nothing about what is in it.
            Ok(metadata) if self.moved && parent.as_os_str().is_empty() => {
                is_later_than((metadata.mtime(), metadata.mtime_nsec()), since)
            }
            Ok(metadata) => is_later(&metadata, since),
            Err(_) => was_below(&upper.join(parent)),
        }
    }
}

/// The marks that the kernel leaves on what it copied up, and on a directory put over another.
const MARKS: [&str; 4] = [
    "user.overlay.origin",
    "trusted.overlay.origin",
    "user.overlay.opaque",
    "trusted.overlay.opaque",
];

/// Whether something stood below an entry of the upper layer when it was made.
fn was_below(written: &Path) -> bool {
    MARKS.iter().any(|mark| {
        let size = rustix::fs::lgetxattr(written, *mark, &mut [0_u8; 0][..]);
        matches!(size, Ok(_) | Err(Errno::RANGE))
    })
}

/// Whether a file or directory was changed after a moment.
fn is_later(metadata: &Metadata, since: Timestamp) -> bool {
    is_later_than((metadata.ctime(), metadata.ctime_nsec()), since)
}

const fn is_later_than((seconds, nanos): (i64, i64), since: Timestamp) -> bool {
    let millis = seconds * 1000 + nanos / 1_000_000;
    millis.unsigned_abs() > since.millis()
}

/// Whether a file was changed after a moment.
pub(crate) fn is_newer(path: &Path, since: Timestamp) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| !metadata.is_dir() && is_later(&metadata, since))
}
