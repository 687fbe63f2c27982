//! Room for cells: how much of this process's memory, mappings and descriptors they may take.
//!
//! A process that runs out of mappings is not told; it is aborted in the middle of whatever
//! allocates next. So the ceilings are read from the machine once, a part of them is set aside, and
//! whoever would pass it is refused before anything is made.

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
    /// What this machine and process allow: four fifths of the mappings, and half of the
    /// descriptors and of the memory that is free now.
    ///
    /// Where the machine does not say, its kernel's customary default is assumed.
    pub fn of_this_machine() -> Self {
        let number = |path: &str| {
            let text = fs_err::read_to_string(path).ok()?;
            text.trim().parse::<u64>().ok()
        };
        let mappings = number("/proc/sys/vm/max_map_count").unwrap_or(65_530);
        let descriptors = descriptors_allowed().unwrap_or(1_024);
        let free = memory_available().unwrap_or(1 << 30);
        let group = number("/sys/fs/cgroup/memory.max").unwrap_or(u64::MAX);
        Self {
            mappings: mappings / 5 * 4,
            descriptors: descriptors / 2,
            memory: free.min(group) / 2,
        }
    }
}

fn descriptors_allowed() -> Option<u64> {
    let text = fs_err::read_to_string("/proc/self/limits").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

fn memory_available() -> Option<u64> {
    let text = fs_err::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes << 10)
}

/// An amount of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cost {
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
    live: AtomicU64,
}

/// A share of the budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    budget: Arc<Budget>,
    cost: Cost,
}

impl Budget {
    pub(crate) fn new(ceilings: Ceilings) -> Self {
        Self {
            ceilings,
            mappings: AtomicU64::new(0),
            descriptors: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            live: AtomicU64::new(0),
        }
    }

    /// Takes a share, all of it or nothing.
    pub(crate) fn admit(self: &Arc<Self>, cost: Cost) -> Result<Permit, NoRoom> {
        // Whatever of it was taken goes back with the permit.
        let mut permit = Permit {
            budget: Arc::clone(self),
            cost: Cost::default(),
        };
        self.live.fetch_add(1, Ordering::Relaxed);
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

    /// What is taken, and by how many permits.
    pub(crate) fn in_use(&self) -> (Cost, u64) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let cost = Cost {
            mappings: read(&self.mappings),
            descriptors: read(&self.descriptors),
            memory: read(&self.memory),
        };
        (cost, read(&self.live))
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
    /// Corrects the memory to what the cell has come to use. It may pass the ceiling: the memory is
    /// there already, and the next one to ask is refused.
    pub(crate) fn correct_memory(&mut self, memory: u64) {
        if memory == self.cost.memory {
            return;
        }
        self.budget.memory.fetch_add(memory, Ordering::Relaxed);
        self.budget
            .memory
            .fetch_sub(self.cost.memory, Ordering::Relaxed);
        self.cost.memory = memory;
    }

    /// What it holds.
    pub(crate) const fn memory(&self) -> u64 {
        self.cost.memory
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Cost {
            mappings,
            descriptors,
            memory,
        } = self.cost;
        self.budget.mappings.fetch_sub(mappings, Ordering::Relaxed);
        self.budget
            .descriptors
            .fetch_sub(descriptors, Ordering::Relaxed);
        self.budget.memory.fetch_sub(memory, Ordering::Relaxed);
        self.budget.live.fetch_sub(1, Ordering::Relaxed);
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
        assert_eq!(budget.in_use(), (cost(6, 6, 6), 1));
        drop(held);
        assert_eq!(budget.in_use(), (Cost::default(), 0));
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
        permit.correct_memory(9);
        assert!(budget.admit(cost(0, 0, 2)).is_err());
        drop(permit);
        assert_eq!(budget.in_use().0, Cost::default());
    }

    #[test]
    fn this_machine_has_room_for_something() {
        let ceilings = Ceilings::of_this_machine();
        assert!(ceilings.mappings > 0 && ceilings.descriptors > 0 && ceilings.memory > 0);
    }
}
