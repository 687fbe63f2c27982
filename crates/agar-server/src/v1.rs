//! The interface by resources, for everything the engine can do.
//!
//! Answers are the engine's own, the same as the command line's `--json`.

pub(crate) mod changes;
pub(crate) mod events;
pub(crate) mod exec;
pub(crate) mod files;
pub(crate) mod memory;
pub(crate) mod populations;
pub(crate) mod sandboxes;
pub(crate) mod suggestions;
pub(crate) mod terminal;
pub(crate) mod travel;
pub(crate) mod usage;
