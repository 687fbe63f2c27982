//! `agar create`: a sandbox that stays up.

use crate::DONE;
use crate::args::{LimitArgs, WallArgs};
use crate::context::Context;
use crate::report::Failure;
use crate::streams::Console;
use crate::ui::block::{self, Block};
use crate::ui::progress::Meter;
use crate::ui::{Form, ending};
use agar_core::fault::Kind;
use agar_core::run::End;
use agar_engine::create::{CreateAnswer, CreateRequest, create, create_many};
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::{Command, Engine, Progress as _, Sink, Source, Step, Streams};
use rustix::stdio;
use std::sync::{Mutex, PoisonError};

/// Make a sandbox and leave it up, ready for commands
///
/// Its two-word name is printed. It starts from a picture of the project as it is now, so edits
/// you make meanwhile never appear inside. Run commands in it with `agar exec`; what they leave
/// running goes on until `agar rm`. Commands under `setup` in the settings are run in it first.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar create                            prints the name, such as calm-fern
  box=$(agar create --note upgrade)      for a script
  agar create --name api --memory 2G
  agar create -n 20                      twenty alike, one name on each line
  agar exec calm-fern -- npm start")]
pub struct CreateArgs {
    /// Its name, instead of two words drawn by chance
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// How many, all alike
    ///
    /// Each has a name of its own. With `--json` each is a line of its own.
    #[arg(short = 'n', long = "count", value_name = "N", default_value_t = 1)]
    pub count: u32,

    /// Which walls.
    #[command(flatten)]
    pub walls: WallArgs,

    /// Which limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Makes a sandbox and runs in it what the settings want run before it is used. What that prints is
/// not this command's answer.
pub(super) fn made(
    context: &Context,
    engine: &Engine,
    request: &CreateRequest,
) -> Result<CreateAnswer, Failure> {
    let answer = create(engine, request)?;
    set_up(context, engine, request, &answer)?;
    Ok(answer)
}

fn set_up(
    context: &Context,
    engine: &Engine,
    request: &CreateRequest,
    answer: &CreateAnswer,
) -> Result<(), Failure> {
    if answer.setup.is_empty() {
        return Ok(());
    }
    let alias = &answer.sandbox.alias;
    let signals = super::signals()?;
    let held = signals.hold();
    for line in &answer.setup {
        let step = Block::new().line(block::NOTE, format!("setup · {line}"));
        if context.ui.form == Form::Words {
            context.ui.say_block(&step);
        }
        let wanted = ExecRequest {
            sandbox: Some(answer.sandbox.id.to_string()),
            command: Command::new(["sh", "-c", line]),
            caller: request.options.caller.clone(),
            ..ExecRequest::default()
        };
        let streams = Streams {
            stdin: Source::Empty,
            stdout: Sink::Descriptor(stdio::stderr()),
            stderr: Sink::Descriptor(stdio::stderr()),
            terminal: None,
            controls: &mut Console::apart(&signals),
        };
        let run = exec(engine, &wanted, streams)?.run;
        if !run.end.as_ref().is_some_and(End::is_success) {
            let told = format!("the setup command `{line}` failed in {alias}, which is kept");
            return Err(Failure::new(Kind::Refused, told).advised(&[
                format!("`agar logs {alias}` shows what it printed"),
                format!("`agar rm {alias}` removes it"),
            ]));
        }
    }
    drop(held);
    Ok(())
}

/// Makes it.
pub fn run(args: &CreateArgs, context: &Context) -> Result<u8, Failure> {
    let request = CreateRequest {
        options: args.walls.options(args.limits, context.environment.agent()),
        alias: args.name.clone(),
    };
    let engine = context.engine()?;
    if args.count != 1 {
        return many(args.count, context, &engine, &request);
    }
    let answer = made(context, &engine, &request)?;
    match context.ui.form {
        Form::Words if context.ui.terminals.stderr => {
            context
                .ui
                .say_block(&ending::heading(&answer.sandbox, None));
        }
        Form::Words => context.ui.say_block(&ending::warnings(&answer.sandbox)),
        Form::Json => {}
    }
    context
        .ui
        .answer(&answer, |answer, _| format!("{}\n", answer.sandbox.alias))?;
    Ok(DONE)
}

/// Makes many, and tells of each as soon as it is ready: whoever ends this early knows what he has.
fn many(
    count: u32,
    context: &Context,
    engine: &Engine,
    request: &CreateRequest,
) -> Result<u8, Failure> {
    // Names that a person watches are progress themselves.
    let terminals = context.ui.terminals;
    let meter = Meter::new(terminals.stderr && !terminals.stdout);
    let state = Mutex::new(Crowd::default());
    let done = create_many(engine, request, count, &|answer| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let went_on = state.take_in(context, answer);
        meter.step(Step {
            doing: "making sandboxes",
            done: state.made as u64,
            total: Some(u64::from(count)),
        });
        went_on
    });
    meter.end();
    let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(trouble) = state.trouble {
        return Err(trouble);
    }
    let note = |words: String| {
        context.ui.say_block(&Block::new().line(block::NOTE, words));
    };
    if done.is_err() && state.made > 0 {
        note(format!("{} of {count} were made and are kept", state.made));
    }
    for (at, answer) in state.waiting.iter().enumerate() {
        if let Err(failure) = set_up(context, engine, request, answer) {
            let left = state.waiting.len() - at - 1;
            note(format!("{left} more were made and not set up: `agar ls`"));
            return Err(failure);
        }
        tell(context, answer)?;
    }
    done?;
    Ok(DONE)
}

/// Those that were made so far.
#[derive(Default)]
struct Crowd {
    made: usize,
    /// Who has still to be set up.
    waiting: Vec<CreateAnswer>,
    trouble: Option<Failure>,
}

impl Crowd {
    /// Whether to go on: a reader that went away wants no more.
    fn take_in(&mut self, context: &Context, answer: CreateAnswer) -> bool {
        if let (Form::Words, 0) = (context.ui.form, self.made) {
            // They are alike, and so is what is to be said of them.
            context.ui.say_block(&ending::warnings(&answer.sandbox));
        }
        self.made += 1;
        if !answer.setup.is_empty() {
            self.waiting.push(answer);
        } else if let Err(failure) = tell(context, &answer) {
            self.trouble.get_or_insert(failure);
        }
        self.trouble.is_none()
    }
}

/// The name of one of many.
fn tell(context: &Context, answer: &CreateAnswer) -> Result<(), Failure> {
    match context.ui.form {
        Form::Json => context.ui.show_line(answer),
        Form::Words => context.ui.show(&format!("{}\n", answer.sandbox.alias)),
    }
}
