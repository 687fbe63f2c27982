//! Sandboxes: made, listed, shown, paused, stopped, removed.

use crate::app::{App, Place};
use crate::body::Told;
use crate::query::{Ask, At, page};
use crate::refusal::Refusal;
use agar_core::id::SandboxId;
use agar_core::limits::Limits;
use agar_core::state::State as Life;
use agar_core::walls::BaseKind;
use agar_engine::create::{CreateAnswer, CreateRequest};
use agar_engine::inspect::{InspectAnswer, InspectRequest, inspect};
use agar_engine::list::{ListOrder, ListRequest, Listed, Look, counts, list};
use agar_engine::logs::{LogsAnswer, LogsRequest, logs};
use agar_engine::pause::{PauseAnswer, PauseRequest, ResumeAnswer, ResumeRequest, pause, resume};
use agar_engine::processes::{ProcessesAnswer, ProcessesRequest, processes};
use agar_engine::projects::{ProjectsAnswer, projects};
use agar_engine::remove::{RemoveAnswer, RemoveRequest, remove};
use agar_engine::stop::{StopAnswer, StopRequest, stop};
use agar_engine::{Caller, SandboxOptions};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Lists the projects that agar knows.
pub(crate) async fn known_projects(
    State(app): State<App>,
) -> Result<Json<ProjectsAnswer>, Refusal> {
    app.work(Place::default(), |engine| Ok(Json(projects(engine)?)))
        .await
}

/// Asks for a sandbox.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SandboxBody {
    /// Its name; two words are drawn if left out.
    pub(crate) alias: Option<String>,
    /// A few words for the list.
    pub(crate) note: Option<String>,
    /// On whose behalf.
    pub(crate) agent: Option<String>,
    /// `frozen` or `live`; frozen if left out.
    #[schema(value_type = Option<String>)]
    pub(crate) base: Option<BaseKind>,
    /// Limits: `cpu_percent`, `memory_bytes`, `processes`, `disk_bytes`, `timeout_ms`,
    /// `output_bytes`. An agent's if left out.
    #[schema(value_type = Object)]
    pub(crate) limits: Limits,
    /// How long it is meant to live, in milliseconds.
    pub(crate) ttl_ms: Option<u64>,
}

/// Makes a sandbox. Commands of the settings that should run first are named, not run.
pub(crate) async fn make(
    State(app): State<App>,
    place: Place,
    Told(asked): Told<SandboxBody>,
) -> Result<(StatusCode, Json<CreateAnswer>), Refusal> {
    let own = app.clone();
    app.work(place, move |engine| {
        let request = CreateRequest {
            options: SandboxOptions {
                base: asked.base,
                limits: asked.limits,
                caller: caller(asked.agent),
                note: asked.note,
                ttl_ms: asked.ttl_ms,
                ..SandboxOptions::default()
            },
            alias: asked.alias,
        };
        Ok((StatusCode::CREATED, Json(own.create(engine, &request)?)))
    })
    .await
}

/// Whoever asks over HTTP is an agent, by the name it gives.
pub(crate) fn caller(agent: Option<String>) -> Caller {
    let name = agent.filter(|name| !name.is_empty());
    Caller::Agent {
        name: name.unwrap_or_else(|| "api".to_owned()),
    }
}

/// Which sandboxes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Which {
    limit: Option<u32>,
    after: Option<SandboxId>,
    all: bool,
    gone: bool,
    trash: bool,
    /// States, separated by commas.
    state: String,
    words: String,
    look: Look,
    order: ListOrder,
}

/// States from their words.
fn states(words: &str) -> Result<Vec<Life>, Refusal> {
    words
        .split(',')
        .filter(|word| !word.is_empty())
        .map(|word| {
            Life::from_word(word)
                .ok_or_else(|| Refusal::invalid("state is not the name of a state"))
        })
        .collect()
}

/// A page of sandboxes.
#[derive(Debug, Serialize)]
pub(crate) struct SandboxPage {
    /// Oldest first, if nothing else was asked for.
    sandboxes: Vec<Listed>,
    /// Ask with `after` this for the next page; nothing on the last one.
    next: Option<SandboxId>,
    /// How many there are in each state, on all pages.
    counts: BTreeMap<&'static str, u64>,
}

/// Lists sandboxes.
pub(crate) async fn all(
    State(app): State<App>,
    place: Place,
    Ask(which): Ask<Which>,
) -> Result<Json<SandboxPage>, Refusal> {
    let limit = page(which.limit)? as usize;
    let states = states(&which.state)?;
    app.work(place, move |engine| {
        let request = ListRequest {
            everywhere: which.all,
            collected: which.gone,
            trash: which.trash,
            states,
            words: which.words,
            look: which.look,
            order: which.order,
            after: which.after,
            limit: Some(limit),
        };
        let sandboxes = list(engine, &request)?.sandboxes;
        let last = sandboxes.last().map(|it| it.sandbox.id);
        Ok(Json(SandboxPage {
            next: last.filter(|_| sandboxes.len() == limit),
            sandboxes,
            counts: counts(engine, which.all)?,
        }))
    })
    .await
}

/// Shows everything about one sandbox.
pub(crate) async fn one(
    State(app): State<App>,
    At(name): At<String>,
) -> Result<Json<InspectAnswer>, Refusal> {
    app.on(name, |engine, sandbox| {
        let request = InspectRequest {
            sandbox: Some(sandbox.id.to_string()),
        };
        Ok(Json(inspect(engine, &request)?))
    })
    .await
}

/// How to remove.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct How {
    force: bool,
    feedback: Option<String>,
}

/// Removes a sandbox. Changes that were never applied can be had back for a while.
pub(crate) async fn gone(
    State(app): State<App>,
    At(name): At<String>,
    Ask(how): Ask<How>,
) -> Result<Json<RemoveAnswer>, Refusal> {
    app.on(name, move |engine, sandbox| {
        let request = RemoveRequest {
            sandboxes: vec![sandbox.id.to_string()],
            all: false,
            force: how.force,
            feedback: how.feedback,
        };
        Ok(Json(remove(engine, &request)?))
    })
    .await
}

/// Lists what runs inside.
pub(crate) async fn running(
    State(app): State<App>,
    At(name): At<String>,
) -> Result<Json<ProcessesAnswer>, Refusal> {
    app.on(name, |engine, sandbox| {
        let request = ProcessesRequest {
            sandbox: Some(sandbox.id.to_string()),
            everywhere: false,
        };
        Ok(Json(processes(engine, &request)?))
    })
    .await
}

/// Which part of an output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Part {
    from: u64,
    tail: Option<usize>,
}

/// Shows what a run printed.
pub(crate) async fn output(
    State(app): State<App>,
    At((name, run)): At<(String, u32)>,
    Ask(part): Ask<Part>,
) -> Result<Json<LogsAnswer>, Refusal> {
    app.on(name, move |engine, sandbox| {
        let request = LogsRequest {
            sandbox: Some(sandbox.id.to_string()),
            run: Some(run),
            tail: part.tail,
            from: part.from,
            most: None,
        };
        Ok(Json(logs(engine, &request)?))
    })
    .await
}

/// Stops everything inside for a while.
pub(crate) async fn paused(
    State(app): State<App>,
    At(name): At<String>,
) -> Result<Json<PauseAnswer>, Refusal> {
    app.on(name, |engine, sandbox| {
        let sandbox = Some(sandbox.id.to_string());
        Ok(Json(pause(engine, &PauseRequest { sandbox })?))
    })
    .await
}

/// Lets everything inside go on.
pub(crate) async fn resumed(
    State(app): State<App>,
    At(name): At<String>,
) -> Result<Json<ResumeAnswer>, Refusal> {
    app.on(name, |engine, sandbox| {
        let sandbox = Some(sandbox.id.to_string());
        Ok(Json(resume(engine, &ResumeRequest { sandbox })?))
    })
    .await
}

/// Ends everything inside and keeps what it changed.
pub(crate) async fn stopped(
    State(app): State<App>,
    At(name): At<String>,
) -> Result<Json<StopAnswer>, Refusal> {
    app.on(name, |engine, sandbox| {
        let request = StopRequest {
            sandboxes: vec![sandbox.id.to_string()],
            all: false,
        };
        Ok(Json(stop(engine, &request)?))
    })
    .await
}
