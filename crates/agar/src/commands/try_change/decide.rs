//! What becomes of the sandbox: said beforehand, asked now, or left for later.

use super::{Decision, Tried, TryArgs, changed, say_kept, succeeded, tell};
use crate::commands::{apply, diff, exec};
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::prompt::{self, Choice, Reply};
use crate::ui::signals::Signals;
use crate::ui::{Form, ending, human};
use agar_core::fault::Kind;
use agar_engine::apply::{ApplyAnswer, ApplyRequest};
use agar_engine::check::Verdict;
use agar_engine::diff::{DiffRequest, diff as changes_of};
use agar_engine::exec::ExecRequest;
use agar_engine::remove::{RemoveRequest, remove};
use agar_engine::run::RunAnswer;
use agar_engine::{Command, Engine};
use std::path::Path;

/// The engine and the signals, which every step needs.
type Tools<'a> = (&'a Engine, &'a Signals);

/// What became of it, and the application if there was one.
type Decided = (Decision, Option<ApplyAnswer>);

#[derive(Debug, Clone, Copy)]
enum Choose {
    Yes,
    No,
    Diff,
    Explore,
    Keep,
}

const CHOICES: [Choice<Choose>; 5] = [
    Choice {
        value: Choose::Yes,
        word: "yes",
    },
    Choice {
        value: Choose::No,
        word: "no",
    },
    Choice {
        value: Choose::Diff,
        word: "diff",
    },
    Choice {
        value: Choose::Explore,
        word: "explore",
    },
    Choice {
        value: Choose::Keep,
        word: "keep",
    },
];

/// Decides, by the flags, by the outcome, or by asking.
pub(super) fn decide(
    args: &TryArgs,
    context: &Context,
    tools: Tools<'_>,
    tried: &Tried<'_>,
) -> Result<Decided, Failure> {
    let answer = tried.answer;
    if args.keep || ending::was_interrupted(&answer.run) {
        return Ok(keep(context, answer));
    }
    if args.discard {
        return discard(context, tools, answer);
    }
    if answer.taken_back.is_some() {
        // What it changed is in a snapshot, and there is nothing to apply.
        return Ok((Decision::Kept, None));
    }
    if !changed(answer.changes.as_ref()) {
        // There is nothing to look at, so nothing to be said about it.
        give_up(tools, answer)?;
        return Ok((Decision::Discarded, None));
    }
    let applicable = answer.changes.as_ref().is_none_or(|c| !c.is_empty());
    if !succeeded(answer) || !applicable {
        return Ok(keep(context, answer));
    }
    if args.yes && tried.verdict().is_pass() {
        return carry_out(context, tools, answer);
    }
    if args.yes || !context.ui.can_ask() {
        return Ok(keep(context, answer));
    }
    ask(context, tools, tried)
}

fn ask(context: &Context, tools: Tools<'_>, tried: &Tried<'_>) -> Result<Decided, Failure> {
    let (engine, signals) = tools;
    let answer = tried.answer;
    let project = Path::new(&answer.sandbox.project_path);
    let place = human::place(project, &engine.surroundings().home);
    let although = match tried.verdict() {
        Verdict::Pass => "",
        Verdict::Fail => " although a check fails",
        Verdict::Undecided => " although a check could not decide",
    };
    let question = format!("\nApply to {place}{although}?");
    loop {
        let reply = {
            let _held = signals.hold();
            prompt::ask(&context.ui, signals, &question, &CHOICES)
        };
        let reply = reply
            .map_err(|error| Failure::because(Kind::Internal, "cannot read the answer", &error))?;
        match reply {
            Reply::Chose(Choose::Yes) => return carry_out(context, tools, answer),
            Reply::Chose(Choose::No) => return discard(context, tools, answer),
            Reply::Chose(Choose::Keep) | Reply::Closed => return Ok(keep(context, answer)),
            Reply::Chose(Choose::Diff) => {
                let request = DiffRequest {
                    sandbox: Some(answer.sandbox.id.to_string()),
                    patch: true,
                    ..DiffRequest::default()
                };
                diff::show(context, engine, &request)?;
            }
            Reply::Chose(Choose::Explore) => explore(context, tools, answer)?,
            Reply::Interrupted => {
                keep(context, answer);
                return Err(Failure::interrupted());
            }
        }
    }
}

/// A shell inside, then a fresh look at the changes.
fn explore(context: &Context, tools: Tools<'_>, answer: &RunAnswer) -> Result<(), Failure> {
    let (engine, signals) = tools;
    let sandbox = Some(answer.sandbox.id.to_string());
    let request = ExecRequest {
        sandbox: sandbox.clone(),
        command: Command::new([context.environment.shell()]),
        ..ExecRequest::default()
    };
    let line = format!("{} · leave the shell to come back", answer.sandbox.alias);
    context.ui.say_block(&Block::new().line(block::AGAR, line));
    exec::attached(context, engine, signals, &request)?;
    let now = changes_of(
        engine,
        &DiffRequest {
            sandbox,
            ..DiffRequest::default()
        },
    )?;
    tell(
        context,
        &RunAnswer {
            changes: Some(now.changes),
            ..answer.clone()
        },
    );
    Ok(())
}

fn carry_out(context: &Context, tools: Tools<'_>, answer: &RunAnswer) -> Result<Decided, Failure> {
    let request = ApplyRequest {
        sandbox: Some(answer.sandbox.id.to_string()),
        // Whatever a shell left running ends here.
        stop: true,
        ..ApplyRequest::default()
    };
    let applied = apply::carry_out(context, tools.0, tools.1, request)?;
    if applied.conflicts().next().is_none() {
        return Ok((Decision::Applied, Some(applied)));
    }
    let (decision, _) = keep(context, answer);
    Ok((decision, Some(applied)))
}

fn discard(context: &Context, tools: Tools<'_>, answer: &RunAnswer) -> Result<Decided, Failure> {
    give_up(tools, answer)?;
    if context.ui.form == Form::Words {
        let line = format!("{} · your project is untouched", answer.sandbox.alias);
        context
            .ui
            .say_block(&Block::new().line(block::DISCARDED, line));
    }
    Ok((Decision::Discarded, None))
}

fn give_up((engine, _): Tools<'_>, answer: &RunAnswer) -> Result<(), Failure> {
    let request = RemoveRequest {
        sandboxes: vec![answer.sandbox.id.to_string()],
        all: false,
        force: true,
        feedback: None,
    };
    remove(engine, &request)?;
    Ok(())
}

fn keep(context: &Context, answer: &RunAnswer) -> Decided {
    if context.ui.form == Form::Words {
        say_kept(context, answer);
    }
    (Decision::Kept, None)
}
