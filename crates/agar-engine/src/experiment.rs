//! Experiments: what a run with a suggestion adds to memory, from the prediction to the outcome.
//!
//! ```text
//! begin ──▶ the command runs ──▶ its checks run ──▶ conclude ──▶ a person decides
//!   prediction                                        outcome      accept, reject
//! ```
//!
//! An experiment that has a sandbox of its own shares its id, so that neither has to remember the
//! other. Trouble with memory never stands in the way of the run: it is told beside the answer.

pub(crate) mod evidence;
mod mark;
mod outcome;
mod settle;

pub(crate) use mark::OpenMark;
pub(crate) use settle::settle;

use crate::blueprint::Blueprint;
use crate::check::CheckView;
use crate::failure::EngineError;
use crate::here::Here;
use crate::options::{Caller, Command};
use crate::settings::detect;
use crate::wishes::Learning;
use crate::{Engine, view};
use agar_core::fault::{Fault as _, Kind};
use agar_core::id::{ExperimentId, ProjectId, SandboxId};
use agar_core::seam::Timestamp;
use agar_core::state::State;
use agar_memory::{
    Beginning, ChangeType, Confidence, Decision, Graduation, Learned, Memory, MemoryError,
    Occasion, Status, Suggestion, Target, Tuning,
};
use agar_store::{Fact, Sandbox};
use evidence::Evidence;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// What somebody proposes to do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Proposal {
    /// In their words; the command if left out.
    pub text: Option<String>,
    /// What sort of change it is; inferred if left out.
    pub change: Option<ChangeType>,
    /// Anything worth remembering about it. `strategy`, `problem`, `language` and `files` have a
    /// meaning.
    pub context: Map<String, Value>,
}

/// An experiment as the faces show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentView {
    /// Its id: that of its sandbox, where it has one of its own.
    pub id: ExperimentId,
    /// How likely it was to work, said before it ran; nothing where the settings hide it.
    pub confidence: Option<Confidence>,
    /// Where it is.
    pub status: Status,
    /// What it taught, once it has ended.
    pub learned: Option<Learned>,
    /// What its sandbox's memory passed on to the project's.
    pub graduated: Option<Graduation>,
    /// What went wrong with memory, where something did.
    pub trouble: Option<String>,
}

impl ExperimentView {
    /// One of which nothing is known.
    pub(crate) fn none(sandbox: SandboxId) -> Self {
        Self {
            id: same(sandbox),
            confidence: None,
            status: Status::Running,
            learned: None,
            graduated: None,
            trouble: None,
        }
    }
}

/// Where the memory of a state directory lies.
pub(crate) fn directory(state: &Path) -> PathBuf {
    state.join("memory")
}

/// An experiment that could begin: everything that another thread needs for it.
#[derive(Debug)]
pub(crate) struct Plan {
    directory: PathBuf,
    project: ProjectId,
    root: PathBuf,
    tuning: Tuning,
    shown: bool,
    /// Which run of its sandbox it is.
    run: u32,
    beginning: Beginning,
}

/// An experiment under way.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) id: ExperimentId,
    pub(crate) sandbox: SandboxId,
    memory: Memory,
    mark: OpenMark,
    confidence: Confidence,
    shown: bool,
    change: ChangeType,
    agent: String,
}

/// Plans the experiment of a new sandbox.
pub(crate) fn plan(
    engine: &Engine,
    here: &Here,
    (record, blueprint): (&Sandbox, &Blueprint),
    (proposal, caller, command): (&Proposal, &Caller, &Command),
    learning: &Learning,
) -> Plan {
    let argv: Vec<String> = command
        .argv
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let word = |key: &str| {
        let value = proposal.context.get(key).and_then(Value::as_str);
        value.map(str::to_owned)
    };
    let files = proposal.context.get("files").and_then(Value::as_array);
    let files = files.into_iter().flatten().filter_map(Value::as_str);
    Plan {
        directory: directory(here.state.path()),
        project: record.project,
        root: blueprint.root.clone(),
        tuning: learning.tuning,
        shown: learning.show_confidence,
        run: 1,
        beginning: Beginning {
            id: same(record.id),
            sandbox: record.id,
            user: format!("{}", engine.surroundings().uid),
            suggestion: Suggestion {
                text: proposal
                    .text
                    .clone()
                    .unwrap_or_else(|| view::command_line(&argv)),
                agent: caller.agent().unwrap_or(agar_memory::PERSON).to_owned(),
                change: proposal.change,
                commands: vec![argv],
                files: files.map(str::to_owned).collect(),
                language: word("language"),
                strategy: word("strategy"),
                problem: word("problem"),
                context: remaining(&proposal.context),
            },
            limits: serde_json::to_value(record.limits).unwrap_or_default(),
            at: engine.now(),
        },
    }
}

/// What a context says beyond the fields that have a meaning of their own.
pub(crate) fn remaining(context: &Map<String, Value>) -> Map<String, Value> {
    let mut rest = context.clone();
    for key in ["strategy", "problem", "language", "files"] {
        rest.remove(key);
    }
    rest
}

/// The experiment that shares its id with a sandbox.
pub(crate) fn same(sandbox: SandboxId) -> ExperimentId {
    let text = sandbox.to_string();
    text.parse()
        .unwrap_or_else(|_| ExperimentId::new(Timestamp::from_millis(0), [0; 10]))
}

impl Plan {
    /// The same as an experiment of its own in a sandbox that was there before, with this run.
    pub(crate) fn in_run(mut self, id: ExperimentId, run: u32) -> Self {
        self.beginning.id = id;
        self.run = run;
        self
    }

    /// The same for several commands, one after the other.
    pub(crate) fn trying(mut self, commands: &[Command]) -> Self {
        let words = |command: &Command| {
            let words = command.argv.iter();
            words
                .map(|word| word.to_string_lossy().into_owned())
                .collect()
        };
        self.beginning.suggestion.commands = commands.iter().map(words).collect();
        self
    }

    /// Predicts and writes the beginning down.
    pub(crate) fn begin(mut self) -> Result<Open, MemoryError> {
        let suggestion = &mut self.beginning.suggestion;
        if suggestion.language.is_none() {
            let kinds = detect(&self.root);
            suggestion.language = kinds.first().map(|found| found.kind.word().to_owned());
        }
        let change = suggestion.change_type();
        let agent = suggestion.agent.clone();
        let (id, sandbox) = (self.beginning.id, self.beginning.sandbox);
        let mut memory = Memory::open(&self.directory, self.project, self.tuning)?;
        let mark =
            OpenMark::leave(&self.directory, id, (sandbox, self.run)).map_err(MemoryError::File)?;
        let confidence = memory.begin(&self.beginning)?;
        Ok(Open {
            id,
            sandbox,
            memory,
            mark,
            confidence,
            shown: self.shown,
            change,
            agent,
        })
    }
}

impl Open {
    /// What is said before the run, unless the settings hide it.
    pub(crate) fn shown(&self) -> Option<&Confidence> {
        self.shown.then_some(&self.confidence)
    }

    /// Writes into the journal that it began.
    pub(crate) fn announce(&self, engine: &Engine, here: &Here) -> Result<(), EngineError> {
        let fact = Fact::ExperimentBegan {
            experiment: self.id,
            agent: self.agent.clone(),
            change: self.change.word().to_owned(),
        };
        let (project, sandbox) = (self.memory.project(), self.sandbox);
        here.write(|store| {
            store.append(project, Some(sandbox), engine.now(), &fact)?;
            Ok(())
        })
    }

    /// Takes it back: nothing ran, or nobody let it run to its end, so it is evidence of nothing.
    pub(crate) fn withdraw(mut self) {
        // A leftover is settled by the next command that opens memory.
        if self
            .memory
            .forget(&Target::Name(self.id.to_string()))
            .is_ok()
        {
            self.mark.remove();
        }
    }

    /// Before its outcome is known.
    pub(crate) fn view(&self) -> ExperimentView {
        ExperimentView {
            id: self.id,
            confidence: self.shown().cloned(),
            status: Status::Running,
            learned: None,
            graduated: None,
            trouble: None,
        }
    }

    /// Leaves it open until its checks have run, with the command written down.
    pub(crate) fn wait_for_checks(
        self,
        engine: &Engine,
        gathered: &evidence::Gathered,
    ) -> ExperimentView {
        let operation = outcome::operation(&gathered.with(&[]));
        let trouble = self.memory.track(self.sandbox, self.id, &operation);
        let view = ExperimentView {
            trouble: trouble.err().map(|error| told(&error)),
            ..self.view()
        };
        engine.keep_experiment(self);
        view
    }

    /// Ends it with what the evidence says.
    pub(crate) fn conclude(
        mut self,
        engine: &Engine,
        here: &Here,
        evidence: &Evidence<'_>,
    ) -> Result<ExperimentView, EngineError> {
        let ending = outcome::ending(self.id, evidence, engine.now());
        let learned = match self.memory.record(&ending) {
            Ok(learned) => learned,
            Err(error) => {
                return Ok(ExperimentView {
                    trouble: Some(told(&error)),
                    ..self.view()
                });
            }
        };
        let graduated = if learned.graduation_candidate {
            self.memory
                .graduate(self.sandbox, Occasion::Ended, engine.now())
                .ok()
        } else {
            None
        };
        let (project, sandbox) = (self.memory.project(), self.sandbox);
        here.write(|store| {
            let ended = Fact::ExperimentEnded {
                experiment: ending.id,
                status: ending.status.word().to_owned(),
            };
            store.append(project, Some(sandbox), engine.now(), &ended)?;
            if let Some(graduation) = graduated.as_ref().filter(|it| !it.graduated.is_empty()) {
                let fact = graduation_fact(graduation);
                store.append(project, Some(sandbox), engine.now(), &fact)?;
            }
            Ok(())
        })?;
        let view = ExperimentView {
            status: ending.status,
            learned: Some(learned),
            graduated,
            ..self.view()
        };
        self.mark.remove();
        Ok(view)
    }
}

/// What the journal says of a graduation.
pub(crate) fn graduation_fact(graduation: &Graduation) -> Fact {
    Fact::MemoryGraduated {
        patterns: graduation.graduated.len() as u64,
        refused: graduation.refused.len() as u64,
    }
}

/// Trouble with memory in one line, with its cause.
pub(crate) fn told(error: &MemoryError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Concludes the experiment of a sandbox that this engine began, if there is one.
pub(crate) fn conclude_checked(
    engine: &Engine,
    here: &Here,
    (record, blueprint): (&Sandbox, &Blueprint),
    checks: &[CheckView],
    interrupted: bool,
) -> Result<Option<ExperimentView>, EngineError> {
    let Some(open) = engine.take_experiment(record.id) else {
        return Ok(None);
    };
    if interrupted {
        open.withdraw();
        return Ok(None);
    }
    let run = here.read(|store| store.runs(record.id))?;
    let Some(run) = run.first() else {
        open.withdraw();
        return Ok(None);
    };
    let gathered = evidence::Gathered::of(here, (record, blueprint), run)?;
    open.conclude(engine, here, &gathered.with(checks))
        .map(Some)
}

/// Records what a person decided about a sandbox's experiment, where it has one: accepting lets
/// its patterns graduate.
pub(crate) fn decided(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    (accepted, feedback): (bool, Option<&str>),
) -> Result<(), EngineError> {
    let directory = directory(here.state.path());
    if !Memory::sandbox_file(&directory, record.id).exists() {
        return Ok(());
    }
    let learning = crate::wishes::learning(engine, here)?;
    let mut memory = Memory::open(&directory, record.project, learning.tuning)?;
    let decision = Decision {
        accepted,
        feedback: feedback.map(str::to_owned),
        at: engine.now(),
    };
    let mut decided = Vec::new();
    for id in memory.experiments_in(record.id)? {
        match memory.decide(id, &decision) {
            Ok(()) => decided.push(id),
            // It was taken back, or is forgotten.
            Err(error) if error.kind() == Kind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    if decided.is_empty() {
        return Ok(());
    }
    let graduation = if accepted {
        memory
            .graduate(record.id, Occasion::Accepted, engine.now())
            .ok()
    } else {
        None
    };
    here.write(|store| {
        for experiment in decided {
            let fact = Fact::ExperimentDecided {
                experiment,
                accepted,
            };
            store.append(record.project, Some(record.id), engine.now(), &fact)?;
        }
        if let Some(graduation) = graduation.filter(|it| !it.graduated.is_empty()) {
            let fact = graduation_fact(&graduation);
            store.append(record.project, Some(record.id), engine.now(), &fact)?;
        }
        Ok(())
    })
}

/// Puts the index of memory in order, where there is one, and removes what sandboxes that are gone
/// have left in it. For when nobody waits.
pub(crate) fn tidy(engine: &Engine, here: &Here) -> Result<(), EngineError> {
    let directory = directory(here.state.path());
    let Some(project) = here.project_id().filter(|_| directory.exists()) else {
        return Ok(());
    };
    let learning = crate::wishes::learning(engine, here)?;
    settle(engine, here, &learning)?;
    let mut memory = Memory::open(&directory, project, learning.tuning)?;
    memory.tidy()?;
    let there = |sandbox| {
        let found = here.read(|store| store.sandbox(sandbox));
        found.is_ok_and(|record| record.state != State::Collected)
    };
    memory.drop_sandbox_memories(&there, engine.now())?;
    Ok(())
}
