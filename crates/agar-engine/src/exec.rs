//! One more command in a sandbox that is there.

mod study;

use crate::blueprint::Blueprint;
use crate::drive::{Ended, Errand, Sent, drive};
use crate::experiment::{ExperimentView, Proposal};
use crate::here::Here;
use crate::travel::WayBack;
use crate::{Caller, Command, Engine, EngineError, RunView, SandboxView, Streams};
use crate::{find, queue, raise, travel, view, wishes};
use agar_core::settings::{OnBreach, Who};
use serde::{Deserialize, Serialize};
use study::Study;

/// Asks for a command in a sandbox.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExecRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
    /// The command.
    pub command: Command,
    /// Who asks.
    pub caller: Caller,
    /// What it is meant to do: makes the run an experiment.
    pub proposal: Option<Proposal>,
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
    /// The experiment that it is, where it is one.
    pub experiment: Option<ExperimentView>,
    /// The snapshot of the sandbox as it was before, `calm-fern@s3`, if there is one.
    pub before: Option<String>,
    /// The snapshot of what the command left, if it broke a limit or was denied a system call and
    /// the sandbox was returned to what it was before.
    pub taken_back: Option<String>,
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
    let care = Care::of(engine, here, &request.caller)?;
    let way_back = if care.before_run {
        travel::before_run(engine, here, &record, errand.words())?
    } else {
        WayBack::Unwanted
    };
    let up = raise::up(engine, here, record)?;
    let (record, keeper) = (up.record, up.keeper);
    let blueprint = Blueprint::of(&record)?;
    let packed = errand.pack(engine, &blueprint, &record)?;
    let cwd = errand.directory(engine, &blueprint);
    let number = here.write(|store| errand.record(engine, store, (&record, &cwd)))?;
    let place = (&record, &blueprint);
    let study = Study::of(engine, here, place, request, number)?;
    let sent = Sent::now(here, (&keeper, &record), (packed, number), &streams);
    let mut ended = match sent.and_then(|sent| drive(&keeper, &record, sent, streams)) {
        Ok(ended) => ended,
        Err(error) => {
            here.write(|store| Ended::lost(number).record(engine, store, &record))?;
            study.withdraw();
            return Err(error);
        }
    };
    ended.notes.left_running = keeper.status().map_or(0, |status| status.processes);
    if let WayBack::None(why) = way_back {
        let note = format!("no snapshot was taken before it: {why}");
        ended.notes.notes.push(note);
    }
    let run = here.write(|store| {
        ended.record(engine, store, &record)?;
        store.read().run(record.id, number)
    })?;
    let ran = (&run, ended.notes.interrupted);
    let experiment = study.conclude(engine, here, place, ran)?;
    let taken_back = match way_back.snapshot() {
        Some(target) if care.restores && ended.went_too_far() => {
            travel::take_back(engine, here, &record, target)?
        }
        Some(_) | None => None,
    };
    if let Some(due) = here.due(false) {
        engine.later(due);
    }
    Ok(ExecAnswer {
        experiment,
        sandbox: view::sandbox_with(&record, &blueprint, number),
        started: up.started,
        run: view::run(&run),
        before: way_back.snapshot().map(|it| travel::reference(&record, it)),
        taken_back: taken_back.map(|it| travel::reference(&record, &it)),
    })
}

/// What the settings say about ways back.
struct Care {
    before_run: bool,
    restores: bool,
}

impl Care {
    fn of(engine: &Engine, here: &Here, caller: &Caller) -> Result<Self, EngineError> {
        let who = match caller {
            Caller::Person => Who::Person,
            Caller::Agent { .. } => Who::Agent,
        };
        let settings = wishes::load(engine, here, who)?.resolved.settings;
        let restores = settings.on_breach == OnBreach::Restore;
        Ok(Self {
            before_run: settings.snapshots.before_run || restores,
            restores,
        })
    }
}
