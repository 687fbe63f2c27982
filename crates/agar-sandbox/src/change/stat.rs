//! The numbers of `--stat`.

use super::{Action, Change, ChangeSet, Lines};
use serde::Serialize;

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatRow<'a> {
    /// The change.
    pub change: &'a Change,
    /// Lines added and removed, when it is text.
    pub lines: Option<Lines>,
    /// The length before, when something was there.
    pub size_before: Option<u64>,
    /// The length after, when something is there.
    pub size_after: Option<u64>,
}

/// The table: a row for each changed path that is not a directory, and the sums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stat<'a> {
    /// The rows, by path.
    pub rows: Vec<StatRow<'a>>,
    /// The sums.
    pub total: Total,
}

/// The sums of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    /// Changed paths, also those too many to list.
    pub files: u64,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

impl ChangeSet {
    /// The table of the project's changes.
    pub fn stat(&self) -> Stat<'_> {
        Stat::of(&self.project)
    }
}

impl<'a> Stat<'a> {
    /// The table of some changes.
    pub fn of(changes: impl IntoIterator<Item = &'a Change>) -> Self {
        let mut stat = Self::default();
        for change in changes {
            stat.total.files += change.unlisted_files();
            if change.is_directory() && change.action != Action::ModeChanged {
                continue;
            }
            stat.total.files += 1;
            if let Some(lines) = change.lines {
                stat.total.added += lines.added;
                stat.total.removed += lines.removed;
            }
            stat.rows.push(StatRow {
                change,
                lines: change.lines,
                size_before: change.before.as_ref().map(|side| side.size),
                size_after: change.after.as_ref().map(|side| side.size),
            });
        }
        stat
    }
}

impl Change {
    /// How many entries below a deleted directory were counted but not listed.
    pub fn unlisted_files(&self) -> u64 {
        self.below.map_or(0, |below| {
            (below.files + below.directories).saturating_sub(below.listed)
        })
    }
}
