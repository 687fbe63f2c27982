//! Compiled genomes, found by what they are.
//!
//! Native code costs two mappings and some twenty kibibytes for each genome, and a descriptor where
//! memory is mapped from an image, so it is kept within the same budget as cells are. Living cells
//! hold on to theirs; what nobody uses goes when the shelf is full.

use super::Hatch;
use crate::budget::{Budget, Cost, Permit};
use crate::engine::heavy::{Compiled, Heavy, Pool};
use crate::engine::host::Halt;
use crate::genome::{Genome, GenomeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What decides the native code: the genome, and the limits that became part of its types.
type Key = (GenomeId, u32, u32);

fn key(genome: &Genome) -> Key {
    let genome = genome.loaded();
    let facts = genome.facts();
    let pages = facts.memory.map_or(0, |memory| memory.max);
    (genome.id(), pages, facts.table_elements.unwrap_or(0))
}

/// Native code and the room it takes.
pub(super) struct Shelved {
    compiled: Arc<Compiled>,
    permit: Arc<Permit>,
}

impl Shelved {
    pub(super) const fn compiled(&self) -> &Arc<Compiled> {
        &self.compiled
    }

    /// The room that the code takes, to be held by every cell that runs it.
    pub(super) fn permit(&self) -> Arc<Permit> {
        Arc::clone(&self.permit)
    }
}

/// A place on the shelf. Whoever comes first compiles; others wait for it.
type Place = Arc<Mutex<Option<Arc<Shelved>>>>;

#[derive(Default)]
struct Places {
    by_key: HashMap<Key, (Place, u64)>,
    clock: u64,
}

pub(super) struct Shelf {
    heavy: OnceLock<Result<Heavy, Halt>>,
    places: Mutex<Places>,
    kept: usize,
}

impl Shelf {
    pub(super) fn new(kept: usize) -> Self {
        Self {
            heavy: OnceLock::new(),
            places: Mutex::default(),
            kept: kept.max(1),
        }
    }

    /// The native code of the genome, compiled now if nobody has yet.
    pub(super) fn get_or_compile(
        &self,
        genome: &Genome,
        budget: &Arc<Budget>,
    ) -> Result<Arc<Shelved>, Hatch> {
        let place = self.place(key(genome));
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shelved) = place.as_ref() {
            return Ok(Arc::clone(shelved));
        }
        let heavy = self.heavy.get_or_init(Heavy::new).as_ref();
        let heavy = heavy.map_err(|halt| Hatch::Halt(halt.clone()))?;
        let image = Pool::of(genome) != Pool::Tiny && genome.facts().memory.is_some();
        let cost = Cost {
            cells: 0,
            mappings: 2,
            descriptors: u64::from(image),
            memory: (24 << 10) + 16 * genome.module().len() as u64,
        };
        let permit = budget.admit(cost).map_err(Hatch::NoRoom)?;
        let compiled = heavy.compile(genome).map_err(Hatch::Halt)?;
        let shelved = Arc::new(Shelved {
            compiled: Arc::new(compiled),
            permit: Arc::new(permit),
        });
        *place = Some(Arc::clone(&shelved));
        Ok(shelved)
    }

    fn place(&self, key: Key) -> Place {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.clock += 1;
        let now = places.clock;
        if let Some((place, used)) = places.by_key.get_mut(&key) {
            *used = now;
            return Arc::clone(place);
        }
        if places.by_key.len() >= self.kept {
            places.drop_older_half();
        }
        let place = Place::default();
        places.by_key.insert(key, (Arc::clone(&place), now));
        place
    }
}

impl Places {
    /// Half at a time, so that a full shelf is not searched on every visit.
    fn drop_older_half(&mut self) {
        let mut used: Vec<u64> = self.by_key.values().map(|(_, used)| *used).collect();
        used.sort_unstable();
        let middle = used.get(used.len() / 2).copied().unwrap_or(0);
        self.by_key.retain(|_, (_, used)| *used > middle);
    }
}
