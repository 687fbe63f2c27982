//! The use cases of agar, one function each.
//!
//! The command line today, and the HTTP and MCP servers later, are thin faces over this crate: a
//! face turns words into a request, calls one function and turns the answer into words again. What
//! the outside world contributes (who is asking, from where, with which environment, at what time)
//! enters once, as [`Surroundings`].

mod alive;
pub mod answer;
pub mod answered;
pub mod apply;
pub mod approve;
pub mod attach;
pub mod attempt;
pub mod batch;
mod beneath;
mod blueprint;
mod changes;
pub mod check;
mod chore;
pub mod compile;
pub mod config;
pub mod copy_files;
pub mod create;
pub mod diff;
pub mod doctor;
mod draft;
mod drift;
mod drive;
pub mod engine;
pub mod events;
pub mod evolve;
pub mod exec;
pub mod experiment;
pub mod failure;
pub mod files;
mod find;
pub mod fork;
mod here;
pub mod init;
mod inside;
pub mod inspect;
pub mod jail_plan;
mod keys;
mod layers;
pub mod list;
pub mod logs;
pub mod memory;
mod once;
pub mod options;
mod os_text;
pub mod pause;
pub mod pool;
pub mod process_cell;
pub mod processes;
pub mod projects;
mod promotion;
pub mod prune;
mod queue;
mod raise;
pub mod relay;
pub mod remove;
pub mod restore;
pub mod run;
pub mod settings;
pub mod snapshot;
pub mod snapshots;
pub mod start;
pub mod stop;
pub mod suggestions;
pub mod surroundings;
mod sweep;
pub mod take_back;
pub mod template;
mod travel;
pub mod tree;
pub mod trouble;
pub mod try_change;
mod turn;
pub mod undo;
pub mod upkeep;
pub mod use_cases;
mod view;
mod wishes;

/// Has a program that lives for a moment keep the memory that it has.
pub use agar_jail::client::Hatchery;
pub use agar_jail::heap::hold_on as hold_memory;
pub use answer::{BaseView, BulkView, ChangeKind, ChangeView, ChangedFile, LineageView};
pub use answer::{RunView, SandboxView, SnapshotView};
pub use engine::Engine;
pub use failure::EngineError;
pub use options::{Caller, Command, SandboxOptions};
pub use relay::{Control, Controls, NoControls, Sink, Source, Streams, WindowSize};
pub use surroundings::{Background, Progress, Quiet, Step, Surroundings};
pub use use_cases::{USE_CASES, UseCase};
pub use view::command_line;
