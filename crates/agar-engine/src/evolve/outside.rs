//! Children from outside: a command in a sandbox, or a language model behind an endpoint.
//!
//! What `agar_evolve` asks as data is carried to either of them here, with a limit of time for each
//! question and a few questions at once. Every answer, good or bad, is written down before it counts:
//! a search that is taken up again reads the answers that it had and asks for the rest.

mod answer;
mod command;
mod endpoint;
mod roots;
mod wish;

pub use wish::OutsideWish;

use self::command::Commands;
use self::endpoint::Endpoint;
use super::failure::EvolveError;
use crate::{Engine, EngineError};
use agar_evolve::Code;
use agar_evolve::outside::{Mutator, NoChild, Question};
use agar_store::evolution::{EvolutionStore, ReplyPlace};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Somebody outside who is asked for children.
#[derive(Debug)]
pub(super) struct Outside {
    way: Way,
    at_once: usize,
    give_up_after: u32,
    search: i64,
    store: Mutex<EvolutionStore>,
    failing: Mutex<Failing>,
}

/// How it is reached.
#[derive(Debug)]
enum Way {
    Command(Commands),
    Endpoint(Box<Endpoint>),
}

/// Questions that went wrong in a row.
#[derive(Debug, Default)]
struct Failing {
    in_a_row: u32,
    last: Option<NoChild>,
}

/// An answer as it is kept.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    Child { kind: String, digits: String },
    None(NoChild),
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outside {
    /// Whoever the wish names, for this search.
    pub(super) fn new(
        engine: &Engine,
        wish: &OutsideWish,
        (database, search): (&Path, i64),
    ) -> Result<Self, EngineError> {
        wish.check()?;
        let way = match &wish.endpoint {
            Some(url) => Way::Endpoint(Box::new(Endpoint::new(engine, wish, url)?)),
            None => Way::Command(Commands::new(engine, wish)?),
        };
        Ok(Self {
            way,
            at_once: wish.at_once,
            give_up_after: wish.give_up_after,
            search,
            store: Mutex::new(EvolutionStore::open(database)?),
            failing: Mutex::default(),
        })
    }

    /// Why nobody is asked any more, once so many questions in a row have gone wrong.
    pub(super) fn gave_up(&self) -> Option<NoChild> {
        let failing = held(&self.failing);
        let over = failing.in_a_row >= self.give_up_after;
        failing.last.clone().filter(|_| over)
    }

    fn place(&self, question: &Question) -> ReplyPlace {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        ReplyPlace {
            search: self.search,
            generation: question.wanted.generation,
            island: narrow(question.wanted.island),
            place: narrow(question.wanted.place),
        }
    }

    fn child(&self, question: &Question) -> Result<Code, NoChild> {
        match self.recorded(question) {
            Ok(Some(answer)) => answer,
            Ok(None) if self.gave_up().is_some() => Err(NoChild::GivenUp),
            Ok(None) => {
                let answer = match &self.way {
                    Way::Command(commands) => commands.ask(question),
                    Way::Endpoint(endpoint) => endpoint.ask(question),
                };
                let answer = match self.record(question, &answer) {
                    Ok(()) => answer,
                    Err(words) => Err(NoChild::Gone { words }),
                };
                self.noted(&answer);
                answer
            }
            Err(words) => Err(NoChild::Gone { words }),
        }
    }

    fn noted(&self, answer: &Result<Code, NoChild>) {
        let mut failing = held(&self.failing);
        match answer {
            Ok(_) => *failing = Failing::default(),
            Err(reason) => {
                failing.in_a_row += 1;
                failing.last = Some(reason.clone());
            }
        }
    }

    fn recorded(&self, question: &Question) -> Result<Option<Result<Code, NoChild>>, String> {
        let document = held(&self.store).reply(self.place(question));
        let Some(document) = document.map_err(|error| error.to_string())? else {
            return Ok(None);
        };
        let kept = serde_json::from_str(&document).map_err(|error| error.to_string())?;
        Ok(Some(match kept {
            Kept::None(reason) => Err(reason),
            Kept::Child { kind, digits } => {
                let bytes = super::tables::unhex(&digits).map_err(|error| error.to_string())?;
                Ok(Code::read(&kind, &bytes).map_err(|error| error.to_string())?)
            }
        }))
    }

    fn record(&self, question: &Question, answer: &Result<Code, NoChild>) -> Result<(), String> {
        let kept = match answer {
            Ok(code) => Kept::Child {
                kind: code.kind().to_owned(),
                digits: super::tables::hex(&code.bytes()),
            },
            Err(reason) => Kept::None(reason.clone()),
        };
        let document = serde_json::to_string(&kept).map_err(|error| error.to_string())?;
        let place = self.place(question);
        let failed = answer.is_err();
        held(&self.store)
            .write(|writer| writer.add_reply(place, &document, failed))
            .map_err(|error: agar_store::StoreError| error.to_string())
    }
}

impl Mutator for Outside {
    fn children(&self, questions: &[Question]) -> Vec<Result<Code, NoChild>> {
        let next = AtomicUsize::new(0);
        let slots: Vec<OnceLock<Result<Code, NoChild>>> =
            questions.iter().map(|_| OnceLock::new()).collect();
        let work = || {
            while let Some((question, slot)) = draw(&next, questions, &slots) {
                // Each slot is set once, by whoever drew its number.
                drop(slot.set(self.child(question)));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.at_once.min(questions.len()) {
                scope.spawn(work);
            }
        });
        let answers = slots.into_iter().map(OnceLock::into_inner);
        answers
            .map(|answer| answer.unwrap_or(Err(NoChild::GivenUp)))
            .collect()
    }
}

/// The next question that nobody has drawn, and where its answer goes.
fn draw<'a, S>(
    next: &AtomicUsize,
    questions: &'a [Question],
    slots: &'a [S],
) -> Option<(&'a Question, &'a S)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    questions.get(at).zip(slots.get(at))
}

/// What a search is stopped with when nobody outside answers.
pub(super) fn stopped(name: &str, reason: &NoChild) -> EvolveError {
    EvolveError::Outside {
        name: name.to_owned(),
        why: reason.to_string(),
    }
}
