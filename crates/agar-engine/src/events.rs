//! What happened in a project, from any point on.
//!
//! The numbers are the journal's: whoever asks again from the last one it saw has missed nothing,
//! whichever process wrote it.

use crate::inspect::described;
use crate::{Engine, EngineError, find};
use agar_core::id::SandboxId;
use agar_core::seam::Timestamp;
use serde::{Deserialize, Serialize};

/// Asks what happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventsRequest {
    /// Only what came after the event of this number.
    pub after: u64,
    /// How many at most.
    pub limit: u32,
    /// Only what is about this sandbox.
    pub sandbox: Option<String>,
}

impl Default for EventsRequest {
    fn default() -> Self {
        Self {
            after: 0,
            limit: 100,
            sandbox: None,
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEvent {
    /// Its number in the project's journal.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// What: `run.started`.
    pub kind: String,
    /// The sandbox it is about, if it is about one.
    pub sandbox: Option<SandboxId>,
    /// The rest.
    pub data: serde_json::Value,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventsAnswer {
    /// In order.
    pub events: Vec<JournalEvent>,
    /// Up to which number the journal was looked at: ask from here for more.
    pub after: u64,
}

/// Entries of the journal that are read at once.
const PAGE: u32 = 500;

/// Tells what happened in the caller's project, or in one sandbox.
pub fn events(engine: &Engine, request: &EventsRequest) -> Result<EventsAnswer, EngineError> {
    let here = engine.here()?;
    let (project, only) = match &request.sandbox {
        Some(name) => {
            let record = find::sandbox(here, Some(name))?;
            (record.project, Some(record.id))
        }
        None => (here.project(engine)?.id, None),
    };
    let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
    let mut answer = EventsAnswer {
        events: Vec::new(),
        after: request.after,
    };
    while answer.events.len() < limit {
        let page = PAGE.min(request.limit);
        let entries = here.read(|store| store.journal_since(project, answer.after, page))?;
        if entries.is_empty() {
            break;
        }
        for entry in entries {
            if answer.events.len() == limit {
                break;
            }
            answer.after = entry.number;
            if only.is_none() || entry.sandbox == only {
                answer.events.push(described(&entry));
            }
        }
    }
    Ok(answer)
}
