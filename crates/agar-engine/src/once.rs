//! A sandbox for one command: made, used and ended in one go.
//!
//! One transaction before the command and one after it; whatever dies in between is found by its
//! mark.

use crate::alive::{Mark, Stay};
use crate::answer::SandboxView;
use crate::blueprint::Blueprint;
use crate::draft::{Draft, draft};
use crate::drive::{Ended, Errand, Followed, Packed, Sent, drive};
use crate::experiment::{self, Open, Proposal};
use crate::failure::EngineError;
use crate::here::Here;
use crate::options::{Command, SandboxOptions};
use crate::relay::Streams;
use crate::try_change::Begun;
use crate::{Engine, raise, sweep, view};
use agar_core::id::SandboxId;
use agar_core::run::End;
use agar_core::settings::OnBreach;
use agar_core::state::{Event, State};
use agar_jail::client::{Keeper, Raising};
use agar_sandbox::base::Choice;
use agar_store::{Reader, Sandbox, StoreError, Writer};

/// What is to become of the sandbox once the command has ended and everything in it is gone.
pub(crate) type Verdict<'a> = &'a dyn Fn(&Sandbox, &Blueprint, &Ended) -> Result<Keep, EngineError>;

/// Whether a sandbox is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Its layers stay.
    Yes,
    /// Nothing in it is worth keeping.
    No,
}

/// A command that ended, and its sandbox.
#[derive(Debug)]
pub(crate) struct Once {
    pub(crate) record: Sandbox,
    pub(crate) blueprint: Blueprint,
    pub(crate) ended: Ended,
    pub(crate) keep: Keep,
    /// How many checks the project declares.
    pub(crate) checks: usize,
    /// Whether the command went too far and the settings want it undone.
    pub(crate) is_undone: bool,
    /// The experiment that it is, where somebody proposed something.
    pub(crate) study: Study,
}

/// An experiment under way, or why there is none.
#[derive(Debug, Default)]
pub(crate) struct Study {
    pub(crate) open: Option<Open>,
    pub(crate) trouble: Option<String>,
}

impl Study {
    /// What the face hears when the jail stands.
    fn begun(&self, sandbox: SandboxView) -> Begun {
        Begun {
            sandbox,
            confidence: self.open.as_ref().and_then(Open::shown).cloned(),
            trouble: self.trouble.clone(),
        }
    }
}

/// Makes a sandbox, runs one command in it, ends everything it started and asks for the verdict.
pub(crate) fn once(
    engine: &Engine,
    (options, command, proposal): (&SandboxOptions, &Command, Option<&Proposal>),
    streams: Streams<'_>,
    begun: &mut dyn FnMut(&Begun),
    verdict: Verdict<'_>,
) -> Result<Once, EngineError> {
    let (here, expected) = engine.here_raising(options)?;
    let errand = Errand::new(command)?;
    let draft = draft(engine, here, options, (Choice::Quick, None))?;
    let mark = Mark::leave(here.state.path(), draft.id(), Stay::OneRun)
        .map_err(EngineError::io("mark the sandbox as alive"))?;
    let made = draft.begin(engine, here, expected, |store| {
        recorded(engine, store, (&draft, &errand))
    });
    let ((record, number), raising) = match made {
        Ok(made) => made,
        Err(error) => {
            mark.remove();
            return Err(error);
        }
    };
    let settle = |_| experiment::settle(engine, here, &draft.learning).err();
    let trouble = proposal.and_then(settle).map(|error| error.to_string());
    let plan = proposal.map(|proposal| {
        let jail = (&record, &draft.blueprint);
        let asked = (proposal, &options.caller, command);
        experiment::plan(engine, here, jail, asked, &draft.learning)
    });
    let packed = errand.pack(engine, &draft.blueprint, &record);
    let asking = Asking {
        here,
        record: &record,
        number,
        // What is an experiment is announced before anything of it happens.
        at_once: plan.is_none(),
    };
    let (ready, mut study) = beside(plan, || asking.stand(raising, packed, &streams));
    let (asked, keeper) = match ready {
        Ok(ready) => ready,
        Err(error) => {
            if let Some(open) = study.open {
                open.withdraw();
            }
            give_up(engine, here, &record, number)?;
            mark.remove();
            return Err(error);
        }
    };
    if let Some(open) = &study.open {
        let announced = open.announce(engine, here).err();
        study.trouble = announced.map(|error| error.to_string()).or(trouble);
    }
    begun(&study.begun(view::sandbox_with(&record, &draft.blueprint, 1)));
    let sent = asking.sent(asked, &keeper, &streams);
    let ended = sent.and_then(|sent| drive(&keeper, &record, sent, streams));
    let (ended, keeper) = left(ended, keeper)?;
    let keep = verdict(&record, &draft.blueprint, &ended)?;
    let keeper = let_go(engine, here, record.id, (keeper, keep));
    let record = finish(engine, here, &record, (&ended, keep))?;
    // Left: it takes the empty jail down by itself.
    drop(keeper);
    mark.remove();
    if let Some(due) = here.due(draft.freeze_later) {
        engine.later(due);
    }
    let restores = draft.on_breach == OnBreach::Restore;
    Ok(Once {
        record,
        blueprint: draft.blueprint,
        is_undone: restores && keep == Keep::Yes && ended.went_too_far(),
        ended,
        keep,
        checks: draft.learning.checks,
        study,
    })
}

/// Writes down a sandbox and the one run in it.
fn recorded(
    engine: &Engine,
    store: &Writer<'_>,
    (draft, errand): (&Draft, &Errand<'_>),
) -> Result<(Sandbox, u32), StoreError> {
    let record = draft.record(engine, store)?;
    let cwd = errand.directory(engine, &draft.blueprint);
    let number = errand.record(engine, store, (&record, &cwd))?;
    Ok((record, number))
}

/// A run that ended, with its keeper where nobody has to wait for it.
///
/// Nothing that the command started outlives it, and its layers are at rest from here on: the keeper
/// reports the end of a run only when nothing of it is alive. It takes the jail down when it is let go.
fn left(
    ended: Result<Followed, EngineError>,
    keeper: Keeper,
) -> Result<(Ended, Option<Keeper>), EngineError> {
    match ended {
        // Somebody paused it and the caller would not wait: it is over with its jail.
        Ok(Followed::Left(ended)) => {
            drop(keeper.stop());
            Ok((ended, None))
        }
        Err(error) => {
            drop(keeper.stop());
            Err(error)
        }
        Ok(Followed::Over(ended)) if ended.end == End::Lost => {
            keeper.bury();
            Ok((ended, None))
        }
        Ok(Followed::Over(ended)) => Ok((ended, Some(keeper))),
    }
}

/// Sees to what is outside the sandbox's directory, which still says where the control groups are.
/// Gives the keeper that takes its empty jail down by itself.
fn let_go(
    engine: &Engine,
    here: &Here,
    id: SandboxId,
    (keeper, keep): (Option<Keeper>, Keep),
) -> Option<Keeper> {
    let keeper = match (keeper, keep) {
        (Some(keeper), Keep::No) if keeper.has_groups() => {
            sweep::leave_outside(here, id);
            return Some(keeper);
        }
        // The next command in this sandbox has groups of the same names.
        (Some(keeper), Keep::Yes) if keeper.has_groups() => {
            keeper.bury();
            None
        }
        (keeper, Keep::Yes | Keep::No) => keeper,
    };
    sweep::clear_outside(engine, here, id);
    keeper
}

/// How a command is asked for.
struct Asking<'a> {
    here: &'a Here,
    record: &'a Sandbox,
    number: u32,
    /// Before the jail stands.
    at_once: bool,
}

/// A command that was asked for, or is yet to be.
enum Asked {
    Sent(Sent),
    Packed(Packed),
}

impl Asking<'_> {
    /// Waits until the jail stands, having asked for the command if it may start at once.
    fn stand(
        &self,
        raising: Raising,
        packed: Result<Packed, EngineError>,
        streams: &Streams<'_>,
    ) -> Result<(Asked, Keeper), EngineError> {
        let asked = packed.and_then(|packed| {
            if !self.at_once {
                return Ok(Asked::Packed(packed));
            }
            let what = (packed, self.number);
            Sent::ahead(self.here, (&raising, self.record), what, streams).map(Asked::Sent)
        });
        // While the jail is raised there is nothing else to do.
        drop(self.here.read(|store| store.expect_end()));
        match (asked, raising.ready()) {
            (Ok(asked), Ok(keeper)) => Ok((asked, keeper)),
            (Err(error), Ok(keeper)) => {
                // It knows of no command, and would wait for one.
                drop(keeper.stop());
                Err(error)
            }
            (Ok(_) | Err(_), Err(error)) => Err(error.into()),
        }
    }

    fn sent(
        &self,
        asked: Asked,
        keeper: &Keeper,
        streams: &Streams<'_>,
    ) -> Result<Sent, EngineError> {
        match asked {
            Asked::Sent(sent) => Ok(sent),
            Asked::Packed(packed) => {
                let what = (packed, self.number);
                Sent::now(self.here, (keeper, self.record), what, streams)
            }
        }
    }
}

/// Raises the jail while memory is asked: neither waits for the other.
fn beside<T>(plan: Option<experiment::Plan>, raise: impl FnOnce() -> T) -> (T, Study) {
    std::thread::scope(|scope| {
        let asked = plan.map(|plan| scope.spawn(move || plan.begin()));
        let raised = raise();
        let study = match asked.map(std::thread::ScopedJoinHandle::join) {
            None => Study::default(),
            Some(Ok(Ok(open))) => Study {
                open: Some(open),
                trouble: None,
            },
            Some(Ok(Err(error))) => Study {
                open: None,
                trouble: Some(experiment::told(&error)),
            },
            Some(Err(_)) => Study {
                open: None,
                trouble: Some("asking memory failed".to_owned()),
            },
        };
        (raised, study)
    })
}

/// Records that the jail never stood.
fn give_up(engine: &Engine, here: &Here, record: &Sandbox, number: u32) -> Result<(), EngineError> {
    here.write(|store| Ended::lost(number).record(engine, store, record))?;
    raise::abandon(engine, here, record.id)
}

/// Records the end of the run and of the jail in one transaction. A sandbox that is not worth keeping
/// goes to the trash all the same if a fork stands on its layers or a snapshot was taken of it meanwhile.
fn finish(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    (ended, keep): (&Ended, Keep),
) -> Result<Sandbox, EngineError> {
    let record = here.write(|store| {
        ended.record(engine, store, record)?;
        let events: &[Event] = match keep {
            Keep::Yes => &[Event::Finish],
            Keep::No if is_branched(&store.read(), record.id)? => &[Event::Finish, Event::Discard],
            Keep::No => &[Event::Finish, Event::Discard, Event::Collect],
        };
        for &event in events {
            match store.advance_sandbox(record.id, event, engine.now()) {
                Ok(_) => {}
                // Somebody else gave it up meanwhile.
                Err(StoreError::OutOfTurn(_)) => break,
                Err(error) => return Err(error),
            }
        }
        store.read().sandbox(record.id)
    })?;
    if keep == Keep::No && record.state == State::Collected {
        here.throw_away(&here.sandbox(record.id))?;
    }
    Ok(record)
}

/// Whether somebody made something of a sandbox, or is about to, that needs its layers.
fn is_branched(store: &Reader<'_>, id: SandboxId) -> Result<bool, StoreError> {
    Ok(store.was_forked(id)?
        || store.snapshot_count(id)? > 0
        || store.sandbox(id)?.pending.is_some())
}
