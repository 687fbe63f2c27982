//! The ways in which running a cell can fail, each by its name.

use agar_core::fault::{Fault, Kind, Remedy};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What a genome did that WebAssembly does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Trap {
    /// It reached code that it declared unreachable.
    #[error("reached code that is declared unreachable")]
    Unreachable,
    /// It touched memory that it does not have.
    #[error("touched memory that it does not have")]
    MemoryOutOfBounds,
    /// It touched a table element that it does not have.
    #[error("touched a table element that it does not have")]
    TableOutOfBounds,
    /// It called an empty table element.
    #[error("called an empty table element")]
    IndirectCallToNull,
    /// It called a function of another type.
    #[error("called a function of another type through its table")]
    BadSignature,
    /// It divided by zero.
    #[error("divided by zero")]
    DivisionByZero,
    /// It divided so that the result cannot be held.
    #[error("overflowed an integer")]
    IntegerOverflow,
    /// It made an integer of a number that is none.
    #[error("converted a number that is no integer")]
    BadConversion,
}

/// A run that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CellError {
    /// The genome trapped.
    #[error("the genome {0}")]
    Trap(Trap),
    /// It used up its instructions.
    #[error("the genome used up its {limit} instructions")]
    Instructions {
        /// The budget.
        limit: u64,
    },
    /// Its calls held more than the stack may.
    #[error("the genome's calls went deeper than {limit} slots")]
    Stack {
        /// The limit.
        limit: u32,
    },
    /// The wall clock ended it. Not reproducible.
    #[error("the genome was still running after {limit:?}")]
    Deadline {
        /// The limit.
        limit: Duration,
    },
    /// The engine's own stack ended before the genome's limit did. Not reproducible.
    #[error("the engine's stack ended before the genome's limit")]
    EngineStack,
    /// It emitted or answered more than it may.
    #[error("the genome put out more than {limit} bytes")]
    Output {
        /// The limit.
        limit: u32,
    },
    /// It broke the rules of conversation with the host.
    #[error("the genome does not keep to the calling convention: {what}")]
    Convention {
        /// What it did.
        what: &'static str,
    },
    /// It has no such function.
    #[error("the genome exports no function `{name}` that the host can call")]
    NoFunction {
        /// The name.
        name: String,
    },
    /// No such version of the cell is kept.
    #[error("version {number} of the cell is not among those that are kept")]
    NoVersion {
        /// The number.
        number: u32,
    },
    /// The arguments do not fit the function.
    #[error("the arguments do not fit `{name}`, which takes {expected}")]
    Arguments {
        /// The function.
        name: String,
        /// Its parameters, in words.
        expected: String,
    },
    /// The genome itself says no, in its own words.
    #[error("the genome refuses: {0}")]
    Refused(String),
    /// A run failed half-way, so its state cannot be trusted.
    #[error("the cell crashed earlier and was not restarted")]
    Crashed,
    /// More messages wait than may.
    #[error("the mailbox holds its {limit} messages")]
    MailboxFull {
        /// The limit.
        limit: u32,
    },
    /// The state cannot be copied from outside, and the genome offers no `save`.
    #[error("the genome's state cannot be saved: {reason}")]
    NotSaveable {
        /// Why not.
        reason: &'static str,
    },
    /// This process has no room for another live cell.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// Compiled cells were asked for in a build that cannot compile.
    #[error("this build of agar has no compiling engine")]
    NoCompiler,
    /// No process could be started for it.
    #[error("no process could be started for the genome: {reason}")]
    Unstarted {
        /// What the launcher said.
        reason: String,
    },
    /// Its process ended, or stopped listening, before it answered. Not reproducible.
    #[error("the genome's process ended before it answered")]
    Gone,
    /// An engine failed in a way that no genome should be able to cause.
    #[error("an engine failed: {0}")]
    Engine(String),
}

impl CellError {
    /// Whether the same run would end the same way again.
    pub const fn is_reproducible(&self) -> bool {
        !matches!(
            self,
            Self::Deadline { .. }
                | Self::EngineStack
                | Self::NoRoom(_)
                | Self::NoCompiler
                | Self::Unstarted { .. }
                | Self::Gone
                | Self::Engine(_)
        )
    }

    /// Whether the genome was stopped in the middle of its work, so that its state is what it
    /// happened to be.
    pub(crate) const fn breaks_state(&self) -> bool {
        matches!(
            self,
            Self::Trap(_)
                | Self::Instructions { .. }
                | Self::Stack { .. }
                | Self::Deadline { .. }
                | Self::EngineStack
                | Self::Output { .. }
                | Self::Convention { .. }
                | Self::Engine(_)
        )
    }
}

impl Fault for CellError {
    fn kind(&self) -> Kind {
        match self {
            Self::Trap(_)
            | Self::Convention { .. }
            | Self::Refused(_)
            | Self::Gone
            | Self::NotSaveable { .. } => Kind::Refused,
            Self::Instructions { .. }
            | Self::Stack { .. }
            | Self::Deadline { .. }
            | Self::EngineStack
            | Self::Output { .. }
            | Self::MailboxFull { .. } => Kind::Limit,
            Self::NoFunction { .. } | Self::NoVersion { .. } => Kind::NotFound,
            Self::Arguments { .. } => Kind::Invalid,
            Self::Crashed => Kind::Conflict,
            Self::NoCompiler | Self::Unstarted { .. } => Kind::Unsupported,
            Self::NoRoom(error) => error.kind(),
            Self::Engine(_) => Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        if let Self::NoRoom(error) = self {
            return error.remedy();
        }
        None
    }
}

/// What a process can run out of by keeping cells alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Room {
    /// Memory mappings: at their end a process is aborted, not told.
    Mappings,
    /// File descriptors.
    Descriptors,
    /// Memory.
    Memory,
    /// Places in an engine's pool.
    Places,
    /// Processes of process cells.
    Processes,
}

/// There is no room for what was asked; nothing was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot keep another cell alive: {}; {}", self.words(), .room.advice())]
pub struct NoRoom {
    /// What is used up.
    pub room: Room,
    /// What may be used of it, in its own unit; zero where the machine leaves nothing, or does not
    /// say how much.
    pub limit: u64,
}

impl NoRoom {
    fn words(&self) -> String {
        let (name, limit) = (self.room.name(), self.limit);
        match limit {
            0 => format!("this machine leaves no {name} for it"),
            limit => format!("all {limit} {name} that cells may use are taken"),
        }
    }
}

impl Room {
    const fn name(self) -> &'static str {
        match self {
            Self::Mappings => "memory mappings",
            Self::Descriptors => "file descriptors",
            Self::Memory => "bytes of memory",
            Self::Places => "places",
            Self::Processes => "processes",
        }
    }

    /// What to do about it.
    const fn advice(self) -> &'static str {
        match self {
            Self::Mappings => {
                "let cells sleep or end, or raise `vm.max_map_count` (`sysctl -w vm.max_map_count=262144`)"
            }
            Self::Descriptors => {
                "let cells end, or raise the limit of open files (`ulimit -n 65536`) and start again"
            }
            Self::Memory => {
                "let cells sleep or end, give them less memory (`memory_pages_max`), or run where more is free"
            }
            Self::Places => "let cells sleep or end: the engine has places for no more at once",
            Self::Processes => "let cells sleep or end, or allow more (`processes_max`)",
        }
    }

    /// The same as a command, where there is one.
    fn remedy(self) -> Option<Remedy> {
        let line = match self {
            Self::Mappings => "sysctl -w vm.max_map_count=262144",
            Self::Descriptors => "ulimit -n 65536",
            Self::Memory | Self::Places | Self::Processes => return None,
        };
        Some(Remedy::Command {
            line: line.to_owned(),
        })
    }
}

impl Fault for NoRoom {
    fn kind(&self) -> Kind {
        Kind::Limit
    }

    fn remedy(&self) -> Option<Remedy> {
        self.room.remedy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_room_says_what_is_taken_and_what_to_do() {
        let said = |room, limit| NoRoom { room, limit }.to_string();
        assert_eq!(
            said(Room::Descriptors, 12),
            "cannot keep another cell alive: all 12 file descriptors that cells may use are taken; \
             let cells end, or raise the limit of open files (`ulimit -n 65536`) and start again"
        );
        for room in [
            Room::Mappings,
            Room::Descriptors,
            Room::Memory,
            Room::Places,
            Room::Processes,
        ] {
            let none = said(room, 0);
            assert!(
                none.contains("leaves no") && none.contains("let cells"),
                "{none}"
            );
        }
        let error = CellError::NoRoom(NoRoom {
            room: Room::Mappings,
            limit: 1,
        });
        assert!(matches!(error.remedy(), Some(Remedy::Command { .. })));
    }
}
