//! `agar check`: the declared checks, on what a sandbox changed.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::streams::{Lender, Way};
use crate::ui::block::{self, Block};
use crate::ui::signals::Signals;
use crate::ui::{Form, checks};
use agar_core::fault::Kind;
use agar_engine::Engine;
use agar_engine::check::{CheckAnswer, CheckRequest, Verdict, check};

/// Run the project's checks on what a sandbox changed
///
/// The checks are those under [[check]] in agar.toml; `agar init` finds the usual ones. Each runs in
/// a throwaway copy of the sandbox, so that nothing it builds becomes part of the change, and once
/// on the untouched base, so that what failed before is told apart from what the change broke. `agar
/// try` does this by itself. Without a name the project's only sandbox is meant.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar check
  agar check calm-fern --only test
  agar check --json | jq '.checks[] | {name, verdict}'

Exit status: 0 if every check that must pass does, 1 if one fails, 7 if one could not decide.")]
pub struct CheckArgs {
    /// The sandbox
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,

    /// Only the check of this name
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
}

/// Runs them.
pub fn run(args: &CheckArgs, context: &Context) -> Result<u8, Failure> {
    let signals = super::signals()?;
    let engine = context.engine()?;
    let request = CheckRequest {
        sandbox: args.sandbox.clone(),
        only: args.only.clone(),
        caller: crate::args::caller(context.environment.agent()),
    };
    let answer = attached(context, (&engine, &signals), &request)?;
    match context.ui.form {
        Form::Json => context.ui.show_json(&answer)?,
        Form::Words => context.ui.show(&words(&answer, context))?,
    }
    Ok(status(&answer))
}

/// Runs them for somebody who may press Ctrl-C.
pub fn attached(
    context: &Context,
    (engine, signals): (&Engine, &Signals),
    request: &CheckRequest,
) -> Result<CheckAnswer, Failure> {
    let lender = Lender::new(&context.ui, signals, Way::CtrlCEnds)?;
    let mut console = lender.console();
    let answer = check(engine, request, &mut console, &mut |_| {});
    let interrupted = lender.take_back();
    let mut answer = answer?;
    answer.interrupted |= interrupted;
    Ok(answer)
}

fn words(answer: &CheckAnswer, context: &Context) -> String {
    let mut block = Block::new();
    checks::summarize(&mut block, &answer.checks);
    if answer.checks.is_empty() {
        block.push(block::NOTE, "this project declares no checks");
        block.push(block::HINT, "`agar init` finds the usual ones");
    }
    block.render(context.ui.out)
}

/// The exit status that says what the checks say.
pub fn status(answer: &CheckAnswer) -> u8 {
    if answer.interrupted {
        return Kind::Interrupted.exit_code();
    }
    match answer.verdict {
        Verdict::Pass => DONE,
        Verdict::Fail => Kind::Refused.exit_code(),
        Verdict::Undecided => Kind::Undecided.exit_code(),
    }
}
