//! The sandboxes there are.

use crate::blueprint::Blueprint;
use crate::here::Here;
use crate::{Engine, EngineError, RunView, SandboxView};
use crate::{changes, layers, processes, view, whereabouts};
use agar_core::id::{ProjectId, SandboxId};
use agar_core::state::State;
use agar_store::{Order, Page, Sandbox};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How closely each sandbox of a list is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    /// What runs in it, and how many paths changed.
    #[default]
    Changes,
    /// What runs in it, and what it holds on disk: for whoever looks again and again.
    Disk,
    /// What runs in it alone.
    Usage,
    /// Not at all: what is on record. A page of these costs the same whatever is in the sandboxes.
    Record,
}

/// In which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListOrder {
    /// As they were made.
    #[default]
    Oldest,
    /// The other way round.
    Newest,
}

/// Asks which sandboxes there are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListRequest {
    /// Of every project, not only the caller's.
    pub everywhere: bool,
    /// Also those whose layers are gone.
    pub collected: bool,
    /// Only those that wait in the trash.
    pub trash: bool,
    /// Only those in one of these states, whatever the two above say; all if empty.
    pub states: Vec<State>,
    /// Only those whose name, note or commands hold each of these words.
    pub words: String,
    /// How closely each is looked at.
    pub look: Look,
    /// Which first.
    pub order: ListOrder,
    /// Only those that follow this one.
    pub after: Option<SandboxId>,
    /// How many at most; all if left out.
    pub limit: Option<usize>,
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// The sandbox.
    #[serde(flatten)]
    pub sandbox: SandboxView,
    /// How many paths of the project changed in it, if that could be counted quickly.
    pub changed_files: Option<u64>,
    /// Its last run.
    pub last_run: Option<RunView>,
    /// Processor use of what runs in it, in percent of one processor.
    pub cpu_percent: Option<u32>,
    /// Memory of what runs in it.
    pub memory_bytes: Option<u64>,
    /// Processor time so far of what runs in it.
    pub cpu_ms: Option<u64>,
    /// What it holds on disk, if that was asked for.
    pub disk_bytes: Option<u64>,
}

/// The sandboxes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListAnswer {
    /// Oldest first, if nothing else was asked for.
    pub sandboxes: Vec<Listed>,
}

/// Lists the sandboxes.
pub fn list(engine: &Engine, request: &ListRequest) -> Result<ListAnswer, EngineError> {
    let here = engine.here()?;
    let states = states(request);
    let page = Page {
        project: project(here, request.everywhere),
        states: &states,
        words: &request.words,
        order: match request.order {
            ListOrder::Oldest => Order::OldestFirst,
            ListOrder::Newest => Order::NewestFirst,
        },
        after: request.after,
        limit: request.limit,
    };
    let sandboxes = here
        .read(|store| store.sandbox_page(&page))?
        .iter()
        .map(|record| listed(engine, here, record, request.look))
        .collect::<Result<_, _>>()?;
    Ok(ListAnswer { sandboxes })
}

/// How many sandboxes are in each state.
pub fn counts(
    engine: &Engine,
    everywhere: bool,
) -> Result<BTreeMap<&'static str, u64>, EngineError> {
    let here = engine.here()?;
    let project = project(here, everywhere);
    let counts = here.read(|store| store.sandbox_counts(project))?;
    Ok(counts
        .into_iter()
        .map(|(state, count)| (state.word(), count))
        .collect())
}

fn project(here: &Here, everywhere: bool) -> Option<ProjectId> {
    // Somebody who stands outside of every project means all of them.
    here.project_id().filter(|_| !everywhere)
}

fn states(request: &ListRequest) -> Vec<State> {
    if !request.states.is_empty() {
        return request.states.clone();
    }
    let shown = |state: &State| match (request.trash, state) {
        (true, state) => *state == State::Discarded,
        (false, State::Discarded | State::Collected) => request.collected,
        (false, _) => true,
    };
    State::ALL.into_iter().filter(shown).collect()
}

fn listed(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    look: Look,
) -> Result<Listed, EngineError> {
    let blueprint = Blueprint::of(record)?;
    let (runs, last) =
        here.read(|store| Ok((store.run_count(record.id)?, store.latest_run(record.id)?)))?;
    let alive = matches!(record.state, State::Running | State::Paused);
    let used = (alive && look != Look::Record).then(|| processes::used(engine, here, record));
    let used = used.flatten();
    let counted = record.state.has_layers() && look == Look::Changes;
    Ok(Listed {
        sandbox: view::sandbox_with(record, &blueprint, runs),
        changed_files: counted
            .then(|| changes::count(&whereabouts::outside(here, blueprint)))
            .flatten(),
        last_run: last.as_ref().map(view::run),
        cpu_percent: used.map(|used| used.cpu_percent),
        memory_bytes: used.map(|used| used.memory_bytes),
        cpu_ms: used.map(|used| used.cpu_ms),
        disk_bytes: (look == Look::Disk).then(|| layers::disk_bytes(&here.sandbox(record.id))),
    })
}
