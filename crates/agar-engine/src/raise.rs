//! Jails put up and taken down.

use crate::alive::{self, Mark, Stay};
use crate::blueprint::{Blueprint, Copy};
use crate::failure::EngineError;
use crate::here::Here;
use crate::options::SandboxOptions;
use crate::snapshot::settled;
use crate::turn::Turn;
use crate::{Engine, layers, sweep, whereabouts};
use agar_core::fault::{Fault as _, Kind};
use agar_core::id::SandboxId;
use agar_core::limits::Limits;
use agar_core::state::{Event, State};
use agar_core::walls::{Identity, Network, Tier};
use agar_jail::client::{
    self, Ahead, Keeper, KeeperConfig, Lifetime, Raising, StartError, Waiting,
};
use agar_jail::machine::Machine;
use agar_jail::plan::{self, Plan};
use agar_jail::policy::{Copied, Nested, Overlay, Policy};
use agar_jail::wire::Raw;
use agar_sandbox::project::StateDir;
use agar_sandbox::stack::Stack;
use agar_store::{NewSandbox, Sandbox};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The walls that a record asks for.
#[derive(Debug)]
pub(crate) struct Walls<'a> {
    pub(crate) tier: Tier,
    pub(crate) network: &'a Network,
    pub(crate) identity: Identity,
    pub(crate) limits: Limits,
}

impl<'a> Walls<'a> {
    pub(crate) fn of(record: &'a Sandbox) -> Self {
        Self {
            tier: record.tier,
            network: &record.network,
            identity: record.identity,
            limits: record.limits,
        }
    }

    /// Of a sandbox that is not on record yet.
    pub(crate) fn of_new(new: &'a NewSandbox) -> Self {
        Self {
            tier: new.tier,
            network: &new.network,
            identity: new.identity,
            limits: new.limits,
        }
    }
}

/// A keeper that was started in the expectation of a jail. Without one, nothing is lost but time.
#[derive(Debug, Default)]
pub(crate) struct Expected(Option<Waiting>);

impl Expected {
    /// Starts one. What goes wrong here goes wrong again, and is told, when the jail is raised.
    pub(crate) fn start(&mut self, engine: &Engine, options: &SandboxOptions, state: &StateDir) {
        let usual = matches!(options.network, None | Some(Network::None))
            && matches!(options.tier, None | Some(Tier::Full))
            && options.limits.memory_bytes.is_none()
            && options.caller.limits().memory_bytes.is_none()
            && !options.fake_root
            && !options.nested
            && engine.surroundings().uid != 0;
        let staging = staging(state).ok().filter(|_| usual);
        let ahead = staging.as_deref().map_or(Ahead::Nothing, Ahead::Usual);
        self.0 = prepare(engine, state.path(), ahead).ok();
    }
}

/// A keeper that waits for its plan.
fn prepare(engine: &Engine, program: &Path, ahead: Ahead<'_>) -> Result<Waiting, StartError> {
    match &engine.surroundings().hatchery {
        Some(hatchery) => hatchery.prepare(program, ahead),
        None => client::prepare(program, ahead),
    }
}

/// Where jails are put together. Every one mounts over it and over what lies beside it in a mount
/// namespace of its own, so all can share them.
fn staging(state: &StateDir) -> std::io::Result<PathBuf> {
    let place = state.path().join("staging");
    let staging = place.join("root");
    [&place, &staging, &place.join("mask"), &place.join("fresh")]
        .into_iter()
        .try_for_each(|path| layers::make_private(path))?;
    Ok(staging)
}

/// Plans the jail of a sandbox on this machine.
pub(crate) fn plan(
    engine: &Engine,
    here: &Here,
    walls: &Walls<'_>,
    blueprint: &Blueprint,
) -> Result<Plan, EngineError> {
    let staging =
        staging(&here.state).map_err(EngineError::io("make a place to build the jail"))?;
    let policy = Policy {
        tier: walls.tier,
        network: walls.network.clone(),
        identity: walls.identity,
        nested: if blueprint.nested {
            Nested::Allowed
        } else {
            Nested::Refused
        },
        monitor: blueprint.monitor,
        overlays: match blueprint.copy {
            None => whereabouts::stacks(here, blueprint)?
                .iter()
                .map(overlay)
                .collect(),
            Some(_) => Vec::new(),
        },
        copies: blueprint
            .copy
            .iter()
            .flat_map(|copy| copies(copy, &blueprint.root))
            .collect(),
        masks: blueprint.masks.iter().cloned().map(Raw::from).collect(),
        home: Raw::from(engine.surroundings().home.clone()),
        staging: Raw::from(staging),
        layer_homes: [here.state.sandboxes(), here.state.projects()]
            .map(Raw::from)
            .to_vec(),
        limits: walls.limits,
        old_ways: blueprint.old_ways.clone(),
    };
    let machine = Machine::read().map_err(EngineError::io("look at this machine"))?;
    Ok(plan::plan(&policy, &machine)?)
}

fn copies(copy: &Copy, root: &Path) -> [Copied; 2] {
    let copied = |target: &Path, copy: &Path| Copied {
        target: Raw::from(target),
        copy: Raw::from(copy),
    };
    [
        copied(Path::new("/tmp"), &copy.temporary),
        copied(root, &copy.project),
    ]
}

/// The directories whose growth counts against the limit on disk use, those that grew first.
pub(crate) fn counted(stacks: &[Stack]) -> Vec<Raw> {
    let written = stacks.iter().flat_map(Stack::written);
    written.map(Raw::from).collect()
}

pub(crate) fn overlay(stack: &Stack) -> Overlay {
    Overlay {
        target: Raw::from(stack.target.clone()),
        upper: Raw::from(stack.upper.clone()),
        work: Raw::from(stack.work.clone()),
        lowers: stack.below().map(Raw::from).collect(),
    }
}

/// Puts the jail of a sandbox up, and does not wait until it stands.
pub(crate) fn begin(
    engine: &Engine,
    here: &Here,
    (id, walls, blueprint): (SandboxId, &Walls<'_>, &Blueprint),
    (lifetime, expected): (Lifetime, Expected),
) -> Result<Raising, EngineError> {
    let _span = tracing::debug_span!("raise", sandbox = %id).entered();
    let plan = plan(engine, here, walls, blueprint)?;
    let config = KeeperConfig {
        plan,
        limits: walls.limits,
        directory: Raw::from(here.sandbox(id)),
        socket: Raw::from(Here::make_socket(engine, id)?),
        layers: counted(&blueprint.stacks),
        name: id.to_string(),
        lifetime,
        mark: (lifetime == Lifetime::UntilStopped)
            .then(|| Raw::from(alive::mark_of_one_that_stays(here.state.path(), id))),
    };
    let waiting = match expected.0 {
        Some(waiting) => waiting,
        None => prepare(engine, here.state.path(), Ahead::Nothing)?,
    };
    match waiting.raise(&config) {
        // What was started ahead is gone, whatever ended it. Nobody has seen the plan.
        Err(error) if error.source.kind() == ErrorKind::BrokenPipe => {
            Ok(client::prepare(here.state.path(), Ahead::Nothing)?.raise(&config)?)
        }
        raising => Ok(raising?),
    }
}

/// Puts the jail of a recorded sandbox up, to stay. Its keeper listens before it says that the jail
/// stands, so whoever comes next finds it.
pub(crate) fn stay(
    engine: &Engine,
    here: &Here,
    sandbox: (SandboxId, &Walls<'_>, &Blueprint),
    expected: Expected,
) -> Result<Keeper, EngineError> {
    let raising = begin(engine, here, sandbox, (Lifetime::UntilStopped, expected))?;
    Ok(raising.ready()?)
}

/// Puts the jail of a recorded sandbox up.
pub(crate) fn raise(
    engine: &Engine,
    here: &Here,
    (record, blueprint): (&Sandbox, &Blueprint),
    lifetime: Lifetime,
) -> Result<Keeper, EngineError> {
    let sandbox = (record.id, &Walls::of(record), blueprint);
    match lifetime {
        Lifetime::UntilStopped => stay(engine, here, sandbox, Expected::default()),
        Lifetime::OneRun | Lifetime::UntilLeft => {
            let raising = begin(engine, here, sandbox, (lifetime, Expected::default()))?;
            Ok(raising.ready()?)
        }
    }
}

/// A jail that is up, perhaps only now.
#[derive(Debug)]
pub(crate) struct Up {
    pub(crate) keeper: Keeper,
    pub(crate) record: Sandbox,
    pub(crate) started: bool,
}

/// Makes sure that the jail of a kept sandbox is up.
pub(crate) fn up(engine: &Engine, here: &Here, record: Sandbox) -> Result<Up, EngineError> {
    if record.state == State::Running
        && let Ok(keeper) = here.keeper(engine, record.id)
    {
        return Ok(Up {
            keeper,
            record,
            started: false,
        });
    }
    up_in_turn(engine, here, &record)
}

/// The same for whoever cannot rely on what a moment ago was there: somebody else may be putting the
/// jail up or taking it down.
pub(crate) fn up_in_turn(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
) -> Result<Up, EngineError> {
    let turn = Turn::take(&here.sandbox(record.id))?;
    let record = settled(engine, here, record)?;
    let up = match record.state {
        State::Running => match here.keeper(engine, record.id) {
            Ok(keeper) => Up {
                keeper,
                record,
                started: false,
            },
            // Its keeper was killed a moment ago, and the kernel is still at it.
            Err(error) if error.kind() == Kind::NotFound => {
                let record = sweep::bury(engine, here, &record)?.ok_or(error)?;
                again(engine, here, record)?
            }
            Err(error) => return Err(error.into()),
        },
        State::Finished | State::Promoted => again(engine, here, record)?,
        State::Creating | State::Paused | State::Discarded | State::Collected => {
            return Err(EngineError::WrongState {
                doing: "start",
                alias: record.alias,
                state: record.state,
            });
        }
    };
    drop(turn);
    Ok(up)
}

/// Puts the jail of a finished sandbox up again.
fn again(engine: &Engine, here: &Here, mut record: Sandbox) -> Result<Up, EngineError> {
    let blueprint = Blueprint::of(&record)?;
    let mark = Mark::leave(here.state.path(), record.id, Stay::UntilStopped)
        .map_err(EngineError::io("mark the sandbox as alive"))?;
    layers::renew_work(here, &blueprint.stacks)?;
    record.state =
        here.write(|store| store.advance_sandbox(record.id, Event::Start, engine.now()))?;
    match raise(engine, here, (&record, &blueprint), Lifetime::UntilStopped) {
        Ok(keeper) => Ok(Up {
            keeper,
            record,
            started: true,
        }),
        Err(error) => {
            here.write(|store| store.advance_sandbox(record.id, Event::Finish, engine.now()))?;
            // It may be the keeper before this one that stood in the way.
            sweep::clear_outside_if_vacant(engine, here, record.id);
            mark.remove();
            Err(error)
        }
    }
}

/// Takes the jail of a sandbox down, if it is up, and says so in its record.
pub(crate) fn down(engine: &Engine, here: &Here, record: &Sandbox) -> Result<Sandbox, EngineError> {
    let Some(_turn) = Turn::take_if_there(&here.sandbox(record.id))? else {
        // Another command removed it.
        return here.read(|store| store.sandbox(record.id));
    };
    down_in_turn(engine, here, record)
}

/// The same for whoever has the turn at the sandbox.
pub(crate) fn down_in_turn(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
) -> Result<Sandbox, EngineError> {
    let record = here.read(|store| store.sandbox(record.id))?;
    if !record.state.is_alive() {
        return Ok(record);
    }
    // Whoever dies from here on leaves a sandbox that the next command ends.
    let mark = Mark::leave(here.state.path(), record.id, Stay::Ending)
        .map_err(EngineError::io("mark the sandbox as ending"))?;
    match here.keeper(engine, record.id) {
        Ok(keeper) => match keeper.stop() {
            Err(error) if error.is_silent() => return Err(error.into()),
            // One that was killed just now does not answer.
            Ok(()) | Err(_) => {}
        },
        Err(error) if error.kind() == Kind::NotFound => {}
        // It is there: a record that says otherwise would be wrong.
        Err(error) => return Err(error.into()),
    }
    // Not before: what ran inside would have taken the room at once.
    here.state.spend_reserve();
    is_down(engine, here, &record)?;
    drop(mark);
    here.read(|store| store.sandbox(record.id))
}

/// Takes the jail of a sandbox down unless something runs in it, which is refused. The caller has the turn,
/// which nobody needs for a command in a jail that is up: so it is the keeper that looks and ends.
pub(crate) fn down_if_idle(
    engine: &Engine,
    here: &Here,
    (record, doing): (&Sandbox, &'static str),
) -> Result<Sandbox, EngineError> {
    for _ in 0..TRIES_MAX {
        let record = here.read(|store| store.sandbox(record.id))?;
        if !record.state.is_alive() {
            return Ok(record);
        }
        let count = processes_inside(engine, here, record.id)?;
        if count > 0 {
            return Err(EngineError::Busy {
                doing,
                alias: record.alias,
                count,
            });
        }
        match retire_in_turn(engine, here, &record)? {
            Retired::Yes => return here.read(|store| store.sandbox(record.id)),
            Retired::Refused => std::thread::park_timeout(Duration::from_millis(1)),
            Retired::Unable => break,
        }
    }
    // Nothing ran in it whenever somebody looked: others merely ask how it is.
    down_in_turn(engine, here, record)
}

/// How often, a millisecond apart, a keeper is asked to end that others talk to.
const TRIES_MAX: u32 = 50;

/// What became of asking a keeper to end.
enum Retired {
    Yes,
    /// Something runs, or somebody else talks to it.
    Refused,
    /// There is none, or it stands still.
    Unable,
}

/// Takes the jail of a sandbox down if nobody is in it at that very moment. Whether it did.
pub(crate) fn retire(engine: &Engine, here: &Here, record: &Sandbox) -> Result<bool, EngineError> {
    let Some(_turn) = Turn::take_if_there(&here.sandbox(record.id))? else {
        return Ok(false);
    };
    let record = here.read(|store| store.sandbox(record.id))?;
    Ok(matches!(
        retire_in_turn(engine, here, &record)?,
        Retired::Yes
    ))
}

fn retire_in_turn(engine: &Engine, here: &Here, record: &Sandbox) -> Result<Retired, EngineError> {
    let Ok(keeper) = here.keeper(engine, record.id) else {
        return Ok(Retired::Unable);
    };
    if record.state != State::Running {
        return Ok(Retired::Unable);
    }
    // Whoever dies from here on leaves a sandbox without a keeper, which its mark tells of.
    if !keeper.retire()? {
        return Ok(Retired::Refused);
    }
    is_down(engine, here, record)?;
    Ok(Retired::Yes)
}

/// The jail is gone: says so in the record and clears what it used. The caller has the turn.
fn is_down(engine: &Engine, here: &Here, record: &Sandbox) -> Result<(), EngineError> {
    sweep::end_of_jail(engine, here, record.id)?;
    sweep::clear_outside(engine, here, record.id);
    alive::forget(here.state.path(), record.id);
    Ok(())
}

/// Gives up a sandbox whose jail could not be put up: nothing ever ran in it.
pub(crate) fn abandon(engine: &Engine, here: &Here, id: SandboxId) -> Result<(), EngineError> {
    here.write(|store| {
        for event in [Event::Finish, Event::Discard, Event::Collect] {
            store.advance_sandbox(id, event, engine.now())?;
        }
        Ok(())
    })?;
    sweep::clear_outside(engine, here, id);
    here.throw_away(&here.sandbox(id))
}

/// Whether something runs in a sandbox, or somebody looks into it. In doubt it is.
pub(crate) fn is_busy(engine: &Engine, here: &Here, id: SandboxId) -> bool {
    here.keeper(engine, id)
        .and_then(Keeper::status_soon)
        .map_or(true, |status| {
            status.processes > 0 || !status.runs.is_empty() || status.terminal.is_some()
        })
}

/// How many processes of commands are alive in a sandbox. Who does not say is not taken for idle.
pub(crate) fn processes_inside(
    engine: &Engine,
    here: &Here,
    id: SandboxId,
) -> Result<u32, EngineError> {
    let keeper = here.keeper(engine, id);
    match keeper.and_then(Keeper::status_soon) {
        Ok(status) => Ok(status.processes),
        Err(error) if error.is_silent() => Err(error.into()),
        // A jail that ended a moment ago has no processes.
        Err(_) => Ok(0),
    }
}
