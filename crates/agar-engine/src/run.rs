//! One command in a sandbox of its own.

use crate::blueprint::Blueprint;
use crate::drive::Ended;
use crate::experiment::evidence::Gathered;
use crate::experiment::{ExperimentView, Proposal};
use crate::once::{Keep, Once, once};
use crate::{
    ChangeView, Command, Engine, EngineError, RunView, SandboxOptions, SandboxView, Streams,
};
use crate::{changes, layers, queue, travel, view};
use agar_store::Sandbox;
use serde::{Deserialize, Serialize};

/// What becomes of the sandbox after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Afterwards {
    /// Keep it if the project changed inside, else remove it.
    #[default]
    KeepChanges,
    /// Keep it.
    Keep,
    /// Remove it.
    Remove,
}

/// Asks for one command in a sandbox of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunRequest {
    /// What the sandbox should be.
    pub options: SandboxOptions,
    /// The command.
    pub command: Command,
    /// What becomes of the sandbox.
    pub afterwards: Afterwards,
    /// What it is meant to do: makes the run an experiment.
    pub proposal: Option<Proposal>,
}

/// The command ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunAnswer {
    /// The sandbox, whose jail has ended.
    pub sandbox: SandboxView,
    /// The run.
    pub run: RunView,
    /// Whether the sandbox is still there.
    pub kept: bool,
    /// What the run changed; only `try` computes it.
    pub changes: Option<ChangeView>,
    /// Whether the project declares checks that this change should pass; `check` runs them.
    #[serde(skip)]
    pub checks_due: bool,
    /// The experiment that it is, where it is one.
    pub experiment: Option<ExperimentView>,
    /// The snapshot of the sandbox as it was before the command, if the command broke a limit or was
    /// denied a system call and the sandbox was returned to that.
    pub before: Option<String>,
    /// The snapshot of what the command left then.
    pub taken_back: Option<String>,
}

/// Runs one command in a new sandbox and ends everything it started.
pub fn run(
    engine: &Engine,
    request: &RunRequest,
    streams: Streams<'_>,
) -> Result<RunAnswer, EngineError> {
    let verdict = |_: &Sandbox, blueprint: &Blueprint, _: &Ended| {
        Ok(match request.afterwards {
            Afterwards::Keep => Keep::Yes,
            Afterwards::KeepChanges if layers::has_changes(blueprint) => Keep::Yes,
            Afterwards::KeepChanges | Afterwards::Remove => Keep::No,
        })
    };
    let wanted = (
        &request.options,
        &request.command,
        request.proposal.as_ref(),
    );
    let _place = queue::enter(engine, &request.options.caller, &mut *streams.controls)?;
    let once = once(engine, wanted, streams, &mut |_| {}, &verdict)?;
    let changes = match (&request.proposal, once.keep) {
        (Some(_), Keep::Yes) => Some(changes::shown(&changes::of(engine, &once.blueprint)?)),
        (Some(_) | None, _) => None,
    };
    answer(engine, once, changes)
}

/// What the faces are told.
pub(crate) fn answer(
    engine: &Engine,
    once: Once,
    changes: Option<ChangeView>,
) -> Result<RunAnswer, EngineError> {
    let here = engine.here()?;
    let run = here.read(|store| store.run(once.record.id, once.ended.number))?;
    let checks_due = once.checks > 0
        && !once.is_undone
        && once.ended.end.is_success()
        && !once.ended.notes.interrupted
        && changes.as_ref().is_some_and(|changes| !changes.is_empty());
    let Once {
        record,
        blueprint,
        ended,
        keep,
        study,
        is_undone,
        ..
    } = once;
    let experiment = match (study.open, study.trouble) {
        (None, None) => None,
        (None, Some(trouble)) => Some(ExperimentView {
            trouble: Some(trouble),
            ..ExperimentView::none(record.id)
        }),
        (Some(open), _) if ended.notes.interrupted => {
            open.withdraw();
            None
        }
        (Some(open), _) => {
            let nothing = ChangeView::default();
            let seen = changes.as_ref().unwrap_or(&nothing);
            let gathered = Gathered::with_changes(here, (&record, &blueprint), &run, seen);
            Some(if checks_due {
                open.wait_for_checks(engine, &gathered)
            } else {
                open.conclude(engine, here, &gathered.with(&[]))?
            })
        }
    };
    let mut answer = RunAnswer {
        sandbox: view::sandbox_with(&record, &blueprint, ended.number),
        run: view::run(&run),
        kept: keep == Keep::Yes,
        changes,
        checks_due,
        experiment,
        before: None,
        taken_back: None,
    };
    if is_undone && layers::has_changes(&blueprint) {
        undo(engine, &record, &mut answer)?;
    }
    Ok(answer)
}

/// Returns the sandbox to what it was before a command that went too far.
fn undo(engine: &Engine, record: &Sandbox, answer: &mut RunAnswer) -> Result<(), EngineError> {
    match travel::undo_first(engine, engine.here()?, record, &answer.run.argv)? {
        Ok([before, left]) => {
            answer.before = Some(travel::reference(record, &before));
            answer.taken_back = Some(travel::reference(record, &left));
        }
        Err(why) => {
            let note = format!("it was not returned to what it was before: {why}");
            answer.run.notes.push(note);
        }
    }
    Ok(())
}
