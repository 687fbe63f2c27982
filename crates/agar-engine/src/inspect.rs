//! Everything agar knows about one sandbox.

use crate::blueprint::Blueprint;
use crate::events::JournalEvent;
use crate::here::Here;
use crate::view::{self, shown};
use crate::{Engine, EngineError, LineageView, RunView, SandboxView};
use crate::{find, inside, layers};
use agar_core::seam::Timestamp;
use agar_sandbox::stack::Stack;
use agar_store::{Entry, Sandbox};
use serde::{Deserialize, Serialize};

/// Asks about one sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InspectRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
}

/// One copy-on-write part of a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackView {
    /// What it is: `project`, `bulk`, `home`, `root`.
    pub role: String,
    /// The path it covers.
    pub target: String,
    /// Where its changes are.
    pub upper: String,
    /// What lies below, topmost first.
    pub lowers: Vec<String>,
}

/// One line of a sandbox's journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventView {
    /// Its number in the project's journal.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// What: `run.started`.
    pub kind: String,
    /// The rest.
    pub data: serde_json::Value,
}

/// Everything about one sandbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InspectAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// Its copy-on-write parts.
    pub stacks: Vec<StackView>,
    /// Paths that do not exist inside.
    pub masks: Vec<String>,
    /// Names of the environment variables passed in.
    pub environment: Vec<String>,
    /// Its directory in agar's state.
    pub directory: String,
    /// Its size on disk.
    pub disk_bytes: u64,
    /// Its runs, oldest first.
    pub runs: Vec<RunView>,
    /// What the journal says about it.
    pub events: Vec<EventView>,
}

/// Tells everything about one sandbox.
pub fn inspect(engine: &Engine, request: &InspectRequest) -> Result<InspectAnswer, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, request.sandbox.as_deref())?;
    let blueprint = Blueprint::of(&record)?;
    let runs = here.read(|store| store.runs(record.id))?;
    let directory = here.sandbox(record.id);
    let count = u32::try_from(runs.len()).unwrap_or(u32::MAX);
    Ok(InspectAnswer {
        sandbox: view::sandbox_with(&record, &blueprint, count),
        stacks: blueprint.stacks.iter().map(stack).collect(),
        masks: blueprint.masks.iter().map(|path| shown(path)).collect(),
        environment: inside::environment_names(engine, &blueprint),
        directory: shown(&directory),
        disk_bytes: layers::disk_bytes(&directory),
        runs: runs.iter().map(view::run).collect(),
        events: events(here, &record)?,
    })
}

/// Shows one sandbox without looking into it.
pub fn summary(engine: &Engine, name: &str) -> Result<SandboxView, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, Some(name))?;
    view::sandbox(here, &record)
}

/// What a fork began as, by name: `calm-fern@s1`. Of what is gone as much as is still known.
pub fn origin(engine: &Engine, lineage: &LineageView) -> Result<String, EngineError> {
    let here = engine.here()?;
    let parent = here.read(|store| store.sandbox(lineage.parent));
    let parent = parent.map_or_else(|_| lineage.parent.to_string(), |parent| parent.alias);
    let snapshot = match lineage.snapshot {
        Some(id) => here.read(|store| store.snapshot(id)).ok(),
        None => None,
    };
    Ok(match snapshot {
        Some(snapshot) => format!("{parent}@{}", snapshot.name),
        None => parent,
    })
}

fn stack(stack: &Stack) -> StackView {
    StackView {
        role: stack.role.word().to_owned(),
        target: shown(&stack.target),
        upper: shown(&stack.upper),
        lowers: stack.below().map(shown).collect(),
    }
}

/// What the journal says about a sandbox, in order.
fn events(here: &Here, record: &Sandbox) -> Result<Vec<EventView>, EngineError> {
    let mut events = Vec::new();
    let mut since = 0;
    loop {
        let whose = (record.project, record.id);
        let entries = here.read(|store| store.journal_about(whose, since, PAGE))?;
        let Some(last) = entries.last() else {
            return Ok(events);
        };
        since = last.number;
        events.extend(entries.iter().map(event));
    }
}

/// Entries of the journal that are read at once.
const PAGE: u32 = 1000;

fn event(entry: &Entry) -> EventView {
    let JournalEvent {
        number,
        at,
        kind,
        data,
        sandbox: _,
    } = described(entry);
    EventView {
        number,
        at,
        kind,
        data,
    }
}

/// An entry of the journal as the faces show it.
pub(crate) fn described(entry: &Entry) -> JournalEvent {
    let mut fact = serde_json::to_value(&entry.fact).unwrap_or_default();
    let kind = fact.get("kind").and_then(|kind| kind.as_str());
    JournalEvent {
        number: entry.number,
        at: entry.at,
        kind: kind.unwrap_or("unknown").to_owned(),
        sandbox: entry.sandbox,
        data: fact
            .get_mut("payload")
            .map(serde_json::Value::take)
            .unwrap_or_default(),
    }
}
