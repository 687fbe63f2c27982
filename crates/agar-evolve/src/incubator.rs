//! What keeps cells alive: engines, room and the time, shared by all cells of a process.

mod shelf;

use self::shelf::{Shelf, Shelved};
use crate::budget::{Budget, Ceilings, Cost, Permit};
use crate::cell::{Cell, CellId, Spec};
use crate::engine::heavy::Pool;
use crate::engine::host::Halt;
use crate::engine::{Instance, has_earned_compiling};
use crate::failure::CellError;
use crate::genome::Genome;
use agar_core::seam::{Clock, Timestamp};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where genomes run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engines {
    /// Interpreted first, compiled once a genome has earned it.
    #[default]
    Automatic,
    /// Interpreted always.
    Light,
    /// Compiled always: for those who measure, or know better.
    Heavy,
}

/// What an incubator goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What cells may take of the process.
    pub ceilings: Ceilings,
    /// Where genomes run.
    pub engines: Engines,
    /// How many compiled genomes are kept beyond those that live.
    pub compiled_kept: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ceilings: Ceilings::of_this_machine(),
            engines: Engines::Automatic,
            compiled_kept: 1_024,
        }
    }
}

/// Makes cells and keeps them alive. Cheap to clone; one is enough for a process.
#[derive(Clone)]
pub struct Incubator(Arc<Shared>);

struct Shared {
    budget: Arc<Budget>,
    clock: Arc<dyn Clock>,
    last_cell: AtomicU64,
    engines: Engines,
    shelf: Shelf,
}

/// What cells take at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InUse {
    /// Cells that are awake.
    pub live: u64,
    /// Memory mappings, as far as they are counted.
    pub mappings: u64,
    /// File descriptors, likewise.
    pub descriptors: u64,
    /// Bytes of memory, likewise.
    pub memory: u64,
}

impl Incubator {
    /// Makes an incubator. Nothing is reserved before the first cell needs it.
    pub fn new(settings: &Settings, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared {
            budget: Arc::new(Budget::new(settings.ceilings)),
            clock,
            last_cell: AtomicU64::new(0),
            engines: settings.engines,
            shelf: Shelf::new(settings.compiled_kept),
        }))
    }

    /// Makes a cell with a live instance of the genome.
    pub fn create(&self, genome: &Genome, spec: Spec) -> Result<Cell, CellError> {
        Cell::new(self.clone(), self.next_id(), genome.clone(), spec)
    }

    pub(crate) fn next_id(&self) -> CellId {
        CellId(1 + self.0.last_cell.fetch_add(1, Ordering::Relaxed))
    }

    /// What cells take at the moment.
    pub fn in_use(&self) -> InUse {
        let cost = self.0.budget.in_use();
        InUse {
            live: cost.cells,
            mappings: cost.mappings,
            descriptors: cost.descriptors,
            memory: cost.memory,
        }
    }

    /// What they may take.
    pub fn ceilings(&self) -> Ceilings {
        self.0.budget.ceilings()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// What a live instance with so much memory takes, about.
    pub(crate) const fn live_bytes(memory: usize) -> u64 {
        INSTANCE_BYTES + memory as u64
    }

    /// Brings an instance to life, if there is room.
    pub(crate) fn hatch(&self, genome: &Genome) -> Result<(Instance, Permit), Hatch> {
        if let Some(compiled) = self.compiled(genome)? {
            match self.hatch_compiled(genome, &compiled) {
                // The interpreter may still have room.
                Err(Hatch::NoRoom(_) | Hatch::Halt(Halt::NoPlace))
                    if self.0.engines == Engines::Automatic => {}
                hatched => return hatched,
            }
        }
        let pages = genome.facts().memory.map_or(0, |memory| memory.initial);
        let cost = Cost {
            cells: 1,
            memory: Self::live_bytes((pages as usize) << 16),
            ..Cost::default()
        };
        let permit = self.0.budget.admit(cost).map_err(Hatch::NoRoom)?;
        let instance = Instance::light(genome).map_err(Hatch::Halt)?;
        Ok((instance, permit))
    }

    /// Whether an interpreted cell of this genome had better be compiled by now.
    pub(crate) fn prefers_compiled(&self, genome: &Genome) -> bool {
        self.0.engines == Engines::Automatic && has_earned_compiling(genome)
    }

    fn hatch_compiled(
        &self,
        genome: &Genome,
        compiled: &Arc<Shelved>,
    ) -> Result<(Instance, Permit), Hatch> {
        let cost = match (Pool::of(genome), genome.facts().memory) {
            (Pool::Tiny, _) | (Pool::Standard, None) => Cost {
                cells: 1,
                memory: INSTANCE_BYTES * 4,
                ..Cost::default()
            },
            // Only pages that are touched take memory, and the account is corrected after each run.
            (Pool::Standard, Some(_)) => Cost {
                cells: 1,
                memory: INSTANCE_BYTES * 8,
                mappings: 3,
                descriptors: 0,
            },
            // An interpreter touches much of its memory with its first steps.
            (Pool::Script, _) => Cost {
                cells: 1,
                memory: SCRIPT_BYTES,
                mappings: 3,
                descriptors: 0,
            },
        };
        let permit = self.0.budget.admit(cost).map_err(Hatch::NoRoom)?;
        let instance = Instance::heavy(genome, compiled.compiled()).map_err(Hatch::Halt)?;
        Ok((instance, permit.resting_on(compiled.permit())))
    }

    /// The genome's native code, where it is to be used.
    fn compiled(&self, genome: &Genome) -> Result<Option<Arc<Shelved>>, Hatch> {
        let compile = || self.0.shelf.get_or_compile(genome, &self.0.budget);
        match self.0.engines {
            Engines::Light => Ok(None),
            Engines::Heavy => compile().map(Some),
            Engines::Automatic if !has_earned_compiling(genome) => Ok(None),
            Engines::Automatic => match compile() {
                Ok(compiled) => Ok(Some(compiled)),
                Err(Hatch::NoRoom(_)) => Ok(None),
                Err(Hatch::Halt(_)) => {
                    genome.code().give_up_compiling();
                    Ok(None)
                }
            },
        }
    }
}

/// What an interpreted instance takes beside its memory, about.
const INSTANCE_BYTES: u64 = 2_048;

/// What a compiled script takes, about.
const SCRIPT_BYTES: u64 = 384 << 10;

/// Why no instance came to life.
#[derive(Debug)]
pub(crate) enum Hatch {
    NoRoom(crate::failure::NoRoom),
    Halt(Halt),
}

impl fmt::Debug for Incubator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incubator")
            .field("in_use", &self.in_use())
            .finish_non_exhaustive()
    }
}
