//! `status`, `stream` and `execute` of a sandbox.

use super::outcome_word;
use crate::app::App;
use crate::body::Told;
use crate::query::{Ask, At};
use crate::refusal::Refusal;
use crate::tail::{Cursor, What, follow};
use crate::trial::{purpose, shell};
use agar_core::fault::{Fault as _, Kind};
use agar_core::run::{End, Usage};
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::logs::{LogsRequest, logs};
use agar_engine::memory::{OfSandboxAnswer, of_sandbox};
use agar_engine::trouble::{clear_trouble, trouble};
use agar_engine::{Caller, Engine, RunView, SandboxView, Streams};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

/// Lines of output that `status` carries.
const LINES: usize = 1000;

/// How a sandbox is doing.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Standing {
    /// Its permanent id.
    id: String,
    /// The same, in the seed's spelling.
    #[serde(rename = "sandboxId")]
    sandbox_id: String,
    /// Its two words.
    alias: String,
    /// The outcome of its last experiment where there is one (`running`, `success`, `partial`,
    /// `failed`), else its state.
    status: String,
    /// Where it is in its life.
    state: String,
    /// What was measured of its last experiment and its last command.
    #[schema(value_type = Object)]
    metrics: Value,
    /// The end of what its last command printed, line by line.
    output: Vec<String>,
    /// How many commands it has run.
    runs: u32,
    /// Why the last experiment did not work.
    #[serde(rename = "failureReasons")]
    failure_reasons: Vec<String>,
    /// Why its commands could not be run at all.
    error: Option<String>,
}

/// Says how a sandbox is doing.
pub(crate) async fn status(
    State(app): State<App>,
    At(name): At<String>,
) -> Result<Json<Standing>, Refusal> {
    app.glance(name, move |engine, sandbox| {
        let tried = of_sandbox(engine, &sandbox.id.to_string())?;
        let last = last_run(engine, sandbox)?;
        let error = trouble(engine, sandbox.id)?;
        Ok(Json(told(sandbox, &tried, last, error)))
    })
    .await
}

/// The last run and the end of what it printed, if there was one.
fn last_run(engine: &Engine, sandbox: &SandboxView) -> Result<Option<(RunView, Vec<u8>)>, Refusal> {
    let request = LogsRequest {
        sandbox: Some(sandbox.id.to_string()),
        tail: Some(LINES),
        ..LogsRequest::default()
    };
    match logs(engine, &request) {
        Ok(found) => Ok(Some((found.run, found.output))),
        Err(error) if error.kind() == Kind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn told(
    sandbox: &SandboxView,
    tried: &OfSandboxAnswer,
    last: Option<(RunView, Vec<u8>)>,
    error: Option<String>,
) -> Standing {
    let experiment = tried.experiments.last();
    let memory = experiment.and_then(|it| {
        let own =
            |memory: &&agar_engine::memory::SandboxMemory| memory.experiment_id == it.summary.id;
        tried.memories.iter().find(own)
    });
    let outcome = memory.map(|it| &it.outcome);
    let status = match (experiment, &error) {
        (None, Some(_)) => "failed",
        (Some(it), _) => outcome_word(it.summary.status.word()),
        (None, None) => sandbox.state.word(),
    };
    let (run, output) = last.map_or((None, Vec::new()), |(run, output)| (Some(run), output));
    let usage = run.as_ref().map_or_else(Usage::default, |run| run.usage);
    let exit = run
        .as_ref()
        .and_then(|run| run.end.as_ref())
        .map(End::exit_code);
    let seen = outcome.and_then(|it| it.success_metrics);
    Standing {
        id: sandbox.id.to_string(),
        sandbox_id: sandbox.id.to_string(),
        alias: sandbox.alias.clone(),
        status: status.to_owned(),
        state: sandbox.state.word().to_owned(),
        metrics: json!({
            "success": seen,
            "exitCode": exit,
            "wallMs": usage.wall_ms,
            "cpuMs": usage.user_ms + usage.system_ms,
            "memoryPeakBytes": usage.memory_peak_bytes,
        }),
        output: lines(&output),
        runs: sandbox.runs,
        failure_reasons: outcome
            .map(|it| it.failure_reasons.clone())
            .unwrap_or_default(),
        error,
    }
}

fn lines(output: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(output)
        .lines()
        .map(str::to_owned)
        .collect()
}

/// From where a stream is wanted.
#[derive(Debug, Deserialize)]
pub(crate) struct From {
    after: Option<String>,
}

/// Streams what happens in a sandbox, from the beginning or from the last message a client has.
pub(crate) async fn stream(
    State(app): State<App>,
    At(name): At<String>,
    Ask(from): Ask<From>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let cursor = Cursor::of(&headers, from.after.as_deref())?;
    let id = app
        .glance(name, |_, sandbox| Ok(sandbox.id.to_string()))
        .await?;
    follow(
        &app,
        crate::app::Place::default(),
        What::Everything(id),
        cursor,
    )
}

/// Asks for a command in a sandbox.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct ExecuteBody {
    /// A line for a shell inside the sandbox.
    pub(crate) command: String,
    /// A limit on its time, in seconds.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub(crate) timeout: Option<u64>,
}

/// How a command ended.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Executed {
    /// What it printed, both streams in the order they came, without secrets.
    output: String,
    /// Its exit status, as a shell would say it.
    #[serde(rename = "exitCode")]
    exit_code: i32,
    /// How it ended exactly.
    #[schema(value_type = Object)]
    end: Option<End>,
    /// Its number in the sandbox.
    run: u32,
    /// Whether there was more output than was kept.
    truncated: bool,
}

/// Runs one command in a sandbox and waits for it.
pub(crate) async fn execute(
    State(app): State<App>,
    At(name): At<String>,
    Told(asked): Told<ExecuteBody>,
) -> Result<Json<Executed>, Refusal> {
    if asked.command.trim().is_empty() || asked.command.contains('\0') {
        return Err(Refusal::invalid("`command` is a line for a shell"));
    }
    let permit = app.run_permit()?;
    let mut halt = app.halt();
    app.on(name, move |engine, sandbox| {
        let _permit = permit;
        clear_trouble(engine, sandbox.id)?;
        let mut command = shell(&asked.command);
        command.timeout_ms = asked.timeout.map(|seconds| seconds.saturating_mul(1000));
        let (proposal, caller) = match purpose(engine, sandbox.id)? {
            Some((proposal, caller)) => (Some(proposal), caller),
            None => (
                None,
                Caller::Agent {
                    name: "api".to_owned(),
                },
            ),
        };
        let request = ExecRequest {
            sandbox: Some(sandbox.id.to_string()),
            command,
            caller,
            proposal,
        };
        let streams = Streams::unheard(&mut halt);
        let run = exec(engine, &request, streams)?.run;
        let request = LogsRequest {
            sandbox: Some(sandbox.id.to_string()),
            run: Some(run.number),
            ..LogsRequest::default()
        };
        let output = logs(engine, &request)?.output;
        Ok(Json(Executed {
            output: String::from_utf8_lossy(&output).into_owned(),
            exit_code: run.end.as_ref().map_or(125, End::exit_code),
            end: run.end,
            run: run.number,
            truncated: run.output_truncated,
        }))
    })
    .await
}
