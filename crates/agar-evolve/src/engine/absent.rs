//! In the place of the compiling engine, in builds without it: types that no value can have.

use super::host::{Halt, Host};
use super::lodge::Lodge;
use super::nearby::Nearby;
use crate::genome::{Facts, Genome};
use crate::value::Value;

/// Where a compiled instance would live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pool {
    Tiny,
    Standard,
    Script,
}

impl Pool {
    pub(crate) fn of(genome: &Genome) -> Self {
        match (genome.script(), genome.facts().memory) {
            (Some(_), _) => Self::Script,
            (None, None) => Self::Tiny,
            (None, Some(_)) => Self::Standard,
        }
    }
}

/// No compiler.
pub(crate) enum Heavy {}

/// No code.
pub(crate) enum Compiled {}

impl Compiled {
    pub(crate) const fn lodge(&self) -> &Lodge {
        match *self {}
    }
}

/// No instance.
#[derive(Debug)]
pub(crate) enum Live {}

impl Heavy {
    pub(crate) const fn new() -> Result<Self, Halt> {
        Err(Halt::NoCompiler)
    }

    pub(crate) const fn compile(&self, _: &Genome) -> Result<Compiled, Halt> {
        match *self {}
    }
}

impl Live {
    pub(crate) const fn new(_: &Facts, compiled: &Compiled) -> Result<Self, Halt> {
        match *compiled {}
    }

    pub(crate) const fn nearby(&mut self) -> Nearby {
        match *self {}
    }

    pub(crate) const fn host(&mut self) -> &mut Host {
        match *self {}
    }

    pub(crate) const fn set_counters(&mut self, _: i64, _: u32) {
        match *self {}
    }

    pub(crate) const fn grant(&mut self) -> i64 {
        match *self {}
    }

    pub(crate) const fn charge(&mut self, _: u64) -> Result<(), Halt> {
        match *self {}
    }

    pub(crate) const fn call(&mut self, _: &str, _: &[Value], _: &mut [Value]) -> Result<(), Halt> {
        match *self {}
    }

    pub(crate) const fn map(
        &mut self,
        _: &str,
        _: (usize, &[f64]),
        _: u64,
        _: &mut Vec<f64>,
    ) -> Result<(), Halt> {
        match *self {}
    }

    pub(crate) const fn memory(&mut self) -> &mut [u8] {
        match *self {}
    }

    pub(crate) const fn grow(&mut self, _: u64) -> Result<(), Halt> {
        match *self {}
    }

    pub(crate) const fn global(&mut self, _: u32) -> Option<Value> {
        match *self {}
    }

    pub(crate) const fn set_global(&mut self, _: u32, _: Value) {
        match *self {}
    }

    pub(crate) const fn read_globals(&mut self, _: &mut [Value]) {
        match *self {}
    }

    pub(crate) const fn write_globals(&mut self, _: &[Value]) {
        match *self {}
    }
}
