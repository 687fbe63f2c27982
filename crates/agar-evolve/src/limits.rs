//! How much of the machine one run of a cell may use.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The walls around one run, and around what a cell keeps.
///
/// Instructions, slots and output are counted alike on every engine: a run that ends on one of them
/// ends there always. Wall time is for those who must not wait: a run that it ends is marked as not
/// reproducible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Instructions of one run.
    pub instructions: u64,
    /// What calls inside each other may hold at once, in 64-bit slots. A call counts for the locals,
    /// operands and instructions of its function, because a compiler may keep as much alive.
    pub stack_slots: u32,
    /// Wall time of one run.
    pub wall: Option<Duration>,
    /// Bytes that one run may emit or answer.
    pub output_bytes: u32,
    /// Bytes that saving the cell's state may take.
    pub state_bytes: u32,
    /// Messages that may wait.
    pub mailbox: u32,
}

/// The most slots that may be asked for: the engines' own stacks are made to hold these.
pub const STACK_SLOTS_MAX: u32 = 65_536;

/// The most instructions that may be asked for; the counter is signed.
pub const INSTRUCTIONS_MAX: u64 = 1 << 62;

impl Default for Limits {
    fn default() -> Self {
        Self {
            instructions: 100_000_000,
            stack_slots: 32_768,
            wall: None,
            output_bytes: 1 << 20,
            state_bytes: 1 << 20,
            mailbox: 1_000,
        }
    }
}

impl Limits {
    /// These limits, within what the engines can hold.
    #[must_use]
    pub fn within_bounds(self) -> Self {
        Self {
            instructions: self.instructions.min(INSTRUCTIONS_MAX),
            stack_slots: self.stack_slots.min(STACK_SLOTS_MAX),
            ..self
        }
    }
}
