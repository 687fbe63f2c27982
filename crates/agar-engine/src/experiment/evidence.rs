//! Everything that is known about a run once it has ended.

use crate::answer::{ChangeKind, ChangeView};
use crate::beneath;
use crate::blueprint::Blueprint;
use crate::check::CheckView;
use crate::failure::EngineError;
use crate::here::Here;
use crate::{changes, drive};
use agar_core::run::{End, Usage};
use agar_core::seam::Timestamp;
use agar_core::state::State;
use agar_memory::{PackageMove, packages};
use agar_sandbox::stack::Role;
use agar_store::{Run, Sandbox};
use std::path::Path;

/// Larger files are not looked into for versions.
const MANIFEST_BYTES_MAX: usize = 8 << 20;
/// How much of a run's output is looked at.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// What a run left behind, gathered from the record and the layers.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// The runs of the same experiment that came before.
    earlier: Vec<Run>,
    argv: Vec<String>,
    started: Timestamp,
    end: End,
    usage: Usage,
    output: String,
    changed: Vec<String>,
    packages: Vec<PackageMove>,
    /// Whether checks that should have run did not.
    pub(crate) checks_missing: bool,
}

/// What a run left behind, with what its checks say.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) earlier: &'a [Run],
    pub(crate) argv: &'a [String],
    pub(crate) started: Timestamp,
    pub(crate) end: &'a End,
    pub(crate) usage: Usage,
    pub(crate) output: &'a str,
    pub(crate) changed: &'a [String],
    pub(crate) packages: &'a [PackageMove],
    pub(crate) checks: &'a [CheckView],
    pub(crate) checks_missing: bool,
}

impl Gathered {
    /// Looks at the record, the log and, while they are there, the layers.
    pub(crate) fn of(
        here: &Here,
        (record, blueprint): (&Sandbox, &Blueprint),
        run: &Run,
    ) -> Result<Self, EngineError> {
        let changes = if record.state == State::Collected {
            ChangeView::default()
        } else {
            changes::shown(&changes::computed(here, blueprint)?)
        };
        Ok(Self::with_changes(here, (record, blueprint), run, &changes))
    }

    /// The same where the changes are at hand.
    pub(crate) fn with_changes(
        here: &Here,
        (record, blueprint): (&Sandbox, &Blueprint),
        run: &Run,
        changes: &ChangeView,
    ) -> Self {
        let log = drive::output(&here.sandbox(record.id), run.number).unwrap_or_default();
        let from = log.len().saturating_sub(OUTPUT_BYTES_MAX);
        Self {
            earlier: Vec::new(),
            argv: run.argv.clone(),
            started: run.started,
            end: run.end.clone().unwrap_or(End::Lost),
            usage: run.usage.unwrap_or_default(),
            output: String::from_utf8_lossy(&log[from..]).into_owned(),
            changed: written(changes),
            packages: moved(blueprint, changes),
            checks_missing: false,
        }
    }

    /// The same of an experiment in which these ran before.
    pub(crate) fn after(self, earlier: Vec<Run>) -> Self {
        Self { earlier, ..self }
    }

    /// With what the checks say.
    pub(crate) fn with<'a>(&'a self, checks: &'a [CheckView]) -> Evidence<'a> {
        Evidence {
            earlier: &self.earlier,
            argv: &self.argv,
            started: self.started,
            end: &self.end,
            usage: self.usage,
            output: &self.output,
            changed: &self.changed,
            packages: &self.packages,
            checks,
            checks_missing: self.checks_missing,
        }
    }
}

/// Directories that tools fill as they work. What changes in them was not proposed by anybody, and
/// that it changes together says nothing.
const MADE: [&str; 13] = [
    ".gradle",
    ".mypy_cache",
    ".next",
    ".nox",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".turbo",
    ".venv",
    "__pycache__",
    "htmlcov",
    "node_modules",
];

/// The same at the top of a project; further down a module may be called so.
const MADE_AT_TOP: [&str; 5] = [".cache", "_build", "coverage", "dist", "target"];

/// The files that were written, as memory counts them: without directories, and without what tools
/// made on the way.
fn written(changes: &ChangeView) -> Vec<String> {
    let files = changes.files.iter();
    files
        .filter(|file| file.what != "directory" && !is_made(&file.path))
        .map(|file| file.path.clone())
        .collect()
}

fn is_made(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.clone().any(|part| MADE.contains(&part))
        || parts
            .next()
            .is_some_and(|first| MADE_AT_TOP.contains(&first))
}

/// The packages whose versions the changed manifests and lock files say have moved.
fn moved(blueprint: &Blueprint, changes: &ChangeView) -> Vec<PackageMove> {
    let Some(stack) = blueprint.stacks.iter().find(|it| it.role == Role::Project) else {
        return Vec::new();
    };
    let text = |layer: &Path, path: &str| {
        let directory = beneath::directory(layer, Path::new("")).ok()?;
        let bytes = beneath::read(&directory, path, MANIFEST_BYTES_MAX).ok()?;
        String::from_utf8(bytes).ok()
    };
    let mut moves: Vec<PackageMove> = Vec::new();
    for file in changes.files.iter().filter(|file| {
        matches!(file.kind, ChangeKind::Modified | ChangeKind::Added) && is_manifest(&file.path)
    }) {
        let before = stack
            .lowers
            .iter()
            .find_map(|lower| text(lower, &file.path));
        let after = text(&stack.upper, &file.path);
        if let (Some(before), Some(after)) = (before, after) {
            moves.extend(packages::moved(&file.path, &before, &after));
        }
    }
    moves.sort();
    moves.dedup_by(|a, b| a.name == b.name);
    moves
}

/// Files that say which version of a package is meant.
const MANIFESTS: [&str; 8] = [
    "Cargo.lock",
    "Cargo.toml",
    "package.json",
    "package-lock.json",
    "go.mod",
    "poetry.lock",
    "uv.lock",
    "pyproject.toml",
];

fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    MANIFESTS.contains(&name) || name.starts_with("requirements")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_make_on_the_way_is_not_what_was_changed() {
        for made in [
            "target/debug/deps/till.d",
            "web/node_modules/left-pad/index.js",
            "shop/__pycache__/cart.cpython-311.pyc",
            ".pytest_cache/v/cache/nodeids",
        ] {
            assert!(is_made(made), "{made}");
        }
        for written in [
            "src/lib.rs",
            "src/target/mod.rs",
            "docs/dist/plan.md",
            "Cargo.lock",
        ] {
            assert!(!is_made(written), "{written}");
        }
    }
}
