//! `POST /api/sandbox/:id/finalize`: a person accepts or rejects.

use crate::app::App;
use crate::body::Told;
use crate::query::At;
use crate::refusal::Refusal;
use crate::trial::{accept, agent, reject};
use agar_core::id::PromotionId;
use agar_engine::apply::{AppliedFile, ApplyRequest};
use agar_engine::events::{EventsRequest, events};
use agar_engine::memory::of_sandbox;
use agar_engine::{Engine, SandboxView};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// What a person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Choice {
    /// Merge the changes into the project.
    Accept,
    /// Give them up.
    Reject,
}

/// A person's decision.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct FinalizeBody {
    /// What was decided.
    pub(crate) decision: Choice,
    /// What the person thinks of it, for memory.
    #[serde(default)]
    pub(crate) feedback: Option<String>,
}

/// What became of it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Finalized {
    /// Patterns that entered the project's memory.
    memories_graduated: u64,
    /// What it taught.
    lessons_learned: Vec<String>,
    /// `promoted` or `discarded`.
    status: String,
    /// The promotion, for undoing it.
    #[schema(value_type = Option<String>)]
    promotion: Option<PromotionId>,
    /// The paths that were written.
    #[schema(value_type = Vec<Object>)]
    files: Vec<AppliedFile>,
}

/// Applies what a sandbox changed, or gives it up.
pub(crate) async fn finalize(
    State(app): State<App>,
    At(name): At<String>,
    Told(asked): Told<FinalizeBody>,
) -> Result<Json<Finalized>, Refusal> {
    let permit = app.run_permit()?;
    let mut halt = app.halt();
    app.on(name, move |engine, sandbox| {
        let _permit = permit;
        let (status, promotion, files) = match asked.decision {
            Choice::Accept => {
                let request = ApplyRequest {
                    sandbox: Some(sandbox.id.to_string()),
                    stop: true,
                    feedback: asked.feedback,
                    ..ApplyRequest::default()
                };
                let applied = accept(engine, &request, &agent(&Map::new()), &mut halt)?;
                ("promoted", applied.promotion, applied.files)
            }
            Choice::Reject => {
                reject(engine, sandbox, asked.feedback)?;
                ("discarded", None, Vec::new())
            }
        };
        Ok(Json(Finalized {
            memories_graduated: graduated(engine, sandbox)?,
            lessons_learned: taught(engine, sandbox)?,
            status: status.to_owned(),
            promotion,
            files,
        }))
    })
    .await
}

/// How many patterns of a sandbox have entered the project's memory, by the journal.
fn graduated(engine: &Engine, sandbox: &SandboxView) -> Result<u64, Refusal> {
    let mut request = EventsRequest {
        after: 0,
        limit: 500,
        sandbox: Some(sandbox.id.to_string()),
    };
    let mut patterns = 0;
    loop {
        let page = events(engine, &request)?;
        let facts = page
            .events
            .iter()
            .filter(|it| it.kind == "memory.graduated");
        let counts = facts.filter_map(|it| it.data.get("patterns").and_then(Value::as_u64));
        patterns += counts.sum::<u64>();
        if page.events.is_empty() {
            return Ok(patterns);
        }
        request.after = page.after;
    }
}

/// What the experiments of a sandbox taught.
fn taught(engine: &Engine, sandbox: &SandboxView) -> Result<Vec<String>, Refusal> {
    let tried = of_sandbox(engine, &sandbox.id.to_string())?;
    let learned = tried.experiments.into_iter().filter_map(|it| it.learned);
    let mut lessons: Vec<String> = Vec::new();
    for learned in learned {
        let sentences = learned.lessons.into_iter().map(|lesson| lesson.sentence);
        for sentence in sentences.chain([learned.headline]) {
            if !sentence.is_empty() && !lessons.contains(&sentence) {
                lessons.push(sentence);
            }
        }
    }
    Ok(lessons)
}
