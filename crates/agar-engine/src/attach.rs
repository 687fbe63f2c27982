//! The terminal of a sandbox: one that its viewers share and that outlives each of them.
//!
//! Where there is tmux it is a tmux session inside the sandbox, on a server of its own, and every
//! viewer is a tmux client inside. Where there is none, the keeper holds a plain terminal together
//! with its last output. Neither is a run: nothing that is typed or shown is kept. The journal says
//! that a terminal was opened.

mod ask;

use crate::blueprint::Blueprint;
use crate::drive::{self, Errand};
use crate::here::Here;
use crate::relay::{self, Controls, Ends, Meanwhile, NoControls, OutputLog};
use crate::turn::Turn;
use crate::{Command, Engine, EngineError, SandboxView, Streams, WindowSize};
use crate::{attended, find, raise, view};
use agar_jail::client::{Keeper, RunRequest, Running, Status, VIEWERS};
use agar_store::{Fact, Sandbox};
use rustix::fd::AsFd as _;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Asks for the terminal of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttachRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
    /// What a new terminal starts with; the caller's `SHELL` if left out.
    pub shell: Option<OsString>,
    /// If it has none yet, a plain terminal, even where there is tmux.
    pub plain: bool,
}

/// How a terminal is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalKind {
    /// A session of the tmux inside.
    Tmux,
    /// A terminal that the keeper holds.
    Plain,
}

/// The terminal is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttachAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// Whether its jail had to be put up.
    pub started: bool,
    /// The name of its terminal.
    pub session: String,
    /// How it is made.
    pub kind: TerminalKind,
    /// Whether there was none before.
    pub opened: bool,
    /// How many look at it.
    pub viewers: u32,
    /// Whether it is over: its shell has ended, and with it the terminal.
    pub over: bool,
}

/// What a terminal has before anybody looked at it.
const FIRST_WINDOW: WindowSize = WindowSize {
    rows: 24,
    columns: 80,
};

/// How long a tmux inside may take to answer.
const ANSWER_MS_MAX: u64 = 5_000;

/// How long it may take to open a terminal: it reads the person's settings.
const OPENING_MS_MAX: u64 = 30_000;

/// How long whoever leaves a terminal waits for it to be there: what was typed before is for the shell on
/// it. A snapshot, for which it stands still, is over by then.
const GRACE: Duration = Duration::from_secs(2);

/// The number under which the keeper knows the terminal that it holds.
const PLAIN: u32 = VIEWERS;

/// The longest path a socket can have, with room for the zero byte.
const SOCKET_PATH_MAX: usize = 107;

/// Makes sure that the sandbox is up and has a terminal, and shows it until the caller leaves or it
/// is over.
pub fn attach(
    engine: &Engine,
    request: &AttachRequest,
    streams: Streams<'_>,
) -> Result<AttachAnswer, EngineError> {
    let ready = prepare(engine, request)?;
    look(engine, &ready, streams)
}

/// Makes sure that the sandbox is up and has a terminal.
pub fn prepare(engine: &Engine, request: &AttachRequest) -> Result<AttachAnswer, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, request.sandbox.as_deref())?;
    attended::conclude_in(engine, here, record.id)?;
    let up = raise::up(engine, here, record)?;
    let desk = Desk::new(engine, here, up.record, up.keeper)?;
    let held = desk.keeper.status()?;
    let socket = tmux(engine, &desk.blueprint);
    // It has one terminal: whoever asks for another kind gets the one that is there.
    let (kind, viewers) = match (held.terminal, socket) {
        (Some(_), _) => (TerminalKind::Plain, Some(held.viewers)),
        (None, Some(socket)) => match desk.tmux_viewers(&socket, &mut NoControls) {
            // One that does not answer is no terminal to whoever can do without.
            Ok(None) | Err(EngineError::Inside { .. }) if request.plain => {
                (TerminalKind::Plain, None)
            }
            viewers => (TerminalKind::Tmux, viewers?),
        },
        (None, None) => (TerminalKind::Plain, None),
    };
    if viewers.is_none() {
        let shell = request
            .shell
            .clone()
            .or_else(|| engine.surroundings().variable("SHELL").map(Into::into))
            .unwrap_or_else(|| OsString::from("/bin/sh"));
        desk.open(kind, shell)?;
    }
    Ok(AttachAnswer {
        sandbox: view::sandbox(here, &desk.record)?,
        started: up.started,
        session: session(&desk.record),
        kind,
        opened: viewers.is_none(),
        viewers: viewers.unwrap_or(0),
        over: false,
    })
}

/// Shows a terminal that is there.
pub fn look(
    engine: &Engine,
    ready: &AttachAnswer,
    mut streams: Streams<'_>,
) -> Result<AttachAnswer, EngineError> {
    let here = engine.here()?;
    let record = here.read(|store| store.sandbox(ready.sandbox.id))?;
    let keeper = here.keeper(engine, record.id)?;
    let desk = Desk::new(engine, here, record, keeper)?;
    match ready.kind {
        TerminalKind::Plain => desk.look_at_plain(&mut streams)?,
        TerminalKind::Tmux => desk.look_at_tmux(&mut streams)?,
    }
    let up = desk.is_up();
    if !up {
        // Somebody ends the sandbox at this very moment. What became of it is on record afterwards.
        drop(Turn::take_if_there(&here.sandbox(ready.sandbox.id)));
    }
    let record = here.read(|store| store.sandbox(ready.sandbox.id))?;
    Ok(AttachAnswer {
        sandbox: view::sandbox(here, &record)?,
        over: !up || desk.is_over(ready.kind, streams.controls),
        ..ready.clone()
    })
}

/// The name of a sandbox's terminal.
fn session(record: &Sandbox) -> String {
    format!("sandbox_{}", record.id)
}

/// Where the tmux server of a sandbox listens, seen from inside; nothing where there is no tmux.
fn tmux(engine: &Engine, blueprint: &Blueprint) -> Option<PathBuf> {
    let path = engine.surroundings().variable("PATH")?;
    let found = std::env::split_paths(path).any(|directory| directory.join("tmux").is_file());
    let temporary = match blueprint.copy.as_ref().filter(|copy| !copy.in_place) {
        Some(copy) => copy.temporary.as_path(),
        None => Path::new("/tmp"),
    };
    let socket = temporary.join(".agar-terminal");
    (found && socket.as_os_str().len() <= SOCKET_PATH_MAX).then_some(socket)
}

/// A sandbox that is up, and what it takes to start something in it.
struct Desk<'a> {
    engine: &'a Engine,
    here: &'a Here,
    record: Sandbox,
    blueprint: Blueprint,
    keeper: Keeper,
}

impl<'a> Desk<'a> {
    fn new(
        engine: &'a Engine,
        here: &'a Here,
        record: Sandbox,
        keeper: Keeper,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            blueprint: Blueprint::of(&record)?,
            engine,
            here,
            record,
            keeper,
        })
    }

    /// A command of which nothing is kept.
    fn request(
        &self,
        argv: Vec<OsString>,
        number: u32,
        terminal: Option<WindowSize>,
    ) -> Result<RunRequest, EngineError> {
        let mut command = Command::new(argv);
        if self.engine.surroundings().variable("TERM").is_none() {
            command.environment.push("TERM=xterm-256color".into());
        }
        let packed = Errand::new(&command)?.pack(self.engine, &self.blueprint, &self.record)?;
        // A person may look for as long as they like.
        Ok(RunRequest {
            timeout_ms: None,
            ..packed.request(number, terminal)
        })
    }

    /// A number that nobody who looks has.
    fn viewer(&self) -> u32 {
        let mut random = [0; 4];
        self.engine.surroundings().entropy.fill(&mut random);
        (PLAIN + 1) | u32::from_ne_bytes(random)
    }

    fn tmux(socket: &Path, words: &[&str]) -> Vec<OsString> {
        let mut argv: Vec<OsString> = ["tmux", "-u", "-S"].map(OsString::from).to_vec();
        argv.push(socket.into());
        argv.extend(words.iter().map(OsString::from));
        argv
    }

    /// How many look at the session; nothing if there is none.
    fn tmux_viewers(
        &self,
        socket: &Path,
        controls: &mut dyn Controls,
    ) -> Result<Option<u32>, EngineError> {
        let format = "#{session_name} #{session_attached}";
        let question = Self::tmux(socket, &["list-sessions", "-F", format]);
        let said = self.ask(question, ANSWER_MS_MAX, controls)?;
        if said.gave_up {
            return Err(self.no_answer());
        }
        let name = session(&self.record);
        Ok(said.output.lines().find_map(|line| {
            let (found, viewers) = line.split_once(' ')?;
            (found == name).then(|| viewers.parse().unwrap_or(0))
        }))
    }

    /// Opens a terminal where there is none.
    fn open(&self, kind: TerminalKind, shell: OsString) -> Result<(), EngineError> {
        match kind {
            TerminalKind::Plain => {
                let request = self.request(vec![shell], PLAIN, Some(FIRST_WINDOW))?;
                let running = self.keeper.terminal(&request)?;
                running.leave()?;
                running.over()?;
            }
            TerminalKind::Tmux => {
                if let Some(socket) = tmux(self.engine, &self.blueprint) {
                    self.open_tmux(&socket, shell)?;
                }
            }
        }
        let fact = Fact::TerminalOpened {
            session: session(&self.record),
        };
        let (project, id, at) = (self.record.project, self.record.id, self.engine.now());
        self.here
            .write(|store| store.append(project, Some(id), at, &fact))?;
        Ok(())
    }

    /// The person's own settings of tmux hold, except where they would end the session when nobody
    /// looks, or take keys for pasted text because they come quickly: on a busy machine all of them
    /// do, and then its own keys would be typed into the shell. A terminal says what is pasted.
    fn open_tmux(&self, socket: &Path, shell: OsString) -> Result<(), EngineError> {
        let name = session(&self.record);
        let (rows, columns) = (FIRST_WINDOW.rows, FIRST_WINDOW.columns);
        let (rows, columns) = (rows.to_string(), columns.to_string());
        let mut argv = Self::tmux(
            socket,
            &[
                "new-session",
                "-d",
                "-s",
                &name,
                "-x",
                &columns,
                "-y",
                &rows,
            ],
        );
        argv.push(shell);
        let title = format!("[{}] ", self.record.alias);
        let target = format!("={name}:");
        let words = [
            [
                ";",
                "set-option",
                "-t",
                &target,
                "destroy-unattached",
                "off",
            ],
            [";", "set-option", "-t", &target, "status-left", &title],
            [";", "set-option", "-t", &target, "status-left-length", "40"],
            [";", "set-option", "-t", &target, "assume-paste-time", "0"],
        ];
        argv.extend(words.as_flattened().iter().map(OsString::from));
        argv.extend([";", "set-option", "-s", "exit-unattached", "off"].map(OsString::from));
        self.ask(argv, OPENING_MS_MAX, &mut NoControls)?;
        match self.tmux_viewers(socket, &mut NoControls)? {
            Some(_) => Ok(()),
            None => Err(self.no_answer()),
        }
    }

    fn no_answer(&self) -> EngineError {
        EngineError::Inside {
            doing: "open a terminal in",
            alias: self.record.alias.clone(),
            said: "its tmux does not start or does not answer; `--plain` does without it"
                .to_owned(),
        }
    }

    /// Shows the keeper's terminal.
    fn look_at_plain(&self, streams: &mut Streams<'_>) -> Result<(), EngineError> {
        let window = streams.terminal.unwrap_or(FIRST_WINDOW);
        // Were it to end this very moment, a viewer would find a new one; so the shell is named.
        let shell = self.engine.surroundings().variable("SHELL");
        let shell = shell.map_or_else(|| "/bin/sh".into(), OsString::from);
        let request = self.request(vec![shell], PLAIN, Some(window))?;
        let order = self.keeper.order_terminal(&request)?;
        let started = drive::started_for(GRACE, order, &self.keeper, streams.controls)?;
        let Some((running, meanwhile)) = started else {
            return Ok(());
        };
        let resize = |size| drop(running.resize(size));
        let leave = |_| drop(running.leave());
        show((&running, meanwhile), streams, &leave, Some(&resize))
    }

    /// Shows the tmux session.
    fn look_at_tmux(&self, streams: &mut Streams<'_>) -> Result<(), EngineError> {
        let Some(socket) = tmux(self.engine, &self.blueprint) else {
            return Ok(());
        };
        let window = streams.terminal.unwrap_or(FIRST_WINDOW);
        let target = format!("={}", session(&self.record));
        let argv = Self::tmux(&socket, &["attach-session", "-t", &target]);
        let request = self.request(argv, self.viewer(), Some(window))?;
        let order = self.keeper.order(&request)?;
        let started = drive::started(order, &self.keeper, streams.controls)?;
        let Some((running, meanwhile)) = started else {
            return Ok(());
        };
        let end = |signal| drop(running.signal(signal));
        show((&running, meanwhile), streams, &end, None)
    }

    /// What the keeper says now; nothing if it is gone or about to go.
    fn status_again(&self) -> Option<Status> {
        let keeper = self.here.keeper(self.engine, self.record.id);
        keeper.and_then(|keeper| keeper.status()).ok()
    }

    /// Whether the sandbox is still up.
    fn is_up(&self) -> bool {
        self.status_again().is_some()
    }

    /// Whether the terminal has ended. One that cannot be asked goes on if the sandbox does: in one
    /// that is paused nothing can be started, and nothing ends.
    fn is_over(&self, kind: TerminalKind, controls: &mut dyn Controls) -> bool {
        let Some(status) = self.status_again() else {
            return true;
        };
        match (kind, tmux(self.engine, &self.blueprint)) {
            (TerminalKind::Plain, _) => status.terminal.is_none(),
            (TerminalKind::Tmux, None) => true,
            (TerminalKind::Tmux, Some(socket)) => {
                match self.again_tmux_viewers(&socket, controls) {
                    Ok(viewers) => viewers.is_none(),
                    Err(_) => !self.is_up(),
                }
            }
        }
    }

    /// Asks on a connection of its own: the one of the viewer has been used.
    fn again_tmux_viewers(
        &self,
        socket: &Path,
        controls: &mut dyn Controls,
    ) -> Result<Option<u32>, EngineError> {
        let keeper = self.here.keeper(self.engine, self.record.id)?;
        let desk = Self::new(self.engine, self.here, self.record.clone(), keeper)?;
        desk.tmux_viewers(socket, controls)
    }
}

/// Carries keys and output until the viewer leaves or there is nothing to see any more.
fn show(
    (running, meanwhile): (&Running, Meanwhile),
    streams: &mut Streams<'_>,
    signal: &dyn Fn(i32),
    resize: Option<&dyn Fn(WindowSize)>,
) -> Result<(), EngineError> {
    let terminal = running
        .terminal
        .as_ref()
        .map(std::os::fd::OwnedFd::try_clone)
        .transpose()
        .map_err(EngineError::io("look at the terminal"))?;
    let ends = Ends {
        stdin: None,
        stdout: None,
        stderr: None,
        terminal,
        done: running.done.as_fd(),
        signal,
        resize,
        meanwhile,
    };
    relay::relay(ends, streams.again(), &mut OutputLog::nowhere(), None)
        .map_err(EngineError::io("carry what the terminal shows"))?;
    // A keeper that went away under the viewer is a way to end.
    drop(running.over());
    Ok(())
}
