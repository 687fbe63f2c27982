//! Experiments, patterns, lessons, notes, confidence.

use crate::app::{App, Place};
use crate::body::Told;
use crate::query::{Ask, At, page};
use crate::refusal::Refusal;
use crate::v1::sandboxes::caller;
use agar_engine::memory;
use agar_engine::memory::{
    CalibrationAnswer, ChangeType, ConfidenceAnswer, ConfidenceRequest, ExperimentAnswer,
    ExperimentRequest, ExperimentSummary, ExperimentsRequest, FindingsRequest, ForgetAnswer,
    ForgetRequest, HistoryAnswer, HistoryRequest, LessonsAnswer, NoteRequest, NoteText,
    PatternsAnswer, SearchAnswer, SearchRequest, ShowAnswer, ShowRequest, Stats, Status,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Which experiments.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Which {
    limit: Option<u32>,
    before: Option<i64>,
    words: String,
    status: Option<Status>,
}

/// A page of experiments.
#[derive(Debug, Serialize)]
pub(crate) struct ExperimentPage {
    /// The newest first.
    experiments: Vec<ExperimentSummary>,
    /// Ask with `before` this for the next page; nothing on the last one.
    next: Option<i64>,
}

/// Lists experiments.
pub(crate) async fn experiments(
    State(app): State<App>,
    place: Place,
    Ask(which): Ask<Which>,
) -> Result<Json<ExperimentPage>, Refusal> {
    let limit = page(which.limit)?;
    app.work(place, move |engine| {
        let request = ExperimentsRequest {
            limit,
            before: which.before,
            words: which.words,
            status: which.status,
        };
        let experiments = memory::experiments(engine, &request)?.experiments;
        let last = experiments.last().map(|it| it.number);
        Ok(Json(ExperimentPage {
            next: last.filter(|_| experiments.len() == limit as usize),
            experiments,
        }))
    })
    .await
}

/// What was tried on each of the last days.
pub(crate) async fn history(
    State(app): State<App>,
    place: Place,
    Ask(request): Ask<Lately>,
) -> Result<Json<HistoryAnswer>, Refusal> {
    app.work(place, move |engine| {
        let defaults = HistoryRequest::default();
        let request = HistoryRequest {
            days: request.days.unwrap_or(defaults.days),
            east_minutes: request.east.unwrap_or(defaults.east_minutes),
        };
        Ok(Json(memory::history(engine, request)?))
    })
    .await
}

/// How many days.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Lately {
    days: Option<u32>,
    /// Minutes east of Greenwich.
    east: Option<i32>,
}

/// Shows one experiment.
pub(crate) async fn experiment(
    State(app): State<App>,
    place: Place,
    At(name): At<String>,
) -> Result<Json<ExperimentAnswer>, Refusal> {
    app.work(place, move |engine| {
        let request = ExperimentRequest { name: Some(name) };
        Ok(Json(memory::show_experiment(engine, &request)?))
    })
    .await
}

/// Whether hidden ones are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Hidden {
    all: bool,
}

/// Lists patterns.
pub(crate) async fn patterns(
    State(app): State<App>,
    place: Place,
    Ask(hidden): Ask<Hidden>,
) -> Result<Json<PatternsAnswer>, Refusal> {
    app.work(place, move |engine| {
        let request = FindingsRequest { all: hidden.all };
        Ok(Json(memory::patterns(engine, &request)?))
    })
    .await
}

/// Lists lessons.
pub(crate) async fn lessons(
    State(app): State<App>,
    place: Place,
    Ask(hidden): Ask<Hidden>,
) -> Result<Json<LessonsAnswer>, Refusal> {
    app.work(place, move |engine| {
        let request = FindingsRequest { all: hidden.all };
        Ok(Json(memory::lessons(engine, &request)?))
    })
    .await
}

/// Shows one pattern, lesson or note, and where it comes from.
pub(crate) async fn finding(
    State(app): State<App>,
    place: Place,
    At(name): At<String>,
) -> Result<Json<ShowAnswer>, Refusal> {
    app.work(place, move |engine| {
        let request = ShowRequest { name: Some(name) };
        Ok(Json(memory::show(engine, &request)?))
    })
    .await
}

/// Says how much is remembered.
pub(crate) async fn stats(State(app): State<App>, place: Place) -> Result<Json<Stats>, Refusal> {
    app.work(place, |engine| Ok(Json(memory::stats(engine)?)))
        .await
}

/// Says how good predictions were.
pub(crate) async fn calibration(
    State(app): State<App>,
    place: Place,
) -> Result<Json<CalibrationAnswer>, Refusal> {
    app.work(place, |engine| Ok(Json(memory::calibration(engine)?)))
        .await
}

/// What is looked for.
#[derive(Debug, Deserialize)]
pub(crate) struct Sought {
    words: String,
    limit: Option<u32>,
}

/// Finds experiments, patterns, lessons and notes by words.
pub(crate) async fn search(
    State(app): State<App>,
    place: Place,
    Ask(sought): Ask<Sought>,
) -> Result<Json<SearchAnswer>, Refusal> {
    let limit = page(sought.limit)? as usize;
    app.work(place, move |engine| {
        let request = SearchRequest {
            words: sought.words,
            limit,
        };
        Ok(Json(memory::search(engine, &request)?))
    })
    .await
}

/// Says something worth remembering.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteBody {
    /// What is said.
    pub(crate) text: String,
    /// Who says it.
    #[serde(default)]
    pub(crate) agent: Option<String>,
}

/// Writes a note down. It carries no evidence.
pub(crate) async fn note(
    State(app): State<App>,
    place: Place,
    Told(asked): Told<NoteBody>,
) -> Result<(StatusCode, Json<NoteText>), Refusal> {
    app.work(place, move |engine| {
        let request = NoteRequest {
            text: asked.text,
            caller: caller(asked.agent),
        };
        Ok((StatusCode::CREATED, Json(memory::note(engine, &request)?)))
    })
    .await
}

/// Asks for something to be forgotten.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "what", content = "of")]
pub(crate) enum ForgetBody {
    /// One experiment, pattern, lesson or note, by its name or the beginning of it.
    Name(String),
    /// Everything of the project that holds this text.
    Text(String),
    /// Everything of the project.
    Everything,
}

impl From<ForgetBody> for ForgetRequest {
    fn from(body: ForgetBody) -> Self {
        match body {
            ForgetBody::Name(name) => Self::Name(name),
            ForgetBody::Text(text) => Self::Text(text),
            ForgetBody::Everything => Self::Everything,
        }
    }
}

/// Forgets something, for good.
pub(crate) async fn forget(
    State(app): State<App>,
    place: Place,
    Told(asked): Told<ForgetBody>,
) -> Result<Json<ForgetAnswer>, Refusal> {
    app.work(place, move |engine| {
        Ok(Json(memory::forget(engine, &asked.into())?))
    })
    .await
}

/// Asks how likely something is to work.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfidenceBody {
    /// What is proposed, in words or as a command.
    pub(crate) suggestion: String,
    /// What sort of change it is; inferred if left out.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub(crate) change: Option<ChangeType>,
    /// What else is known about it.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) context: Map<String, Value>,
    /// Who proposes it.
    #[serde(default)]
    pub(crate) agent: Option<String>,
}

/// Says how likely something is to work here, and why.
pub(crate) async fn confidence(
    State(app): State<App>,
    place: Place,
    Told(asked): Told<ConfidenceBody>,
) -> Result<Json<ConfidenceAnswer>, Refusal> {
    app.work(place, move |engine| {
        let request = ConfidenceRequest {
            suggestion: asked.suggestion,
            change: asked.change,
            context: asked.context,
            caller: caller(asked.agent),
        };
        Ok(Json(memory::confidence(engine, &request)?))
    })
    .await
}
