//! `agar try`: the main job.

mod decide;

use crate::DONE;
use crate::args::{LimitArgs, NameArgs, ProposalArgs, WallArgs};
use crate::context::Context;
use crate::report::Failure;
use crate::streams::{Lender, Way};
use crate::ui::block::{self, Block};
use crate::ui::palette::Tone;
use crate::ui::signals::Signals;
use crate::ui::{Form, changes, checks, ending, learning};
use agar_core::fault::Kind;
use agar_core::run::End;
use agar_engine::apply::ApplyAnswer;
use agar_engine::check::{CheckRequest, CheckView, Verdict};
use agar_engine::run::RunAnswer;
use agar_engine::try_change::{Begun, TryRequest, try_change};
use agar_engine::{ChangeView, Command, Engine};
use serde::Serialize;
use std::ffi::OsString;

/// Run a command in a sandbox, look at what it changed, then decide
///
/// The command sees your whole machine and your project as they are on disk, and whatever it does
/// stays in the sandbox. Afterwards you see how it ended and what it changed, and choose: apply it
/// to the project, throw it away, look at the diff, look around inside, or keep it for later.
/// Nothing outside changes unless you say yes, and `agar undo` takes that back.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar try -- npm update
  agar try --yes -- cargo fmt            apply without asking if it succeeds
  agar try --net host -- cargo update    with the network
  agar try -- sh -c 'rm -rf ~'           go ahead
  agar try --keep --json -- make | jq .changes

Ctrl-C goes to the command; three in a row end the run. The sandbox is kept, and `agar diff` and
`agar exec` look into it. If nobody can be asked, the sandbox is kept and nothing is applied.

The project's checks (see `agar check`) run on what changed; with --yes a change that does not pass
them is kept, not applied.

Exit status: 0 if the outcome is as asked, 1 if the command or a check failed, 4 if a conflict is
left, 5 if a limit ended it, 7 if a check could not decide, 130 if you ended it.")]
pub struct TryArgs {
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND", value_hint = clap::ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,

    /// Apply without asking, if the command succeeds and the checks pass
    #[arg(short, long, group = "decision")]
    pub yes: bool,

    /// Keep the sandbox without asking
    #[arg(short, long, group = "decision")]
    pub keep: bool,

    /// Throw the sandbox away without asking
    #[arg(long, group = "decision")]
    pub discard: bool,

    /// What it is meant to do.
    #[command(flatten)]
    pub proposal: ProposalArgs,

    /// What it is called.
    #[command(flatten)]
    pub name: NameArgs,

    /// Which walls.
    #[command(flatten)]
    pub walls: WallArgs,

    /// Which limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// What became of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Its changes are in the project.
    Applied,
    /// It is gone.
    Discarded,
    /// It waits.
    Kept,
}

/// The whole answer of a try.
#[derive(Debug, Clone, Serialize)]
pub struct TryAnswer {
    /// The sandbox, the run and its changes.
    #[serde(flatten)]
    pub run: RunAnswer,
    /// What the project's checks say about it.
    pub checks: Vec<CheckView>,
    /// What became of the sandbox.
    pub decision: Decision,
    /// What was applied, or which conflicts stand in the way.
    pub application: Option<ApplyAnswer>,
}

/// Tries it.
pub fn run(args: &TryArgs, context: &Context) -> Result<u8, Failure> {
    let request = TryRequest {
        options: args
            .name
            .named(args.walls.options(args.limits, context.environment.agent())),
        command: Command::new(args.command.clone()),
        proposal: args.proposal.proposal()?,
    };
    let signals = super::signals()?;
    let engine = context.engine()?;
    let lender = Lender::new(&context.ui, &signals, Way::CtrlCEnds)?;
    let mut console = lender.console();
    let mut begun = |begun: &Begun| {
        head(context, begun);
        lender.hand_over();
    };
    let answer = try_change(&engine, &request, lender.streams(&mut console), &mut begun);
    let (interrupted, held) = lender.take_back_held();
    let mut answer = answer?;
    answer.run.interrupted |= interrupted;
    // Whoever presses the key once more shall still read how to look into what was kept.
    let _held = ending::was_interrupted(&answer.run).then_some(held);
    if context.ui.form == Form::Words {
        tell(context, &answer);
    }
    let checks = check(context, (&engine, &signals), &mut answer)?;
    let failed = !succeeded(&answer);
    if failed {
        learning::after(&context.ui, answer.experiment.as_ref());
    }
    let tried = Tried {
        answer: &answer,
        checks: &checks,
    };
    let (decision, application) = decide::decide(args, context, (&engine, &signals), &tried)?;
    let status = status(&tried, decision, application.as_ref());
    if !failed {
        learning::after(&context.ui, answer.experiment.as_ref());
    }
    if context.ui.form == Form::Json {
        answer.kept = decision == Decision::Kept;
        context.ui.show_json(&TryAnswer {
            run: answer,
            checks,
            decision,
            application,
        })?;
    }
    Ok(status)
}

/// Prints the heading: the sandbox, and how likely the command is to work.
fn head(context: &Context, begun: &Begun) {
    let mut block = match context.ui.form {
        Form::Words if context.ui.terminals.stderr => {
            ending::heading(&begun.sandbox, begun.confidence.as_ref())
        }
        Form::Words => ending::warnings(&begun.sandbox),
        Form::Json => return,
    };
    learning::trouble(&mut block, begun.trouble.as_deref());
    context.ui.say_block(&block);
    if context.ui.terminals.stderr {
        context.ui.say("\n");
    }
}

/// A run and what the checks say about it.
#[derive(Debug, Clone, Copy)]
struct Tried<'a> {
    answer: &'a RunAnswer,
    checks: &'a [CheckView],
}

impl Tried<'_> {
    /// What stands in the way of applying it.
    fn verdict(&self) -> Verdict {
        if succeeded(self.answer) {
            checks::verdict(self.checks)
        } else {
            Verdict::Fail
        }
    }
}

/// Runs the project's checks on what changed.
fn check(
    context: &Context,
    tools: (&Engine, &Signals),
    answer: &mut RunAnswer,
) -> Result<Vec<CheckView>, Failure> {
    if !answer.checks_due || answer.run.interrupted {
        return Ok(Vec::new());
    }
    let request = CheckRequest {
        sandbox: Some(answer.sandbox.id.to_string()),
        ..CheckRequest::default()
    };
    let checked = super::check::attached(context, tools, &request)?;
    answer.run.interrupted |= checked.interrupted;
    answer.experiment = checked.experiment;
    if context.ui.form == Form::Words {
        let mut block = Block::new();
        checks::summarize(&mut block, &checked.checks);
        context.ui.say_block(&block);
    }
    Ok(checked.checks)
}

/// Says how the run ended and what it changed.
fn tell(context: &Context, answer: &RunAnswer) {
    if context.ui.terminals.stderr {
        context.ui.say("\n");
    }
    let mut block = ending::verdict(&answer.run);
    if let Some(changes) = &answer.changes {
        changes::summarize(&mut block, changes, context.ui.err);
    }
    let failed = !succeeded(answer);
    if failed {
        block.push_more("nothing was applied; your project is untouched");
    }
    context.ui.say_block(&block);
    let back = (answer.before.as_deref(), answer.taken_back.as_deref());
    if let Some(words) = ending::taken_back(back.0, back.1) {
        context.ui.say_block(&words);
    }
}

/// Says that the sandbox is kept and how to look at it.
fn say_kept(context: &Context, answer: &RunAnswer) {
    let alias = &answer.sandbox.alias;
    let palette = context.ui.err;
    let name = |line: String| palette.paint(Tone::Name, &line);
    if succeeded(answer) {
        context.ui.say_block(
            &Block::new()
                .line(block::KEPT, alias.clone())
                .line(block::HINT, format!("apply it with `agar apply {alias}`"))
                .more(format!("see the changes with `agar diff {alias}`")),
        );
        return;
    }
    context.ui.say(&format!(
        "\nlook around:  {}     see the changes:  {}\n",
        name(format!("agar attach {alias}")),
        name(format!("agar diff {alias}"))
    ));
}

fn succeeded(answer: &RunAnswer) -> bool {
    !ending::was_interrupted(&answer.run) && answer.run.end.as_ref().is_some_and(End::is_success)
}

/// Whether anything at all changed, inside the project or outside it.
fn changed(changes: Option<&ChangeView>) -> bool {
    changes.is_none_or(|changes| {
        !changes.is_empty() || !changes.outside.is_empty() || !changes.masked.is_empty()
    })
}

fn status(tried: &Tried<'_>, decision: Decision, application: Option<&ApplyAnswer>) -> u8 {
    let answer = tried.answer;
    if ending::was_interrupted(&answer.run) {
        return Kind::Interrupted.exit_code();
    }
    match &answer.run.end {
        Some(End::Exited { code: 0 }) => match (decision, tried.verdict()) {
            // A person who applies it all the same has decided.
            (Decision::Applied, _) | (_, Verdict::Pass) => {
                application.map_or(DONE, super::apply::status)
            }
            (Decision::Kept | Decision::Discarded, Verdict::Fail) => Kind::Refused.exit_code(),
            (Decision::Kept | Decision::Discarded, Verdict::Undecided) => {
                Kind::Undecided.exit_code()
            }
        },
        Some(End::NotFound | End::NotExecutable { .. } | End::Stopped { .. } | End::Lost) => {
            ending::exit(&answer.run)
        }
        Some(End::Exited { .. } | End::Signaled { .. }) => Kind::Refused.exit_code(),
        None => super::OWN_FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;

    fn ended(end: End) -> RunAnswer {
        let mut answer = examples::run_answer();
        answer.run.end = Some(end);
        answer
    }

    #[test]
    fn the_exit_status_says_whether_the_outcome_is_as_asked() {
        for (end, expected) in [
            (End::Exited { code: 0 }, 0),
            (End::Exited { code: 42 }, 1),
            (End::Signaled { signal: 11 }, 1),
            (End::Signaled { signal: 2 }, 130),
            (End::NotFound, 127),
            (End::NotExecutable { errno: 13 }, 126),
            (End::Lost, 125),
        ] {
            let answer = ended(end.clone());
            let tried = Tried {
                answer: &answer,
                checks: &[],
            };
            assert_eq!(status(&tried, Decision::Kept, None), expected, "{end:?}");
        }
    }

    #[test]
    fn a_conflict_left_open_is_not_success() {
        let mut application = examples::apply();
        application.files[0].merge = agar_engine::apply::Merge::Conflict;
        let answer = ended(End::Exited { code: 0 });
        let tried = Tried {
            answer: &answer,
            checks: &[],
        };
        assert_eq!(status(&tried, Decision::Kept, Some(&application)), 4);
    }

    #[test]
    fn a_check_that_fails_or_cannot_decide_is_in_the_exit_status() {
        let answer = ended(End::Exited { code: 0 });
        let mut checks = examples::checks_failed();
        let of = |checks: &[CheckView], decision| {
            let tried = Tried {
                answer: &answer,
                checks,
            };
            status(&tried, decision, None)
        };
        assert_eq!(of(&checks, Decision::Kept), 1);
        assert_eq!(of(&checks, Decision::Applied), 0, "a person decided");
        checks[0].verdict = Verdict::Undecided;
        assert_eq!(of(&checks, Decision::Kept), 7);
        checks[0].must_pass = false;
        assert_eq!(of(&checks, Decision::Kept), 0);
    }

    #[test]
    fn a_run_that_changed_nothing_leaves_nothing_to_keep() {
        assert!(!changed(Some(&ChangeView::default())));
        assert!(changed(None), "what is not known may be a change");
    }
}
