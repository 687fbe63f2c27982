//! The engines behind cells, and what they share.

#[cfg_attr(not(feature = "native"), path = "engine/absent.rs")]
pub(crate) mod heavy;
pub(crate) mod host;
mod light;
mod lodge;
pub(crate) mod nearby;
mod plain;

use self::host::{Halt, Host};
use self::lodge::{Lodge, Lodger};
use self::nearby::Nearby;
use crate::genome::Genome;
use crate::value::Value;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Which engine an instance runs on. It shows in speed only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Interpreted: loaded in microseconds.
    Light,
    /// Compiled: for genomes that have earned it.
    Heavy,
}

/// What engines made of a genome, kept with it.
#[derive(Debug, Default)]
pub(crate) struct Code {
    light: OnceLock<wasmi::Module>,
    /// Interpreted instances that cells take turns in.
    lodge: Lodge,
    /// Instructions interpreted so far, by all cells together.
    worked: AtomicU64,
    /// Interpreted instances made so far.
    born: AtomicU64,
    /// Whether the compiler turned it down.
    uncompilable: AtomicBool,
}

/// What compiling costs, in interpreted instructions: so much for any genome, and so much for each
/// byte of it. A small genome compiles in the time in which about a quarter of a million of its
/// instructions are interpreted.
const COMPILE_COST: u64 = 200_000;
const COMPILE_COST_PER_BYTE: u64 = 500;
/// What making an interpreted instance costs beyond a pooled one, in the same unit, and what
/// clearing each page of its memory does.
const BIRTH_COST: u64 = 1_000;
const PAGE_COST: u64 = 10_000;

impl Code {
    fn light(&self, module: &[u8]) -> Result<&wasmi::Module, Halt> {
        if let Some(loaded) = self.light.get() {
            return Ok(loaded);
        }
        let loaded = light::load(module)?;
        Ok(self.light.get_or_init(|| loaded))
    }

    /// Adds to what the genome has done.
    pub(crate) fn note_work(&self, instructions: u64) {
        self.worked.fetch_add(instructions, Ordering::Relaxed);
    }

    /// Remembers that compiling failed: the interpreter is as right, only slower.
    pub(crate) fn give_up_compiling(&self) {
        self.uncompilable.store(true, Ordering::Relaxed);
    }
}

/// Whether the genome has done enough in the interpreter to be worth compiling. This goes by counts
/// alone, so that the same run tiers up at the same point every time.
pub(crate) fn has_earned_compiling(genome: &Genome) -> bool {
    // An expression is computed a row at a time, which compiled code does no faster.
    if genome.tree().is_some() {
        return false;
    }
    let code = genome.code();
    let pages = genome.facts().memory.map_or(0, |memory| memory.initial);
    let birth = BIRTH_COST + PAGE_COST * u64::from(pages);
    // The one that is about to be born counts: a large memory is worth compiling for at once.
    let births = code.born.load(Ordering::Relaxed) + 1;
    let births = births.saturating_mul(birth);
    let done = code.worked.load(Ordering::Relaxed).saturating_add(births);
    let size = genome.module().len() as u64;
    done >= COMPILE_COST + COMPILE_COST_PER_BYTE * size
        && !code.uncompilable.load(Ordering::Relaxed)
}

/// Callers look at the facts first, so this is ours to mend.
fn missing() -> Halt {
    Halt::Engine("an exported function is not there".to_owned())
}

/// A live instance of a genome, on whichever engine.
#[derive(Debug)]
pub(crate) enum Instance {
    Plain(Box<plain::Plain>),
    Light(Box<light::Light>),
    Heavy(Box<heavy::Live>),
    /// In the record of the cell itself.
    Lodger(Lodger),
}

impl Instance {
    /// An interpreted instance.
    pub(crate) fn light(genome: &Genome) -> Result<Self, Halt> {
        if genome.tree().is_some() {
            return Ok(Self::Plain(Box::new(plain::Plain::new(genome))));
        }
        genome.code().born.fetch_add(1, Ordering::Relaxed);
        if lodge::takes_turns(genome) {
            return Ok(Self::Lodger(Lodger::light(genome)?));
        }
        Self::light_of_its_own(genome)
    }

    fn light_of_its_own(genome: &Genome) -> Result<Self, Halt> {
        let module = genome.code().light(genome.module())?;
        Ok(Self::Light(Box::new(light::Light::new(genome, module)?)))
    }

    /// A compiled instance.
    pub(crate) fn heavy(genome: &Genome, compiled: &Arc<heavy::Compiled>) -> Result<Self, Halt> {
        if lodge::takes_turns(genome) {
            return Ok(Self::Lodger(Lodger::heavy(genome, compiled)?));
        }
        Self::heavy_of_its_own(genome, compiled)
    }

    fn heavy_of_its_own(genome: &Genome, compiled: &heavy::Compiled) -> Result<Self, Halt> {
        let live = heavy::Live::new(genome.facts(), compiled)?;
        Ok(Self::Heavy(Box::new(live)))
    }

    pub(crate) const fn tier(&self) -> Tier {
        match self {
            Self::Plain(_) | Self::Light(_) => Tier::Light,
            Self::Heavy(_) => Tier::Heavy,
            Self::Lodger(lodger) => lodger.tier(),
        }
    }

    /// Where its parts lie.
    pub(crate) fn nearby(&mut self) -> Nearby {
        match self {
            Self::Plain(plain) => Nearby::default().with(&raw const **plain, size_of_val(&**plain)),
            Self::Light(light) => light.nearby(),
            Self::Heavy(heavy) => heavy.nearby(),
            Self::Lodger(lodger) => lodger.nearby(),
        }
    }

    pub(crate) fn host(&mut self) -> &mut Host {
        match self {
            Self::Plain(plain) => plain.host(),
            Self::Light(light) => light.host(),
            Self::Heavy(heavy) => heavy.host(),
            Self::Lodger(lodger) => lodger.host(),
        }
    }

    pub(crate) fn set_counters(&mut self, grant: i64, slots: u32) {
        match self {
            Self::Plain(plain) => plain.set_counters(grant),
            Self::Light(light) => light.set_counters(grant, slots),
            Self::Heavy(heavy) => heavy.set_counters(grant, slots),
            Self::Lodger(lodger) => lodger.set_counters(grant, slots),
        }
    }

    pub(crate) fn grant(&mut self) -> i64 {
        match self {
            Self::Plain(plain) => plain.grant(),
            Self::Light(light) => light.grant(),
            Self::Heavy(heavy) => heavy.grant(),
            Self::Lodger(lodger) => lodger.grant(),
        }
    }

    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Halt> {
        match self {
            Self::Plain(plain) => plain.charge(cost),
            Self::Light(light) => light.charge(cost),
            Self::Heavy(heavy) => heavy.charge(cost),
            Self::Lodger(lodger) => lodger.charge(cost),
        }
    }

    pub(crate) fn call(
        &mut self,
        name: &str,
        arguments: &[Value],
        results: &mut [Value],
    ) -> Result<(), Halt> {
        match self {
            Self::Plain(plain) => plain.call(name, arguments, results),
            Self::Light(light) => light.call(name, arguments, results),
            Self::Heavy(heavy) => heavy.call(name, arguments, results),
            Self::Lodger(lodger) => lodger.inside(|it| it.call(name, arguments, results)),
        }
    }

    pub(crate) fn map(
        &mut self,
        name: &str,
        points: (usize, &[f64]),
        cost: u64,
        out: &mut Vec<f64>,
    ) -> Result<(), Halt> {
        match self {
            Self::Plain(plain) => plain.map(name, points, cost, out),
            Self::Light(light) => light.map(name, points, cost, out),
            Self::Heavy(heavy) => heavy.map(name, points, cost, out),
            Self::Lodger(lodger) => lodger.inside(|it| it.map(name, points, cost, out)),
        }
    }

    pub(crate) fn memory(&mut self) -> &mut [u8] {
        match self {
            Self::Plain(_) | Self::Lodger(_) => &mut [],
            Self::Light(light) => light.memory(),
            Self::Heavy(heavy) => heavy.memory(),
        }
    }

    pub(crate) fn grow(&mut self, pages: u64) -> Result<(), Halt> {
        match self {
            Self::Plain(_) | Self::Lodger(_) => Ok(()),
            Self::Light(light) => light.grow(pages),
            Self::Heavy(heavy) => heavy.grow(pages),
        }
    }

    pub(crate) fn global(&mut self, index: u32) -> Option<Value> {
        match self {
            Self::Plain(_) => None,
            Self::Light(light) => light.global(index),
            Self::Heavy(heavy) => heavy.global(index),
            Self::Lodger(lodger) => lodger.global(index),
        }
    }

    pub(crate) fn set_global(&mut self, index: u32, value: Value) {
        match self {
            Self::Plain(_) => {}
            Self::Light(light) => light.set_global(index, value),
            Self::Heavy(heavy) => heavy.set_global(index, value),
            Self::Lodger(lodger) => lodger.set_global(index, value),
        }
    }

    /// Reads every mutable global; for those whose engine keeps them at hand.
    fn read_globals(&mut self, values: &mut [Value]) {
        match self {
            Self::Plain(_) | Self::Lodger(_) => {}
            Self::Light(light) => light.read_globals(values),
            Self::Heavy(heavy) => heavy.read_globals(values),
        }
    }

    /// Sets them, likewise.
    fn write_globals(&mut self, values: &[Value]) {
        match self {
            Self::Plain(_) | Self::Lodger(_) => {}
            Self::Light(light) => light.write_globals(values),
            Self::Heavy(heavy) => heavy.write_globals(values),
        }
    }
}
