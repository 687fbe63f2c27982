//! What happened in a project, from any point on.
//!
//! The numbers are the journal's: whoever asks again from the last one it saw has missed nothing,
//! whichever process wrote it.

use crate::inspect::described;
use crate::{Engine, EngineError, find};
use agar_core::id::{ProjectId, SandboxId};
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

/// Tells what happened in the caller's project, or in one sandbox.
pub fn events(engine: &Engine, request: &EventsRequest) -> Result<EventsAnswer, EngineError> {
    let here = engine.here()?;
    let (project, only) = meant(engine, request.sandbox.as_deref())?;
    let (latest, entries) = here.read(|store| {
        // Before the entries: all up to there have been looked at then.
        let latest = store.journal_latest(project)?;
        let entries = match only {
            Some(id) => store.journal_about((project, id), request.after, request.limit),
            None => store.journal_since(project, request.after, request.limit),
        }?;
        Ok((latest, entries))
    })?;
    let is_whole = usize::try_from(request.limit).is_ok_and(|limit| entries.len() < limit);
    let last = entries.last().map_or(request.after, |entry| entry.number);
    Ok(EventsAnswer {
        events: entries.iter().map(described).collect(),
        after: if is_whole { last.max(latest) } else { last },
    })
}

/// The sandbox that was named, with its project; the caller's project if none was.
fn meant(
    engine: &Engine,
    sandbox: Option<&str>,
) -> Result<(ProjectId, Option<SandboxId>), EngineError> {
    let here = engine.here()?;
    match sandbox {
        Some(name) => {
            let record = find::sandbox(here, Some(name))?;
            Ok((record.project, Some(record.id)))
        }
        None => Ok((here.project(engine)?.id, None)),
    }
}

/// Where somebody who follows from now on begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The number of the last event.
    pub number: u64,
    /// Runs of the sandbox that have not ended, by number.
    pub runs: Vec<u32>,
}

/// Says where the journal of the caller's project is now, and what runs in a sandbox of it.
pub fn standing(engine: &Engine, sandbox: Option<&str>) -> Result<Standing, EngineError> {
    let here = engine.here()?;
    let (project, runs_in) = meant(engine, sandbox)?;
    here.read(|store| {
        Ok(Standing {
            number: store.journal_latest(project)?,
            runs: match runs_in {
                Some(id) => store.open_runs(id)?,
                None => Vec::new(),
            },
        })
    })
}

/// A number that is another one once anybody has recorded anything. It means something only beside
/// others from the same engine.
pub fn version(engine: &Engine) -> Result<i64, EngineError> {
    engine.here()?.read(|store| store.version())
}
