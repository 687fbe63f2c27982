//! Memory and confidence, as the seed asks for them.

use crate::app::{App, Place};
use crate::body::Told;
use crate::guests::Guest;
use crate::query::At;
use crate::refusal::Refusal;
use crate::trial::agent;
use agar_engine::memory as engine_memory;
use agar_engine::memory::{
    Band, ConfidenceRequest, FindingsRequest, Graduation, Lesson, Pattern, SeenPattern, Similar,
};
use axum::extract::State;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;
use utoipa::ToSchema;

/// What a sandbox remembers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OfSandbox {
    /// What happened in it.
    #[schema(value_type = Vec<Object>)]
    memories: Vec<Value>,
    /// What was seen in it.
    #[schema(value_type = Vec<Object>)]
    patterns: Vec<SeenPattern>,
    /// How likely its last experiment was to work, said before it ran; 0 without evidence.
    confidence: f64,
    /// Everything, in the words of the seed's `SandboxMemory`.
    #[schema(value_type = Vec<Object>)]
    experiments: Vec<engine_memory::SandboxMemory>,
}

/// Shows what a sandbox remembers.
pub(crate) async fn of_sandbox(
    State(app): State<App>,
    At(name): At<String>,
) -> Result<Json<OfSandbox>, Refusal> {
    app.on(name, |engine, sandbox| {
        let tried = engine_memory::of_sandbox(engine, &sandbox.id.to_string())?;
        let predicted = tried.experiments.last().and_then(|it| it.predicted);
        let all = || tried.memories.iter();
        Ok(Json(OfSandbox {
            memories: all()
                .flat_map(|it| it.evolution.memories_created.clone())
                .collect(),
            patterns: all().flat_map(|it| it.lessons.patterns.clone()).collect(),
            confidence: predicted.map_or(0.0, |(p, _, _, _)| p),
            experiments: tried.memories.clone(),
        }))
    })
    .await
}

/// Asks for patterns of a sandbox to enter the project's memory.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct GraduateBody {
    /// The sandbox; also `id`.
    #[serde(rename = "sandboxId", alias = "id", alias = "sandbox_id")]
    pub(crate) sandbox_id: String,
    /// Taken for the seed's sake: what has earned it crosses, whoever lists it.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    pub(crate) memories: Vec<Value>,
}

/// What crossed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Graduated {
    /// How many patterns crossed.
    #[serde(rename = "graduated")]
    crossed: u64,
    /// How many did not.
    rejected: u64,
    /// Which, and why not.
    #[schema(value_type = Object)]
    details: Graduation,
}

/// Lets what has earned it enter the project's memory.
pub(crate) async fn graduate(
    State(app): State<App>,
    Told(asked): Told<GraduateBody>,
) -> Result<Json<Graduated>, Refusal> {
    drop(asked.memories);
    app.on(asked.sandbox_id, |engine, sandbox| {
        let request = engine_memory::GraduateRequest {
            name: Some(sandbox.id.to_string()),
        };
        let details = engine_memory::graduate(engine, &request)?;
        Ok(Json(Graduated {
            crossed: details.graduated.len() as u64,
            rejected: details.refused.len() as u64,
            details,
        }))
    })
    .await
}

/// What failures taught, and what was seen to hold.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Findings {
    /// Those that changed last first.
    #[schema(value_type = Vec<Object>)]
    lessons: Vec<Lesson>,
    /// The surest first.
    #[schema(value_type = Vec<Object>)]
    patterns: Vec<Pattern>,
    /// How many are not shown: expired or retired.
    hidden: u64,
}

/// Lists lessons and patterns.
pub(crate) async fn lessons(
    State(app): State<App>,
    place: Place,
) -> Result<Json<Findings>, Refusal> {
    app.work(place, |engine| {
        let request = FindingsRequest::default();
        let lessons = engine_memory::lessons(engine, &request)?;
        let patterns = engine_memory::patterns(engine, &request)?;
        Ok(Json(Findings {
            hidden: lessons.hidden + patterns.hidden,
            lessons: lessons.lessons,
            patterns: patterns.patterns,
        }))
    })
    .await
}

/// Asks how likely a suggestion is to work.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct CalculateBody {
    /// What is suggested, in words.
    pub(crate) suggestion: String,
    /// What else is known: `projectPath`, `agent`, `strategy`, `problem`, `language`, `files`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) context: Map<String, Value>,
}

/// How likely it is, and why.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Calculated {
    /// From 0 to 1; 0 without evidence.
    confidence: f64,
    /// Whether there is evidence.
    known: bool,
    /// The interval that holds it with 90 %.
    low: f64,
    /// Its upper end.
    high: f64,
    /// `green`, `yellow` or `red`; nothing without evidence.
    #[schema(value_type = Option<String>)]
    band: Option<Band>,
    /// Past experiments that are alike.
    #[schema(value_type = Vec<Object>)]
    similar_experiments: Vec<Similar>,
    /// Lessons that apply.
    #[schema(value_type = Vec<Object>)]
    lessons: Vec<Lesson>,
    /// In one line.
    headline: String,
}

/// Says how likely a suggestion is to work here.
pub(crate) async fn calculate(
    State(app): State<App>,
    guest: Option<Extension<Guest>>,
    Told(mut asked): Told<CalculateBody>,
) -> Result<Json<Calculated>, Refusal> {
    if guest.is_some() {
        asked.context.remove("projectPath");
    }
    if asked.suggestion.trim().is_empty() {
        return Err(Refusal::invalid("`suggestion` says what is suggested"));
    }
    let path = asked.context.get("projectPath").and_then(Value::as_str);
    let place = Place(path.map(PathBuf::from));
    app.work(place, move |engine| {
        let request = ConfidenceRequest {
            suggestion: asked.suggestion,
            change: None,
            caller: agent(&asked.context),
            context: asked.context,
        };
        let answer = engine_memory::confidence(engine, &request)?;
        let mut confidence = answer.confidence;
        if guest.is_some() {
            // How likely, not what was tried before.
            confidence.similar.clear();
            confidence.lessons.clear();
        }
        let told = |number: f64| if answer.known { number } else { 0.0 };
        Ok(Json(Calculated {
            confidence: told(confidence.p),
            known: answer.known,
            low: told(confidence.low),
            high: told(confidence.high),
            band: answer.known.then_some(confidence.band),
            headline: confidence.headline(),
            similar_experiments: confidence.similar,
            lessons: confidence.lessons,
        }))
    })
    .await
}
