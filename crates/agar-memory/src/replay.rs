//! How good the confidence is on a stream of past outcomes, told as it would have been told then.
//!
//! Lines of JSON, `{time, closed, text, context…, success}`, are replayed in order of `time`: before
//! each one only outcomes that had closed by then are known. The memory that answers is a real one
//! in an empty directory; beside it stand three simple answers to beat: the share of successes so
//! far, that of the last fourteen days, and the formula of the first seed taken literally.
//!
//! Streams come from anywhere: fields may be missing or have other names, times may be numbers or
//! ISO 8601, lines may come in any order, and any further field is context.

mod line;
mod load;
mod score;
mod stream;
mod synthetic;

pub use line::{Outcome, parse};
pub use score::{Report, Scores};
pub use synthetic::synthetic;

use crate::error::MemoryError;
use std::io::BufRead;
use std::path::Path;

/// What a stream held that could not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Lines that are no JSON objects.
    pub unreadable: u64,
    /// Lines without an outcome.
    pub without_outcome: u64,
}

/// Replays a stream in an empty directory and scores what was said.
pub fn replay(
    lines: &mut dyn BufRead,
    directory: &Path,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Report, Skipped), MemoryError> {
    let mut skipped = Skipped::default();
    let outcomes = line::read(lines, &mut skipped)?;
    let said = stream::run(&outcomes, directory, progress)?;
    Ok((score::report(&said), skipped))
}
