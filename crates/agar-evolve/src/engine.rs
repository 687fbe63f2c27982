//! The engines behind cells, and what they share.

pub(crate) mod host;
mod light;

use self::host::{Halt, Host};
use crate::genome::Genome;
use crate::value::Value;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

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
    /// Instructions interpreted so far, by all cells together.
    worked: AtomicU64,
    /// Instances made so far.
    born: AtomicU64,
}

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
}

/// A live instance of a genome, on whichever engine.
#[derive(Debug)]
pub(crate) enum Instance {
    Light(Box<light::Light>),
}

impl Instance {
    /// An interpreted instance.
    pub(crate) fn light(genome: &Genome) -> Result<Self, Halt> {
        let code = genome.code();
        code.born.fetch_add(1, Ordering::Relaxed);
        let module = code.light(genome.module())?;
        Ok(Self::Light(Box::new(light::Light::new(genome, module)?)))
    }

    pub(crate) const fn tier(&self) -> Tier {
        match self {
            Self::Light(_) => Tier::Light,
        }
    }

    pub(crate) fn host(&mut self) -> &mut Host {
        match self {
            Self::Light(light) => light.host(),
        }
    }

    pub(crate) fn set_counters(&mut self, grant: i64, slots: u32) {
        match self {
            Self::Light(light) => light.set_counters(grant, slots),
        }
    }

    pub(crate) fn grant(&mut self) -> i64 {
        match self {
            Self::Light(light) => light.grant(),
        }
    }

    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Halt> {
        match self {
            Self::Light(light) => light.charge(cost),
        }
    }

    pub(crate) fn call(
        &mut self,
        name: &str,
        arguments: &[Value],
        results: &mut [Value],
    ) -> Result<(), Halt> {
        match self {
            Self::Light(light) => light.call(name, arguments, results),
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
            Self::Light(light) => light.map(name, points, cost, out),
        }
    }

    pub(crate) fn memory(&mut self) -> &mut [u8] {
        match self {
            Self::Light(light) => light.memory(),
        }
    }

    pub(crate) fn grow(&mut self, pages: u64) -> Result<(), Halt> {
        match self {
            Self::Light(light) => light.grow(pages),
        }
    }

    pub(crate) fn global(&mut self, index: u32) -> Option<Value> {
        match self {
            Self::Light(light) => light.global(index),
        }
    }

    pub(crate) fn set_global(&mut self, index: u32, value: Value) {
        match self {
            Self::Light(light) => light.set_global(index, value),
        }
    }
}
