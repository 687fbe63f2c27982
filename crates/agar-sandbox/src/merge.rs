//! Bringing two changes of one base together, without touching a disk.
//!
//! The words are the person's: `mine` is the project as it stands now, `theirs` is the sandbox, and
//! `base` is what the sandbox started from. [`decide`] says, for one path, what follows from the
//! three; [`TextMerge`] does the lines; [`Selection`] is what the person asked for. Everything here is a
//! function of its arguments, so that every combination can be tested.

mod decide;
mod select;
mod text;

pub use decide::{Clash, Decision, Digest, Entry, FileEntry, Special, decide, merged_mode};
pub use select::{Choice, Pattern, Selection};
pub use text::{Markers, Origin, Pick, Region, TEXT_BYTES_MAX, TextMerge, is_text, lines};
