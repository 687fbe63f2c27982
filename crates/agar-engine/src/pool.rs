//! Jails that stand before anybody asks for them, for processes that live long.
//!
//! A command makes its sandbox when it is told to. A server can do better: most of what it is asked for
//! is what it was asked for before, so it keeps a few jails of those kinds ready, built in the background.
//!
//! What makes two jails interchangeable is everything that their plans are made of: the project and the
//! generation of its base, the layers, masks, limits and walls. It is not guessed: whoever takes a jail
//! from the pool works out what a new one would be made of, with the settings and the project as they
//! are at that moment, and takes the one that waits only if it is made of the same. So a jail is of no
//! use any more as soon as the base moves or a setting changes, and nobody has to watch for either.
//!
//! A jail that waits is nobody's sandbox: it has a directory and a mark, and no record. Its keeper ends
//! with this process, and what it leaves is cleared away by the next command, as after any crash.

mod stock;

use crate::alive::{Mark, Stay};
use crate::create::{self, CreateAnswer, CreateRequest};
use crate::draft::{Draft, draft, draft_as};
use crate::failure::EngineError;
use crate::here::Here;
use crate::options::{Caller, SandboxOptions};
use crate::raise::{self, Walls};
use crate::{Engine, Surroundings, layers, sweep};
use agar_core::walls::{BaseKind, Tier};
use agar_jail::client::{Keeper, Lifetime};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use stock::Stock;

/// A jail shows what was mounted on the machine when it was built; an older one is built anew.
const AGE_MAX: Duration = Duration::from_mins(5);

/// How long somebody who asks is given to have their sandbox before the next jail is built beside them.
const PATIENCE: Duration = Duration::from_millis(50);

/// Jails of one project that stand before anybody asks for them.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    builder: Option<JoinHandle<()>>,
}

/// A sandbox that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Pooled {
    /// The sandbox, as [`create`](create::create) answers.
    pub created: CreateAnswer,
    /// Whether its jail stood already.
    pub was_ready: bool,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    stock: Stock<SandboxOptions, Spare>,
    /// How many are being given a sandbox at this moment.
    asking: usize,
    ended: bool,
}

/// Somebody who asks for a sandbox, until they have it.
struct Asking<'a>(&'a Shared);

impl<'a> Asking<'a> {
    fn begin(shared: &'a Shared) -> Self {
        shared.lock().asking += 1;
        Self(shared)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.asking -= 1);
    }
}

/// A jail that waits.
#[derive(Debug)]
struct Spare {
    draft: Draft,
    keeper: Keeper,
    mark: Mark,
    built: Instant,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_timeout(state, most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until nobody is being given a sandbox, but not for ever: under a steady stream of requests
    /// there is always somebody.
    fn let_go_first<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let others = |state: &mut State| state.asking > 0 && !state.ended;
        let waited = self.changed.wait_timeout_while(state, PATIENCE, others);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_all();
        changed
    }
}

impl Pool {
    /// Starts a pool for the project around the caller, in which at most so many jails wait. Nothing is
    /// built before a sandbox is asked for.
    pub fn start(surroundings: Surroundings, jails_max: usize) -> Result<Self, EngineError> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                stock: Stock::new(jails_max),
                asking: 0,
                ended: false,
            }),
            changed: Condvar::new(),
        });
        let theirs = Arc::clone(&shared);
        let builder = std::thread::Builder::new()
            .name("agar-pool".to_owned())
            .spawn(move || build(&theirs, surroundings))
            .map_err(EngineError::io("start the thread that builds jails"))?;
        Ok(Self {
            shared,
            builder: Some(builder),
        })
    }

    /// Makes a sandbox, around which a jail stands already if the pool has one that fits.
    pub fn create(&self, engine: &Engine, request: &CreateRequest) -> Result<Pooled, EngineError> {
        let _asking = Asking::begin(&self.shared);
        let here = engine.here()?;
        let key = key(&request.options)?;
        while let Some(spare) = self.take(&key, &request.options) {
            let (wanted, id) = (create::wanted(request), spare.draft.id());
            let fresh = match draft_as(engine, here, &request.options, wanted, id) {
                Ok(fresh) => fresh,
                Err(error) => {
                    self.shared.change(|state| state.stock.spend(spare));
                    return Err(error);
                }
            };
            if !spare.is_good_for(&fresh) {
                self.shared.change(|state| state.stock.spend(spare));
                continue;
            }
            if let Some(created) = self.adopt(engine, here, (spare, fresh))? {
                return Ok(Pooled {
                    created,
                    was_ready: true,
                });
            }
        }
        Ok(Pooled {
            created: create::create(engine, request)?,
            was_ready: false,
        })
    }

    /// How many jails wait.
    pub fn ready(&self) -> usize {
        self.shared.lock().stock.len()
    }

    fn take(&self, key: &str, options: &SandboxOptions) -> Option<Spare> {
        self.shared.change(|state| state.stock.take(key, options))
    }

    /// Makes a jail that waited the jail of a sandbox; nothing if it died while it waited. Whoever dies
    /// on the way leaves marks, and a keeper that ends with it.
    fn adopt(
        &self,
        engine: &Engine,
        here: &Here,
        (spare, fresh): (Spare, Draft),
    ) -> Result<Option<CreateAnswer>, EngineError> {
        let spend = |spare, error| {
            self.shared.change(|state| state.stock.spend(spare));
            Err(error)
        };
        let mark = match Mark::leave(here.state.path(), fresh.id(), Stay::UntilStopped) {
            Ok(mark) => mark,
            Err(error) => return spend(spare, EngineError::io("mark the sandbox as alive")(error)),
        };
        let record = match here.write(|store| fresh.record(engine, store)) {
            Ok(record) => record,
            Err(error) => {
                mark.remove();
                return spend(spare, error);
            }
        };
        if spare.keeper.stay().is_err() {
            raise::abandon(engine, here, record.id)?;
            spare.mark.remove();
            mark.remove();
            return Ok(None);
        }
        spare.mark.remove();
        create::look_after(engine, here);
        Ok(Some(create::answer(&record, fresh)))
    }
}

impl Drop for Pool {
    /// Takes down what waits.
    fn drop(&mut self) {
        self.shared.change(|state| state.ended = true);
        if let Some(builder) = self.builder.take() {
            // One that panicked leaves what a crash leaves.
            drop(builder.join());
        }
    }
}

impl Spare {
    /// Whether a sandbox that is asked for now can have this jail.
    fn is_good_for(&self, fresh: &Draft) -> bool {
        self.built.elapsed() < AGE_MAX && self.draft.has_jail_of(fresh) && can_wait(fresh)
    }

    fn take_down(self, engine: &Engine, here: &Here) {
        let id = self.draft.id();
        // One that was killed does not answer.
        drop(self.keeper.stop());
        sweep::clear_outside(engine, here, id);
        // What cannot go now is found by its mark.
        if here.throw_away(&here.sandbox(id)).is_ok() {
            self.mark.remove();
        }
    }
}

/// Whether a jail shows the same however long it waits: over a live project, or a copy of it, it does
/// not.
fn can_wait(draft: &Draft) -> bool {
    draft.new.base == BaseKind::Frozen && draft.new.tier == Tier::Full
}

/// What was asked for, without what is only written down. Two that differ may still fit; they wait
/// apart.
fn key(options: &SandboxOptions) -> Result<String, EngineError> {
    let asked = SandboxOptions {
        note: None,
        ttl_ms: None,
        environment: Vec::new(),
        caller: match options.caller {
            Caller::Person => Caller::Person,
            Caller::Agent { .. } => Caller::Agent {
                name: String::new(),
            },
        },
        ..options.clone()
    };
    serde_json::to_string(&asked).map_err(|error| {
        EngineError::Invalid(format!("these options cannot be told apart: {error}"))
    })
}

/// Builds what is lacking and takes down what is of no use, until the pool ends.
fn build(shared: &Shared, surroundings: Surroundings) {
    // Whoever asks for a sandbox is told what is wrong.
    let Ok(engine) = Engine::open(surroundings.for_many()) else {
        return;
    };
    loop {
        let mut state = shared.let_go_first(shared.lock());
        state.stock.expire(|spare| spare.built.elapsed() >= AGE_MAX);
        if state.ended {
            state.stock.end();
        }
        let (spent, next, ended) = (state.stock.spent(), state.stock.next(), state.ended);
        if spent.is_empty() && next.is_none() && !ended {
            drop(shared.wait(state, AGE_MAX));
            continue;
        }
        drop(state);
        if let Ok(here) = engine.here() {
            for spare in spent {
                spare.take_down(&engine, here);
            }
        }
        if ended {
            return;
        }
        if let Some((key, options)) = next {
            let built = raise_one(&engine, &options);
            shared.change(|state| match built {
                Ok(Some(spare)) => state.stock.add(&key, spare),
                // Told when it is asked for, and it can be that it only failed now.
                Ok(None) | Err(_) => state.stock.failed(&key),
            });
        }
    }
}

/// Builds one jail; nothing if it could not wait.
fn raise_one(engine: &Engine, options: &SandboxOptions) -> Result<Option<Spare>, EngineError> {
    let (here, expected) = engine.here_raising(options)?;
    let request = CreateRequest {
        options: options.clone(),
        alias: None,
    };
    let mut draft = draft(engine, here, options, create::wanted(&request))?;
    if !can_wait(&draft) {
        return Ok(None);
    }
    let id = draft.id();
    let mark = Mark::leave(here.state.path(), id, Stay::OneRun)
        .map_err(EngineError::io("mark the jail as alive"))?;
    let directory = here.sandbox(id);
    let sandbox = (id, &Walls::of_new(&draft.new), &draft.blueprint);
    let raised = layers::make(&directory, &draft.blueprint)
        .and_then(|()| raise::begin(engine, here, sandbox, (Lifetime::UntilLeft, expected)))
        .and_then(|raising| Ok(raising.ready()?));
    match raised {
        Ok(keeper) => {
            draft.let_go();
            Ok(Some(Spare {
                draft,
                keeper,
                mark,
                built: Instant::now(),
            }))
        }
        Err(error) => {
            // Before the directory goes: it says where the control groups are.
            sweep::clear_outside(engine, here, id);
            here.throw_away(&directory)?;
            mark.remove();
            Err(error)
        }
    }
}
