//! What keeps cells alive: engines, room and the time, shared by all cells of a process.

use crate::budget::{Budget, Ceilings, Cost, Permit};
use crate::cell::{Cell, CellId, Spec};
use crate::engine::Instance;
use crate::engine::host::Halt;
use crate::failure::CellError;
use crate::genome::Genome;
use agar_core::seam::{Clock, Timestamp};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an incubator goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What cells may take of the process.
    pub ceilings: Ceilings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ceilings: Ceilings::of_this_machine(),
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
        }))
    }

    /// Makes a cell with a live instance of the genome.
    pub fn create(&self, genome: &Genome, spec: Spec) -> Result<Cell, CellError> {
        let id = CellId(1 + self.0.last_cell.fetch_add(1, Ordering::Relaxed));
        Cell::new(self.clone(), id, genome.clone(), spec)
    }

    /// What cells take at the moment.
    pub fn in_use(&self) -> InUse {
        let (cost, live) = self.0.budget.in_use();
        InUse {
            live,
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
        let pages = genome.facts().memory.map_or(0, |memory| memory.initial);
        let cost = Cost {
            memory: Self::live_bytes((pages as usize) << 16),
            ..Cost::default()
        };
        let permit = self.0.budget.admit(cost).map_err(Hatch::NoRoom)?;
        let instance = Instance::light(genome).map_err(Hatch::Halt)?;
        Ok((instance, permit))
    }
}

/// What an interpreted instance takes beside its memory, about.
const INSTANCE_BYTES: u64 = 2_048;

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
