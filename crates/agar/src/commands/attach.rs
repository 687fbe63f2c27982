//! `agar attach`: the terminal of a sandbox, shared and kept.

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::streams::{Lender, Way};
use crate::ui::block::{self, Block};
use crate::ui::{Form, terminal};
use agar_core::fault::Kind;
use agar_core::state::State;
use agar_engine::Engine;
use agar_engine::attach::{AttachAnswer, AttachRequest, TerminalKind, look, prepare};

/// Look at the terminal of a sandbox, alone or with others
///
/// Each sandbox has one terminal. Several people can look at it and type at the same time, and it
/// goes on when they leave: with Ctrl-b d, by closing the window, or because a connection broke.
/// It is a tmux session inside the sandbox where there is tmux, with your own settings of tmux,
/// and a plain terminal with its last output otherwise, which is as large as the smallest window of
/// those who look. It ends with its shell, or with the sandbox: if that is stopped or removed while
/// you look, your terminal is put back, what happened is said, and the exit status is 0.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar attach calm-fern                  Ctrl-b d leaves, and everything goes on
  agar attach                            of the only sandbox
  agar attach --json                     open it without looking, and describe it")]
pub struct AttachArgs {
    /// The sandbox
    #[arg(value_name = "SANDBOX")]
    pub sandbox: Option<String>,

    /// If it has no terminal yet, a plain one, even where there is tmux
    #[arg(long)]
    pub plain: bool,
}

/// Shows it.
pub fn run(args: &AttachArgs, context: &Context) -> Result<u8, Failure> {
    let request = AttachRequest {
        sandbox: args.sandbox.clone(),
        shell: Some(context.environment.shell()),
        plain: args.plain,
    };
    if context.ui.form == Form::Json {
        context
            .ui
            .show_json(&prepare(&context.engine()?, &request)?)?;
        return Ok(DONE);
    }
    let answer = view(context, &context.engine()?, &request)?;
    context.ui.say_block(&farewell(&answer));
    Ok(DONE)
}

/// Shows a terminal until it is left or over.
pub(super) fn view(
    context: &Context,
    engine: &Engine,
    request: &AttachRequest,
) -> Result<AttachAnswer, Failure> {
    if !crate::streams::on_terminal(&context.ui) {
        let message = "looking at a sandbox's terminal takes a terminal; `agar exec` does without";
        return Err(Failure::new(Kind::Invalid, message));
    }
    let signals = super::signals()?;
    let ready = prepare(engine, request)?;
    let way = match ready.kind {
        TerminalKind::Tmux => Way::AllKeys,
        TerminalKind::Plain => Way::MayLeave,
    };
    if ready.kind == TerminalKind::Plain {
        let name = &ready.sandbox.alias;
        let line = format!("{name} · plain terminal · Ctrl-b d leaves, and it goes on");
        context.ui.say_block(&Block::new().line(block::AGAR, line));
    }
    let lender = Lender::new(&context.ui, &signals, way)?;
    lender.hand_over();
    let mut console = lender.console();
    let answer = look(engine, &ready, lender.streams(&mut console));
    // Whatever filled the screen inside goes on there, but not here. A tmux that leaves by itself has
    // put the terminal back, but one that was ended with its sandbox has not.
    context.ui.show(terminal::PLAIN_AGAIN)?;
    if ready.kind == TerminalKind::Plain {
        context.ui.show("\r\n")?;
    }
    lender.take_back();
    Ok(answer?)
}

/// What became of the terminal, and of its sandbox while somebody looked.
fn farewell(answer: &AttachAnswer) -> Block {
    let alias = &answer.sandbox.alias;
    if let Some(removed) = removed(answer) {
        return removed;
    }
    let line = match (answer.over, answer.sandbox.state.is_alive()) {
        (true, true) => {
            format!("{alias} · the terminal is over · `agar diff {alias}` shows what changed")
        }
        (true, false) => format!("{alias} · was stopped · `agar diff {alias}` shows what changed"),
        (false, _) => format!("{alias} · goes on · `agar attach {alias}` comes back"),
    };
    Block::new().line(block::KEPT, line)
}

/// Says that the sandbox was removed while somebody looked, if it was.
pub(super) fn removed(answer: &AttachAnswer) -> Option<Block> {
    let alias = &answer.sandbox.alias;
    let line = match answer.sandbox.state {
        State::Collected => alias.clone(),
        State::Discarded => format!("{alias} · `agar restore --trash {alias}` takes it back"),
        State::Creating | State::Running | State::Paused | State::Finished | State::Promoted => {
            return None;
        }
    };
    Some(Block::new().line(block::REMOVED, line))
}
