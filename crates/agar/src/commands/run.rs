//! `agar run`: one command in a sandbox of its own, for scripts.

use crate::args::{LimitArgs, NameArgs, ProposalArgs, WallArgs};
use crate::context::Context;
use crate::report::Failure;
use crate::streams::{Lender, Way};
use crate::ui::block::{self, Block};
use crate::ui::{Form, checks, ending};
use agar_core::run::End;
use agar_engine::Command;
use agar_engine::check::CheckRequest;
use agar_engine::run::{Afterwards, RunAnswer, RunRequest, run as run_in_sandbox};
use std::ffi::OsString;

/// Run a command in a sandbox and pass its exit status on
///
/// Like `try`, without the questions: agar itself prints nothing unless something stands in the
/// way. The sandbox is kept if the project changed inside, so that `agar diff` and `agar apply`
/// can follow; otherwise it is removed. Everything the command started ends with it.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar run -- make test
  agar run --rm -- ./install.sh          see what it prints, keep nothing
  agar run --memory 2G --timeout 5m -- cargo test
  agar run -- ls -la ~                   the home inside, without the secrets

Exit status: the command's own; 125 if agar failed, 126 if the command cannot be executed, 127 if
there is no such command, 128 + N if signal N ended it, 5 if a limit did.")]
pub struct RunArgs {
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND", value_hint = clap::ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,

    /// Remove the sandbox afterwards, whatever it changed
    #[arg(long, conflicts_with = "keep")]
    pub rm: bool,

    /// Keep the sandbox, even if nothing changed in it
    #[arg(short, long)]
    pub keep: bool,

    /// What it is meant to do: makes the run an experiment that is remembered.
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

/// Runs it.
pub fn run(args: &RunArgs, context: &Context) -> Result<u8, Failure> {
    let request = RunRequest {
        options: args
            .name
            .named(args.walls.options(args.limits, context.environment.agent())),
        command: Command::new(args.command.clone()),
        afterwards: match (args.rm, args.keep) {
            (true, _) => Afterwards::Remove,
            (false, true) => Afterwards::Keep,
            (false, false) => Afterwards::KeepChanges,
        },
        proposal: match &args.proposal.suggestion {
            Some(_) => Some(args.proposal.proposal()?),
            None => None,
        },
    };
    let signals = super::signals()?;
    let engine = context.engine()?;
    let lender = Lender::new(&context.ui, &signals, Way::CtrlCEnds)?;
    lender.hand_over();
    let mut console = lender.console();
    let answer = run_in_sandbox(&engine, &request, lender.streams(&mut console));
    lender.take_back();
    let mut answer = answer?;
    if answer.checks_due {
        let request = CheckRequest {
            sandbox: Some(answer.sandbox.id.to_string()),
            ..CheckRequest::default()
        };
        let checked = super::check::attached(context, (&engine, &signals), &request)?;
        if context.ui.form == Form::Words && !checked.verdict.is_pass() {
            let mut block = Block::new();
            checks::summarize(&mut block, &checked.checks);
            context.ui.say_block(&block);
        }
        answer.experiment = checked.experiment;
    }
    match context.ui.form {
        Form::Json => context.ui.show_json(&answer)?,
        Form::Words => comment(&answer, context),
    }
    Ok(ending::exit(&answer.run))
}

/// Says what a script's author would want to know, and nothing when all went well.
fn comment(answer: &RunAnswer, context: &Context) {
    let troubled = matches!(
        answer.run.end,
        Some(End::Stopped { .. } | End::NotFound | End::NotExecutable { .. } | End::Lost)
    );
    context.ui.say_block(&ending::warnings(&answer.sandbox));
    if troubled {
        context.ui.say_block(&ending::verdict(&answer.run));
    }
    let back = (answer.before.as_deref(), answer.taken_back.as_deref());
    if let Some(words) = ending::taken_back(back.0, back.1) {
        context.ui.say_block(&words);
        return;
    }
    if answer.kept && context.ui.terminals.stderr {
        let alias = &answer.sandbox.alias;
        context.ui.say_block(&Block::new().line(
            block::KEPT,
            format!(
                "{alias} · `agar diff {alias}` shows its changes, `agar apply {alias}` applies them"
            ),
        ));
    }
}
