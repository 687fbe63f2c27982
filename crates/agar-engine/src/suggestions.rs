//! The inbox: changes that an agent or an editor offers, and a person tries, applies or rejects.

use crate::here::Here;
use crate::{Caller, Engine, EngineError, find};
use agar_core::id::{SandboxId, SuggestionId};
use agar_core::seam::Timestamp;
use agar_memory::PERSON;
pub use agar_store::SuggestionState;
use agar_store::{NewSuggestion, Suggestion};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// No suggestion is longer, with everything that belongs to it.
const BYTES_MAX: usize = 256 << 10;

/// Offers a change.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SuggestRequest {
    /// What is offered, in words. It is never run.
    pub text: String,
    /// What else is known about it.
    pub context: Map<String, Value>,
    /// What would be run, in order, each a line for a shell inside a sandbox.
    pub commands: Vec<String>,
    /// Who offers it.
    pub caller: Caller,
    /// The sandbox that was made for it already.
    pub sandbox: Option<String>,
}

/// A suggestion as the faces show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuggestionView {
    /// Its permanent id.
    pub id: SuggestionId,
    /// What is offered, in words.
    pub text: String,
    /// What else is known about it.
    pub context: Map<String, Value>,
    /// What would be run, in order.
    pub commands: Vec<String>,
    /// Who offers it.
    pub agent: String,
    /// Where it is.
    pub state: SuggestionState,
    /// The sandbox it is tried in.
    pub sandbox: Option<SandboxId>,
    /// When it was offered.
    pub created_at: Timestamp,
    /// When it last moved on.
    pub updated_at: Timestamp,
}

/// Puts a suggestion into the inbox of the caller's project. Nothing is run.
pub fn suggest(engine: &Engine, request: &SuggestRequest) -> Result<SuggestionView, EngineError> {
    if request.text.trim().is_empty() {
        return Err(EngineError::Invalid(
            "a suggestion says what it suggests".to_owned(),
        ));
    }
    let context = serde_json::to_string(&request.context).unwrap_or_default();
    let commands: usize = request.commands.iter().map(String::len).sum();
    if request.text.len() + context.len() + commands > BYTES_MAX {
        return Err(EngineError::Invalid(format!(
            "a suggestion is no longer than {} KiB",
            BYTES_MAX >> 10
        )));
    }
    let here = engine.here()?;
    let sandbox = match &request.sandbox {
        Some(name) => Some(find::sandbox(here, Some(name))?),
        None => None,
    };
    let new = NewSuggestion {
        id: engine.new_suggestion_id(),
        project: match &sandbox {
            Some(record) => record.project,
            None => here.project(engine)?.id,
        },
        text: &request.text,
        context: &request.context,
        commands: &request.commands,
        agent: request.caller.agent().unwrap_or(PERSON),
        sandbox: sandbox.map(|record| record.id),
    };
    let made = here.write(|store| {
        store.add_suggestion(&new, engine.now())?;
        store.read().suggestion(new.id)
    })?;
    Ok(view(made))
}

/// Asks for suggestions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SuggestionsRequest {
    /// Only those that are there.
    pub state: Option<SuggestionState>,
    /// Only those older than this one.
    pub before: Option<SuggestionId>,
    /// How many at most.
    pub limit: u32,
}

impl Default for SuggestionsRequest {
    fn default() -> Self {
        Self {
            state: None,
            before: None,
            limit: 50,
        }
    }
}

/// The suggestions of the project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuggestionsAnswer {
    /// The newest first.
    pub suggestions: Vec<SuggestionView>,
}

/// Lists the suggestions of the caller's project.
pub fn suggestions(
    engine: &Engine,
    request: &SuggestionsRequest,
) -> Result<SuggestionsAnswer, EngineError> {
    let here = engine.here()?;
    let project = here.project(engine)?.id;
    let page = (request.before, request.limit);
    let found = here.read(|store| store.suggestions(project, request.state, page))?;
    Ok(SuggestionsAnswer {
        suggestions: found.into_iter().map(view).collect(),
    })
}

/// Shows one suggestion.
pub fn suggestion(engine: &Engine, id: SuggestionId) -> Result<SuggestionView, EngineError> {
    let here = engine.here()?;
    Ok(view(of_project(engine, here, id)?))
}

/// The suggestion that a sandbox was made for, if it was made for one.
pub fn suggestion_of(
    engine: &Engine,
    sandbox: SandboxId,
) -> Result<Option<SuggestionView>, EngineError> {
    let found = engine.here()?.read(|store| store.suggestion_of(sandbox))?;
    Ok(found.map(view))
}

/// Says what becomes of a suggestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveSuggestionRequest {
    /// Which.
    pub suggestion: SuggestionId,
    /// Where it goes.
    pub to: SuggestionState,
    /// The sandbox it is tried in, where that is new.
    #[serde(default)]
    pub sandbox: Option<SandboxId>,
}

/// Moves a suggestion on.
pub fn move_suggestion(
    engine: &Engine,
    request: &MoveSuggestionRequest,
) -> Result<SuggestionView, EngineError> {
    let here = engine.here()?;
    of_project(engine, here, request.suggestion)?;
    let moved = here.write(|store| {
        store.move_suggestion(
            request.suggestion,
            request.to,
            request.sandbox,
            engine.now(),
        )
    })?;
    Ok(view(moved))
}

/// The suggestion of this id, if it is one of the caller's project.
fn of_project(engine: &Engine, here: &Here, id: SuggestionId) -> Result<Suggestion, EngineError> {
    let found = here.read(|store| store.suggestion(id))?;
    if found.project == here.project(engine)?.id {
        return Ok(found);
    }
    Err(EngineError::Missing {
        doing: "show a suggestion",
        what: format!("suggestion {id} in this project"),
    })
}

fn view(record: Suggestion) -> SuggestionView {
    SuggestionView {
        id: record.id,
        text: record.text,
        context: record.context,
        commands: record.commands,
        agent: record.agent,
        state: record.state,
        sandbox: record.sandbox,
        created_at: record.created,
        updated_at: record.updated,
    }
}
