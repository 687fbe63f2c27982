//! The use cases of agar, one function each.
//!
//! The command line today, and the HTTP and MCP servers later, are thin faces over this crate: a
//! face turns words into a request, calls one function and turns the answer into words again. What
//! the outside world contributes (who is asking, from where, with which environment, at what time)
//! enters once, as [`Surroundings`].

pub mod answer;
pub mod apply;
pub mod approve;
pub mod config;
pub mod copy_files;
pub mod create;
pub mod diff;
pub mod doctor;
pub mod engine;
pub mod exec;
pub mod failure;
pub mod init;
pub mod inspect;
pub mod jail_plan;
pub mod list;
pub mod logs;
pub mod options;
mod os_text;
pub mod processes;
pub mod prune;
pub mod relay;
pub mod remove;
pub mod run;
pub mod start;
pub mod surroundings;
pub mod try_change;
pub mod undo;
pub mod use_cases;

pub use answer::{BaseView, ChangeKind, ChangeView, ChangedFile, RunView, SandboxView};
pub use engine::Engine;
pub use failure::EngineError;
pub use options::{Caller, Command, SandboxOptions};
pub use relay::{Control, Controls, NoControls, Sink, Source, Streams, WindowSize};
pub use surroundings::{Progress, Quiet, Step, Surroundings};
pub use use_cases::{USE_CASES, UseCase};
