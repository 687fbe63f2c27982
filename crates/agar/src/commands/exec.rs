//! `agar exec`: one more command in a sandbox that is there.

use crate::args::{ProposalArgs, caller};
use crate::context::Context;
use crate::report::Failure;
use crate::streams::{Lender, Way};
use crate::ui::human;
use crate::ui::signals::Signals;
use crate::ui::{Form, ending, learning};
use agar_core::run::End;
use agar_engine::exec::{ExecAnswer, ExecRequest, exec};
use agar_engine::{Command, Engine};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Run a command in a sandbox that is there, or look around in it
///
/// Without a command it starts your shell inside. A sandbox that has finished is put up again.
/// What the command leaves running goes on, is shown by `agar ps`, and ends with the sandbox.
///
/// Before a command of an agent a snapshot is taken, so that `agar restore SANDBOX` undoes it;
/// `snapshots.before_run` in the settings says for whom.
#[derive(Debug, Clone, clap::Args)]
#[command(
    override_usage = "agar exec [OPTIONS] [SANDBOX] [-- COMMAND...]",
    after_long_help = "\
Examples:
  agar exec calm-fern                    a shell inside
  agar exec calm-fern -- cargo test
  agar exec -- git log                   in the only sandbox
  agar exec -w src calm -- ls            any unique beginning of the name

Exit status: the command's own; 125 if agar failed, 126 if the command cannot be executed, 127 if
there is no such command."
)]
pub struct ExecArgs {
    /// The sandbox, then the command and its arguments
    #[arg(trailing_var_arg = true, value_name = "SANDBOX")]
    pub words: Vec<OsString>,

    /// Start it in this directory
    #[arg(short = 'w', long, value_name = "DIR")]
    pub workdir: Option<PathBuf>,

    /// Pass an environment variable in, for this command only
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    pub env: Vec<OsString>,

    /// End it after this time
    #[arg(long, value_name = "TIME", value_parser = human::parse_duration)]
    pub timeout: Option<u64>,

    /// Run on behalf of this agent
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub agent: Option<String>,

    /// What it is meant to do: makes the run an experiment that is remembered.
    #[command(flatten)]
    pub proposal: ProposalArgs,
}

/// Runs it.
pub fn run(args: &ExecArgs, context: &Context) -> Result<u8, Failure> {
    let (sandbox, command) = split(&args.words, &context.typed);
    let command = if command.is_empty() {
        vec![context.environment.shell()]
    } else {
        command
    };
    let request = ExecRequest {
        sandbox,
        command: Command {
            cwd: args.workdir.clone(),
            environment: args.env.clone(),
            timeout_ms: args.timeout,
            ..Command::new(command)
        },
        caller: caller(args.agent.clone().or_else(|| context.environment.agent())),
        proposal: match &args.proposal.suggestion {
            Some(_) => Some(args.proposal.proposal()?),
            None => None,
        },
    };
    let signals = super::signals()?;
    let answer = attached(context, &context.engine()?, &signals, &request)?;
    let end = answer.run.end.as_ref();
    match context.ui.form {
        Form::Json => context.ui.show_json(&answer)?,
        Form::Words => {
            if matches!(
                end,
                Some(End::Stopped { .. } | End::NotFound | End::NotExecutable { .. } | End::Lost)
            ) {
                context.ui.say_block(&ending::verdict(&answer.run));
            }
            let back = (answer.before.as_deref(), answer.taken_back.as_deref());
            if let Some(words) = ending::taken_back(back.0, back.1) {
                context.ui.say_block(&words);
            }
            learning::after(&context.ui, answer.experiment.as_ref());
        }
    }
    Ok(ending::exit(&answer.run))
}

/// Runs a command in a sandbox with this process's streams.
pub(super) fn attached(
    context: &Context,
    engine: &Engine,
    signals: &Signals,
    request: &ExecRequest,
) -> Result<ExecAnswer, Failure> {
    let lender = Lender::new(&context.ui, signals, Way::CtrlCEnds)?;
    lender.hand_over();
    let mut console = lender.console();
    let answer = exec(engine, request, lender.streams(&mut console));
    lender.take_back();
    Ok(answer?)
}

/// Tells the sandbox from the command.
///
/// `exec calm-fern ls` and `exec calm-fern -- ls` name a sandbox; `exec -- ls` does not. The reader
/// of arguments swallows that first `--`, so it is looked for where it was typed.
fn split(words: &[OsString], typed: &[OsString]) -> (Option<String>, Vec<OsString>) {
    let before = typed
        .len()
        .checked_sub(words.len() + 1)
        .and_then(|at| typed.get(at));
    if before.is_some_and(|word| word == OsStr::new("--")) {
        return (None, words.to_vec());
    }
    match words.split_first() {
        None => (None, Vec::new()),
        Some((sandbox, command)) => {
            let command = match command.split_first() {
                Some((dashes, rest)) if dashes == OsStr::new("--") => rest,
                Some(_) | None => command,
            };
            (
                Some(sandbox.to_string_lossy().into_owned()),
                command.to_vec(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Verb};
    use clap::Parser as _;

    fn read(typed: &[&str]) -> (Option<String>, Vec<OsString>) {
        let cli = Cli::parse_from(["agar"].iter().chain(typed));
        let Verb::Exec(args) = cli.verb else {
            panic!("exec was typed");
        };
        let typed: Vec<OsString> = typed.iter().map(OsString::from).collect();
        split(&args.words, &typed)
    }

    #[test]
    fn the_sandbox_is_told_from_the_command() {
        let named = Some("calm-fern".to_owned());
        let command: Vec<OsString> = vec!["ls".into(), "-la".into()];
        assert_eq!(
            read(&["exec", "calm-fern", "ls", "-la"]),
            (named.clone(), command.clone())
        );
        assert_eq!(
            read(&["exec", "calm-fern", "--", "ls", "-la"]),
            (named.clone(), command.clone())
        );
        assert_eq!(read(&["exec", "--", "ls", "-la"]), (None, command.clone()));
        assert_eq!(
            read(&["exec", "-w", "src", "--", "ls", "-la"]),
            (None, command)
        );
        assert_eq!(read(&["exec", "calm-fern"]), (named, Vec::new()));
        assert_eq!(read(&["exec"]), (None, Vec::new()));
    }
}
