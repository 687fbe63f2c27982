//! `agar batch`: a population of sandboxes from a file.

use crate::DONE;
use crate::args::{LimitArgs, WallArgs};
use crate::context::Context;
use crate::report::Failure;
use crate::ui::block::{self, Block};
use crate::ui::signals::Signals;
use agar_core::fault::Kind;
use agar_core::text::printable_bytes;
use agar_engine::batch::{BatchAnswer, BatchRequest, BatchResult, Ending, batch};
use rustix::event::{PollFd, PollFlags};
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Run many commands, each in a sandbox of its own, and print one result line each
///
/// Every line of the file is a JSON object: `argv` or `script`, and if you like `id`, `stdin`,
/// `env`, `cwd`, `limits` and `keep`. Every result is one line of JSON on stdout, in the order they
/// end: how the command ended, what its whole tree of processes used, and the end of what it
/// printed. Sandboxes are removed unless `keep` says otherwise. Ctrl-C ends what runs, reports it
/// and begins nothing more.
#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = "\
Examples:
  agar batch population.jsonl
  agar batch -j 8 --memory 256M --timeout 10s population.jsonl > results.jsonl
  echo '{\"id\": \"a\", \"script\": \"make test\"}' | agar batch -

Exit status: 0 if every command succeeded, 1 if one did not, 130 after Ctrl-C.")]
pub struct BatchArgs {
    /// The file, or - for stdin
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub file: PathBuf,

    /// How many at a time; as many as there are processors if left out
    #[arg(short, long, value_name = "COUNT")]
    pub jobs: Option<usize>,

    /// Which walls.
    #[command(flatten)]
    pub walls: WallArgs,

    /// Which limits.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Runs them.
pub fn run(args: &BatchArgs, context: &Context) -> Result<u8, Failure> {
    let bytes = read(&args.file)?;
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let request = BatchRequest {
        lines: bytes
            .split(|byte| *byte == b'\n')
            .map(ToOwned::to_owned)
            .collect(),
        jobs: args.jobs.unwrap_or_else(processors),
        options: args.walls.options(args.limits, context.environment.agent()),
    };
    let signals = super::signals()?;
    let engine = context.engine()?;
    let _held = signals.hold();
    let watch = Watch::new()?;
    let trouble: Mutex<Option<Failure>> = Mutex::new(None);
    let report = |result: &BatchResult| {
        if let Err(failure) = context.ui.show_line(result) {
            // A reader that went away wants no more.
            watch.end();
            if let Ok(mut trouble) = trouble.lock() {
                trouble.get_or_insert(failure);
            }
        }
    };
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| watch.wait(&signals));
        let answer = batch(&engine, &request, watch.ending(), &report);
        watch.over();
        answer
    })?;
    if let Ok(Some(failure)) = trouble.into_inner() {
        return Err(failure);
    }
    if context.ui.terminals.stderr {
        context.ui.say_block(&summary(answer));
    }
    if watch.interrupted.load(Ordering::SeqCst) {
        return Ok(Kind::Interrupted.exit_code());
    }
    Ok(if answer.failed + answer.left == 0 {
        DONE
    } else {
        Kind::Refused.exit_code()
    })
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let read = if file == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map(|_| bytes)
    } else {
        fs_err::read(file)
    };
    read.map_err(|error| {
        let shown = printable_bytes(file.as_os_str().as_bytes());
        let (kind, message) = if error.kind() == std::io::ErrorKind::NotFound {
            let message = format!("cannot read the batch: there is no file {shown}");
            (Kind::NotFound, message)
        } else {
            (Kind::Invalid, format!("cannot read the batch {shown}"))
        };
        Failure::because(kind, message, &error)
    })
}

fn summary(answer: BatchAnswer) -> Block {
    let mut parts = vec![
        format!("{} succeeded", answer.succeeded),
        format!("{} failed", answer.failed),
    ];
    if answer.left > 0 {
        parts.push(format!("{} not begun", answer.left));
    }
    let label = if answer.failed + answer.left == 0 {
        block::OK
    } else {
        block::FAILED
    };
    Block::new().line(label, parts.join(" · "))
}

/// Turns a signal into something that every worker can wait for.
struct Watch {
    now: AtomicBool,
    interrupted: AtomicBool,
    /// Readable for ever once its other end is closed.
    wake: OwnedFd,
    hold: Mutex<Option<OwnedFd>>,
    stopped: OwnedFd,
    stop: Mutex<Option<OwnedFd>>,
}

impl Watch {
    fn new() -> Result<Self, Failure> {
        let pipe = || {
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|errno| {
                Failure::because(Kind::Internal, "cannot watch for signals", &errno)
            })
        };
        let ((wake, hold), (stopped, stop)) = (pipe()?, pipe()?);
        Ok(Self {
            now: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            wake,
            hold: Mutex::new(Some(hold)),
            stopped,
            stop: Mutex::new(Some(stop)),
        })
    }

    fn ending(&self) -> Ending<'_> {
        Ending {
            now: &self.now,
            wake: self.wake.as_fd(),
        }
    }

    /// The batch shall end.
    fn end(&self) {
        self.now.store(true, Ordering::SeqCst);
        close(&self.hold);
    }

    /// The batch has ended: nobody waits for signals any more.
    fn over(&self) {
        close(&self.stop);
    }

    /// Waits for a signal, or for the end.
    fn wait(&self, signals: &Signals) {
        let mut over = false;
        while !over {
            let mut ready = [
                PollFd::new(signals, PollFlags::IN),
                PollFd::new(&self.stopped, PollFlags::IN),
            ];
            // Interrupted or not, what is ready is looked at.
            let _ = rustix::event::poll(&mut ready, None);
            over = !ready[1].revents().is_empty();
            let arrived = signals.take();
            if arrived.interrupt || arrived.terminate {
                self.interrupted.store(true, Ordering::SeqCst);
                self.end();
            }
        }
    }
}

fn close(end: &Mutex<Option<OwnedFd>>) {
    if let Ok(mut end) = end.lock() {
        drop(end.take());
    }
}
