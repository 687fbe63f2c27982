//! Several commands in a sandbox, tried as one experiment.
//!
//! ```text
//! predicted ──▶ command, command, … until one fails ──▶ checks, if all worked ──▶ concluded
//! ```
//!
//! The experiment shares its id with the sandbox. The last command that ran is the evidence: either
//! all before it worked, or it is the one that failed.

use crate::blueprint::Blueprint;
use crate::check::{self, CheckView, Said, Verdict};
use crate::exec::{ExecRequest, exec};
use crate::experiment::evidence::Gathered;
use crate::experiment::{self, ExperimentView, Open, Proposal};
use crate::here::Here;
use crate::relay::{Controls, Streams};
use crate::{Caller, Command, Engine, EngineError, RunView, SandboxView};
use crate::{find, layers, raise, view, wishes};
use agar_core::run::End;
use agar_memory::Confidence;
use agar_store::{Run, Sandbox};
use serde::{Deserialize, Serialize};

/// Asks for commands to be tried as one experiment in a sandbox that is there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttemptRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
    /// The commands, in order.
    pub commands: Vec<Command>,
    /// What they are meant to do.
    pub proposal: Proposal,
    /// Who asks.
    pub caller: Caller,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// The commands that ran, in order. The first that failed is the last.
    pub runs: Vec<RunView>,
    /// The declared checks, where they were due.
    pub checks: Vec<CheckView>,
    /// What the checks say together, where they were due.
    pub verdict: Option<Verdict>,
    /// The experiment; nothing if the caller stopped it.
    pub experiment: Option<ExperimentView>,
}

/// How likely it was to work, said before the first command.
pub type Predicted<'a> = &'a mut dyn FnMut(Option<&Confidence>);

/// Runs the commands in order, stops at the first that fails, checks what they changed and lets
/// memory learn from it.
///
/// The jail is taken down only where checks are due: they judge what is at rest.
pub fn attempt(
    engine: &Engine,
    request: &AttemptRequest,
    controls: &mut dyn Controls,
    predicted: Predicted<'_>,
) -> Result<AttemptAnswer, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, request.sandbox.as_deref())?;
    let study = Study::begin(engine, here, &record, request)?;
    predicted(study.open.as_ref().and_then(Open::shown));
    let mut runs: Vec<RunView> = Vec::new();
    for command in &request.commands {
        match one(engine, &record, (command, &request.caller), controls) {
            Ok(run) => runs.push(run),
            Err(error) => {
                study.withdraw();
                return Err(error);
            }
        }
        if !worked(&runs) {
            break;
        }
    }
    let blueprint = Blueprint::of(&record)?;
    let mut answer = AttemptAnswer {
        sandbox: view::sandbox(here, &record)?,
        checks: Vec::new(),
        verdict: None,
        experiment: None,
        runs,
    };
    let mut interrupted = answer.runs.last().is_some_and(|run| run.interrupted);
    if !interrupted && worked(&answer.runs) && layers::has_changes(&blueprint) {
        let declared = check::declared(engine, here, &request.caller)?;
        if !declared.is_empty() {
            let record = raise::down(engine, here, &record)?;
            let mut said = Said {
                controls,
                told: &mut |_| {},
            };
            let at = (&record, &blueprint);
            let (checks, stopped) = check::all(engine, here, at, &declared, &mut said)?;
            interrupted = stopped;
            answer.verdict = Some(check::together(&checks));
            answer.checks = checks;
        }
    }
    if interrupted {
        study.withdraw();
    } else {
        answer.experiment = study.conclude(engine, here, (&record, &blueprint), &answer)?;
    }
    let record = here.read(|store| store.sandbox(record.id))?;
    answer.sandbox = view::sandbox(here, &record)?;
    Ok(answer)
}

fn worked(runs: &[RunView]) -> bool {
    let end = runs.last().and_then(|run| run.end.as_ref());
    end.is_some_and(End::is_success)
}

/// Runs one of the commands.
fn one(
    engine: &Engine,
    record: &Sandbox,
    (command, caller): (&Command, &Caller),
    controls: &mut dyn Controls,
) -> Result<RunView, EngineError> {
    let request = ExecRequest {
        sandbox: Some(record.id.to_string()),
        command: command.clone(),
        caller: caller.clone(),
        proposal: None,
    };
    let streams = Streams::unheard(controls);
    Ok(exec(engine, &request, streams)?.run)
}

/// The experiment under way, or why there is none.
struct Study {
    open: Option<Open>,
    trouble: Option<String>,
}

impl Study {
    fn begin(
        engine: &Engine,
        here: &Here,
        record: &Sandbox,
        request: &AttemptRequest,
    ) -> Result<Self, EngineError> {
        let Some(first) = request.commands.first() else {
            return Err(EngineError::Invalid(
                "there is no command to run".to_owned(),
            ));
        };
        let blueprint = Blueprint::of(record)?;
        let learning = wishes::learning(engine, here)?;
        experiment::settle(engine, here, &learning)?;
        let before = here.read(|store| store.run_count(record.id))?;
        // Until the last command has run there is no evidence: one that is missing after a crash
        // takes the experiment back.
        let count = u32::try_from(request.commands.len()).unwrap_or(u32::MAX);
        let asked = (&request.proposal, &request.caller, first);
        let plan = experiment::plan(engine, here, (record, &blueprint), asked, &learning)
            .trying(&request.commands)
            .in_run(experiment::same(record.id), before.saturating_add(count));
        match plan.begin() {
            Ok(open) => {
                open.announce(engine, here)?;
                Ok(Self {
                    open: Some(open),
                    trouble: None,
                })
            }
            Err(error) => Ok(Self {
                open: None,
                trouble: Some(experiment::told(&error)),
            }),
        }
    }

    fn withdraw(self) {
        if let Some(open) = self.open {
            open.withdraw();
        }
    }

    fn conclude(
        self,
        engine: &Engine,
        here: &Here,
        (record, blueprint): (&Sandbox, &Blueprint),
        answer: &AttemptAnswer,
    ) -> Result<Option<ExperimentView>, EngineError> {
        let Some(open) = self.open else {
            return Ok(Some(ExperimentView {
                trouble: self.trouble,
                ..ExperimentView::none(record.id)
            }));
        };
        let number = answer.runs.last().map_or(1, |run| run.number);
        let run = here.read(|store| store.run(record.id, number))?;
        let before = answer.runs.iter().filter(|it| it.number != number);
        let earlier: Result<Vec<Run>, EngineError> = before
            .map(|it| here.read(|store| store.run(record.id, it.number)))
            .collect();
        let gathered = Gathered::of(here, (record, blueprint), &run)?.after(earlier?);
        open.conclude(engine, here, &gathered.with(&answer.checks))
            .map(Some)
    }
}
