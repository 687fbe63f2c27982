//! One run: a budget, what is done with it, and what is left.

use super::converse::Talk;
use crate::engine::Instance;
use crate::engine::host::{Halt, Stop};
use crate::failure::{CellError, NoRoom, Room};
use crate::genome::Facts;
use crate::limits::Limits;
use std::time::Instant;

/// What a run came to.
pub(crate) struct Ran<T> {
    pub(crate) outcome: Result<T, Halt>,
    pub(crate) instructions: u64,
}

/// One run of an instance under these limits.
pub(crate) fn run_once<T>(
    instance: &mut Instance,
    facts: &Facts,
    limits: &Limits,
    act: impl FnOnce(&mut Talk<'_>) -> Result<T, Halt>,
) -> Ran<T> {
    let deadline = limits.wall.map(|wall| Instant::now() + wall);
    let host = instance.host();
    let grant = host.begin(limits.instructions, deadline, limits.output_bytes);
    instance.set_counters(grant, limits.stack_slots);
    let outcome = act(&mut Talk { instance, facts });
    let grant = instance.grant();
    let left = match outcome {
        Err(Halt::Stop(Stop::Instructions)) => 0,
        Ok(_) | Err(_) => instance.host().remaining(grant),
    };
    Ran {
        outcome,
        instructions: limits.instructions.saturating_sub(left),
    }
}

/// The failure, in terms of the limits it ran under.
pub(super) fn explain(halt: Halt, limits: &Limits) -> CellError {
    match halt {
        Halt::Trap(trap) => CellError::Trap(trap),
        Halt::Stop(Stop::Instructions) => CellError::Instructions {
            limit: limits.instructions,
        },
        Halt::Stop(Stop::Deadline) => CellError::Deadline {
            limit: limits.wall.unwrap_or_default(),
        },
        Halt::Stop(Stop::Output) => CellError::Output {
            limit: limits.output_bytes,
        },
        Halt::Stop(Stop::Convention(what)) => CellError::Convention { what },
        Halt::Stack => CellError::Stack {
            limit: limits.stack_slots,
        },
        Halt::EngineStack => CellError::EngineStack,
        Halt::NoMemory => CellError::NoRoom(NoRoom {
            room: Room::Memory,
            limit: 0,
        }),
        Halt::NoCompiler => CellError::NoCompiler,
        Halt::NoPlace => CellError::NoRoom(NoRoom {
            room: Room::Places,
            limit: 0,
        }),
        Halt::NoFunction(name) => CellError::NoFunction {
            name: name.to_owned(),
        },
        Halt::Engine(message) => CellError::Engine(message),
    }
}
