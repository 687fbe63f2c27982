//! One more command in a sandbox that is there.

use crate::blueprint::Blueprint;
use crate::drive::{Ended, Errand, Sent, drive};
use crate::{Caller, Command, Engine, EngineError, RunView, SandboxView, Streams};
use crate::{find, queue, raise, view};
use serde::{Deserialize, Serialize};

/// Asks for a command in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExecRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
    /// The command.
    pub command: Command,
    /// Who asks.
    pub caller: Caller,
}

/// The command ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// Whether its jail had to be put up first.
    pub started: bool,
    /// The run.
    pub run: RunView,
}

/// Runs a command in the sandbox, whose jail is put up if it is not.
///
/// What the command left running goes on until the sandbox ends.
pub fn exec(
    engine: &Engine,
    request: &ExecRequest,
    streams: Streams<'_>,
) -> Result<ExecAnswer, EngineError> {
    let here = engine.here()?;
    let errand = Errand::new(&request.command)?;
    let _place = queue::enter(engine, &request.caller, &mut *streams.controls)?;
    let record = find::sandbox(here, request.sandbox.as_deref())?;
    let up = raise::up(engine, here, record)?;
    let (record, keeper) = (up.record, up.keeper);
    let blueprint = Blueprint::of(&record)?;
    let packed = errand.pack(engine, &blueprint, &record)?;
    let cwd = errand.directory(engine, &blueprint);
    let number = here.write(|store| errand.record(engine, store, (&record, &cwd)))?;
    let sent = Sent::now(here, (&keeper, &record), (packed, number), &streams);
    let mut ended = match sent.and_then(|sent| drive(&keeper, &record, sent, streams)) {
        Ok(ended) => ended,
        Err(error) => {
            here.write(|store| Ended::lost(number).record(engine, store, &record))?;
            return Err(error);
        }
    };
    ended.notes.left_running = keeper.status().map_or(0, |status| status.processes);
    let run = here.write(|store| {
        ended.record(engine, store, &record)?;
        store.read().run(record.id, number)
    })?;
    if here.wants_upkeep() {
        engine.later();
    }
    Ok(ExecAnswer {
        sandbox: view::sandbox_with(&record, &blueprint, number),
        started: up.started,
        run: view::run(&run),
    })
}
