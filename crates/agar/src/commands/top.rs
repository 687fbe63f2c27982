//! `agar top`: the sandboxes, live.

mod board;
mod draw;
mod screen;

use crate::DONE;
use crate::context::Context;
use crate::report::Failure;
use crate::ui::Form;
use crate::ui::signals::Signals;
use crate::ui::terminal::Raw;
use agar_core::fault::Kind;
use agar_engine::Engine;
use agar_engine::list::{ListRequest, Look, list};
use agar_engine::pause::{PauseRequest, ResumeRequest, pause, resume};
use agar_engine::remove::{RemoveRequest, remove};
use agar_engine::stop::{StopRequest, stop};
use board::{Board, Wish};
use ratatui_core::terminal::Terminal;
use rustix::event::{PollFd, PollFlags};
use rustix::stdio;
use rustix::time::Timespec;
use screen::Screen;
use std::io;
use std::time::{Duration, Instant};

/// How often the sandboxes are looked at.
const PACE: Duration = Duration::from_secs(1);

/// Watch the sandboxes: what runs, what they use, what can go
///
/// A live table on a terminal, with keys to sort, select, pause, stop and remove; `?` shows them all.
/// In a pipe, or with --json, it is one look.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar top
  agar top -a                            of every project
  agar top --json | jq '.sandboxes[].memory_bytes'")]
pub struct TopArgs {
    /// Of every project, not only this one
    #[arg(short = 'a', long = "all")]
    pub everywhere: bool,
}

/// Shows it.
pub fn run(args: &TopArgs, context: &Context) -> Result<u8, Failure> {
    let engine = context.engine()?;
    let request = ListRequest {
        everywhere: args.everywhere,
        look: Look::Disk,
        ..ListRequest::default()
    };
    if context.ui.form == Form::Json {
        context.ui.show_json(&list(&engine, &request)?)?;
        return Ok(DONE);
    }
    if !crate::streams::on_terminal(&context.ui) {
        let mut board = Board::default();
        board.look(list(&engine, &request)?, context.environment.now());
        context.ui.show(&draw::plain(&board))?;
        return Ok(DONE);
    }
    let signals = super::signals()?;
    let _held = signals.hold();
    let shown = show(context, &engine, &request, &signals);
    match shown? {
        Ok(()) => Ok(DONE),
        Err(error) => Err(Failure::because(
            Kind::Internal,
            "cannot draw on the terminal",
            &error,
        )),
    }
}

/// Draws until the person leaves. The terminal is given back whatever happens.
fn show(
    context: &Context,
    engine: &Engine,
    request: &ListRequest,
    signals: &Signals,
) -> Result<io::Result<()>, Failure> {
    let mut board = Board::default();
    board.look(list(engine, request)?, context.environment.now());
    let opened = Raw::enter().and_then(|raw| Ok((raw, Screen::open()?)));
    let (raw, screen) = match opened {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error)),
    };
    let mut terminal = match Terminal::new(screen) {
        Ok(terminal) => terminal,
        Err(error) => return Ok(Err(error)),
    };
    let mut looked = Instant::now();
    let ended = loop {
        if let Err(error) = terminal.draw(|frame| draw::draw(&board, frame)) {
            break Ok(Err(error));
        }
        let keys = wait(signals, PACE.saturating_sub(looked.elapsed()));
        let arrived = signals.take();
        if arrived.interrupt || arrived.terminate {
            break Ok(Ok(()));
        }
        let wishes: Vec<Wish> = keys.iter().filter_map(|&key| board.press(key)).collect();
        if wishes.contains(&Wish::Leave) {
            break Ok(Ok(()));
        }
        let did = wishes.len();
        for wish in wishes {
            board.said = fulfil(engine, &wish);
        }
        if did > 0 || looked.elapsed() >= PACE {
            match list(engine, request) {
                Ok(answer) => board.look(answer, context.environment.now()),
                Err(error) => break Err(error.into()),
            }
            looked = Instant::now();
        }
    };
    drop(terminal);
    drop(raw);
    ended
}

/// Does what was wished; what is to be said about it.
fn fulfil(engine: &Engine, wish: &Wish) -> String {
    let told = match wish {
        Wish::Leave => return String::new(),
        Wish::Stop(id) => {
            let request = StopRequest {
                sandboxes: vec![id.to_string()],
                all: false,
            };
            stop(engine, &request).map(|_| "stopped")
        }
        Wish::Pause(id) => {
            let sandbox = Some(id.to_string());
            pause(engine, &PauseRequest { sandbox }).map(|_| "paused")
        }
        Wish::Resume(id) => {
            let sandbox = Some(id.to_string());
            resume(engine, &ResumeRequest { sandbox }).map(|_| "resumed")
        }
        Wish::Remove(id) => {
            let request = RemoveRequest {
                sandboxes: vec![id.to_string()],
                force: true,
                ..RemoveRequest::default()
            };
            remove(engine, &request).map(|answer| {
                if answer.removed.iter().any(|it| it.in_trash) {
                    "removed; `agar restore --trash` takes it back"
                } else {
                    "removed"
                }
            })
        }
    };
    told.map_or_else(|error| error.to_string(), ToOwned::to_owned)
}

/// Keys that were pressed, or nothing when the time is over or a signal came.
fn wait(signals: &Signals, patience: Duration) -> Vec<board::Key> {
    let patience = Timespec {
        tv_sec: i64::try_from(patience.as_secs()).unwrap_or(1),
        tv_nsec: i64::from(patience.subsec_nanos()),
    };
    let mut ready = [
        PollFd::from_borrowed_fd(stdio::stdin(), PollFlags::IN),
        PollFd::new(signals, PollFlags::IN),
    ];
    // Interrupted or not, what is ready is looked at.
    let _ = rustix::event::poll(&mut ready, Some(&patience));
    if ready[0].revents().is_empty() {
        return Vec::new();
    }
    let mut bytes = [0; 64];
    match rustix::io::read(stdio::stdin(), &mut bytes) {
        Ok(0) => vec![board::Key::Char('q')],
        Ok(count) => board::keys(&bytes[..count]),
        Err(_) => Vec::new(),
    }
}
