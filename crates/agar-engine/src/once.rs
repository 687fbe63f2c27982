//! A sandbox for one command: made, used and ended in one go.
//!
//! One transaction before the command and one after it; whatever dies in between is found by its
//! mark.

use crate::alive::{Mark, Stay};
use crate::blueprint::Blueprint;
use crate::draft::{Draft, draft};
use crate::drive::{Ended, Errand, drive};
use crate::experiment::{self, Open, Proposal};
use crate::failure::EngineError;
use crate::here::Here;
use crate::options::{Command, SandboxOptions};
use crate::relay::Streams;
use crate::try_change::Begun;
use crate::{Engine, layers, raise, sweep, view};
use agar_core::state::Event;
use agar_jail::client::Lifetime;
use agar_sandbox::base::Choice;
use agar_store::{Sandbox, StoreError};

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
    /// The experiment that it is, where somebody proposed something.
    pub(crate) study: Study,
}

/// An experiment under way, or why there is none.
#[derive(Debug, Default)]
pub(crate) struct Study {
    pub(crate) open: Option<Open>,
    pub(crate) trouble: Option<String>,
}

/// Makes a sandbox, runs one command in it, ends everything it started and asks for the verdict.
pub(crate) fn once(
    engine: &Engine,
    (options, command, proposal): (&SandboxOptions, &Command, Option<&Proposal>),
    streams: Streams<'_>,
    begun: &mut dyn FnMut(&Begun),
    verdict: Verdict<'_>,
) -> Result<Once, EngineError> {
    let here = engine.here()?;
    let errand = Errand::new(command)?;
    let draft = draft(engine, here, options, (Choice::Quick, None))?;
    let mark = Mark::leave(here.state.path(), draft.id(), Stay::OneRun)
        .map_err(EngineError::io("mark the sandbox as alive"))?;
    let (record, number) = match begin(engine, here, &draft, &errand) {
        Ok(begun) => begun,
        Err(error) => {
            mark.remove();
            return Err(error);
        }
    };
    let packed = errand.pack(engine, &draft.blueprint, &record)?;
    let trouble = proposal.and_then(|_| {
        let settled = experiment::settle(engine, here, &draft.learning);
        settled.err().map(|error| error.to_string())
    });
    let plan = proposal.map(|proposal| {
        let jail = (&record, &draft.blueprint);
        let asked = (proposal, &options.caller, command);
        experiment::plan(engine, here, jail, asked, &draft.learning)
    });
    let raise = || {
        let lifetime = Lifetime::OneRun;
        raise::raise(engine, here, (&record, &draft.blueprint), lifetime)
    };
    let (keeper, mut study) = beside(plan, raise);
    let keeper = match keeper {
        Ok(keeper) => keeper,
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
    begun(&Begun {
        sandbox: view::sandbox_with(&record, &draft.blueprint, 1),
        confidence: study.open.as_ref().and_then(Open::shown).cloned(),
        trouble: study.trouble.clone(),
    });
    let ended = drive(here, (&keeper, &record), (packed, number), streams);
    // Nothing that the command started outlives it, and its layers are at rest from here on.
    keeper.bury();
    let ended = ended?;
    let keep = verdict(&record, &draft.blueprint, &ended)?;
    // Before the directory goes: it says where the control groups are.
    sweep::clear_outside(engine, here, record.id);
    let record = finish(engine, here, &record, (&ended, keep))?;
    mark.remove();
    if draft.freeze_later {
        engine.later();
    }
    Ok(Once {
        record,
        blueprint: draft.blueprint,
        ended,
        keep,
        checks: draft.learning.checks,
        study,
    })
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

/// Makes the directories and writes the records, in this order: a record without directories would
/// be a sandbox that cannot be looked at.
fn begin(
    engine: &Engine,
    here: &Here,
    draft: &Draft,
    errand: &Errand<'_>,
) -> Result<(Sandbox, u32), EngineError> {
    let directory = here.sandbox(draft.id());
    let begun = layers::make(&directory, &draft.blueprint).and_then(|()| {
        here.write(|store| {
            let record = draft.record(engine, store)?;
            let cwd = errand.directory(engine, &draft.blueprint);
            let number = errand.record(engine, store, (&record, &cwd))?;
            Ok((record, number))
        })
    });
    if begun.is_err() {
        here.throw_away(&directory)?;
    }
    begun
}

/// Records that the jail never stood.
fn give_up(engine: &Engine, here: &Here, record: &Sandbox, number: u32) -> Result<(), EngineError> {
    here.write(|store| Ended::lost(number).record(engine, store, record))?;
    raise::abandon(engine, here, record.id)
}

/// Records the end of the run and of the jail in one transaction.
fn finish(
    engine: &Engine,
    here: &Here,
    record: &Sandbox,
    (ended, keep): (&Ended, Keep),
) -> Result<Sandbox, EngineError> {
    let events: &[Event] = match keep {
        Keep::Yes => &[Event::Finish],
        Keep::No => &[Event::Finish, Event::Discard, Event::Collect],
    };
    let record = here.write(|store| {
        ended.record(engine, store, record)?;
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
    if keep == Keep::No {
        here.throw_away(&here.sandbox(record.id))?;
    }
    Ok(record)
}
