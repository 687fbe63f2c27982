//! What agar remembers on disk.
//!
//! This crate alone knows the schema. Everything else speaks in records ([`Project`], [`Sandbox`],
//! [`Run`], [`Promotion`], [`Generation`]) and in facts: each change of a record appends to the
//! project's [journal](Entry) in the same transaction, so a reader of the journal has missed
//! nothing that a reader of the records can see.
//!
//! Several processes may use one store at once. Reads go through [`Store::read`] and never wait;
//! writes go through [`Store::write`], one at a time, all or nothing.

mod answered;
mod approval;
mod base_check;
mod check;
mod column;
pub mod evolution;
mod fact;
mod generation;
mod journal;
mod lookup;
pub mod memory;
mod name;
mod open;
mod page;
mod place;
mod project;
mod promotion;
mod run;
mod sandbox;
mod schema;
mod scrub;
mod snapshot;
mod store;
mod suggestion;

pub use crate::answered::Answered;
pub use crate::approval::Approval;
pub use crate::check::{Health, check};
pub use crate::fact::Fact;
pub use crate::generation::{Generation, GenerationKind};
pub use crate::journal::Entry;
pub use crate::lookup::Lookup;
pub use crate::open::OpenError;
pub use crate::page::{Order, Page};
pub use crate::place::{Place, Repository};
pub use crate::project::Project;
pub use crate::promotion::{Promotion, PromotionState};
pub use crate::run::{NewRun, Run, RunEnd};
pub use crate::sandbox::{Arrival, Keeper, NewSandbox, Sandbox, Scope};
pub use crate::schema::VERSION;
pub use crate::scrub::FORGOTTEN;
pub use crate::snapshot::{Joined, Snapshot};
pub use crate::store::{Reader, Store, StoreError, Writer};
pub use crate::suggestion::{NewSuggestion, Suggestion, SuggestionState};

/// The name of the store's file in agar's state directory.
pub const FILE_NAME: &str = "store.db";
