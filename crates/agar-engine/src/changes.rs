//! The change set of a sandbox, computed and shown.

use crate::Engine;
use crate::answer::{BulkView, ChangeKind, ChangeView, ChangedFile, CommitView};
use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::view::shown as path_shown;
use crate::whereabouts;
use agar_core::state::State;
use agar_core::text::printable;
use agar_sandbox::change::git::Repository;
use agar_sandbox::change::{Action, Change, ChangeSet, Options, Side, unified};
use agar_sandbox::layer::Kind;
use agar_store::Sandbox;
use std::path::{Path, PathBuf};

/// Computes what a sandbox changed.
pub(crate) fn of(engine: &Engine, blueprint: &Blueprint) -> Result<ChangeSet, EngineError> {
    computed(engine.here()?, blueprint)
}

/// The same where there is no caller.
pub(crate) fn computed(here: &Here, blueprint: &Blueprint) -> Result<ChangeSet, EngineError> {
    let inside = &blueprint.root;
    let blueprint = &whereabouts::outside(here, blueprint.clone());
    let masked = |path: &Path| blueprint.masks.iter().any(|mask| path == mask);
    let copied = blueprint.copied();
    let options = Options {
        masked: Some(&masked),
        copied: copied.as_ref(),
        ..Options::default()
    };
    let mut set = ChangeSet::compute(&blueprint.stacks, &options)?;
    if *inside != blueprint.root {
        // Inside, the project is where it was, and directories were made to hold it.
        let holds = |change: &Change| inside.starts_with(&change.absolute);
        set.outside
            .retain(|change| change.action != Action::Added || !holds(change));
    }
    Ok(set)
}

/// Computes everything that a promotion might carry: deleted directories in full. The sandbox is given
/// as it is seen from outside.
pub(crate) fn whole(_engine: &Engine, blueprint: &Blueprint) -> Result<ChangeSet, EngineError> {
    let masked = |path: &Path| blueprint.masks.iter().any(|mask| path == mask);
    let copied = blueprint.copied();
    let options = Options {
        masked: Some(&masked),
        copied: copied.as_ref(),
        lines: false,
        listed_max: usize::MAX,
        ..Options::default()
    };
    Ok(ChangeSet::compute(&blueprint.stacks, &options)?)
}

/// A change set as the faces show it.
pub(crate) fn shown(set: &ChangeSet) -> ChangeView {
    let listed = |changes: &[Change]| -> Vec<ChangedFile> {
        changes
            .iter()
            .filter(|change| !change.masked)
            .map(file)
            .collect()
    };
    let all = || set.project.iter().chain(&set.outside);
    let lines = |pick: fn(&agar_sandbox::change::Lines) -> u64| {
        set.project
            .iter()
            .filter(|change| !change.masked)
            .filter_map(|change| change.lines.as_ref())
            .map(pick)
            .sum()
    };
    ChangeView {
        files: listed(&set.project),
        outside: listed(&set.outside),
        masked: all()
            .filter(|change| change.masked)
            .map(|change| path_shown(&change.path))
            .collect(),
        bulk: set
            .bulk
            .iter()
            .map(|bulk| BulkView {
                path: path_shown(&bulk.path),
                added: bulk.tally.added,
                modified: bulk.tally.modified,
                deleted: bulk.tally.deleted,
                bytes: bulk.tally.bytes,
            })
            .collect(),
        commits: set.repositories.iter().flat_map(commits).collect(),
        unread: set
            .unread
            .iter()
            .map(|unread| format!("{}: {}", path_shown(&unread.path), unread.reason))
            .collect(),
        lines_added: lines(|lines| lines.added),
        lines_removed: lines(|lines| lines.removed),
    }
}

fn file(change: &Change) -> ChangedFile {
    let word = |side: &Option<Side>| {
        side.as_ref()
            .map_or("nothing", |side| kind_word(side.kind))
            .to_owned()
    };
    let mode = |side: &Option<Side>| {
        side.as_ref()
            .map_or_else(String::new, |side| format!("{:04o}", side.mode & 0o7777))
    };
    let kind = match &change.action {
        Action::Added => ChangeKind::Added,
        Action::Modified => ChangeKind::Modified,
        Action::Deleted => ChangeKind::Deleted,
        Action::Renamed { from, .. } => ChangeKind::Renamed {
            from: path_shown(from),
        },
        Action::ModeChanged => ChangeKind::Mode {
            from: mode(&change.before),
            to: mode(&change.after),
        },
        Action::TypeChanged => ChangeKind::Retyped {
            from: word(&change.before),
            to: word(&change.after),
        },
    };
    ChangedFile {
        path: path_shown(&change.path),
        kind,
        what: change.kind().map_or("nothing", kind_word).to_owned(),
        added: change.lines.as_ref().map(|lines| lines.added),
        removed: change.lines.as_ref().map(|lines| lines.removed),
        binary: change.binary,
        bytes: change.after.as_ref().map_or(0, |side| side.size),
    }
}

/// The commits made inside a repository, each with a reference that leads to it.
fn commits(repository: &Repository) -> Vec<CommitView> {
    let reference = |id: &str| {
        let at = repository
            .refs
            .iter()
            .find(|change| change.after.as_deref() == Some(id));
        at.or(repository.refs.first())
            .map_or("HEAD", |change| change.name.as_str())
            .to_owned()
    };
    repository
        .commits
        .iter()
        .map(|commit| CommitView {
            id: commit.id.clone(),
            subject: printable(&commit.subject).into_owned(),
            reference: reference(&commit.id),
        })
        .collect()
}

/// The word for a kind of file.
pub(crate) const fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Directory => "directory",
        Kind::Symlink => "symlink",
        Kind::Fifo => "fifo",
        Kind::Socket => "socket",
        Kind::Device => "device",
    }
}

/// The parts of a sandbox whose layers are still there.
pub(crate) fn kept(record: &Sandbox, doing: &'static str) -> Result<Blueprint, EngineError> {
    if record.state == State::Collected {
        return Err(EngineError::WrongState {
            doing,
            alias: record.alias.clone(),
            state: record.state,
        });
    }
    Blueprint::of(record)
}

/// Leaves only the changes at or below these paths, which are relative to the project or absolute.
pub(crate) fn restrict(set: &mut ChangeSet, paths: &[String], root: &Path) {
    if paths.is_empty() {
        return;
    }
    let wanted: Vec<PathBuf> = paths.iter().map(|path| root.join(path)).collect();
    let keep = |change: &Change| {
        wanted
            .iter()
            .any(|wanted| change.absolute.starts_with(wanted))
    };
    set.project.retain(keep);
    set.outside.retain(keep);
    set.bulk.retain(|bulk| {
        wanted
            .iter()
            .any(|wanted| bulk.absolute.starts_with(wanted))
    });
}

/// The unified diff of a change set, as `git apply` takes it.
pub(crate) fn patch(set: &ChangeSet, context: usize, outside: bool) -> Result<String, EngineError> {
    let mut text = Vec::new();
    let elsewhere = set.outside.iter().filter(|_| outside);
    for change in set.project.iter().chain(elsewhere) {
        let diff = unified(change, context, TEXT_BYTES_MAX).map_err(|source| EngineError::Io {
            doing: format!("compare {}", path_shown(&change.path)),
            source,
        })?;
        text.extend_from_slice(&diff.bytes);
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Files longer than this are compared, but not shown line by line.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// How many paths of the project changed, if a glance can tell.
pub(crate) fn count(blueprint: &Blueprint) -> Option<u64> {
    let stack = blueprint.project_stack()?;
    let copied = blueprint.copied();
    let options = Options {
        copied: copied.as_ref(),
        renames: false,
        lines: false,
        git: false,
        ..Options::default()
    };
    let set = ChangeSet::compute(std::slice::from_ref(stack), &options).ok()?;
    Some(set.project.len() as u64)
}
