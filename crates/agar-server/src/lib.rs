//! The server: HTTP, event streams and the page over the use cases of the engine.
//!
//! It contains no rules about sandboxes. A handler turns a request into one of the engine's, calls
//! it on a thread where blocking is allowed, and turns the answer into JSON. What is decided here is
//! who may ask (`access`), how much (`pace`, `body`), and how a client that comes back finds
//! what it missed (`tail`).
//!
//! The server keeps nothing that matters: records, journal and logs are the engine's, on disk, and
//! sandboxes outlive it. Every request opens the engine anew, as a command would.

mod access;
mod app;
mod body;
mod glance;
mod guests;
mod keys;
mod listen;
mod metrics;
mod once;
mod openapi;
mod pace;
mod page;
mod query;
mod refusal;
mod routes;
mod seed;
mod stream;
mod tail;
mod trace;
mod trial;
mod v1;

pub use guests::AllowedOrigin;
pub use listen::{Ready, ServeError, Settings, Stop, Stopper, serve, stopping};
pub use openapi::document;
pub use trace::{TraceError, TraceForm, trace};
