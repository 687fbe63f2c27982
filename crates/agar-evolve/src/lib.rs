//! Cells and genomes: the petri dish.
//!
//! A [`Genome`] is code that was checked and given counters; a [`Cell`] is one individual that runs
//! it; an [`Incubator`] makes cells and keeps them alive within what the process can bear. Nothing
//! here trusts a genome: it cannot reach more than the rules allow, outlast its limits, or score
//! itself. It answers data, and the host computes what that is worth.
//!
//! ```
//! use agar_evolve::{Genome, Incubator, Rules, Settings, Spec, Tree};
//! # use agar_core::seam::{Clock, Timestamp};
//! # struct Noon;
//! # impl Clock for Noon { fn now(&self) -> Timestamp { Timestamp::from_millis(0) } }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let clock = std::sync::Arc::new(Noon);
//! let incubator = Incubator::new(&Settings::default(), clock);
//! let tree = Tree::parse("(sub (add (mul x0 x0) (mul 2 x0)) 1)", 1)?;
//! let genome = Genome::from_tree(&tree, &Rules::default())?;
//! let mut cell = incubator.create(&genome, Spec::default())?;
//! assert_eq!(cell.map("f", &[0.0, 1.0, 2.0])?, [-1.0, 2.0, 7.0]);
//! # Ok(())
//! # }
//! ```
//!
//! # What a genome looks like
//!
//! A WebAssembly module without threads, SIMD, tail calls, exceptions or a start function. What it
//! may import from the module `agar` is listed in [`Import`]. The host can call every exported
//! function of plain numbers ([`Cell::call`], [`Cell::map`]). To exchange bytes a genome exports a
//! memory, `alloc(length: i32) -> i32`, and any of
//!
//! | export | meaning | used by |
//! |---|---|---|
//! | `init(pointer, length: i32) -> i32` | begin with these parameters; zero is yes | [`Incubator::create`] |
//! | `evaluate(pointer, length: i32) -> i64` | answer one case | [`Cell::evaluate`] |
//! | `step(pointer, length: i32) -> i64` | answer one message, keeping state | [`Cell::step`], [`Cell::work`] |
//! | `save() -> i64` | the state as bytes | [`Cell::save`], [`Cell::swap`] |
//! | `load(pointer, length, schema: i32) -> i32` | take a state up; zero is yes | [`Cell::load`], [`Cell::swap`] |
//! | `migrate(pointer, length, schema: i32) -> i64` | bring an older state into this form | [`Cell::swap`] |
//! | `schema() -> i32` | the form that `save` writes | [`Cell::swap`] |
//! | `why() -> i64` | the words for the last no of `init` or `load` | both |
//!
//! An answer of 64 bits is a pointer in the upper half and a length in the lower; the sign bit means
//! that the genome refuses, and the bytes say why.
//!
//! # JavaScript
//!
//! A script ([`Genome::from_javascript`]) defines any of `init`, `evaluate`, `step`, `save`, `load` and
//! `migrate` as functions, and a number `SCHEMA`. They take text (`load` and `migrate` a schema as well)
//! and answer text, or data, which is passed on as JSON; a promise stands for what it comes to. An
//! exception is a refusal in its words. `agar.input(index)`, `agar.emit(key, value)` and
//! `agar.fuelLeft()` are the host's; `Math.random()` is the cell's sequence, and the clock stands still.
//! The source is evaluated when a cell begins, before its seed and cases are there.
//!
//! # One answer, whatever the engine
//!
//! Genomes carry their own counters of instructions and of stack, put in before loading, and NaN
//! bits are made canonical wherever they can be seen. Limits are therefore reached at the same
//! instruction on every engine, and [`Metrics::instructions`] may be part of a fitness. The one
//! exception is wall time: [`CellError::is_reproducible`] says so.

pub mod breed;
mod budget;
mod cell;
mod chance;
mod code;
pub mod dish;
mod engine;
mod event;
mod failure;
mod fitness;
mod genome;
mod incubator;
mod limits;
pub mod outside;
mod process;
pub mod search;
pub mod task;
mod tree;
mod value;

pub use crate::breed::Soil;
pub use crate::budget::Ceilings;
pub use crate::cell::{
    Answer, Cell, CellId, Condition, Dormant, DormantVersion, History, Info, Mailbox, Message,
    Metrics, Migration, Migrator, Probe, ReviveError, RollbackState, Spec, State, Swap, SwapError,
    SwapStep, VERSIONS_KEPT, Version,
};
pub use crate::chance::Chance;
pub use crate::code::{Code, NotCode};
pub use crate::dish::{Dish, DishError, DishSettings};
pub use crate::engine::Tier;
pub use crate::engine::host::{Artifact, Cases};
pub use crate::event::{Counts, EVENT_NAMES, Event, Telemetry, Unwatched, Watch};
pub use crate::failure::{CellError, NoRoom, Room, Trap};
pub use crate::fitness::{Fitness, Invalid, Penalty, Verdict, better_first};
pub use crate::genome::{
    Facts, Function, Genome, GenomeError, GenomeId, Import, NotAGenomeId, Operation, Operations,
    Pages, Rules,
};
pub use crate::incubator::{Engines, InUse, Incubator, Settings};
pub use crate::limits::{INSTRUCTIONS_MAX, Limits, STACK_SLOTS_MAX};
pub use crate::outside::{Mutator, NoChild, Question};
pub use crate::process::{
    Ahead, Language, Launcher, Life, PROCESS_WALL, ProcessCell, Unlaunched, Zygote,
};
pub use crate::search::{Plan, Search};
pub use crate::task::{Bench, Task};
pub use crate::tree::{Node, NotATree, Operator, Tree};
pub use crate::value::{Value, ValueType};
