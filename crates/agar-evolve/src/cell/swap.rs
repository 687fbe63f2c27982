//! Another genome under a living cell, all or nothing.
//!
//! ```text
//! save old ─▶ hatch new ─▶ migrate ─▶ load ─▶ probe ─▶ commit
//!    └───────────┴────────────┴─────────┴───────┴─────▶ the old one goes on, state and all
//! ```
//!
//! Until the commit, which cannot fail, the old instance is untouched but for its own `save`.
//! Messages wait meanwhile: whoever swaps holds the cell, and the mailbox is apart from it.

use super::converse::{EVALUATE, INIT, LOAD, MIGRATE, Reply, SAVE, STEP, Talk, Verb};
use super::version::RollbackState;
use super::{Body, Cell, State, explain, run_once, schema};
use crate::budget::Permit;
use crate::engine::Instance;
use crate::engine::host::Halt;
use crate::failure::CellError;
use crate::genome::{Genome, GenomeId};
use agar_core::fault::{Fault, Kind};
use std::fmt;

/// Brings a state from one form into another; says why in words where it cannot.
pub type Migrator<'a> = dyn Fn(&State, u32) -> Result<State, String> + 'a;

/// Who brings the state into the new genome's form.
#[derive(Clone, Copy, Default)]
pub enum Migration<'a> {
    /// The new genome, by its `migrate`, where the forms differ.
    #[default]
    Guest,
    /// The host: it is given the old state and the schema that is wanted.
    Host(&'a Migrator<'a>),
}

impl fmt::Debug for Migration<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Guest => "Guest",
            Self::Host(_) => "Host",
        })
    }
}

/// What the new genome must show before it is trusted.
#[derive(Debug, Clone, Copy, Default)]
pub enum Probe<'a> {
    /// Nothing.
    #[default]
    None,
    /// The same answers as the old one to these messages, from the same state. Both are asked
    /// aside: neither instance of the cell sees them.
    Same(&'a [Vec<u8>]),
    /// An answer to each of these, whatever it is.
    Answers(&'a [Vec<u8>]),
}

/// What is to be swapped in, and how.
#[derive(Clone)]
pub struct Swap<'a> {
    /// The new genome.
    pub genome: Genome,
    /// Where it came from.
    pub parents: Vec<GenomeId>,
    /// Why it is brought.
    pub reason: String,
    /// Who brings the state along.
    pub migration: Migration<'a>,
    /// What it must show.
    pub probe: Probe<'a>,
}

impl Swap<'_> {
    /// The plain swap.
    pub fn to(genome: Genome, reason: &str) -> Self {
        Self {
            genome,
            parents: Vec::new(),
            reason: reason.to_owned(),
            migration: Migration::Guest,
            probe: Probe::None,
        }
    }
}

impl fmt::Debug for Swap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Swap")
            .field("genome", &self.genome)
            .field("reason", &self.reason)
            .field("probe", &self.probe)
            .finish_non_exhaustive()
    }
}

/// Where a swap failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SwapStep {
    /// Finding the version to go back to.
    Find,
    /// Having the old genome save its state.
    Save,
    /// Bringing the new one to life.
    Hatch,
    /// Bringing the state into its form.
    Migrate,
    /// Having it load the state.
    Load,
    /// Holding it against the probe.
    Probe,
}

impl SwapStep {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Find => "find",
            Self::Save => "save",
            Self::Hatch => "hatch",
            Self::Migrate => "migrate",
            Self::Load => "load",
            Self::Probe => "probe",
        }
    }
}

/// The swap did not happen; the old genome goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot swap the genome, which goes on as it was: the step `{}` failed", .step.name())]
pub struct SwapError {
    /// Where.
    pub step: SwapStep,
    /// Why.
    pub source: CellError,
}

impl Fault for SwapError {
    fn kind(&self) -> Kind {
        self.source.kind()
    }
}

fn at(step: SwapStep) -> impl FnOnce(CellError) -> SwapError {
    move |source| SwapError { step, source }
}

impl Cell {
    /// Replaces the genome and carries the state over.
    ///
    /// A genome without `save` leaves nothing behind, and one without `load` takes nothing up:
    /// between such genomes a swap is a restart. A crashed cell is swapped without state.
    pub fn swap(&mut self, swap: Swap<'_>) -> Result<u32, SwapError> {
        let state = self.state_to_carry()?;
        self.swap_with(swap, state.clone(), state.as_ref())
    }

    /// Goes back to a version that is kept. It becomes the newest one, under a new number.
    pub fn rollback(&mut self, number: u32, with: RollbackState) -> Result<u32, SwapError> {
        let Some(version) = self.aside.versions.get(number) else {
            return Err(at(SwapStep::Find)(CellError::NoVersion { number }));
        };
        let (genome, snapshot) = (version.genome.clone(), version.snapshot.clone());
        let swap = Swap {
            parents: vec![self.genome.id()],
            ..Swap::to(genome, &format!("rollback to version {number}"))
        };
        let leaving = self.state_to_carry()?;
        let carried = match with {
            // The current one has not left yet; what it would leave is what it knows now.
            RollbackState::Snapshot if number == self.aside.versions.current() => leaving.clone(),
            RollbackState::Snapshot => snapshot,
            RollbackState::Current => leaving.clone(),
        };
        self.swap_with(swap, leaving, carried.as_ref())
    }

    /// What the old genome saves, if it can.
    fn state_to_carry(&mut self) -> Result<Option<State>, SwapError> {
        if !SAVE.is_in(self.genome.facts()) || matches!(self.body, Body::Crashed) {
            return Ok(None);
        }
        self.save().map(Some).map_err(at(SwapStep::Save))
    }

    fn swap_with(
        &mut self,
        swap: Swap<'_>,
        leaving: Option<State>,
        carried: Option<&State>,
    ) -> Result<u32, SwapError> {
        let (mut instance, permit) = self.successor(&swap, carried)?;
        self.probe(&swap, leaving.as_ref(), carried)?;
        self.aside.versions.leave(leaving);
        let now = self.incubator.now();
        let Swap {
            genome,
            parents,
            reason,
            ..
        } = swap;
        self.aside
            .versions
            .push(genome.clone(), parents, reason, now);
        self.genome = genome;
        if let Some(random) = self.random() {
            // The sequence goes on where it was, or a swap could be used to draw again.
            instance.host().random = random;
        }
        self.settle(instance, permit);
        self.metrics.swaps += 1;
        Ok(self.aside.versions.current())
    }

    /// A new instance that has taken up the state.
    fn successor(
        &self,
        swap: &Swap<'_>,
        state: Option<&State>,
    ) -> Result<(Instance, Permit), SwapError> {
        let hatched = self.hatch(&swap.genome);
        let (mut instance, permit) = hatched.map_err(at(SwapStep::Hatch))?;
        let facts = swap.genome.facts();
        let Some(state) = state.filter(|_| LOAD.is_in(facts)) else {
            self.introduce(&mut instance, &swap.genome)?;
            return Ok((instance, permit));
        };
        let wanted = self.aside(&mut instance, &swap.genome, schema);
        let wanted = wanted.map_err(at(SwapStep::Migrate))?;
        let migrated = if wanted == state.schema {
            None
        } else {
            Some(self.migrated(&mut instance, swap, state, wanted)?)
        };
        let state = migrated.as_ref().unwrap_or(state);
        let schema = [state.schema.cast_signed()];
        let load = |talk: &mut Talk<'_>| talk.persuade(LOAD, &state.bytes, &schema);
        let said = self.aside(&mut instance, &swap.genome, load);
        said.and_then(|said| said.map_err(CellError::Refused))
            .map_err(at(SwapStep::Load))?;
        Ok((instance, permit))
    }

    /// Begins a genome that takes up no state as any other is begun.
    fn introduce(&self, instance: &mut Instance, genome: &Genome) -> Result<(), SwapError> {
        if !INIT.is_in(genome.facts()) {
            return Ok(());
        }
        let init = |talk: &mut Talk<'_>| talk.persuade(INIT, &self.aside.params, &[]);
        let said = self.aside(instance, genome, init);
        said.and_then(|said| said.map_err(CellError::Refused))
            .map_err(at(SwapStep::Hatch))
    }

    fn migrated(
        &self,
        instance: &mut Instance,
        swap: &Swap<'_>,
        state: &State,
        wanted: u32,
    ) -> Result<State, SwapError> {
        let refuse = |words| at(SwapStep::Migrate)(CellError::Refused(words));
        if let Migration::Host(migrator) = swap.migration {
            return migrator(state, wanted).map_err(refuse);
        }
        if !MIGRATE.is_in(swap.genome.facts()) {
            // `load` is told the schema and may know older ones itself.
            return Ok(state.clone());
        }
        let migrate = |talk: &mut Talk<'_>| {
            let schema = [state.schema.cast_signed()];
            let answer = talk.tell(MIGRATE, &state.bytes, &schema)?;
            talk.read(answer)
        };
        let said = self.aside(instance, &swap.genome, migrate);
        match said.map_err(at(SwapStep::Migrate))? {
            Reply::Bytes(bytes) => Ok(State {
                schema: wanted,
                bytes,
            }),
            Reply::Refused(words) => Err(refuse(words)),
        }
    }

    /// A run of an instance that is not the cell's own, under the cell's limits.
    fn aside<T>(
        &self,
        instance: &mut Instance,
        genome: &Genome,
        act: impl FnOnce(&mut Talk<'_>) -> Result<T, Halt>,
    ) -> Result<T, CellError> {
        let limits = &self.limits;
        let ran = run_once(instance, genome.facts(), limits, act);
        ran.outcome.map_err(|halt| explain(halt, limits))
    }

    fn probe(
        &self,
        swap: &Swap<'_>,
        leaving: Option<&State>,
        carried: Option<&State>,
    ) -> Result<(), SwapError> {
        let (messages, compare) = match swap.probe {
            Probe::None => return Ok(()),
            Probe::Same(messages) => (messages, true),
            Probe::Answers(messages) => (messages, false),
        };
        let new = self.answers(swap, carried, messages)?;
        if !compare {
            return new
                .into_iter()
                .find_map(Result::err)
                .map_or(Ok(()), |error| Err(at(SwapStep::Probe)(error)));
        }
        let old = Swap::to(self.genome.clone(), "");
        let old = self.answers(&old, leaving, messages)?;
        if old == new {
            return Ok(());
        }
        let words = "its answers to the probe are not those of the old one".to_owned();
        Err(at(SwapStep::Probe)(CellError::Refused(words)))
    }

    /// What a genome with this state says to the messages, asked aside.
    fn answers(
        &self,
        swap: &Swap<'_>,
        state: Option<&State>,
        messages: &[Vec<u8>],
    ) -> Result<Vec<Result<Vec<u8>, CellError>>, SwapError> {
        let (mut instance, _permit) = self.successor(swap, state)?;
        let verb = verb_of(&swap.genome);
        let answers = messages.iter().map(|message| {
            let asked = self.aside(&mut instance, &swap.genome, |talk| {
                talk.exchange(verb, message)
            });
            match asked? {
                Reply::Bytes(bytes) => Ok(bytes),
                Reply::Refused(words) => Err(CellError::Refused(words)),
            }
        });
        Ok(answers.collect())
    }
}

/// How the genome takes messages.
fn verb_of(genome: &Genome) -> Verb {
    if STEP.is_in(genome.facts()) {
        STEP
    } else {
        EVALUATE
    }
}
