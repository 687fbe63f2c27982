//! Changes that somebody offers for a person to try.
//!
//! ```text
//! open ──▶ trying ──▶ applied
//!   │         └─────▶ rejected
//!   └───────────────▶ rejected
//! ```

use crate::column::{json, moment, parsed, parsed_option, to_json, word};
use crate::fact::Fact;
use crate::store::{Reader, StoreError, Writer};
use agar_core::id::{ProjectId, SandboxId, SuggestionId};
use agar_core::seam::Timestamp;
use agar_core::secret;
use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where a suggestion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuggestionState {
    /// Nobody has looked at it yet.
    Open,
    /// It is tried in a sandbox.
    Trying,
    /// Its changes are in the project.
    Applied,
    /// A person did not want it.
    Rejected,
}

impl SuggestionState {
    const ALL: [Self; 4] = [Self::Open, Self::Trying, Self::Applied, Self::Rejected];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Trying => "trying",
            Self::Applied => "applied",
            Self::Rejected => "rejected",
        }
    }

    /// The state of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Whether it may become this. A sandbox that was tried and applied can be tried and applied
    /// again; what was rejected stays so.
    pub const fn may_become(self, to: Self) -> bool {
        !matches!((self, to), (Self::Rejected, _) | (_, Self::Open))
    }
}

/// A suggestion on record.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// Its permanent name.
    pub id: SuggestionId,
    /// The project it is for.
    pub project: ProjectId,
    /// What is offered, in words, without secrets.
    pub text: String,
    /// What else is known about it.
    pub context: Map<String, Value>,
    /// What would be run, in order, each a line for a shell inside a sandbox.
    pub commands: Vec<String>,
    /// Who offers it.
    pub agent: String,
    /// Where it is.
    pub state: SuggestionState,
    /// The sandbox it is tried in.
    pub sandbox: Option<SandboxId>,
    /// When it was offered.
    pub created: Timestamp,
    /// When its record last changed.
    pub updated: Timestamp,
}

/// A suggestion about to be recorded.
#[derive(Debug, Clone)]
pub struct NewSuggestion<'a> {
    /// Its permanent name.
    pub id: SuggestionId,
    /// The project it is for.
    pub project: ProjectId,
    /// What is offered, in words. Secrets in it are not kept.
    pub text: &'a str,
    /// What else is known about it.
    pub context: &'a Map<String, Value>,
    /// What would be run.
    pub commands: &'a [String],
    /// Who offers it.
    pub agent: &'a str,
    /// The sandbox it is tried in, if it is tried at once.
    pub sandbox: Option<SandboxId>,
}

/// The columns that [`read`] expects, in its order.
const COLUMNS: &str =
    "id, project, text, context, commands, agent, state, sandbox, created_ms, updated_ms";

impl Writer<'_> {
    /// Records a suggestion.
    pub fn add_suggestion(&self, new: &NewSuggestion<'_>, at: Timestamp) -> Result<(), StoreError> {
        let state = match new.sandbox {
            Some(_) => SuggestionState::Trying,
            None => SuggestionState::Open,
        };
        let context = to_json(new.context)?;
        self.transaction
            .prepare_cached(
                "INSERT INTO suggestion (id, project, text, context, commands, agent, state,
                 sandbox, created_ms, updated_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)",
            )?
            .execute(params![
                new.id.to_string(),
                new.project.to_string(),
                secret::redact(new.text),
                context,
                to_json(&new.commands)?,
                new.agent,
                state.word(),
                new.sandbox.map(|id| id.to_string()),
                at.millis()
            ])?;
        let fact = Fact::SuggestionOffered {
            suggestion: new.id,
            agent: new.agent.to_owned(),
        };
        self.append(new.project, new.sandbox, at, &fact)?;
        Ok(())
    }

    /// Moves a suggestion on, with the sandbox it is tried in where that is new.
    pub fn move_suggestion(
        &self,
        id: SuggestionId,
        to: SuggestionState,
        sandbox: Option<SandboxId>,
        at: Timestamp,
    ) -> Result<Suggestion, StoreError> {
        let now = self.read().suggestion(id)?;
        if !now.state.may_become(to) {
            return Err(StoreError::SuggestionOutOfTurn {
                from: now.state,
                to,
            });
        }
        self.transaction
            .prepare_cached(
                "UPDATE suggestion SET state = ?2, sandbox = coalesce(?3, sandbox),
                 updated_ms = ?4 WHERE id = ?1",
            )?
            .execute(params![
                id.to_string(),
                to.word(),
                sandbox.map(|id| id.to_string()),
                at.millis()
            ])?;
        let fact = Fact::SuggestionMoved { suggestion: id, to };
        self.append(now.project, sandbox.or(now.sandbox), at, &fact)?;
        self.read().suggestion(id)
    }
}

impl Reader<'_> {
    /// The suggestion of this id.
    pub fn suggestion(&self, id: SuggestionId) -> Result<Suggestion, StoreError> {
        self.connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM suggestion WHERE id = ?1"))?
            .query_row([id.to_string()], read)
            .optional()?
            .ok_or_else(|| StoreError::Missing {
                what: "suggestion",
                name: id.to_string(),
            })
    }

    /// The suggestion that a sandbox was made for, the newest if there are several.
    pub fn suggestion_of(&self, sandbox: SandboxId) -> Result<Option<Suggestion>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM suggestion WHERE sandbox = ?1 ORDER BY id DESC LIMIT 1"
            ))?
            .query_row([sandbox.to_string()], read)
            .optional()?)
    }

    /// Suggestions of a project, the newest first, those before `before` if it is given.
    pub fn suggestions(
        &self,
        project: ProjectId,
        state: Option<SuggestionState>,
        (before, max): (Option<SuggestionId>, u32),
    ) -> Result<Vec<Suggestion>, StoreError> {
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM suggestion WHERE project = ?1
             AND (?2 IS NULL OR state = ?2) AND (?3 IS NULL OR id < ?3)
             ORDER BY id DESC LIMIT ?4"
        ))?;
        let found = statement.query_map(
            params![
                project.to_string(),
                state.map(SuggestionState::word),
                before.map(|id| id.to_string()),
                max
            ],
            read,
        )?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Suggestion> {
    Ok(Suggestion {
        id: parsed(row, 0)?,
        project: parsed(row, 1)?,
        text: row.get(2)?,
        context: json(row, 3)?,
        commands: json(row, 4)?,
        agent: row.get(5)?,
        state: word(row, 6, SuggestionState::from_word)?,
        sandbox: parsed_option(row, 7)?,
        created: moment(row, 8)?,
        updated: moment(row, 9)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_rejected_stays_rejected_and_nothing_opens_again() {
        for state in SuggestionState::ALL {
            assert!(!SuggestionState::Rejected.may_become(state), "{state:?}");
            assert!(!state.may_become(SuggestionState::Open), "{state:?}");
            assert_eq!(SuggestionState::from_word(state.word()), Some(state));
        }
        assert!(SuggestionState::Open.may_become(SuggestionState::Trying));
        assert!(SuggestionState::Trying.may_become(SuggestionState::Applied));
    }
}
