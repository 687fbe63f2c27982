//! Settings from the outside world: files, variables and flags become layers, and layers settings.
//!
//! What a value may be and who may loosen what is decided in [`agar_core::settings`]; this module
//! reads. Everything comes in as data ([`Sources`]), so that a face reads its environment once and
//! a test needs none. A project's files count as the project's word until a person approved their
//! exact content; the hash that stands for it is in [`Asked::consent`].

mod detect;
mod failure;
mod file;
mod hidden;
mod hints;
mod jsonc;
mod render;
mod sources;

pub use detect::{Detected, ProjectKind, detect};
pub use failure::{Position, SettingsError};
pub use file::parse;
pub use hidden::hidden_in_home;
pub use render::render;
pub use sources::{Asked, Consent, FILE_NAME, Loaded, SUBJECT, Sources, load, read};

#[cfg(test)]
mod tests;
