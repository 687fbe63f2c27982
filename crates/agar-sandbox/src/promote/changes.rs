//! From a change set to the items of a promotion.

use super::item::{Content, Item, Source};
use crate::change::{Action, Change, Side};
use crate::layer::Kind;
use crate::merge::Special;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The items that a list of changes comes to.
///
/// `base_moved` says of a path, written as [`Change::path`] is, whether the base was live and the
/// person has changed it since the sandbox began: then what both started from is lost. Deleted
/// directories must be listed in full (`listed_max`), or what they held stays.
pub fn items<'a>(
    changes: impl IntoIterator<Item = &'a Change>,
    base_moved: &dyn Fn(&Path) -> bool,
) -> Vec<Item> {
    let mut items = Vec::new();
    for change in changes {
        let base = |path: &Path| {
            if base_moved(path) {
                Source::Unknown
            } else {
                source(change.before.as_ref())
            }
        };
        let theirs = source(change.after.as_ref());
        let (masked, path) = (change.masked, change.path.clone());
        match &change.action {
            Action::Renamed { from, .. } => {
                items.push(Item {
                    path: from.clone(),
                    base: base(from),
                    theirs: Source::Nothing,
                    masked,
                    from: None,
                });
                items.push(Item {
                    path,
                    base: Source::Nothing,
                    theirs,
                    masked,
                    from: Some(from.clone()),
                });
            }
            Action::Added
            | Action::Modified
            | Action::Deleted
            | Action::ModeChanged
            | Action::TypeChanged => items.push(Item {
                base: base(&change.path),
                path,
                theirs,
                masked,
                from: None,
            }),
        }
    }
    items
}

fn source(side: Option<&Side>) -> Source {
    let Some(side) = side else {
        return Source::Nothing;
    };
    match side.kind {
        Kind::File => Source::File {
            mode: side.mode,
            content: Content::beneath(side.place.root(), side.place.path()),
        },
        Kind::Directory => Source::Directory(side.mode),
        Kind::Symlink => match &side.target {
            Some(target) => Source::Symlink(target.as_bytes().to_vec()),
            // It vanished while it was looked at; whatever it is now is not what was shown.
            None => Source::Unknown,
        },
        Kind::Fifo => Source::Special(Special::Fifo),
        Kind::Socket => Source::Special(Special::Socket),
        Kind::Device => Source::Special(Special::Device),
    }
}
