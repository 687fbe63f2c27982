//! How an instance comes to life in a cell.
//!
//! A genome's module is alive as soon as it is there. A script's is an interpreter, which has to
//! evaluate the source first; that is a run like any other, under the cell's limits.

use super::converse::Talk;
use super::{Cell, run_once};
use crate::budget::Permit;
use crate::engine::{Instance, Tier};
use crate::failure::CellError;
use crate::genome::{Facts, Genome, Script};
use crate::incubator::{Hatch, Incubator};

impl Cell {
    /// A fresh instance in the cell's own surroundings.
    pub(super) fn hatch(&self, genome: &Genome) -> Result<(Instance, Permit), CellError> {
        let (mut instance, mut permit) = self.unborn(genome)?;
        if let Some(script) = genome.script() {
            self.open(script, genome, (&mut instance, &mut permit))?;
        }
        let host = instance.host();
        host.random = self.aside.seed;
        host.cases.clone_from(&self.aside.cases);
        Ok((instance, permit))
    }

    /// An instance that has done nothing yet, not even evaluated its source.
    pub(super) fn unborn(&self, genome: &Genome) -> Result<(Instance, Permit), CellError> {
        match self.incubator.hatch(genome) {
            Ok(hatched) => Ok(hatched),
            Err(Hatch::NoRoom(error)) => Err(CellError::NoRoom(error)),
            Err(Hatch::Halt(halt)) => Err(self.explain(halt)),
        }
    }

    /// Has the interpreter in an instance evaluate its source, as a run of its own.
    fn open(
        &self,
        script: &Script,
        genome: &Genome,
        (instance, permit): (&mut Instance, &mut Permit),
    ) -> Result<(), CellError> {
        let facts = script.engine().facts();
        let open = |talk: &mut Talk<'_>| script.open(talk);
        let ran = run_once(instance, facts, &self.limits, open);
        if instance.tier() == Tier::Light {
            genome.code().note_work(ran.instructions);
        }
        note_growth(instance, facts, permit);
        let said = ran.outcome.map_err(|halt| self.explain(halt))?;
        said.map_err(CellError::Refused)
    }
}

/// Corrects the account of an instance whose memory grew.
pub(super) fn note_growth(instance: &mut Instance, facts: &Facts, permit: &mut Permit) {
    let size = instance.memory().len();
    let initial = facts.memory.map_or(0, |memory| memory.initial as usize) << 16;
    if size > initial {
        permit.grow_to(Incubator::live_bytes(size));
    }
}
