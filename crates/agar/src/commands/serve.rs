//! `agar serve`: the page and the HTTP interface.

use super::upkeep;
use crate::DONE;
use crate::context::Context;
use crate::reference;
use crate::report::Failure;
use crate::ui::Form;
use crate::ui::block::{self, Block};
use crate::ui::signals::Signals;
use agar_core::fault::Kind;
use agar_engine::projects::current;
use agar_engine::upkeep::Due;
use agar_engine::{Background, Engine, Quiet, Surroundings};
use agar_server::{AllowedOrigin, Ready, Settings, Stopper, TraceForm, serve, stopping, trace};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use rustix::event::{PollFd, PollFlags};
use serde::Serialize;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Serve the page and the HTTP interface on this machine
///
/// Listens on 127.0.0.1 only, for the person who started it: programs send the token from the file
/// that is named, and a browser opens the link that is printed, which works once. Other pages and
/// other users are turned away. /openapi.json describes the interface.
///
/// Ctrl-C lets requests that are under way end; a second one ends the commands they run. Sandboxes
/// stay either way.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar serve --open
  agar serve --port 0 --json
  curl -H \"Authorization: Bearer $(cat ~/.local/state/agar/serve/token)\" \\
    http://127.0.0.1:7727/v1/sandboxes")]
pub struct ServeArgs {
    /// The port; any that is free if 0
    #[arg(long, value_name = "PORT", default_value_t = 7727)]
    pub port: u16,

    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,

    /// Let pages of this origin (scheme, host, port) offer suggestions, from now on
    #[arg(long, value_name = "ORIGIN", hide_short_help = true)]
    pub allow_origin: Vec<String>,

    /// How many jails may stand ready, so that a sandbox like the last ones is there at once
    #[arg(long, value_name = "JAILS", default_value_t = 0, hide_short_help = true,
        value_parser = clap::value_parser!(u8).range(0..=64))]
    pub pool: u8,

    /// How long requests may go on after Ctrl-C, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10,
        hide_short_help = true
    )]
    pub grace: u64,

    /// Write what is asked and done to stderr: a level (`error` to `trace`), or parts and levels as in
    /// `agar_server=debug,agar_engine=info`
    #[arg(
        long,
        value_name = "FILTER",
        env = "AGAR_LOG",
        hide_env_values = true,
        hide_short_help = true
    )]
    pub log: Option<String>,

    /// How it is written: for people, or one JSON object a line
    #[arg(
        long,
        value_name = "FORM",
        env = "AGAR_LOG_FORM",
        hide_env_values = true,
        default_value = "words",
        hide_short_help = true
    )]
    pub log_form: LogForm,
}

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogForm {
    /// For people
    Words,
    /// One JSON object a line
    Json,
}

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServeAnswer {
    /// Where it listens.
    pub address: String,
    /// Where the page is.
    pub url: String,
    /// A link for a browser that works once.
    pub link: String,
    /// The file of the token for programs.
    pub token_file: String,
    /// Origins whose pages may offer suggestions, and their tokens.
    pub origins: Vec<AllowedOrigin>,
}

/// An example, for the published schema.
pub fn example() -> ServeAnswer {
    ServeAnswer {
        address: "127.0.0.1:7727".to_owned(),
        url: "http://127.0.0.1:7727/".to_owned(),
        link: "http://127.0.0.1:7727/open?key=0f".to_owned(),
        token_file: "/home/me/.local/state/agar/serve/token".to_owned(),
        origins: vec![AllowedOrigin {
            origin: "http://localhost:3000".to_owned(),
            token: "guest-1f".to_owned(),
        }],
    }
}

/// Serves until it is interrupted.
pub fn run(args: &ServeArgs, context: &Context) -> Result<u8, Failure> {
    let signals = super::signals()?;
    if let Some(filter) = &args.log {
        let form = match args.log_form {
            LogForm::Words => TraceForm::Words,
            LogForm::Json => TraceForm::Json,
        };
        trace(filter, form)?;
    }
    let surroundings = surroundings(context)?;
    let directory = surroundings.state_home.join("agar/serve");
    let token = directory.join("token");
    let (stopper, stop) = stopping();
    let settings = Settings {
        surroundings,
        port: args.port,
        token: token.clone(),
        openapi: reference::openapi(),
        pool: usize::from(args.pool),
        allow_origins: args.allow_origin.clone(),
        grace: Duration::from_secs(args.grace),
        log: log(context),
    };
    let _held = signals.hold();
    let over = AtomicBool::new(false);
    let nudge = signals
        .nudge()
        .map_err(|error| Failure::because(Kind::Internal, "cannot watch for signals", &error))?;
    let mut told = Ok(());
    let mut opened = None;
    std::thread::scope(|scope| {
        scope.spawn(|| watch(&signals, &stopper, &over));
        let served = serve(settings, stop, |ready| {
            told = tell(context, ready, &token);
            if args.open {
                opened = Some(open(context, &directory, ready));
            }
            if told.is_err() {
                stopper.stop();
            }
        });
        over.store(true, Ordering::SeqCst);
        nudge.terminate();
        served
    })?;
    if let Some(page) = opened {
        // A leftover holds a link that works no more.
        drop(fs_err::remove_file(page));
    }
    told?;
    Ok(DONE)
}

/// The caller's surroundings, standing at the top of the project.
fn surroundings(context: &Context) -> Result<Surroundings, Failure> {
    let directory = context.directory.as_deref();
    let mut surroundings = context
        .environment
        .surroundings(directory, Arc::new(Quiet))?;
    surroundings.cwd = current(&Engine::open(surroundings.clone())?)?;
    surroundings.background = Some(Arc::new(Attended));
    Ok(surroundings)
}

/// Says one line each on stderr.
fn log(context: &Context) -> Arc<dyn Fn(&str) + Send + Sync> {
    let ui = context.ui.clone();
    Arc::new(move |line| {
        ui.say_block(&Block::new().line(block::NOTE, agar_core::text::printable(line)));
    })
}

/// Says where the server is.
fn tell(context: &Context, ready: &Ready, token: &Path) -> Result<(), Failure> {
    let answer = ServeAnswer {
        address: ready.address.to_string(),
        url: ready.url.clone(),
        link: ready.link.clone(),
        token_file: token.display().to_string(),
        origins: ready.origins.clone(),
    };
    match context.ui.form {
        Form::Json => context.ui.show_line(&answer),
        Form::Words => {
            let told = format!("serving {} · Ctrl-C stops", answer.url);
            let programs = format!("programs send the token in {}", answer.token_file);
            let mut block = Block::new()
                .line(block::OK, told)
                .line(block::NOTE, programs);
            for allowed in &answer.origins {
                let AllowedOrigin { origin, token } = allowed;
                let told = format!("pages of {origin} may offer suggestions with {token}");
                block = block.line(block::NOTE, told);
            }
            let block = block.line(block::NOTE, "a browser opens this link, which works once:");
            context.ui.say_block(&block);
            context.ui.show(&format!("{}\n", answer.link))
        }
    }
}

/// Opens the page in the person's browser, through a private file: a command line can be read by
/// every user of the machine.
fn open(context: &Context, directory: &Path, ready: &Ready) -> PathBuf {
    let page = directory.join(format!("open-{}.html", std::process::id()));
    let text = format!(
        "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0;url={}\">\n",
        ready.link
    );
    let written = fs_err::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&page)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    let started = written.and_then(|()| {
        Command::new("xdg-open")
            .arg(&page)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    });
    match started {
        Ok(mut child) => {
            // Nobody waits for a browser, and nobody leaves it unburied.
            std::thread::spawn(move || drop(child.wait()));
        }
        Err(error) => {
            let told = format!("no browser could be opened: {error}");
            context.ui.say_block(&Block::new().line(block::NOTE, told));
        }
    }
    page
}

/// Turns signals into requests to stop, until the server is over.
fn watch(signals: &Signals, stopper: &Stopper, over: &AtomicBool) {
    while !over.load(Ordering::SeqCst) {
        let mut ready = [PollFd::new(signals, PollFlags::IN)];
        // Interrupted or not, what is ready is looked at.
        let _ = rustix::event::poll(&mut ready, None);
        let arrived = signals.take();
        if arrived.interrupt || arrived.terminate {
            stopper.stop();
        }
    }
}

/// Starts upkeep as other commands do, and buries it: a server lives longer than what it starts.
#[derive(Debug, Clone, Copy)]
struct Attended;

impl Background for Attended {
    fn start(&self, directory: &Path, due: Due) {
        if let Some(mut child) = upkeep::start(directory, due) {
            std::thread::spawn(move || drop(child.wait()));
        }
    }
}
