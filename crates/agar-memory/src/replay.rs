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
pub use synthetic::{Made, World, synthetic, synthetic_text};

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

/// Replays made-up streams, each for itself, and scores what was said in all of them; and the share
/// of lines whose chance the interval held, which only a made-up stream can tell. The first tenth
/// does not count for that: nothing was known then.
pub fn replay_made(streams: &[Vec<Made>], directory: &Path) -> Result<(Report, f64), MemoryError> {
    let (mut earlier, mut later) = (Vec::new(), Vec::new());
    let (mut held, mut all) = (0_u32, 0_u32);
    for (number, made) in streams.iter().enumerate() {
        let text = synthetic::text(made);
        let outcomes = line::read(&mut text.as_bytes(), &mut Skipped::default())?;
        let place = directory.join(number.to_string());
        fs_err::create_dir_all(&place).map_err(MemoryError::io)?;
        let mut said = stream::run(&outcomes, &place, &mut |_, _| {})?;
        for (said, made) in said.iter().zip(made).skip(made.len() / 10) {
            let within = (said.interval.0..=said.interval.1).contains(&made.chance);
            held += u32::from(within);
            all += 1;
        }
        later.extend(said.split_off(said.len() / 2));
        earlier.extend(said);
    }
    earlier.extend(later);
    let share = f64::from(held) / f64::from(all.max(1));
    Ok((score::report(&earlier), share))
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
