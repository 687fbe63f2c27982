//! One individual: a record that lasts, and an instance of a genome that comes and goes.
//!
//! Identity, mailbox, history and metrics belong to the record. The instance is a cache: it can be
//! put to sleep and woken, thrown away after a crash, or replaced by another genome's, and whoever
//! holds the cell sees the same cell.
//!
//! ```text
//! awake ──hibernate──▶ asleep ──(any run)──▶ awake
//!   │                                          ▲
//!   └──a run ends half-way──▶ crashed ──restart┘
//! ```

mod birth;
pub(crate) mod converse;
mod dormant;
mod image;
mod mailbox;
mod record;
mod run;
mod swap;
mod version;

pub use self::dormant::{Dormant, DormantVersion, ReviveError};
pub use self::mailbox::{Mailbox, Message};
pub use self::record::{Answer, CellId, Condition, Info, Metrics, Spec, State};
pub use self::swap::{Migration, Migrator, Probe, Swap, SwapError, SwapStep};
pub use self::version::{History, RollbackState, VERSIONS_KEPT, Version};

use self::birth::note_growth;
use self::converse::{EVALUATE, INIT, LOAD, Reply, SAVE, SCHEMA, STEP, Talk, Verb};
use self::image::Image;
use self::run::explain;
pub(crate) use self::run::run_once;
use self::version::Versions;
use crate::budget::Permit;
use crate::engine::host::{Artifact, Cases, Halt};
use crate::engine::nearby::{self, Nearby};
use crate::engine::{Instance, Tier};
use crate::failure::CellError;
use crate::genome::Genome;
use crate::incubator::Incubator;
use crate::limits::Limits;
use crate::value::{Value, ValueType};
use agar_core::seam::Timestamp;
use std::fmt;
use std::sync::Arc;

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "what a run needs is to lie in one place"
)]
enum Body {
    Awake(Instance, Permit),
    Asleep(Box<Image>),
    Crashed,
}

/// One individual: what every run touches, in few lines that lie together, and the rest aside. Among
/// a hundred thousand, a second place costs a call as much again as the first.
#[repr(align(64))]
pub struct Cell {
    incubator: Incubator,
    genome: Genome,
    limits: Limits,
    body: Body,
    /// Where the instance of the body lies, or the last one lay.
    nearby: Nearby,
    metrics: Metrics,
    artifacts: Vec<Artifact>,
    aside: Box<Aside>,
}

/// What a run does not touch.
struct Aside {
    id: CellId,
    seed: u64,
    cases: Option<Cases>,
    params: Vec<u8>,
    mailbox: Arc<Mailbox>,
    versions: Versions,
    created_at: Timestamp,
}

const _: () = assert!(size_of::<Cell>() == 512, "a cell is spread over more lines");

impl Cell {
    pub(crate) fn new(
        incubator: Incubator,
        id: CellId,
        genome: Genome,
        spec: Spec,
    ) -> Result<Self, CellError> {
        let now = incubator.now();
        let limits = spec.limits.within_bounds();
        let aside = Aside {
            id,
            seed: spec.seed,
            cases: spec.cases,
            params: spec.params,
            mailbox: Arc::new(Mailbox::new(limits.mailbox)),
            versions: Versions::begin(genome.clone(), now),
            created_at: now,
        };
        let mut cell = Self {
            genome,
            limits,
            body: Body::Crashed,
            nearby: Nearby::default(),
            metrics: Metrics::default(),
            artifacts: Vec::new(),
            aside: Box::new(aside),
            incubator,
        };
        cell.begin()?;
        Ok(cell)
    }

    /// Brings the genome to life as if for the first time.
    fn begin(&mut self) -> Result<(), CellError> {
        let (instance, permit) = self.hatch(&self.genome)?;
        self.settle(instance, permit);
        if !INIT.is_in(self.genome.facts()) {
            return Ok(());
        }
        let params = std::mem::take(&mut self.aside.params);
        let said = self.run(|talk| talk.persuade(INIT, &params, &[]));
        self.aside.params = params;
        said?.map_err(|words| {
            self.body = Body::Crashed;
            CellError::Refused(words)
        })
    }

    /// Its name.
    pub const fn id(&self) -> CellId {
        self.aside.id
    }

    /// Its genome.
    pub const fn genome(&self) -> &Genome {
        &self.genome
    }

    /// The walls around each run.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Sets other walls from the next run on; the mailbox keeps its size.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits.within_bounds();
    }

    /// Where messages can be sent while the cell is busy.
    pub fn mailbox(&self) -> Arc<Mailbox> {
        Arc::clone(&self.aside.mailbox)
    }

    /// What the last run put out.
    pub fn artifacts(&self) -> &[Artifact] {
        &self.artifacts
    }

    /// What it has done so far.
    pub const fn metrics(&self) -> Metrics {
        self.metrics
    }

    /// What it is doing.
    pub const fn condition(&self) -> Condition {
        match self.body {
            Body::Awake(..) => Condition::Awake,
            Body::Asleep(_) => Condition::Asleep,
            Body::Crashed => Condition::Crashed,
        }
    }

    /// All that can be said of it without running it.
    pub fn info(&self) -> Info {
        let (tier, memory) = match &self.body {
            Body::Awake(instance, permit) => (Some(instance.tier()), permit.memory()),
            Body::Asleep(image) => (None, image.size() as u64),
            Body::Crashed => (None, 0),
        };
        Info {
            id: self.aside.id,
            genome: self.genome.id(),
            condition: self.condition(),
            tier,
            current_version: self.aside.versions.current(),
            created_at: self.aside.created_at,
            memory,
            waiting: self.aside.mailbox.waiting(),
            metrics: self.metrics,
        }
    }

    /// Its versions, the oldest of those kept first.
    pub fn history(&self) -> History {
        self.aside.versions.history()
    }

    /// Calls an exported function with numbers.
    pub fn call(&mut self, name: &str, arguments: &[Value]) -> Result<Vec<Value>, CellError> {
        self.fetch();
        let genome = self.genome.clone();
        let functions = &genome.facts().functions;
        let found = functions.iter().find(|function| function.name == name);
        let function = found.ok_or_else(|| CellError::NoFunction {
            name: name.to_owned(),
        })?;
        let given = arguments.iter().map(|value| value.ty());
        if !given.eq(function.params.iter().copied()) {
            return Err(mismatch(function));
        }
        let mut results: Vec<Value> = function.results.iter().map(|ty| Value::zero(*ty)).collect();
        self.run(|talk| {
            talk.instance.charge(function.cost.unwrap_or(0))?;
            talk.instance.call(name, arguments, &mut results)
        })?;
        Ok(results)
    }

    /// Calls a function of 64-bit floating-point numbers at each of many points, as one run under
    /// one budget. `points` holds the arguments of each point after those of the last.
    pub fn map(&mut self, name: &str, points: &[f64]) -> Result<Vec<f64>, CellError> {
        self.fetch();
        let genome = self.genome.clone();
        let functions = &genome.facts().functions;
        let found = functions.iter().find(|function| function.name == name);
        let function = found.ok_or_else(|| CellError::NoFunction {
            name: name.to_owned(),
        })?;
        let arity = function.params.len();
        let numbers = function.params.iter().all(|ty| *ty == ValueType::F64);
        let fits = numbers && arity > 0 && points.len().is_multiple_of(arity);
        if !fits || function.results != [ValueType::F64] {
            return Err(mismatch(function));
        }
        let mut out = Vec::with_capacity(points.len() / arity);
        let cost = function.cost.unwrap_or(0);
        self.run(|talk| talk.instance.map(name, (arity, points), cost, &mut out))?;
        Ok(out)
    }

    /// Asks the genome about one case; it answers data, never a score.
    pub fn evaluate(&mut self, input: &[u8]) -> Result<Vec<u8>, CellError> {
        self.exchange(EVALUATE, input)
    }

    /// Passes one message and answers what the genome says to it.
    pub fn step(&mut self, message: &[u8]) -> Result<Vec<u8>, CellError> {
        self.exchange(STEP, message)
    }

    /// Leaves a message; [`Cell::work`] has it answered.
    pub fn send(&self, message: Vec<u8>) -> Result<u64, CellError> {
        self.aside.mailbox.send(message)
    }

    /// Answers up to so many waiting messages, in order.
    ///
    /// A message whose run fails is answered with the failure. If that crashes the cell, or there
    /// is no room to wake it, the rest goes on waiting.
    pub fn work(&mut self, most: usize) -> Vec<Answer> {
        let mut answers = Vec::new();
        while answers.len() < most {
            let Some(message) = self.aside.mailbox.take() else {
                break;
            };
            let result = self.step(&message.bytes);
            if matches!(result, Err(CellError::Crashed | CellError::NoRoom(_))) {
                self.aside.mailbox.give_back(message);
                break;
            }
            self.metrics.messages += 1;
            let ticket = message.ticket;
            answers.push(Answer { ticket, result });
        }
        answers
    }

    /// What the genome keeps of itself. Whatever goes wrong here, the cell goes on: saving is asking,
    /// and a genome that changes itself when asked has itself to blame.
    pub fn save(&mut self) -> Result<State, CellError> {
        let limit = self.limits.state_bytes;
        self.wake()?;
        let ran = self.account(save)?;
        let state = ran.map_err(|halt| self.explain(halt))?;
        let state = state.map_err(CellError::Refused)?;
        if state.bytes.len() > limit as usize {
            return Err(CellError::Output { limit });
        }
        Ok(state)
    }

    /// Gives the genome a state that it, or an older form of it, saved.
    pub fn load(&mut self, state: &State) -> Result<(), CellError> {
        let schema = [state.schema.cast_signed()];
        let said = self.run(|talk| talk.persuade(LOAD, &state.bytes, &schema))?;
        said.map_err(CellError::Refused)
    }

    /// Throws the instance away and begins anew: without state, in the same version, with the same
    /// mailbox.
    pub fn restart(&mut self) -> Result<(), CellError> {
        self.metrics.restarts += 1;
        self.begin()
    }

    /// Copies the state aside and drops the instance; the next run wakes it.
    pub fn hibernate(&mut self) -> Result<(), CellError> {
        let facts = self.genome.facts();
        match &mut self.body {
            Body::Asleep(_) => Ok(()),
            Body::Crashed => Err(CellError::Crashed),
            Body::Awake(..) if !facts.portable => Err(CellError::NotSaveable {
                reason: "it writes to its table or drops segments",
            }),
            Body::Awake(instance, _) => {
                let image = Image::of(instance, &self.genome);
                self.metrics.hibernations += 1;
                self.body = Body::Asleep(Box::new(image));
                Ok(())
            }
        }
    }

    /// A hash of the state of a cell that sleeps: equal states, equal hashes, whatever the engine.
    pub fn fingerprint(&self) -> Option<[u8; 32]> {
        match &self.body {
            Body::Asleep(image) => Some(image.fingerprint()),
            Body::Awake(..) | Body::Crashed => None,
        }
    }

    /// Asks the processor for all that a run will touch.
    pub(crate) fn fetch(&self) {
        nearby::fetch(self);
        self.nearby.fetch();
    }

    /// Has the cell live in this instance from now on.
    fn settle(&mut self, mut instance: Instance, permit: Permit) {
        self.nearby = instance.nearby();
        self.body = Body::Awake(instance, permit);
    }

    fn wake(&mut self) -> Result<(), CellError> {
        let Body::Asleep(image) = &self.body else {
            return Ok(());
        };
        let (mut instance, permit) = self.unborn(&self.genome)?;
        instance.host().cases.clone_from(&self.aside.cases);
        let put = image.put(&mut instance, &self.genome);
        put.map_err(|halt| self.explain(halt))?;
        self.settle(instance, permit);
        Ok(())
    }

    /// Moves an awake cell into compiled code once its genome has earned that. Should there be no
    /// way, it stays where it is: the answers are the same.
    fn tier_up(&mut self) {
        let Body::Awake(instance, _) = &mut self.body else {
            return;
        };
        let facts = self.genome.facts();
        let due = instance.tier() == Tier::Light && facts.portable;
        if !due || !self.incubator.prefers_compiled(&self.genome) {
            return;
        }
        let image = Image::of(instance, &self.genome);
        let Ok((mut instance, permit)) = self.unborn(&self.genome) else {
            return;
        };
        instance.host().cases.clone_from(&self.aside.cases);
        if instance.tier() == Tier::Heavy && image.put(&mut instance, &self.genome).is_ok() {
            self.settle(instance, permit);
        }
    }

    fn exchange(&mut self, verb: Verb, input: &[u8]) -> Result<Vec<u8>, CellError> {
        self.fetch();
        match self.run(|talk| talk.exchange(verb, input))? {
            Reply::Bytes(bytes) => Ok(bytes),
            Reply::Refused(words) => Err(CellError::Refused(words)),
        }
    }

    /// Where the seeded sequence has come to.
    fn random(&mut self) -> Option<u64> {
        match &mut self.body {
            Body::Awake(instance, _) => Some(instance.host().random),
            Body::Asleep(image) => Some(image.random()),
            Body::Crashed => None,
        }
    }

    /// One run: a budget, whatever `act` does with it, and the consequences.
    fn run<T>(
        &mut self,
        act: impl FnOnce(&mut Talk<'_>) -> Result<T, Halt>,
    ) -> Result<T, CellError> {
        self.wake()?;
        self.tier_up();
        match self.account(act)? {
            Ok(value) => Ok(value),
            Err(halt) => Err(self.failed(halt)),
        }
    }

    /// One run and its account; what a failure means is for the caller.
    fn account<T>(
        &mut self,
        act: impl FnOnce(&mut Talk<'_>) -> Result<T, Halt>,
    ) -> Result<Result<T, Halt>, CellError> {
        let Body::Awake(instance, permit) = &mut self.body else {
            return Err(CellError::Crashed);
        };
        let facts = self.genome.facts();
        let ran = run_once(instance, facts, &self.limits, act);
        self.artifacts = std::mem::take(&mut instance.host().artifacts);
        self.metrics.runs += 1;
        self.metrics.instructions += ran.instructions;
        self.metrics.last_instructions = ran.instructions;
        if instance.tier() == Tier::Light {
            self.genome.code().note_work(ran.instructions);
        }
        note_growth(instance, facts, permit);
        Ok(ran.outcome)
    }

    fn failed(&mut self, halt: Halt) -> CellError {
        let error = self.explain(halt);
        self.metrics.failures += 1;
        let limit = matches!(
            error,
            CellError::Instructions { .. } | CellError::Stack { .. } | CellError::Output { .. }
        );
        let timeout = matches!(error, CellError::Deadline { .. });
        self.metrics.killed += u64::from(limit || timeout);
        self.metrics.timeouts += u64::from(timeout);
        if error.breaks_state() && !self.genome.facts().is_stateless() {
            self.body = Body::Crashed;
        }
        error
    }

    fn explain(&self, halt: Halt) -> CellError {
        explain(halt, &self.limits)
    }
}

/// The schema that the genome writes, zero without one.
fn schema(talk: &mut Talk<'_>) -> Result<u32, Halt> {
    if !SCHEMA.is_in(talk.facts) {
        return Ok(0);
    }
    let said = talk.ask(SCHEMA, &[])?;
    Ok(i32::try_from(said).unwrap_or_default().cast_unsigned())
}

/// Has the genome save itself; the inner failure is in its own words.
fn save(talk: &mut Talk<'_>) -> Result<Result<State, String>, Halt> {
    let schema = schema(talk)?;
    let answer = talk.ask(SAVE, &[])?;
    Ok(match talk.read(answer)? {
        Reply::Bytes(bytes) => Ok(State { schema, bytes }),
        Reply::Refused(words) => Err(words),
    })
}

fn mismatch(function: &crate::genome::Function) -> CellError {
    let words: Vec<String> = function.params.iter().map(ToString::to_string).collect();
    CellError::Arguments {
        name: function.name.clone(),
        expected: match words.as_slice() {
            [] => "nothing".to_owned(),
            words => words.join(", "),
        },
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell")
            .field("id", &self.aside.id)
            .field("genome", &self.genome.id())
            .field("condition", &self.condition())
            .finish_non_exhaustive()
    }
}
