//! The inbox: an agent or an editor offers, a person tries, applies or rejects.

use crate::app::{App, Place};
use crate::body::Told;
use crate::guests::Guest;
use crate::query::{Ask, At, page};
use crate::refusal::Refusal;
use crate::seed::{Created, SeedLimits, begin};
use crate::trial::{Plan, accept, agent, reject};
use crate::v1::sandboxes::caller;
use agar_core::fault::Kind;
use agar_core::id::SuggestionId;
use agar_engine::apply::{ApplyAnswer, ApplyRequest};
use agar_engine::inspect::summary;
use agar_engine::suggestions::{
    MoveSuggestionRequest, SuggestRequest, SuggestionState, SuggestionView, SuggestionsRequest,
    move_suggestion, suggest, suggestion, suggestions,
};
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Offers a change.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuggestBody {
    /// What is offered, in words. It is never run.
    pub(crate) text: String,
    /// What would be run, in order, each a line for a shell inside a sandbox.
    #[serde(default)]
    pub(crate) commands: Vec<String>,
    /// What else is known about it.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) context: Map<String, Value>,
    /// Who offers it.
    #[serde(default)]
    pub(crate) agent: Option<String>,
}

/// Puts a suggestion into the inbox. Nothing is run.
pub(crate) async fn offer(
    State(app): State<App>,
    guest: Option<Extension<Guest>>,
    place: Place,
    Told(mut asked): Told<SuggestBody>,
) -> Result<(StatusCode, Json<SuggestionView>), Refusal> {
    if let Some(Extension(Guest(origin))) = guest {
        // It does not say of itself who it is, where it belongs or what it needs.
        asked.agent = Some(origin);
        asked.context.retain(|key, _| key == "wish");
    }
    app.work(place, move |engine| {
        let request = SuggestRequest {
            text: asked.text,
            context: asked.context,
            commands: asked.commands,
            caller: caller(asked.agent),
            sandbox: None,
        };
        Ok((StatusCode::CREATED, Json(suggest(engine, &request)?)))
    })
    .await
}

/// Which suggestions.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Which {
    state: Option<SuggestionState>,
    before: Option<SuggestionId>,
    limit: Option<u32>,
}

/// A page of suggestions.
#[derive(Debug, Serialize)]
pub(crate) struct SuggestionPage {
    /// The newest first.
    suggestions: Vec<SuggestionView>,
    /// Ask with `before` this for the next page; nothing on the last one.
    next: Option<SuggestionId>,
}

/// Lists suggestions.
pub(crate) async fn all(
    State(app): State<App>,
    place: Place,
    Ask(which): Ask<Which>,
) -> Result<Json<SuggestionPage>, Refusal> {
    let limit = page(which.limit)?;
    app.work(place, move |engine| {
        let request = SuggestionsRequest {
            state: which.state,
            before: which.before,
            limit,
        };
        let found = suggestions(engine, &request)?.suggestions;
        let last = found.last().map(|it| it.id);
        Ok(Json(SuggestionPage {
            next: last.filter(|_| found.len() == limit as usize),
            suggestions: found,
        }))
    })
    .await
}

/// Shows one suggestion.
pub(crate) async fn one(
    State(app): State<App>,
    place: Place,
    At(id): At<SuggestionId>,
) -> Result<Json<SuggestionView>, Refusal> {
    app.work(place, move |engine| Ok(Json(suggestion(engine, id)?)))
        .await
}

/// How to try a suggestion.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TryBody {
    /// Limits in the seed's units.
    pub(crate) limits: Option<SeedLimits>,
}

/// Tries a suggestion in a sandbox of its own.
pub(crate) async fn tried(
    State(app): State<App>,
    place: Place,
    At(id): At<SuggestionId>,
    Told(asked): Told<TryBody>,
) -> Result<(StatusCode, Json<Created>), Refusal> {
    let limits = asked.limits.unwrap_or_default();
    let found = app
        .work(place.clone(), move |engine| Ok(suggestion(engine, id)?))
        .await?;
    match found.state {
        SuggestionState::Open => {}
        SuggestionState::Trying | SuggestionState::Applied | SuggestionState::Rejected => {
            let told = format!("the suggestion is {} already", found.state.word());
            return Err(Refusal::new(Kind::Conflict, told));
        }
    }
    let mut context = found.context;
    if let Some(path) = place.0 {
        context.insert("projectPath".to_owned(), path.to_string_lossy().into());
    }
    context.entry("agent").or_insert_with(|| found.agent.into());
    let plan = Plan {
        text: found.text,
        context,
        commands: found.commands,
        limits: limits.limits()?,
        network: limits.network,
        known: Some(id),
    };
    begin(&app, plan.checked()?).await
}

/// Applies what a suggestion changed in its sandbox.
pub(crate) async fn applied(
    State(app): State<App>,
    place: Place,
    At(id): At<SuggestionId>,
) -> Result<Json<ApplyAnswer>, Refusal> {
    let permit = app.run_permit()?;
    let mut halt = app.halt();
    app.work(place, move |engine| {
        let _permit = permit;
        let found = suggestion(engine, id)?;
        let Some(sandbox) = found.sandbox else {
            return Err(Refusal::new(
                Kind::Conflict,
                "the suggestion was not tried yet",
            ));
        };
        let request = ApplyRequest {
            sandbox: Some(sandbox.to_string()),
            stop: true,
            ..ApplyRequest::default()
        };
        let caller = agent(&Map::new());
        Ok(Json(accept(engine, &request, &caller, &mut halt)?))
    })
    .await
}

/// Why a suggestion is not wanted.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RejectBody {
    /// What the person thinks of it, for memory.
    pub(crate) feedback: Option<String>,
}

/// Rejects a suggestion, and gives up the sandbox it was tried in.
pub(crate) async fn rejected(
    State(app): State<App>,
    place: Place,
    At(id): At<SuggestionId>,
    Told(asked): Told<RejectBody>,
) -> Result<Json<SuggestionView>, Refusal> {
    app.work(place, move |engine| {
        let tried = match suggestion(engine, id)?.sandbox {
            Some(sandbox) => Some(summary(engine, &sandbox.to_string())?),
            None => None,
        };
        if let Some(sandbox) = tried.filter(|sandbox| sandbox.state.has_layers()) {
            reject(engine, &sandbox, asked.feedback)?;
        } else {
            let request = MoveSuggestionRequest {
                suggestion: id,
                to: SuggestionState::Rejected,
                sandbox: None,
            };
            move_suggestion(engine, &request)?;
        }
        Ok(Json(suggestion(engine, id)?))
    })
    .await
}
