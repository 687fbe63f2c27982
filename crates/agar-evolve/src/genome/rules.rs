//! What a genome may contain before anything of it is loaded.
//!
//! Everything here is decided by reading the bytes. The sizes bound what checking, loading and
//! compiling can cost; the allow-list bounds what the code can reach; the denied operations are for
//! those who want less than what the walls already contain.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Something of the host that a genome may import, always from the module `agar`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Import {
    /// `input(index: i32, pointer: i32, capacity: i32) -> i32`: copies a case into memory and
    /// answers its length, or −1 when there is none.
    Input,
    /// `emit(key: i32, key_length: i32, value: i32, value_length: i32)`: keeps an artifact.
    Emit,
    /// `random() -> i64`: the next number of the cell's seeded sequence.
    Random,
    /// `fuel_left() -> i64`: instructions left of the run's budget.
    FuelLeft,
}

impl Import {
    /// Every import there is.
    pub const ALL: [Self; 4] = [Self::Input, Self::Emit, Self::Random, Self::FuelLeft];

    /// The name it is imported by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Emit => "emit",
            Self::Random => "random",
            Self::FuelLeft => "fuel_left",
        }
    }

    /// How many 32-bit parameters it takes, and its result.
    pub(crate) const fn signature(self) -> (usize, Option<wasmparser::ValType>) {
        match self {
            Self::Input => (3, Some(wasmparser::ValType::I32)),
            Self::Emit => (4, None),
            Self::Random | Self::FuelLeft => (0, Some(wasmparser::ValType::I64)),
        }
    }

    /// The import of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|import| import.name() == name)
    }
}

/// A sort of operation that the scan finds, and that rules may deny.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Calls through a table: what is called is known at run time only.
    IndirectCall,
    /// Growing the linear memory.
    MemoryGrow,
    /// Copying, filling or initialising memory in bulk.
    BulkMemory,
    /// Writing to, growing or filling a table.
    TableWrite,
    /// Dropping a segment that it could have copied from later.
    SegmentDrop,
    /// Looking at the bits of a floating-point number.
    Reinterpret,
    /// Loops: without them a genome's cost is known beforehand.
    Loop,
    /// Calls of one function of the genome by another.
    Call,
    /// Calls of the host.
    HostCall,
}

impl Operation {
    /// Every sort, in the order of the enum.
    pub const ALL: [Self; 9] = [
        Self::IndirectCall,
        Self::MemoryGrow,
        Self::BulkMemory,
        Self::TableWrite,
        Self::SegmentDrop,
        Self::Reinterpret,
        Self::Loop,
        Self::Call,
        Self::HostCall,
    ];

    /// The word for it in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IndirectCall => "an indirect call",
            Self::MemoryGrow => "growth of memory",
            Self::BulkMemory => "a bulk memory operation",
            Self::TableWrite => "a table write",
            Self::SegmentDrop => "the dropping of a segment",
            Self::Reinterpret => "a reinterpretation of bits",
            Self::Loop => "a loop",
            Self::Call => "a call",
            Self::HostCall => "a call of the host",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Operations(u16);

impl Operations {
    /// No operation at all.
    pub const NONE: Self = Self(0);

    /// This set with one more.
    #[must_use]
    pub const fn with(self, operation: Operation) -> Self {
        Self(self.0 | operation.bit())
    }

    /// Whether the operation is in the set.
    pub const fn has(self, operation: Operation) -> bool {
        self.0 & operation.bit() != 0
    }

    /// The operations of the set.
    pub fn iter(self) -> impl Iterator<Item = Operation> {
        Operation::ALL.into_iter().filter(move |it| self.has(*it))
    }

    pub(crate) const fn add(&mut self, operation: Operation) {
        *self = self.with(operation);
    }
}

/// The limits of what is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Size of the binary.
    pub module_bytes_max: usize,
    /// Functions defined.
    pub functions_max: u32,
    /// Size of one function's code: what compiling it can cost follows from this.
    pub function_bytes_max: usize,
    /// Locals and operands that one function may hold at once, in 64-bit slots.
    pub frame_slots_max: u32,
    /// Types, globals, exports and segments, each.
    pub items_max: u32,
    /// Linear memory, in pages of 64 KiB. A genome that declares more from the start is refused;
    /// one that grows further is told by `memory.grow` that it cannot.
    pub memory_pages_max: u32,
    /// Elements of its table, in the same way.
    pub table_elements_max: u32,
    /// What it may import.
    pub imports: Vec<Import>,
    /// What its code must not contain.
    pub denied: Operations,
}

impl Rules {
    /// One page of memory at most: the rules under which a hundred thousand live in one process.
    pub fn tiny() -> Self {
        Self {
            memory_pages_max: 1,
            table_elements_max: 64,
            ..Self::default()
        }
    }
}

/// The seed's limits: 64 MiB of memory, and everything the host offers.
impl Default for Rules {
    fn default() -> Self {
        Self {
            module_bytes_max: 256 << 10,
            functions_max: 1_000,
            function_bytes_max: 64 << 10,
            frame_slots_max: 2_048,
            items_max: 1_000,
            memory_pages_max: 1_024,
            table_elements_max: 1_024,
            imports: Import::ALL.to_vec(),
            denied: Operations::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_operations_holds_what_was_put_in() {
        let set = Operations::NONE
            .with(Operation::Loop)
            .with(Operation::HostCall);
        assert_eq!(
            set.iter().collect::<Vec<_>>(),
            [Operation::Loop, Operation::HostCall]
        );
        assert!(!set.has(Operation::Call));
    }

    #[test]
    fn each_import_is_found_by_its_own_name() {
        for import in Import::ALL {
            assert_eq!(Import::named(import.name()), Some(import));
        }
        assert_eq!(Import::named("clock"), None);
    }
}
