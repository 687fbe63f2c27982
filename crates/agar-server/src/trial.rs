//! From a suggestion to a decision: what the seed's endpoints and the inbox share.
//!
//! ```text
//! plan ──▶ make (sandbox, record, confidence) ──▶ run, in the background ──▶ accept or reject
//! ```
//!
//! A suggestion is words. What runs is the list of commands beside it, each a line for a shell
//! inside the sandbox, and never the words.

use crate::app::{App, Halt, Job, Place, RunPermit};
use crate::refusal::Refusal;
use agar_core::fault::{Fault as _, Kind, Remedy};
use agar_core::id::{SandboxId, SuggestionId};
use agar_core::limits::Limits;
use agar_core::run::End;
use agar_core::walls::Network;
use agar_engine::apply::{ApplyAnswer, ApplyRequest, apply};
use agar_engine::attempt::{AttemptRequest, attempt};
use agar_engine::check::{CheckRequest, Verdict, check};
use agar_engine::create::CreateRequest;
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::experiment::Proposal;
use agar_engine::inspect::summary;
use agar_engine::memory::{ConfidenceAnswer, ConfidenceRequest, confidence};
use agar_engine::processes::{ProcessesRequest, processes};
use agar_engine::remove::{RemoveRequest, remove};
use agar_engine::stop::{StopRequest, stop};
use agar_engine::suggestions::{
    MoveSuggestionRequest, SuggestRequest, SuggestionState, SuggestionView, move_suggestion,
    suggest, suggestion_of,
};
use agar_engine::template::needs;
use agar_engine::trouble::note_trouble;
use agar_engine::{Caller, Command, Engine, SandboxOptions, SandboxView, Streams};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// More commands than this are a script.
const COMMANDS_MAX: usize = 100;
/// What a list shows of a suggestion.
const NOTE_CHARS: usize = 60;

/// A suggestion that somebody wants tried.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) text: String,
    pub(crate) context: Map<String, Value>,
    pub(crate) commands: Vec<String>,
    pub(crate) limits: Limits,
    /// Whether the network was asked for, or refused.
    pub(crate) network: Option<bool>,
    /// The suggestion, where it is in the inbox already.
    pub(crate) known: Option<SuggestionId>,
}

impl Plan {
    /// Checks what somebody wants.
    pub(crate) fn checked(self) -> Result<Self, Refusal> {
        if self.text.trim().is_empty() {
            return Err(Refusal::invalid("`suggestion` says what is suggested"));
        }
        if self.commands.len() > COMMANDS_MAX {
            return Err(Refusal::invalid(format!(
                "no more than {COMMANDS_MAX} commands are run at once"
            )));
        }
        if self
            .commands
            .iter()
            .any(|line| line.trim().is_empty() || line.contains('\0'))
        {
            return Err(Refusal::invalid("a command is a line for a shell"));
        }
        Ok(self)
    }

    /// Who suggests it.
    pub(crate) fn caller(&self) -> Caller {
        agent(&self.context)
    }

    /// The project it is for: `context.projectPath`, else where the server was started.
    pub(crate) fn place(&self) -> Place {
        let path = ["projectPath", "project_path"]
            .into_iter()
            .find_map(|key| self.context.get(key)?.as_str());
        Place(path.map(PathBuf::from))
    }

    fn options(&self) -> SandboxOptions {
        let needs = needs(&self.text, &self.commands, &self.context);
        let note: String = self.text.chars().take(NOTE_CHARS).collect();
        SandboxOptions {
            limits: self.limits.or(needs.limits),
            // A program may close the network, and only a person's settings open it.
            network: match self.network {
                Some(false) => Some(Network::None),
                Some(true) | None => needs.network,
            },
            monitor: needs.monitor,
            caller: self.caller(),
            note: Some(note),
            ..SandboxOptions::default()
        }
    }

    fn proposal(&self) -> Proposal {
        Proposal {
            text: Some(self.text.clone()),
            change: None,
            context: self.context.clone(),
        }
    }
}

/// Who asks: `context.agent`, else the interface itself.
pub(crate) fn agent(context: &Map<String, Value>) -> Caller {
    let named = ["agent", "userId", "user_id"]
        .into_iter()
        .find_map(|key| context.get(key)?.as_str())
        .filter(|name| !name.is_empty());
    Caller::Agent {
        name: named.unwrap_or("api").chars().take(80).collect(),
    }
}

/// A sandbox that was made for a suggestion.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) sandbox: SandboxView,
    pub(crate) suggestion: SuggestionView,
    pub(crate) confidence: Option<ConfidenceAnswer>,
    /// What was done, and how long it took.
    pub(crate) steps: Vec<(&'static str, Duration)>,
    /// Commands that the settings want run first.
    pub(crate) setup: Vec<String>,
}

/// Makes a sandbox for a suggestion and records both.
pub(crate) fn make(app: &App, engine: &Engine, plan: &Plan) -> Result<Made, Refusal> {
    let (begun, asked_at) = (Instant::now(), engine.surroundings().clock.now());
    let request = CreateRequest {
        options: plan.options(),
        alias: None,
    };
    let made = app.create(engine, &request)?;
    let raised = begun.elapsed();
    // It is on record from when its base stands, and before its walls do.
    let frozen = Duration::from_millis(made.sandbox.created_at.since(asked_at)).min(raised);
    let recorded = record(engine, plan, made.sandbox.id);
    let suggestion = match recorded {
        Ok(suggestion) => suggestion,
        Err(refusal) => {
            // A sandbox that nobody knows what for is of no use.
            give_up(engine, made.sandbox.id, None)?;
            return Err(refusal);
        }
    };
    let written = begun.elapsed();
    let request = ConfidenceRequest {
        suggestion: plan.text.clone(),
        change: None,
        context: plan.context.clone(),
        caller: plan.caller(),
    };
    // Trouble with memory does not stand in the way of trying.
    let confidence = confidence(engine, &request).ok();
    Ok(Made {
        sandbox: made.sandbox,
        suggestion,
        confidence,
        steps: vec![
            ("generation", frozen),
            ("session", raised.saturating_sub(frozen)),
            ("record", written.saturating_sub(raised)),
            ("memory", begun.elapsed().saturating_sub(written)),
        ],
        setup: made.setup,
    })
}

fn record(engine: &Engine, plan: &Plan, sandbox: SandboxId) -> Result<SuggestionView, Refusal> {
    if let Some(known) = plan.known {
        let request = MoveSuggestionRequest {
            suggestion: known,
            to: SuggestionState::Trying,
            sandbox: Some(sandbox),
        };
        return Ok(move_suggestion(engine, &request)?);
    }
    let request = SuggestRequest {
        text: plan.text.clone(),
        context: plan.context.clone(),
        commands: plan.commands.clone(),
        caller: plan.caller(),
        sandbox: Some(sandbox.to_string()),
    };
    Ok(suggest(engine, &request)?)
}

/// Runs what belongs to a sandbox that was just made, without anybody waiting for it.
pub(crate) fn start(app: &App, plan: Plan, made: &Made, permit: RunPermit) {
    if plan.commands.is_empty() && made.setup.is_empty() {
        return;
    }
    let (app, job) = (app.clone(), Job::begin(app));
    let (sandbox, setup) = (made.sandbox.id, made.setup.clone());
    tokio::spawn(async move {
        let halt = app.halt();
        let place = plan.place();
        let log = app.log.clone();
        let work = move |engine: &Engine| {
            let done = run(engine, (&plan, &setup), sandbox, halt);
            if let Err(refusal) = &done
                && let Err(error) = note_trouble(engine, sandbox, refusal.told())
            {
                log(&format!("sandbox {sandbox}: {error}"));
            }
            done
        };
        if let Err(refusal) = app.work(place, work).await {
            (app.log)(&format!("sandbox {sandbox}: {}", refusal.told()));
        }
        drop((permit, job));
    });
}

fn run(
    engine: &Engine,
    (plan, setup): (&Plan, &[String]),
    sandbox: SandboxId,
    mut halt: Halt,
) -> Result<(), Refusal> {
    for line in setup {
        let request = ExecRequest {
            sandbox: Some(sandbox.to_string()),
            command: shell(line),
            caller: plan.caller(),
            proposal: None,
        };
        let streams = Streams::unheard(&mut halt);
        let end = exec(engine, &request, streams)?.run.end;
        if !end.as_ref().is_some_and(End::is_success) {
            let told = format!("the setup command `{line}` failed");
            return Err(Refusal::new(Kind::Refused, told));
        }
    }
    if plan.commands.is_empty() {
        return Ok(());
    }
    let request = AttemptRequest {
        sandbox: Some(sandbox.to_string()),
        commands: plan.commands.iter().map(|line| shell(line)).collect(),
        proposal: plan.proposal(),
        caller: plan.caller(),
    };
    attempt(engine, &request, &mut halt, &mut |_| {})?;
    Ok(())
}

/// A line for a shell inside.
pub(crate) fn shell(line: &str) -> Command {
    Command::new(["sh", "-c", line])
}

/// What a further command in a sandbox is for: the suggestion that the sandbox was made for.
pub(crate) fn purpose(
    engine: &Engine,
    sandbox: SandboxId,
) -> Result<Option<(Proposal, Caller)>, Refusal> {
    let found = suggestion_of(engine, sandbox)?;
    Ok(found.map(|found| {
        let proposal = Proposal {
            text: Some(found.text),
            change: None,
            context: found.context,
        };
        (proposal, Caller::Agent { name: found.agent })
    }))
}

/// Ends what runs in a sandbox, unless something does and nobody said that it may be ended.
fn at_rest(engine: &Engine, sandbox: &SandboxView, may_stop: bool) -> Result<(), Refusal> {
    if !sandbox.state.is_alive() {
        return Ok(());
    }
    let name = sandbox.id.to_string();
    let request = ProcessesRequest {
        sandbox: Some(name.clone()),
        everywhere: false,
    };
    let count = processes(engine, &request)?.processes.len();
    if count > 0 && !may_stop {
        let told = format!("{count} processes still run in {}", sandbox.alias);
        return Err(
            Refusal::new(Kind::Conflict, told).with_remedy(Remedy::Command {
                line: format!("agar stop {}", sandbox.alias),
            }),
        );
    }
    let request = StopRequest {
        sandboxes: vec![name],
        all: false,
    };
    stop(engine, &request)?;
    Ok(())
}

/// Checks what a sandbox changed and merges it into the project.
///
/// A check that does not pass is a refusal (403) and a conflict is one (409): nothing was written,
/// and the sandbox is kept.
pub(crate) fn accept(
    engine: &Engine,
    request: &ApplyRequest,
    caller: &Caller,
    halt: &mut Halt,
) -> Result<ApplyAnswer, Refusal> {
    let name = request.sandbox.clone().unwrap_or_default();
    let sandbox = summary(engine, &name)?;
    if !request.dry_run {
        at_rest(engine, &sandbox, request.stop)?;
        pass_checks(engine, &sandbox, caller, halt)?;
    }
    let answer = apply(engine, request)?;
    let conflicts: Vec<_> = answer.conflicts().collect();
    if !conflicts.is_empty() && !request.dry_run {
        let told = format!(
            "{} paths are in conflict; nothing was written",
            conflicts.len()
        );
        return Err(Refusal::new(Kind::Conflict, told)
            .with_remedy(Remedy::ChooseSide)
            .with_details(json!({ "conflicts": conflicts })));
    }
    if answer.applied {
        decided(engine, sandbox.id, SuggestionState::Applied)?;
    }
    Ok(answer)
}

/// Refuses what the declared checks do not pass. One that could not decide does not pass.
fn pass_checks(
    engine: &Engine,
    sandbox: &SandboxView,
    caller: &Caller,
    halt: &mut Halt,
) -> Result<(), Refusal> {
    let request = CheckRequest {
        sandbox: Some(sandbox.id.to_string()),
        only: Vec::new(),
        caller: caller.clone(),
    };
    let answer = check(engine, &request, halt, &mut |_| {})?;
    if answer.interrupted {
        return Err(Refusal::new(
            Kind::Interrupted,
            "the checks were interrupted",
        ));
    }
    if answer.checks.is_empty() || answer.verdict == Verdict::Pass {
        return Ok(());
    }
    let bad: Vec<&str> = answer
        .checks
        .iter()
        .filter(|check| check.must_pass && !check.verdict.is_pass())
        .map(|check| check.name.as_str())
        .collect();
    let told = format!("a check stands in the way: {}", bad.join(", "));
    Err(Refusal::new(Kind::Refused, told).with_details(json!({ "checks": answer.checks })))
}

/// Gives a sandbox up, and lets memory know.
pub(crate) fn reject(
    engine: &Engine,
    sandbox: &SandboxView,
    feedback: Option<String>,
) -> Result<(), Refusal> {
    at_rest(engine, sandbox, true)?;
    give_up(engine, sandbox.id, feedback)?;
    decided(engine, sandbox.id, SuggestionState::Rejected)
}

fn give_up(engine: &Engine, id: SandboxId, feedback: Option<String>) -> Result<(), Refusal> {
    let request = RemoveRequest {
        sandboxes: vec![id.to_string()],
        all: false,
        force: true,
        feedback,
    };
    remove(engine, &request)?;
    Ok(())
}

/// Moves the suggestion of a sandbox on, where it has one that can move.
fn decided(engine: &Engine, sandbox: SandboxId, to: SuggestionState) -> Result<(), Refusal> {
    let Some(found) = suggestion_of(engine, sandbox)? else {
        return Ok(());
    };
    let request = MoveSuggestionRequest {
        suggestion: found.id,
        to,
        sandbox: None,
    };
    match move_suggestion(engine, &request) {
        Ok(_) => Ok(()),
        // It was decided before, or is another project's.
        Err(error) if matches!(error.kind(), Kind::Conflict | Kind::NotFound) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str, commands: &[&str], context: &Value) -> Plan {
        Plan {
            text: text.to_owned(),
            context: context.as_object().cloned().unwrap_or_default(),
            commands: commands.iter().map(|&line| line.to_owned()).collect(),
            limits: Limits::default(),
            network: None,
            known: None,
        }
    }

    #[test]
    fn a_program_may_close_the_network_and_never_open_it() {
        let mut wanted = plan("say hello", &[], &json!({ "requiresNetwork": true }));
        wanted.network = Some(true);
        assert_eq!(wanted.options().network, None);
        wanted.network = Some(false);
        assert_eq!(wanted.options().network, Some(Network::None));
    }

    #[test]
    fn whoever_asks_over_http_gets_the_limits_of_an_agent() {
        let named = plan("x", &[], &json!({ "agent": "claude" })).caller();
        assert_eq!(named.agent(), Some("claude"));
        assert_eq!(
            plan("x", &[], &json!({})).caller().limits(),
            Limits::agent()
        );
    }

    #[test]
    fn empty_words_and_too_many_commands_are_refused() {
        assert!(plan(" ", &[], &json!({})).checked().is_err());
        assert!(plan("x", &["", "true"], &json!({})).checked().is_err());
        assert!(
            plan("x", &["true"; COMMANDS_MAX + 1], &json!({}))
                .checked()
                .is_err()
        );
        assert!(plan("x", &["true"], &json!({})).checked().is_ok());
    }
}
