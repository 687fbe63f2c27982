//! One command in a jail that stands: started, relayed, waited for and recorded.

use crate::blueprint::Blueprint;
use crate::failure::EngineError;
use crate::here::Here;
use crate::options::Command;
use crate::relay::{self, Controls, Ends, Meanwhile, OutputLog, Streams};
use crate::sweep::run_directory;
use crate::view::RunNotes;
use crate::{Engine, inside, layers};
use agar_core::run::{End, Usage};
use agar_jail::client::{Keeper, Order, Raising, RunRequest, Running, TalkError, WindowSize};
use agar_jail::report::RunReport;
use agar_jail::wire::Raw;
use agar_store::{NewRun, RunEnd, Sandbox, StoreError, Writer};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A command that somebody wants to run, checked.
#[derive(Debug)]
pub(crate) struct Errand<'a> {
    command: &'a Command,
    shown: Vec<String>,
}

/// A command with everything it needs inside.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    argv: Vec<Raw>,
    env: Vec<(Raw, Raw)>,
    cwd: PathBuf,
    timeout_ms: Option<u64>,
}

impl<'a> Errand<'a> {
    /// Checks a command.
    pub(crate) fn new(command: &'a Command) -> Result<Self, EngineError> {
        if command
            .argv
            .first()
            .is_none_or(|program| program.is_empty())
        {
            return Err(EngineError::Invalid(
                "there is no command to run".to_owned(),
            ));
        }
        // What the kernel calls a page times 32, with the zero byte at its end.
        let word_max = rustix::param::page_size() * 32;
        if let Some(long) = command.argv.iter().find(|word| word.len() >= word_max) {
            return Err(EngineError::Invalid(format!(
                "an argument of the command has {} bytes, and the system takes {} at most",
                long.len(),
                word_max - 1
            )));
        }
        let shown = command
            .argv
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        Ok(Self { command, shown })
    }

    /// Its words, as they are shown.
    pub(crate) fn words(&self) -> &[String] {
        &self.shown
    }

    /// Where it starts.
    pub(crate) fn directory(&self, engine: &Engine, blueprint: &Blueprint) -> PathBuf {
        inside::directory(engine, blueprint, self.command.cwd.as_deref())
    }

    /// Records that it is about to start, and gives it a number.
    pub(crate) fn record(
        &self,
        engine: &Engine,
        store: &Writer<'_>,
        (sandbox, cwd): (&Sandbox, &Path),
    ) -> Result<u32, StoreError> {
        let new = NewRun {
            sandbox: sandbox.id,
            argv: &self.shown,
            cwd,
        };
        store.start_run(&new, engine.now())
    }

    /// Gathers its environment.
    pub(crate) fn pack(
        &self,
        engine: &Engine,
        blueprint: &Blueprint,
        record: &Sandbox,
    ) -> Result<Packed, EngineError> {
        let cwd = self.directory(engine, blueprint);
        let names = (record.alias.as_str(), cwd.as_path());
        let env = inside::environment(engine, blueprint, self.command, names)?;
        Ok(Packed {
            argv: self.command.argv.iter().cloned().map(Raw::from).collect(),
            env,
            cwd,
            timeout_ms: self.command.timeout_ms.or(record.limits.timeout_ms),
        })
    }
}

impl Packed {
    /// What the keeper is asked for.
    pub(crate) fn request(self, number: u32, terminal: Option<WindowSize>) -> RunRequest {
        RunRequest {
            number,
            argv: self.argv,
            env: self.env,
            cwd: Raw::from(self.cwd),
            terminal,
            timeout_ms: self.timeout_ms,
        }
    }
}

const SIGKILL: i32 = 9;

/// How far a run was followed.
#[derive(Debug)]
pub(crate) enum Followed {
    /// To its end.
    Over(Ended),
    /// Until the caller left: it stands still, or has not started. This is its end if nothing in its
    /// sandbox ever goes on.
    Left(Ended),
}

/// How a run went.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) number: u32,
    pub(crate) end: End,
    pub(crate) usage: Usage,
    pub(crate) notes: RunNotes,
    pub(crate) log_bytes: u64,
}

impl Ended {
    /// A run that could not even be started.
    pub(crate) fn lost(number: u32) -> Self {
        Self {
            number,
            end: End::Lost,
            usage: Usage::default(),
            notes: RunNotes::default(),
            log_bytes: 0,
        }
    }

    /// A run as its keeper saw it end.
    fn of(number: u32, report: &RunReport) -> Self {
        Self {
            end: report.end.clone(),
            usage: report.usage,
            notes: RunNotes::of(report),
            ..Self::lost(number)
        }
    }

    /// A run that the caller ended without waiting for it.
    pub(crate) fn left(number: u32) -> Self {
        let mut ended = Self::lost(number);
        ended.end = End::Signaled { signal: SIGKILL };
        ended.notes.interrupted = true;
        ended
    }

    /// Whether a limit ended the command, or the walls denied it something.
    pub(crate) fn went_too_far(&self) -> bool {
        matches!(self.end, End::Stopped { .. }) || !self.notes.denied.is_empty()
    }

    /// Records the end.
    pub(crate) fn record(
        &self,
        engine: &Engine,
        store: &Writer<'_>,
        sandbox: &Sandbox,
    ) -> Result<(), StoreError> {
        let notes = serde_json::to_string(&self.notes).ok();
        let ended = RunEnd {
            end: &self.end,
            usage: self.usage,
            report: notes.as_deref(),
            log_bytes: self.log_bytes,
        };
        match store.end_run(sandbox.id, self.number, &ended, engine.now()) {
            // Somebody else ended the sandbox and wrote down what the keeper had seen.
            Ok(()) | Err(StoreError::RunEnded { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A command that a keeper was asked for.
pub(crate) struct Sent {
    order: Order,
    log: OutputLog,
    number: u32,
    alias: String,
}

impl Sent {
    /// Asks the keeper of a jail that stands.
    pub(crate) fn now(
        here: &Here,
        (keeper, sandbox): (&Keeper, &Sandbox),
        what: (Packed, u32),
        streams: &Streams<'_>,
    ) -> Result<Self, EngineError> {
        Self::send(here, sandbox, what, streams, |request| {
            keeper.order(request)
        })
    }

    /// Asks a keeper that is still raising its jail.
    pub(crate) fn ahead(
        here: &Here,
        (raising, sandbox): (&Raising, &Sandbox),
        what: (Packed, u32),
        streams: &Streams<'_>,
    ) -> Result<Self, EngineError> {
        Self::send(here, sandbox, what, streams, |request| {
            raising.order(request)
        })
    }

    /// Waits until it has started, unless the caller leaves before.
    pub(crate) fn started(
        self,
        keeper: &Keeper,
        controls: &mut dyn Controls,
    ) -> Result<Started, EngineError> {
        let Some((running, meanwhile)) = started(self.order, keeper, controls)? else {
            return Err(EngineError::LeftBefore { alias: self.alias });
        };
        Ok(Started {
            running,
            meanwhile,
            log: self.log,
            number: self.number,
        })
    }

    fn send(
        here: &Here,
        sandbox: &Sandbox,
        (packed, number): (Packed, u32),
        streams: &Streams<'_>,
        ask: impl FnOnce(&RunRequest) -> Result<Order, TalkError>,
    ) -> Result<Self, EngineError> {
        let directory = run_directory(&here.sandbox(sandbox.id), number);
        layers::make_private(&directory).map_err(EngineError::io("make the run's directory"))?;
        let request = packed.request(number, streams.terminal);
        Ok(Self {
            order: ask(&request)?,
            log: OutputLog::new(directory.join("output"), redact),
            number,
            alias: sandbox.alias.clone(),
        })
    }
}

/// A command that has started.
pub(crate) struct Started {
    running: Running,
    meanwhile: Meanwhile,
    log: OutputLog,
    number: u32,
}

/// Waits until what was asked for has started. A caller who leaves takes it back, which the keeper has
/// to confirm: it may have started by then. Nothing if it has not, or if the caller leaves again.
pub(crate) fn started(
    order: Order,
    keeper: &Keeper,
    controls: &mut dyn Controls,
) -> Result<Option<(Running, Meanwhile)>, EngineError> {
    started_for(Duration::ZERO, order, keeper, controls)
}

/// The same for a caller who may have typed something before leaving: for so long it is waited for, and
/// then that is handed over before the caller leaves.
pub(crate) fn started_for(
    grace: Duration,
    order: Order,
    keeper: &Keeper,
    controls: &mut dyn Controls,
) -> Result<Option<(Running, Meanwhile)>, EngineError> {
    const DOING: &str = "wait for the command to start";
    let mut meanwhile = Meanwhile::default();
    while meanwhile
        .leaves_before(keeper.as_fd(), controls)
        .map_err(EngineError::io(DOING))?
    {
        if meanwhile.left {
            return Ok(None);
        }
        if !grace.is_zero()
            && Meanwhile::is_ready_within(keeper.as_fd(), grace).map_err(EngineError::io(DOING))?
        {
            meanwhile.is_leaving = true;
            break;
        }
        meanwhile.left = true;
        // A keeper that is gone is heard of below.
        drop(order.take_back(keeper));
    }
    match order.started(keeper) {
        Err(error) if meanwhile.left && error.is_not_taken() => Ok(None),
        running => Ok(Some((running?, meanwhile))),
    }
}

/// Waits until a command has started, and follows it to its end.
pub(crate) fn drive(
    keeper: &Keeper,
    sandbox: &Sandbox,
    sent: Sent,
    streams: Streams<'_>,
) -> Result<Followed, EngineError> {
    let number = sent.number;
    match sent.started(keeper, streams.controls) {
        Ok(started) => follow(sandbox, started, streams),
        Err(EngineError::LeftBefore { .. }) => Ok(Followed::Left(Ended::left(number))),
        Err(error) => Err(error),
    }
}

/// Follows a command to its end, carrying its streams meanwhile.
pub(crate) fn follow(
    sandbox: &Sandbox,
    started: Started,
    mut streams: Streams<'_>,
) -> Result<Followed, EngineError> {
    let Started {
        mut running,
        mut meanwhile,
        mut log,
        number,
    } = started;
    let _span = tracing::debug_span!("run", sandbox = %sandbox.id, number).entered();
    let limit = sandbox.limits.output_bytes.map(|bytes| bytes.0);
    let ends = (
        running.stdin.take(),
        running.stdout.take(),
        running.stderr.take(),
        running.terminal.take(),
    );
    let signal = |signal| {
        // A run that has ended cannot be signalled, and need not be.
        drop(running.signal(signal));
    };
    let ends = Ends {
        stdin: ends.0,
        stdout: ends.1,
        stderr: ends.2,
        terminal: ends.3,
        done: running.done.as_fd(),
        signal: &signal,
        resize: None,
        meanwhile,
    };
    let relayed = relay::relay(ends, streams.again(), &mut log, limit)
        .map_err(EngineError::io("carry the command's output"))?;
    meanwhile.left |= relayed.interrupted;
    let kept = log.finish();
    let heard = hear_end(&running, &mut meanwhile, streams.controls)?;
    let mut ended = match &heard {
        Heard::End(report) => Ended::of(number, report),
        Heard::Gone => Ended::lost(number),
        Heard::Paused => Ended::left(number),
    };
    ended.notes.interrupted = meanwhile.left;
    ended.notes.truncated = kept.truncated;
    ended.log_bytes = kept.bytes;
    if let Some(trouble) = kept.trouble {
        let note = format!("the log is incomplete: {trouble}");
        ended.notes.notes.push(note);
    }
    if let Some(breach) = relayed.breach {
        ended.end = End::Stopped { breach };
    }
    Ok(match heard {
        Heard::End(_) | Heard::Gone => Followed::Over(ended),
        Heard::Paused => Followed::Left(ended),
    })
}

/// What is heard of a run that is relayed no longer.
enum Heard {
    /// How it ended.
    End(Box<RunReport>),
    /// Its keeper is gone.
    Gone,
    /// It ends when it goes on, and the caller does not wait for that.
    Paused,
}

/// Waits for the end of a run. One that is to end and stands still is waited for, unless it is the
/// caller who wanted its end, or who leaves now.
fn hear_end(
    running: &Running,
    meanwhile: &mut Meanwhile,
    controls: &mut dyn Controls,
) -> Result<Heard, EngineError> {
    loop {
        match running.wait() {
            Ok(report) => return Ok(Heard::End(Box::new(report))),
            Err(error) if !error.is_paused() => {
                // A keeper that went away under the run is a way to end, not a failure of this command.
                return Ok(Heard::Gone);
            }
            Err(_) if meanwhile.left => return Ok(Heard::Paused),
            Err(_) => {}
        }
        let leaves = meanwhile.leaves_before(running.done.as_fd(), controls);
        meanwhile.left = leaves.map_err(EngineError::io("wait for the end of the run"))?;
        if meanwhile.left {
            return Ok(Heard::Paused);
        }
    }
}

/// Lines without secrets.
fn redact(lines: &[u8]) -> Vec<u8> {
    let mut safe = Vec::with_capacity(lines.len());
    for chunk in lines.utf8_chunks() {
        safe.extend_from_slice(agar_core::secret::redact(chunk.valid()).as_bytes());
        safe.extend_from_slice(chunk.invalid());
    }
    safe
}

/// The output that was kept of a run.
pub(crate) fn output(sandbox: &Path, number: u32) -> std::io::Result<Vec<u8>> {
    output_from(sandbox, number, (0, relay::LOG_BYTES_MAX))
}

/// A part of it: from where, and how much at most.
pub(crate) fn output_from(
    sandbox: &Path,
    number: u32,
    (from, most): (u64, u64),
) -> std::io::Result<Vec<u8>> {
    let path = run_directory(sandbox, number).join("output");
    relay::read_log(&path, from, most.min(relay::LOG_BYTES_MAX))
}
