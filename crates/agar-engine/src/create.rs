//! Makes a sandbox and leaves its jail up, ready for commands.

mod many;

pub(crate) use self::many::COUNT_MAX;
pub use self::many::create_many;

use crate::alive::{Mark, Stay};
use crate::draft::{Draft, draft};
use crate::here::Here;
use crate::raise::{Expected, Walls};
use crate::{Engine, EngineError, SandboxOptions, SandboxView};
use crate::{layers, raise, view};
use agar_jail::client::{Lifetime, Raising};
use agar_sandbox::base::Choice;
use agar_store::Sandbox;
use serde::{Deserialize, Serialize};

/// Asks for a sandbox.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CreateRequest {
    /// What it should be.
    pub options: SandboxOptions,
    /// Its name; two words are drawn if left out.
    pub alias: Option<String>,
}

/// The sandbox is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreateAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// Commands that the settings want run in it, in order, before it is used.
    #[serde(default)]
    pub setup: Vec<String>,
}

/// Makes a sandbox from the caller's project.
pub fn create(engine: &Engine, request: &CreateRequest) -> Result<CreateAnswer, EngineError> {
    let (here, expected) = engine.here_raising(&request.options)?;
    let wanted = wanted(request);
    let draft = draft(engine, here, &request.options, wanted)?;
    let laid = Laid::new(engine, here, vec![draft])?;
    let raised = laid.raise(engine, here, vec![expected]);
    let answer = raised.into_iter().collect::<Result<Vec<_>, _>>()?.pop();
    look_after(engine, here);
    answer.ok_or_else(|| EngineError::Invalid("no sandbox was asked for".to_owned()))
}

/// Has done what the next command would have to wait for.
pub(crate) fn look_after(engine: &Engine, here: &Here) {
    if let Some(due) = here.due(false) {
        engine.later(due);
    }
}

/// Sandboxes that are on record and have no jail yet.
///
/// The records come first: a keeper that stays would be nobody's if this command died before. Those of
/// several sandboxes are one transaction, of which each else would wait for the other.
struct Laid(Vec<(Draft, Sandbox, Mark)>);

impl Laid {
    fn new(engine: &Engine, here: &Here, drafts: Vec<Draft>) -> Result<Self, EngineError> {
        let mut marks = Vec::new();
        let mut make = |draft: &Draft| {
            let mark = Mark::leave(here.state.path(), draft.id(), Stay::UntilStopped);
            marks.push(mark.map_err(EngineError::io("mark the sandbox as alive"))?);
            layers::make(&here.sandbox(draft.id()), &draft.blueprint)
        };
        let recorded = drafts.iter().try_for_each(&mut make).and_then(|()| {
            here.write(|store| {
                let records = drafts.iter().map(|draft| draft.record(engine, store));
                records.collect::<Result<Vec<Sandbox>, _>>()
            })
        });
        match recorded {
            Ok(records) => {
                let laid = drafts.into_iter().zip(records).zip(marks);
                let laid = laid.map(|((draft, record), mark)| (draft, record, mark));
                Ok(Self(laid.collect()))
            }
            Err(error) => {
                let laid = drafts.iter().zip(marks);
                laid.for_each(|(draft, mark)| Self::take_back(here, draft, mark));
                Err(error)
            }
        }
    }

    /// What cannot be thrown away now keeps its mark, and the next command finds it.
    fn take_back(here: &Here, draft: &Draft, mark: Mark) {
        if here.throw_away(&here.sandbox(draft.id())).is_ok() {
            mark.remove();
        }
    }

    /// Puts their jails up, side by side, with the keepers that are expected. One that cannot be put up
    /// is given up.
    fn raise(
        self,
        engine: &Engine,
        here: &Here,
        expected: Vec<Expected>,
    ) -> Vec<Result<CreateAnswer, EngineError>> {
        let begin = |((draft, record, mark), expected): ((Draft, Sandbox, Mark), Expected)| {
            let sandbox = (record.id, &Walls::of(&record), &draft.blueprint);
            let lifetime = Lifetime::UntilStopped;
            let raising = raise::begin(engine, here, sandbox, (lifetime, expected));
            (draft, record, mark, raising)
        };
        let rising: Vec<_> = self.0.into_iter().zip(expected).map(begin).collect();
        let finish =
            |(draft, record, mark, raising): (Draft, Sandbox, Mark, Result<Raising, _>)| {
                match raising.and_then(|raising| Ok(raising.ready()?)) {
                    Ok(_) => Ok(answer(&record, draft)),
                    Err(error) => {
                        raise::abandon(engine, here, record.id)?;
                        mark.remove();
                        Err(error)
                    }
                }
            };
        rising.into_iter().map(finish).collect()
    }
}

/// The base that a sandbox gets which is there to stay, and its name.
pub(crate) fn wanted(request: &CreateRequest) -> (Choice, Option<String>) {
    (Choice::Frozen, request.alias.clone())
}

/// What the faces are told.
pub(crate) fn answer(record: &Sandbox, draft: Draft) -> CreateAnswer {
    CreateAnswer {
        sandbox: view::sandbox_with(record, &draft.blueprint, 0),
        setup: draft.setup,
    }
}
