//! `agar logs`: what a run printed.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::signals::Signals;
use crate::ui::{Form, human};
use agar_core::size::Bytes;
use agar_engine::Engine;
use agar_engine::logs::{LogsAnswer, LogsRequest, logs};
use rustix::event::{PollFd, PollFlags};
use rustix::time::Timespec;

/// Show what a command in a sandbox printed
///
/// Both streams, in the order they came, as far as the output limit kept them. Secrets that agar
/// recognises are taken out.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar logs calm-fern
  agar logs calm-fern --run 2 --tail 50
  agar logs -f                           go on while the command runs")]
pub struct LogsArgs {
    /// The sandbox
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,

    /// Which run; the last one if left out
    #[arg(short, long, value_name = "NUMBER")]
    pub run: Option<u32>,

    /// Only this many lines, from the end
    #[arg(short = 'n', long, value_name = "LINES")]
    pub tail: Option<usize>,

    /// Go on until the run has ended
    #[arg(short, long, conflicts_with = "json")]
    pub follow: bool,
}

/// Shows it.
pub fn run(args: &LogsArgs, context: &Context) -> Result<u8, Failure> {
    let engine = context.engine()?;
    let request = LogsRequest {
        sandbox: args.sandbox.clone(),
        run: args.run,
        tail: args.tail,
        ..LogsRequest::default()
    };
    let answer = logs(&engine, &request)?;
    if context.ui.form == Form::Json {
        context.ui.show_json(&answer)?;
        return Ok(DONE);
    }
    context.ui.show_bytes(&answer.output)?;
    let last = if args.follow {
        follow(context, engine, answer)?
    } else {
        answer
    };
    if last.run.output_truncated && context.ui.terminals.stderr {
        let kept = Bytes(last.run.output_bytes);
        let ran = human::duration(last.run.usage.wall_ms);
        context.ui.say_block(&Block::new().line(
            block::NOTE,
            format!("there was more: only {kept} were kept of a run of {ran}"),
        ));
    }
    Ok(DONE)
}

/// After so many looks at the log somebody looks whether the run's own command died, as every command
/// does when it begins: nobody else might be there to write down the end.
const LOOKS: u32 = 10;

/// Shows more until the run has ended.
fn follow(context: &Context, first: Engine, begun: LogsAnswer) -> Result<LogsAnswer, Failure> {
    let signals = super::signals()?;
    let (mut engine, mut answer) = (first, begun);
    for look in 1_u32.. {
        if answer.run.end.is_some() {
            break;
        }
        wait(&signals);
        if look.is_multiple_of(LOOKS) {
            engine = context.engine()?;
        }
        let request = LogsRequest {
            sandbox: Some(answer.sandbox.id.to_string()),
            run: Some(answer.run.number),
            from: answer.until,
            ..LogsRequest::default()
        };
        answer = logs(&engine, &request)?;
        context.ui.show_bytes(&answer.output)?;
    }
    Ok(answer)
}

/// A short wait that Ctrl-C ends.
fn wait(signals: &Signals) {
    let pause = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    let mut ready = [PollFd::new(signals, PollFlags::IN)];
    // Interrupted or not, the next look at the log follows.
    let _ = rustix::event::poll(&mut ready, Some(&pause));
    signals.take();
}
