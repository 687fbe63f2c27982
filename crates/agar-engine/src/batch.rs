//! Many sandboxes from one list: each made, used and removed, so many at a time.
//!
//! A population is a file with one request a line. Each gets a sandbox of its own and gives one
//! result, whatever happens to the others. Workers share nothing but the list: each has an engine of
//! its own, as if it were another process.

use crate::answer::RunView;
use crate::relay::{Control, Controls, Sink, Source, Streams};
use crate::run::{Afterwards, RunRequest, run};
use crate::{Command, Engine, EngineError, SandboxOptions};
use agar_core::fault::Fault as _;
use agar_core::id::SandboxId;
use agar_core::limits::Limits;
use agar_core::run::End;
use agar_core::size::Bytes;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What a command may print unless somebody says otherwise: its output is held in memory.
const OUTPUT_MAX: Bytes = Bytes::mib(16);

/// How much of each stream's end a result carries.
const TAIL_BYTES: usize = 64 << 10;

/// One request of a batch, one line of its file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BatchItem {
    /// What the result is called; any text.
    pub id: Option<String>,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// A script for `sh`, instead.
    pub script: Option<String>,
    /// What it reads from its standard input.
    pub stdin: String,
    /// Environment variables: `NAME=value`.
    pub env: Vec<String>,
    /// Where to start it.
    pub cwd: Option<PathBuf>,
    /// Limits of its own.
    pub limits: Limits,
    /// Keep the sandbox.
    pub keep: bool,
}

/// Asks for a batch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BatchRequest {
    /// One [`BatchItem`] as JSON each; empty ones are skipped. Bytes, because one line that is not
    /// text is no reason to refuse the others.
    pub lines: Vec<Vec<u8>>,
    /// How many at a time.
    pub jobs: usize,
    /// What every sandbox should be.
    pub options: SandboxOptions,
}

/// What became of one request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BatchResult {
    /// Its line, from 1.
    pub line: u64,
    /// What it was called.
    pub id: Option<String>,
    /// Its sandbox.
    pub sandbox: Option<SandboxId>,
    /// The name of the sandbox, if it is still there.
    pub kept: Option<String>,
    /// The run, with what its whole tree of processes used.
    pub run: Option<RunView>,
    /// Whether the command ran and succeeded.
    pub success: bool,
    /// The end of its standard output.
    pub stdout: String,
    /// The end of its standard error.
    pub stderr: String,
    /// Why there was no run.
    pub error: Option<BatchFault>,
}

/// Why a request could not be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchFault {
    /// Whose move it is.
    pub code: String,
    /// What stood in the way.
    pub message: String,
    /// What caused it, nearest first.
    #[serde(default)]
    pub causes: Vec<String>,
}

/// How a batch went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BatchAnswer {
    /// Commands that ran and succeeded.
    pub succeeded: u64,
    /// Commands that ran and failed, were stopped, or could not be started.
    pub failed: u64,
    /// Requests that were not begun.
    pub left: u64,
}

/// Whether a batch shall end, and a descriptor that is readable once it shall.
#[derive(Debug, Clone, Copy)]
pub struct Ending<'a> {
    /// Set when it shall.
    pub now: &'a AtomicBool,
    /// Readable, for ever, once it is set.
    pub wake: BorrowedFd<'a>,
}

/// Does every request of a batch. `report` is called with each result as it comes, by one worker at a
/// time or several at once.
pub fn batch(
    engine: &Engine,
    request: &BatchRequest,
    ending: Ending<'_>,
    report: &(dyn Fn(&BatchResult) + Sync),
) -> Result<BatchAnswer, EngineError> {
    // What would stand in everybody's way is said once.
    engine.here()?;
    let lines: Vec<(u64, &[u8])> = (1..)
        .zip(&request.lines)
        .map(|(number, line)| (number, line.trim_ascii()))
        .filter(|(_, line)| !line.is_empty())
        .collect();
    let workers = 0..request.jobs.clamp(1, lines.len().max(1));
    let surroundings = engine.surroundings().clone().for_many();
    let engines: Vec<Engine> = workers
        .map(|_| Engine::open(surroundings.clone()))
        .collect::<Result<_, _>>()?;
    let next = AtomicUsize::new(0);
    let done = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = |engine: Engine| {
        while !ending.now.load(Ordering::SeqCst)
            && let Some(&(number, line)) = lines.get(next.fetch_add(1, Ordering::SeqCst))
        {
            let result = one(&engine, request, (number, line), ending);
            let count = if result.success { &done.0 } else { &done.1 };
            count.fetch_add(1, Ordering::SeqCst);
            report(&result);
        }
    };
    std::thread::scope(|scope| {
        for engine in engines {
            scope.spawn(|| work(engine));
        }
    });
    let [succeeded, failed] = [done.0, done.1].map(|count| count.into_inner() as u64);
    Ok(BatchAnswer {
        succeeded,
        failed,
        left: lines.len() as u64 - succeeded - failed,
    })
}

/// Does one request, and tells what became of it.
fn one(
    engine: &Engine,
    request: &BatchRequest,
    (number, line): (u64, &[u8]),
    ending: Ending<'_>,
) -> BatchResult {
    let mut result = BatchResult {
        line: number,
        ..BatchResult::default()
    };
    let item = match item(line) {
        Ok(item) => item,
        Err(reason) => {
            let message = format!("line {number} is not a request: {reason}");
            result.error = Some(fault(&EngineError::Invalid(message)));
            result.id = id_of(line);
            return result;
        }
    };
    result.id.clone_from(&item.id);
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut controls = Stopping {
        ending,
        told: false,
    };
    let streams = Streams {
        stdin: Source::Bytes(item.stdin.as_bytes()),
        stdout: Sink::Buffer(&mut stdout),
        stderr: Sink::Buffer(&mut stderr),
        terminal: None,
        controls: &mut controls,
    };
    match run(engine, &wanted(request, &item), streams) {
        Ok(answer) => {
            result.success = answer.run.end.as_ref().is_some_and(End::is_success);
            result.sandbox = Some(answer.sandbox.id);
            result.kept = answer.kept.then_some(answer.sandbox.alias);
            result.run = Some(answer.run);
        }
        Err(error) => result.error = Some(fault(&error)),
    }
    result.stdout = tail(&stdout);
    result.stderr = tail(&stderr);
    result
}

/// Reads a request, or says why it is none.
fn item(line: &[u8]) -> Result<BatchItem, String> {
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    // An array of the values, in the order of the fields, would be read as well.
    if !text.starts_with('{') {
        return Err("it is not a JSON object".to_owned());
    }
    let item: BatchItem = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if item.script.is_some() && !item.argv.is_empty() {
        return Err("it has both `argv` and `script`".to_owned());
    }
    Ok(item)
}

/// What a request that could not be read is called, so that its result is found by it all the same.
fn id_of(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let value: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(value.get("id")?.as_str()?.to_owned())
}

fn wanted(request: &BatchRequest, item: &BatchItem) -> RunRequest {
    let argv: Vec<OsString> = match &item.script {
        Some(script) => ["sh", "-c", script].map(OsString::from).to_vec(),
        None => item.argv.iter().map(OsString::from).collect(),
    };
    let mut options = request.options.clone();
    options.limits = item.limits.or(options.limits);
    options.limits.output_bytes.get_or_insert(OUTPUT_MAX);
    RunRequest {
        options,
        command: Command {
            cwd: item.cwd.clone(),
            environment: item.env.iter().map(OsString::from).collect(),
            ..Command::new(argv)
        },
        afterwards: if item.keep {
            Afterwards::Keep
        } else {
            Afterwards::Remove
        },
        proposal: None,
    }
}

fn fault(error: &EngineError) -> BatchFault {
    BatchFault {
        code: error.kind().code().to_owned(),
        message: error.to_string(),
        causes: agar_core::fault::causes(error),
    }
}

/// The end of an output, as text.
fn tail(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]).into_owned()
}

/// Tells a run that the batch shall end.
struct Stopping<'a> {
    ending: Ending<'a>,
    told: bool,
}

impl Controls for Stopping<'_> {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        (!self.told).then_some(self.ending.wake)
    }

    fn next(&mut self) -> Option<Control> {
        let stop = !self.told && self.ending.now.load(Ordering::SeqCst);
        self.told |= stop;
        stop.then_some(Control::Stop)
    }
}
