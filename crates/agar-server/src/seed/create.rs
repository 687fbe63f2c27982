//! `POST /api/sandbox/create`: "Try This Safely".

use super::SeedLimits;
use crate::app::App;
use crate::body::Told;
use crate::refusal::Refusal;
use crate::trial::{Made, Plan, make, start};
use agar_core::walls::Network;
use agar_engine::memory::Similar;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Asks for a sandbox for a suggestion.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct CreateBody {
    /// What is suggested, in words. It is never run.
    pub(crate) suggestion: String,
    /// What else is known: `commands`, `projectPath` (of a project that agar knows), `agent`,
    /// `template`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) context: Map<String, Value>,
    /// Also `resourceLimits`.
    #[serde(default, alias = "resourceLimits", alias = "resource_limits")]
    pub(crate) limits: Option<SeedLimits>,
    /// What to run, in order, each a line for a shell inside the sandbox; without any, the sandbox
    /// waits for `execute`.
    #[serde(default)]
    pub(crate) commands: Vec<String>,
}

impl CreateBody {
    fn plan(self) -> Result<Plan, Refusal> {
        let commands = match self.context.get("commands") {
            Some(listed) if self.commands.is_empty() => lines(listed)?,
            Some(_) | None => self.commands,
        };
        let limits = self.limits.unwrap_or_default();
        Plan {
            text: self.suggestion,
            commands,
            limits: limits.limits()?,
            network: limits.network,
            context: self.context,
            known: None,
        }
        .checked()
    }
}

fn lines(listed: &Value) -> Result<Vec<String>, Refusal> {
    serde_json::from_value(listed.clone())
        .map_err(|_| Refusal::invalid("`context.commands` is not a list of lines"))
}

/// One step of the set-up.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Step {
    /// What was done: `generation`, `session`, `record`, `memory`.
    step: String,
    /// How long it took.
    ms: f64,
}

/// A sandbox that was made for a suggestion.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Created {
    /// Its permanent id.
    id: String,
    /// The same, in the seed's spelling.
    #[serde(rename = "sandboxId")]
    sandbox_id: String,
    /// Its two words.
    alias: String,
    /// `running` while something runs or it waits for commands.
    status: String,
    /// How likely it is to work, from 0 to 1; 0 without evidence.
    confidence: f64,
    /// Whether there is evidence.
    known: bool,
    /// Past experiments that are alike.
    #[schema(value_type = Vec<Object>)]
    similar_experiments: Vec<Similar>,
    /// The limits in force.
    limits: SeedLimits,
    /// The same, in the seed's other spelling.
    #[serde(rename = "resourceLimits")]
    resource_limits: SeedLimits,
    /// The suggestion in the inbox.
    #[serde(rename = "suggestionId")]
    suggestion_id: String,
    /// What was set up, and how long it took.
    checklist: Vec<Step>,
    /// Commands of the settings that run first.
    setup: Vec<String>,
    /// What a person should know.
    warnings: Vec<String>,
}

/// Makes a sandbox for a suggestion, and runs its commands in it.
pub(crate) async fn create(
    State(app): State<App>,
    Told(asked): Told<CreateBody>,
) -> Result<(StatusCode, Json<Created>), Refusal> {
    let plan = asked.plan()?;
    begin(&app, plan).await
}

/// The same for a plan.
pub(crate) async fn begin(app: &App, plan: Plan) -> Result<(StatusCode, Json<Created>), Refusal> {
    let permit = app.run_permit()?;
    let (own, wanted) = (app.clone(), plan.clone());
    let made = app
        .work(plan.place(), move |engine| make(&own, engine, &wanted))
        .await?;
    start(app, plan, &made, permit);
    Ok((StatusCode::CREATED, Json(created(made))))
}

/// What is answered.
fn created(made: Made) -> Created {
    let Made {
        sandbox,
        suggestion,
        confidence,
        steps,
        setup,
    } = made;
    let limits = SeedLimits::of(&sandbox.limits, sandbox.network != Network::None);
    let known = confidence.as_ref().is_some_and(|it| it.known);
    let confidence = confidence.map(|it| it.confidence);
    Created {
        id: sandbox.id.to_string(),
        sandbox_id: sandbox.id.to_string(),
        alias: sandbox.alias,
        status: sandbox.state.word().to_owned(),
        confidence: confidence.as_ref().filter(|_| known).map_or(0.0, |it| it.p),
        known,
        similar_experiments: confidence.map(|it| it.similar).unwrap_or_default(),
        limits,
        resource_limits: limits,
        suggestion_id: suggestion.id.to_string(),
        checklist: steps
            .into_iter()
            .map(|(step, took)| Step {
                step: step.to_owned(),
                ms: took.as_secs_f64() * 1000.0,
            })
            .collect(),
        setup,
        warnings: sandbox.warnings,
    }
}
