//! From records to what the faces show.

use crate::answer::{BaseView, DeniedView, LineageView, RunView, SandboxView, SnapshotView};
use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use agar_core::text::{printable, printable_bytes};
use agar_jail::report::RunReport;
use agar_sandbox::stack::Role;
use agar_store::{Run, Sandbox, Snapshot};
use serde::{Deserialize, Serialize};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// What is kept of a run beyond its end and usage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunNotes {
    pub(crate) interrupted: bool,
    pub(crate) truncated: bool,
    pub(crate) executions: Option<u64>,
    pub(crate) denied: Vec<DeniedView>,
    pub(crate) left_running: u32,
    pub(crate) notes: Vec<String>,
}

impl RunNotes {
    /// What the keeper's report adds.
    pub(crate) fn of(report: &RunReport) -> Self {
        Self {
            executions: Some(report.executions.len() as u64 + report.executions_dropped),
            denied: report
                .denied
                .iter()
                .map(|denied| DeniedView {
                    call: denied.call.clone(),
                    count: denied.count,
                })
                .collect(),
            notes: report.notes.clone(),
            ..Self::default()
        }
    }
}

/// A path as a reader sees it.
pub(crate) fn shown(path: &Path) -> String {
    printable_bytes(path.as_os_str().as_bytes())
}

/// A sandbox, with what has to be looked up for it.
pub(crate) fn sandbox(here: &Here, record: &Sandbox) -> Result<SandboxView, EngineError> {
    let blueprint = Blueprint::of(record)?;
    let runs = here.read(|store| store.run_count(record.id))?;
    Ok(sandbox_with(record, &blueprint, runs))
}

/// A sandbox whose parts are at hand.
pub(crate) fn sandbox_with(record: &Sandbox, blueprint: &Blueprint, runs: u32) -> SandboxView {
    let live_below = blueprint
        .stacks
        .iter()
        .filter(|stack| stack.role == Role::Bulk)
        .map(|stack| {
            shown(
                stack
                    .target
                    .strip_prefix(&blueprint.root)
                    .unwrap_or(&stack.target),
            )
        })
        .collect();
    SandboxView {
        id: record.id,
        alias: record.alias.clone(),
        state: record.state,
        project: record.project,
        project_path: shown(&blueprint.root),
        base: BaseView {
            kind: record.base,
            generation: record.generation,
            live_below,
        },
        tier: record.tier,
        network: record.network.clone(),
        limits: record.limits,
        agent: blueprint.agent.clone(),
        note: record
            .note
            .as_deref()
            .map(|note| printable(note).into_owned()),
        lineage: record.parent.map(|parent| LineageView {
            parent,
            snapshot: record.origin,
            depth: record.depth,
        }),
        created_at: record.created,
        touched_at: record.updated,
        runs,
        warnings: blueprint.warnings.clone(),
    }
}

/// A snapshot.
pub(crate) fn snapshot(record: &Sandbox, snapshot: &Snapshot) -> SnapshotView {
    SnapshotView {
        id: snapshot.id,
        reference: format!("{}@{}", record.alias, snapshot.name),
        name: snapshot.name.clone(),
        sandbox: record.id,
        kind: snapshot.kind,
        note: snapshot
            .note
            .as_deref()
            .map(|note| printable(note).into_owned()),
        parent: snapshot.parent,
        taken: snapshot.taken,
        frozen_us: snapshot.frozen_us,
        created_at: snapshot.created,
    }
}

/// A run.
pub(crate) fn run(record: &Run) -> RunView {
    let notes: RunNotes = record
        .report
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    RunView {
        number: record.number,
        command: command_line(&record.argv),
        argv: record.argv.clone(),
        cwd: shown(&record.cwd),
        started_at: record.started,
        end: record.end.clone(),
        interrupted: notes.interrupted,
        usage: record.usage.unwrap_or_default(),
        output_bytes: record.log_bytes,
        output_truncated: notes.truncated,
        executions: notes.executions,
        denied: notes.denied,
        left_running: notes.left_running,
        notes: notes.notes,
    }
}

/// Words as one line that a shell would read back, safe to print.
pub fn command_line(argv: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    argv.iter()
        .map(|word| {
            if !word.is_empty() && word.chars().all(plain) {
                word.clone()
            } else {
                format!("'{}'", printable(word).replace('\'', "'\\''"))
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_reads_back_and_cannot_fool_the_terminal() {
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(command_line(&words(&["cargo", "update"])), "cargo update");
        assert_eq!(
            command_line(&words(&["sh", "-c", "echo 'a b'", ""])),
            r"sh -c 'echo '\''a b'\''' ''"
        );
        assert_eq!(command_line(&words(&["a\u{1b}[2Jb"])), r"'a\e[2Jb'");
    }
}
