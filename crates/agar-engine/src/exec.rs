//! One more command in a sandbox that is there.

mod study;

use crate::attended::{self, Attended};
use crate::blueprint::Blueprint;
use crate::drive::{Ended, Errand, Followed, Packed, Sent, Started, follow};
use crate::experiment::{ExperimentView, Proposal};
use crate::here::Here;
use crate::raise::Up;
use crate::sweep::run_directory;
use crate::travel::WayBack;
use crate::{Caller, Command, Engine, EngineError, RunView, SandboxView, Streams};
use crate::{find, queue, raise, travel, view, wishes};
use agar_core::settings::{OnBreach, Who};
use agar_core::state::State;
use agar_store::Sandbox;
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
    in_sandbox(engine, (here, &record), (request, &errand), streams)
        .map_err(|error| find::unless_removed(here, &record, error))
}

fn in_sandbox(
    engine: &Engine,
    (here, found): (&Here, &Sandbox),
    (request, errand): (&ExecRequest, &Errand<'_>),
    mut streams: Streams<'_>,
) -> Result<ExecAnswer, EngineError> {
    attended::conclude_in(engine, here, found.id)?;
    let care = Care::of(engine, here, (&request.caller, found))?;
    let way_back = if care.before_run {
        travel::before_run(engine, here, found, errand.words())?
    } else {
        WayBack::Unwanted
    };
    let up = raise::up(engine, here, found.clone())?;
    let record = up.record.clone();
    let blueprint = Blueprint::of(&record)?;
    let packed = errand.pack(engine, &blueprint, &record)?;
    let cwd = errand.directory(engine, &blueprint);
    let undoes = way_back.snapshot().filter(|_| care.restores);
    let (number, _attended) = here.write_or(|store| {
        let number = errand.record(engine, store, (&record, &cwd))?;
        let directory = run_directory(&here.sandbox(record.id), number);
        let attended = Attended::begin(&directory, undoes.map(|it| it.id))?;
        Ok::<_, EngineError>((number, attended))
    })?;
    let place = (&record, &blueprint);
    let study = Study::of(engine, here, place, request, number)?;
    let begun = begin((engine, here), up, (packed, number), &mut streams);
    let followed = begun.and_then(|(up, started)| Ok((up, follow(&record, started, streams)?)));
    let (up, mut ended) = match followed {
        Ok((up, Followed::Over(ended))) => (up, ended),
        // It goes on, and its end is written down by whoever comes after it.
        Ok((_, Followed::Left(_))) => {
            study.withdraw();
            return Err(EngineError::LeftRun {
                alias: record.alias,
                number,
            });
        }
        Err(error) => {
            let is_left = matches!(error, EngineError::LeftBefore { .. });
            let ended = if is_left { Ended::left } else { Ended::lost };
            here.write(|store| ended(number).record(engine, store, &record))?;
            study.withdraw();
            return Err(error);
        }
    };
    ended.notes.left_running = up.keeper.status().map_or(0, |status| status.processes);
    if let WayBack::None(why) = &way_back {
        let note = format!("no snapshot was taken before it: {why}");
        ended.notes.notes.push(note);
    }
    let seen = study.look(engine, &blueprint);
    // Before its end is on record: for as long as it is not, the next command sees to it.
    let taken_back = match undoes.filter(|_| ended.went_too_far()) {
        Some(target) => travel::take_back(engine, here, &record, target)?,
        None => None,
    };
    let run = here.write(|store| {
        ended.record(engine, store, &record)?;
        store.read().run(record.id, number)
    })?;
    // What cannot be looked at is no reason to keep the end from the record.
    let seen = seen?;
    let ran = (&run, ended.notes.interrupted, &seen);
    let experiment = study.conclude(engine, here, place, ran)?;
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

/// Starts a command. If the jail is taken down before its keeper took the command, it is put up again.
fn begin(
    (engine, here): (&Engine, &Here),
    mut up: Up,
    (packed, number): (Packed, u32),
    streams: &mut Streams<'_>,
) -> Result<(Up, Started), EngineError> {
    let mut tries = TRIES_MAX;
    loop {
        let jail = (&up.keeper, &up.record);
        let sent = Sent::now(here, jail, (packed.clone(), number), streams);
        match sent.and_then(|sent| sent.started(&up.keeper, streams.controls)) {
            Err(EngineError::Talk(error)) if error.is_not_taken() && tries > 0 => {
                tries -= 1;
                let (gone, record) = (up.keeper, up.record);
                gone.wait_gone();
                up = raise::up_in_turn(engine, here, &record)?;
            }
            Err(EngineError::Talk(error)) if error.is_paused() => {
                return Err(EngineError::WrongState {
                    doing: "run a command in",
                    alias: up.record.alias,
                    state: State::Paused,
                });
            }
            started => return Ok((up, started?)),
        }
    }
}

/// How often a jail is put up again that somebody else keeps taking down.
const TRIES_MAX: u32 = 3;

/// What the settings say about ways back.
struct Care {
    before_run: bool,
    restores: bool,
}

impl Care {
    /// A sandbox that an agent made is an agent's, whoever runs something in it.
    fn of(
        engine: &Engine,
        here: &Here,
        (caller, sandbox): (&Caller, &Sandbox),
    ) -> Result<Self, EngineError> {
        let who = match (caller, Blueprint::of(sandbox)?.agent) {
            (Caller::Person, None) => Who::Person,
            (Caller::Agent { .. }, _) | (Caller::Person, Some(_)) => Who::Agent,
        };
        let settings = wishes::load(engine, here, who)?.resolved.settings;
        let restores = settings.on_breach == OnBreach::Restore;
        Ok(Self {
            before_run: settings.snapshots.before_run || restores,
            restores,
        })
    }
}
