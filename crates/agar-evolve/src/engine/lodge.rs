//! Instances that many cells take turns in.
//!
//! A genome without memory and without a table keeps all its state in a few globals. A cell of such
//! a genome keeps those itself, and has an instance only while it runs: the one that the last cell
//! of the same genome gave back. So a cell costs half a kibibyte instead of five, and a call among a
//! hundred thousand waits for one record to come from memory and not for a whole instance.
//!
//! Nothing passes from one cell to the next: all that an instance can remember is set anew before
//! each call, and one in which a call failed is not used again.

use super::heavy::Compiled;
use super::host::{Halt, Host};
use super::nearby::Nearby;
use super::{Instance, Tier};
use crate::genome::Genome;
use crate::value::Value;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// How many instances wait for the next call: more than there are threads in most processes.
const IDLE_MAX: usize = 8;

/// Instances of one genome on one engine.
#[derive(Debug, Default)]
pub(crate) struct Lodge {
    idle: Mutex<Vec<Instance>>,
    /// What the globals are at birth.
    initial: OnceLock<Vec<Value>>,
}

impl Lodge {
    fn with<T>(&self, act: impl FnOnce(&mut Vec<Instance>) -> T) -> T {
        // A thread that panicked here left a list that is whole: each change is one step.
        act(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self) -> Option<Instance> {
        self.with(Vec::pop)
    }

    fn give_back(&self, instance: Instance) {
        let surplus = self.with(|idle| {
            if idle.len() < IDLE_MAX {
                idle.push(instance);
                return None;
            }
            Some(instance)
        });
        // Taken down while nobody waits for the list.
        drop(surplus);
    }
}

/// Whether cells of this genome take turns.
pub(crate) fn takes_turns(genome: &Genome) -> bool {
    let facts = genome.facts();
    let bare = facts.memory.is_none() && facts.table_elements.is_none() && facts.portable;
    bare && genome.tree().is_none() && genome.script().is_none()
}

/// The values of a cell's globals: few lie in its record.
enum Globals {
    Few([Value; 4], usize),
    Many(Vec<Value>),
}

impl Globals {
    fn of(values: &[Value]) -> Self {
        let mut few = [Value::I64(0); 4];
        match few.get_mut(..values.len()) {
            Some(place) => {
                place.copy_from_slice(values);
                Self::Few(few, values.len())
            }
            None => Self::Many(values.to_vec()),
        }
    }

    fn values(&self) -> &[Value] {
        match self {
            Self::Few(few, count) => few.get(..*count).unwrap_or_default(),
            Self::Many(values) => values,
        }
    }

    fn values_mut(&mut self) -> &mut [Value] {
        match self {
            Self::Few(few, count) => few.get_mut(..*count).unwrap_or_default(),
            Self::Many(values) => values,
        }
    }
}

/// Where the instances of a lodger come from.
enum Origin {
    Light,
    Heavy(Arc<Compiled>),
}

/// A cell's share of the instances of its genome: what is its own.
pub(crate) struct Lodger {
    genome: Genome,
    origin: Origin,
    host: Host,
    globals: Globals,
    /// What is left of the grant, and of the stack.
    grant: i64,
    slots: u32,
}

impl fmt::Debug for Lodger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lodger")
            .field("globals", &self.globals.values())
            .finish_non_exhaustive()
    }
}

impl Lodger {
    pub(super) fn light(genome: &Genome) -> Result<Self, Halt> {
        Self::born(genome, Origin::Light)
    }

    pub(super) fn heavy(genome: &Genome, compiled: &Arc<Compiled>) -> Result<Self, Halt> {
        Self::born(genome, Origin::Heavy(Arc::clone(compiled)))
    }

    fn born(genome: &Genome, origin: Origin) -> Result<Self, Halt> {
        let mut lodger = Self {
            genome: genome.clone(),
            origin,
            host: Host::default(),
            globals: Globals::of(&[]),
            grant: 0,
            slots: 0,
        };
        let known = lodger.lodge().initial.get().cloned();
        if let Some(initial) = known {
            lodger.globals = Globals::of(&initial);
            return Ok(lodger);
        }
        let mut first = lodger.make()?;
        let types = genome.facts().globals.iter();
        let mut globals: Vec<Value> = types.map(|(_, ty)| Value::zero(*ty)).collect();
        first.read_globals(&mut globals);
        lodger.globals = Globals::of(&globals);
        // Somebody else may have found the same.
        drop(lodger.lodge().initial.set(globals));
        lodger.lodge().give_back(first);
        Ok(lodger)
    }

    fn lodge(&self) -> &Lodge {
        match &self.origin {
            Origin::Light => &self.genome.code().lodge,
            Origin::Heavy(compiled) => compiled.lodge(),
        }
    }

    fn make(&self) -> Result<Instance, Halt> {
        match &self.origin {
            Origin::Light => Instance::light_of_its_own(&self.genome),
            Origin::Heavy(compiled) => Instance::heavy_of_its_own(&self.genome, compiled),
        }
    }

    pub(super) const fn tier(&self) -> Tier {
        match self.origin {
            Origin::Light => Tier::Light,
            Origin::Heavy(_) => Tier::Heavy,
        }
    }

    pub(super) fn nearby(&self) -> Nearby {
        // The rest lies where the cell does.
        match &self.globals {
            Globals::Few(..) => Nearby::default(),
            Globals::Many(values) => {
                Nearby::default().with(values.as_ptr(), size_of_val(values.as_slice()))
            }
        }
    }

    pub(super) const fn host(&mut self) -> &mut Host {
        &mut self.host
    }

    pub(super) const fn set_counters(&mut self, grant: i64, slots: u32) {
        self.grant = grant;
        self.slots = slots;
    }

    pub(super) const fn grant(&self) -> i64 {
        self.grant
    }

    pub(super) fn charge(&mut self, cost: u64) -> Result<(), Halt> {
        let charged = self.host.charge(&mut self.grant, cost);
        charged.map_err(Halt::Stop)
    }

    /// Does something in an instance that is this cell's for as long as it takes.
    pub(super) fn inside<T>(
        &mut self,
        act: impl FnOnce(&mut Instance) -> Result<T, Halt>,
    ) -> Result<T, Halt> {
        let mut instance = match self.lodge().take() {
            Some(instance) => instance,
            None => self.make()?,
        };
        std::mem::swap(instance.host(), &mut self.host);
        instance.set_counters(self.grant, self.slots);
        instance.write_globals(self.globals.values());
        let done = act(&mut instance);
        instance.read_globals(self.globals.values_mut());
        self.grant = instance.grant();
        std::mem::swap(instance.host(), &mut self.host);
        if done.is_ok() {
            self.lodge().give_back(instance);
        }
        done
    }

    fn place(&self, index: u32) -> Option<usize> {
        let mut globals = self.genome.facts().globals.iter();
        globals.position(|(it, _)| *it == index)
    }

    pub(super) fn global(&self, index: u32) -> Option<Value> {
        self.globals.values().get(self.place(index)?).copied()
    }

    pub(super) fn set_global(&mut self, index: u32, value: Value) {
        let place = self.place(index);
        if let Some(global) = place.and_then(|place| self.globals.values_mut().get_mut(place)) {
            *global = value;
        }
    }
}
