//! A command in a sandbox, answered when it has ended or streamed while it runs.

use crate::app::{App, Halt};
use crate::body::Told;
use crate::query::At;
use crate::refusal::Refusal;
use crate::stream::{self, Sender, message};
use crate::trial::shell;
use crate::v1::sandboxes::caller;
use agar_engine::exec::{ExecAnswer, ExecRequest, exec};
use agar_engine::experiment::Proposal;
use agar_engine::{Command, Engine, Sink, Source, Streams};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::{IntoResponse as _, Response};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::runtime::Handle;
use utoipa::ToSchema;

/// How much of each stream an answer that is not streamed carries, from the end.
const TAIL_BYTES: usize = 1 << 20;
/// What is read of a stream at once.
const READ_BYTES: usize = 16 << 10;

/// Asks for a command in a sandbox.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ExecBody {
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// A line for a shell inside, instead.
    pub(crate) command: Option<String>,
    /// Where to start it; in the project if left out.
    #[schema(value_type = Option<String>)]
    pub(crate) cwd: Option<PathBuf>,
    /// Environment variables: `NAME=value`.
    pub(crate) env: Vec<String>,
    /// What it reads from its standard input.
    pub(crate) stdin: String,
    /// A limit on its time.
    #[schema(minimum = 1)]
    pub(crate) timeout_ms: Option<u64>,
    /// What it is meant to do, in words: makes the run an experiment.
    pub(crate) suggestion: Option<String>,
    /// On whose behalf.
    pub(crate) agent: Option<String>,
}

impl ExecBody {
    fn request(&self, sandbox: String) -> Result<ExecRequest, Refusal> {
        let plain = |text: &String| !text.contains('\0');
        let command = match (&self.command, self.argv.as_slice()) {
            (Some(line), []) if !line.trim().is_empty() && plain(line) => shell(line),
            (None, argv @ [_, ..]) if argv.iter().all(plain) => Command::new(argv),
            (Some(_) | None, _) => {
                return Err(Refusal::invalid(
                    "either `argv` or `command` says what to run",
                ));
            }
        };
        // A variable is given with its value: whose environment else would it come from?
        if self
            .env
            .iter()
            .any(|pair| !pair.contains('=') || !plain(pair))
        {
            return Err(Refusal::invalid("`env` holds `NAME=value`"));
        }
        Ok(ExecRequest {
            sandbox: Some(sandbox),
            command: Command {
                cwd: self.cwd.clone(),
                environment: self.env.iter().map(OsString::from).collect(),
                timeout_ms: self.timeout_ms,
                ..command
            },
            caller: caller(self.agent.clone()),
            proposal: self.suggestion.clone().map(|text| Proposal {
                text: Some(text),
                ..Proposal::default()
            }),
        })
    }
}

/// How a command ended, and what it printed.
#[derive(Debug, Serialize)]
pub(crate) struct ExecPage {
    #[serde(flatten)]
    answer: ExecAnswer,
    /// The end of its standard output.
    stdout: String,
    /// The end of its standard error.
    stderr: String,
}

/// Runs a command; as a stream, if that is what the client accepts.
pub(crate) async fn run(
    State(app): State<App>,
    At(name): At<String>,
    headers: HeaderMap,
    Told(asked): Told<ExecBody>,
) -> Result<Response, Refusal> {
    let accepted = headers.get(ACCEPT).and_then(|it| it.to_str().ok());
    let permit = app.run_permit()?;
    let mut halt = app.halt();
    if accepted.is_some_and(|it| it.contains("text/event-stream")) {
        let request = asked.request(String::new())?;
        let id = app
            .on(name, |_, sandbox| Ok(sandbox.id.to_string()))
            .await?;
        let (sender, response) = stream::open(&app)?;
        let request = ExecRequest {
            sandbox: Some(id.clone()),
            ..request
        };
        tokio::spawn(async move {
            let handle = Handle::current();
            let work = move |engine: &Engine, _: &_| {
                let _permit = permit;
                streamed(engine, (&request, &asked.stdin), halt, (&sender, &handle))
            };
            if let Err(refusal) = app.on(id, work).await {
                (app.log)(&format!("a streamed command failed: {}", refusal.told()));
            }
        });
        return Ok(response);
    }
    app.on(name, move |engine, sandbox| {
        let _permit = permit;
        let request = asked.request(sandbox.id.to_string())?;
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let streams = Streams {
            stdin: Source::Bytes(asked.stdin.as_bytes()),
            stdout: Sink::Buffer(&mut stdout),
            stderr: Sink::Buffer(&mut stderr),
            terminal: None,
            controls: &mut halt,
        };
        let answer = exec(engine, &request, streams)?;
        let page = ExecPage {
            answer,
            stdout: tail(&stdout),
            stderr: tail(&stderr),
        };
        Ok(Json(page).into_response())
    })
    .await
}

fn tail(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]).into_owned()
}

/// Runs a command and sends what it prints as it comes, then how it ended.
///
/// A client that goes away ends the writer, as in any pipeline.
fn streamed(
    engine: &Engine,
    (request, stdin): (&ExecRequest, &str),
    mut halt: Halt,
    (sender, handle): (&Sender, &Handle),
) -> Result<(), Refusal> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|_| Refusal::defect());
    let ((out_near, out_far), (err_near, err_far)) = (pipe()?, pipe()?);
    let count = AtomicU64::new(0);
    let say = |data: &Value| {
        let id = (count.fetch_add(1, Ordering::SeqCst) + 1).to_string();
        handle
            .block_on(sender.message(message(&id, &data.to_string()).0))
            .is_ok()
    };
    let last = std::thread::scope(|scope| {
        // Each reader closes its end when it stops, so that nobody writes what nobody reads.
        let say = &say;
        scope.spawn(move || pass(out_near.as_fd(), "stdout", say));
        scope.spawn(move || pass(err_near.as_fd(), "stderr", say));
        let streams = Streams {
            stdin: Source::Bytes(stdin.as_bytes()),
            stdout: Sink::Descriptor(out_far.as_fd()),
            stderr: Sink::Descriptor(err_far.as_fd()),
            terminal: None,
            controls: &mut halt,
        };
        let ended = exec(engine, request, streams);
        // The readers see the end once nobody can write.
        drop((out_far, err_far));
        ended
    });
    let data = match &last {
        Ok(answer) => json!({ "type": "end", "answer": answer }),
        Err(error) => json!({ "type": "error", "message": error.to_string() }),
    };
    say(&data);
    last?;
    Ok(())
}

/// Sends what comes out of a pipe until its end, or until nobody listens.
fn pass(from: BorrowedFd<'_>, name: &str, say: &dyn Fn(&Value) -> bool) {
    let mut buffer = vec![0; READ_BYTES];
    let mut waiting: Vec<u8> = Vec::new();
    loop {
        match rustix::io::read(from, &mut buffer[..]) {
            Ok(0) => break,
            Ok(count) => waiting.extend_from_slice(&buffer[..count]),
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => break,
        }
        // A character whose rest is still to come waits for it.
        let whole = match std::str::from_utf8(&waiting) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => waiting.len(),
        };
        let rest = waiting.split_off(whole);
        if !waiting.is_empty() && !say(&piece(name, &waiting)) {
            return;
        }
        waiting = rest;
    }
    if !waiting.is_empty() {
        say(&piece(name, &waiting));
    }
}

fn piece(name: &str, bytes: &[u8]) -> Value {
    json!({ "type": "output", "stream": name, "text": String::from_utf8_lossy(bytes) })
}
