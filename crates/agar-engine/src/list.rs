//! The sandboxes there are.

use crate::blueprint::Blueprint;
use crate::here::Here;
use crate::{Engine, EngineError, RunView, SandboxView};
use crate::{changes, layers, processes, view};
use agar_core::id::SandboxId;
use agar_core::state::State;
use agar_store::{Sandbox, Scope};
use serde::{Deserialize, Serialize};

/// Asks which sandboxes there are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each widens or narrows the list by itself"
)]
pub struct ListRequest {
    /// Of every project, not only the caller's.
    pub everywhere: bool,
    /// Also those whose layers are gone.
    pub collected: bool,
    /// Only those that wait in the trash.
    pub trash: bool,
    /// Also count what each holds on disk, and leave out how many paths changed: for whoever looks
    /// again and again.
    pub disk: bool,
    /// Only those made after this one.
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
    /// Oldest first.
    pub sandboxes: Vec<Listed>,
}

/// Lists the sandboxes.
pub fn list(engine: &Engine, request: &ListRequest) -> Result<ListAnswer, EngineError> {
    let here = engine.here()?;
    let project = if request.everywhere {
        None
    } else {
        // Somebody who stands outside of every project means all of them.
        here.project_id()
    };
    let scope = if request.collected {
        Scope::All
    } else {
        Scope::Kept
    };
    let records = here.read(|store| store.sandboxes(project, scope))?;
    let shown = |record: &&Sandbox| match (request.trash, record.state) {
        (true, state) => state == State::Discarded,
        (false, State::Discarded) => request.collected,
        (false, _) => true,
    };
    let sandboxes = records
        .iter()
        .filter(|record| request.after.is_none_or(|after| record.id > after))
        .filter(shown)
        .take(request.limit.unwrap_or(usize::MAX))
        .map(|record| listed(engine, here, record, request.disk))
        .collect::<Result<_, _>>()?;
    Ok(ListAnswer { sandboxes })
}

fn listed(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    disk: bool,
) -> Result<Listed, EngineError> {
    let blueprint = Blueprint::of(record)?;
    let (runs, last) =
        here.read(|store| Ok((store.run_count(record.id)?, store.latest_run(record.id)?)))?;
    let used = match record.state {
        State::Running | State::Paused => Some(processes::used(engine, here, record)),
        State::Creating
        | State::Finished
        | State::Promoted
        | State::Discarded
        | State::Collected => None,
    };
    Ok(Listed {
        sandbox: view::sandbox_with(record, &blueprint, runs),
        changed_files: (record.state.has_layers() && !disk)
            .then(|| changes::count(&blueprint))
            .flatten(),
        last_run: last.as_ref().map(view::run),
        cpu_percent: used.map(|used| used.cpu_percent),
        memory_bytes: used.map(|used| used.memory_bytes),
        cpu_ms: used.map(|used| used.cpu_ms),
        disk_bytes: disk.then(|| layers::disk_bytes(&here.sandbox(record.id))),
    })
}
