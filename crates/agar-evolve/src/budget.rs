//! Room for cells: how much of this process's memory, mappings and descriptors they may take.
//!
//! A process that runs out of mappings is not told; it is aborted in the middle of whatever
//! allocates next. So the ceilings are read from the machine once, a part of them is set aside, and
//! whoever would pass it is refused before anything is made.

mod machine;

use crate::failure::{NoRoom, Room};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a process may use for cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceilings {
    /// Memory mappings.
    pub mappings: u64,
    /// File descriptors.
    pub descriptors: u64,
    /// Bytes of memory.
    pub memory: u64,
}

impl Ceilings {
    /// What this machine and process allow now: four fifths of the mappings, and half of the
    /// descriptors and of the memory that its limits and control groups leave, less what the process
    /// has already.
    pub fn of_this_machine() -> Self {
        machine::Machine::this().ceilings()
    }
}

/// An amount of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cost {
    /// Live cells, which are counted and not limited.
    pub(crate) cells: u64,
    pub(crate) mappings: u64,
    pub(crate) descriptors: u64,
    pub(crate) memory: u64,
}

/// What is in use, against the ceilings.
#[derive(Debug)]
pub(crate) struct Budget {
    ceilings: Ceilings,
    mappings: AtomicU64,
    descriptors: AtomicU64,
    memory: AtomicU64,
    cells: AtomicU64,
}

/// A share of the budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    budget: Arc<Budget>,
    cost: Cost,
    /// What it rests on: the code of a cell's genome.
    rests_on: Option<Arc<Permit>>,
}

impl Budget {
    pub(crate) fn new(ceilings: Ceilings) -> Self {
        Self {
            ceilings,
            mappings: AtomicU64::new(0),
            descriptors: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            cells: AtomicU64::new(0),
        }
    }

    /// Takes a share, all of it or nothing.
    pub(crate) fn admit(self: &Arc<Self>, cost: Cost) -> Result<Permit, NoRoom> {
        // Whatever of it was taken goes back with the permit.
        let mut permit = Permit {
            budget: Arc::clone(self),
            cost: Cost::default(),
            rests_on: None,
        };
        self.cells.fetch_add(cost.cells, Ordering::Relaxed);
        permit.cost.cells = cost.cells;
        take(
            &self.mappings,
            cost.mappings,
            self.ceilings.mappings,
            Room::Mappings,
        )?;
        permit.cost.mappings = cost.mappings;
        let ceiling = self.ceilings.descriptors;
        take(
            &self.descriptors,
            cost.descriptors,
            ceiling,
            Room::Descriptors,
        )?;
        permit.cost.descriptors = cost.descriptors;
        take(
            &self.memory,
            cost.memory,
            self.ceilings.memory,
            Room::Memory,
        )?;
        permit.cost.memory = cost.memory;
        Ok(permit)
    }

    pub(crate) const fn ceilings(&self) -> Ceilings {
        self.ceilings
    }

    /// What is taken.
    pub(crate) fn in_use(&self) -> Cost {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Cost {
            cells: read(&self.cells),
            mappings: read(&self.mappings),
            descriptors: read(&self.descriptors),
            memory: read(&self.memory),
        }
    }
}

fn take(count: &AtomicU64, amount: u64, ceiling: u64, room: Room) -> Result<(), NoRoom> {
    let add = |used: u64| used.checked_add(amount).filter(|sum| *sum <= ceiling);
    count
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
        .map(drop)
        .map_err(|_| NoRoom {
            room,
            limit: ceiling,
        })
}

impl Permit {
    /// This permit, which keeps another as long as it lasts.
    pub(crate) fn resting_on(mut self, other: Arc<Self>) -> Self {
        self.rests_on = Some(other);
        self
    }

    /// Corrects the account after growth. It may pass the ceiling: the memory is there already, and
    /// the next one to ask is refused.
    pub(crate) fn grow_to(&mut self, memory: u64) {
        let more = memory.saturating_sub(self.cost.memory);
        self.budget.memory.fetch_add(more, Ordering::Relaxed);
        self.cost.memory += more;
    }

    /// What it holds.
    pub(crate) const fn memory(&self) -> u64 {
        self.cost.memory
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Cost {
            cells,
            mappings,
            descriptors,
            memory,
        } = self.cost;
        self.budget.mappings.fetch_sub(mappings, Ordering::Relaxed);
        self.budget
            .descriptors
            .fetch_sub(descriptors, Ordering::Relaxed);
        self.budget.memory.fetch_sub(memory, Ordering::Relaxed);
        self.budget.cells.fetch_sub(cells, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> Arc<Budget> {
        Arc::new(Budget::new(Ceilings {
            mappings: 10,
            descriptors: 10,
            memory: 10,
        }))
    }

    fn cost(mappings: u64, descriptors: u64, memory: u64) -> Cost {
        Cost {
            cells: 1,
            mappings,
            descriptors,
            memory,
        }
    }

    #[test]
    fn whoever_is_refused_has_taken_nothing() {
        let budget = budget();
        let held = budget.admit(cost(6, 6, 6)).unwrap();
        let refused = budget.admit(cost(4, 4, 5)).unwrap_err();
        assert_eq!(refused.room, Room::Memory);
        assert_eq!(budget.in_use(), cost(6, 6, 6));
        drop(held);
        assert_eq!(budget.in_use(), Cost::default());
    }

    #[test]
    fn each_ceiling_is_named() {
        let budget = budget();
        let room = |cost| budget.admit(cost).unwrap_err().room;
        assert_eq!(room(cost(11, 0, 0)), Room::Mappings);
        assert_eq!(room(cost(0, 11, 0)), Room::Descriptors);
        assert_eq!(room(cost(0, 0, u64::MAX)), Room::Memory);
    }

    #[test]
    fn growth_is_counted_and_given_back() {
        let budget = budget();
        let mut permit = budget.admit(cost(0, 0, 2)).unwrap();
        permit.grow_to(9);
        assert!(budget.admit(cost(0, 0, 2)).is_err());
        drop(permit);
        assert_eq!(budget.in_use(), Cost::default());
    }

    #[test]
    fn this_machine_has_room_for_something() {
        let ceilings = Ceilings::of_this_machine();
        assert!(ceilings.mappings > 0 && ceilings.descriptors > 0 && ceilings.memory > 0);
    }
}
