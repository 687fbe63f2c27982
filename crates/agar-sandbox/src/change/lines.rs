//! Lines: splitting, comparing and counting them.

use super::{Change, Side, content};
use crate::layer::Kind;
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::collections::HashMap;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, Instant};

/// How long one file may take; past it the diff is correct but longer than it needs to be.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lines added and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lines {
    /// Lines that are only in the new text.
    pub added: u64,
    /// Lines that are only in the old one.
    pub removed: u64,
}

/// The text of one side, as a diff sees it.
pub(super) enum Text {
    /// It is text, or there is nothing.
    Lines(Vec<u8>),
    /// It is not text.
    Binary,
    /// It is too large to look at.
    TooLarge,
    /// It is a FIFO, a socket, a device or a directory, which have no content.
    Special,
}

impl Text {
    /// Reads a side.
    pub(super) fn of(side: Option<&Side>, bytes_max: u64) -> io::Result<Self> {
        let Some(side) = side else {
            return Ok(Self::Lines(Vec::new()));
        };
        match side.kind {
            Kind::File => Ok(match side.place.read(bytes_max)? {
                None => Self::TooLarge,
                Some(bytes) if content::is_binary(&bytes) => Self::Binary,
                Some(bytes) => Self::Lines(bytes),
            }),
            Kind::Symlink => Ok(Self::Lines(
                side.target
                    .as_ref()
                    .map(|target| target.as_bytes().to_vec())
                    .unwrap_or_default(),
            )),
            Kind::Directory | Kind::Fifo | Kind::Socket | Kind::Device => Ok(Self::Special),
        }
    }
}

/// The lines of a text, each with its newline if it has one.
pub(super) fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The edits that lead from one list of lines to the other.
pub(super) fn diff(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    // Most edits are small: what is equal at both ends need not be looked at twice.
    let alike = |(a, b): &(&&[u8], &&[u8])| a == b;
    let head = old.iter().zip(new).take_while(alike).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let ends = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = ends.take_while(alike).count();
    let old_middle = &old_rest[..old_rest.len() - tail];
    let new_middle = &new_rest[..new_rest.len() - tail];

    let mut ops = Vec::new();
    push_equal(&mut ops, 0, 0, head);
    // Comparing numbers is much quicker than comparing lines over and over.
    let mut numbers: HashMap<&[u8], u32> = HashMap::new();
    let (a, b) = (
        number(old_middle, &mut numbers),
        number(new_middle, &mut numbers),
    );
    let deadline = Instant::now().checked_add(PATIENCE);
    let edits = capture_diff_slices_deadline(Algorithm::Myers, &a, &b, deadline);
    ops.extend(edits.into_iter().map(|op| shifted(op, head)));
    push_equal(&mut ops, old.len() - tail, new.len() - tail, tail);
    ops
}

fn push_equal(ops: &mut Vec<DiffOp>, old_index: usize, new_index: usize, len: usize) {
    if len > 0 {
        ops.push(DiffOp::Equal {
            old_index,
            new_index,
            len,
        });
    }
}

/// The same edit so many lines further down.
fn shifted(op: DiffOp, by: usize) -> DiffOp {
    match op {
        DiffOp::Equal {
            old_index,
            new_index,
            len,
        } => DiffOp::Equal {
            old_index: old_index + by,
            new_index: new_index + by,
            len,
        },
        DiffOp::Delete {
            old_index,
            old_len,
            new_index,
        } => DiffOp::Delete {
            old_index: old_index + by,
            old_len,
            new_index: new_index + by,
        },
        DiffOp::Insert {
            old_index,
            new_index,
            new_len,
        } => DiffOp::Insert {
            old_index: old_index + by,
            new_index: new_index + by,
            new_len,
        },
        DiffOp::Replace {
            old_index,
            old_len,
            new_index,
            new_len,
        } => DiffOp::Replace {
            old_index: old_index + by,
            old_len,
            new_index: new_index + by,
            new_len,
        },
    }
}

/// Each line as a number that equal lines share.
fn number<'a>(lines: &[&'a [u8]], numbers: &mut HashMap<&'a [u8], u32>) -> Vec<u32> {
    lines
        .iter()
        .map(|line| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(line).or_insert(next)
        })
        .collect()
}

/// Counts the lines of changes until so many bytes have been read.
pub(super) fn count_all(changes: &mut [Change], bytes_max: u64, total_max: u64) {
    let mut left = total_max;
    for change in changes {
        let sides = change.before.iter().chain(&change.after);
        let size = sides.map(|side| side.size.min(bytes_max)).sum();
        let Some(rest) = left.checked_sub(size) else {
            return;
        };
        left = rest;
        count(change, bytes_max);
    }
}

/// Counts the lines of a change, and notes whether it is binary.
fn count(change: &mut Change, bytes_max: u64) {
    let before = Text::of(change.before.as_ref(), bytes_max);
    let after = Text::of(change.after.as_ref(), bytes_max);
    let (Ok(before), Ok(after)) = (before, after) else {
        // It may not be read; that it changed is already said.
        return;
    };
    change.binary = matches!(before, Text::Binary) || matches!(after, Text::Binary);
    if let (Text::Lines(before), Text::Lines(after)) = (before, after) {
        change.lines = Some(tally(&split(&before), &split(&after)));
    }
}

fn tally(old: &[&[u8]], new: &[&[u8]]) -> Lines {
    if old.is_empty() || new.is_empty() {
        return Lines {
            added: len(new.len()),
            removed: len(old.len()),
        };
    }
    let mut lines = Lines::default();
    for op in diff(old, new) {
        match op {
            DiffOp::Equal { .. } => {}
            DiffOp::Delete { old_len, .. } => lines.removed += len(old_len),
            DiffOp::Insert { new_len, .. } => lines.added += len(new_len),
            DiffOp::Replace {
                old_len, new_len, ..
            } => {
                lines.removed += len(old_len);
                lines.added += len(new_len);
            }
        }
    }
    lines
}

pub(super) fn len(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn following_the_edits_leads_from_one_text_to_the_other(
            old in "([abc]?\n|d){0,12}",
            new in "([abc]?\n|d){0,12}",
        ) {
            let (old, new) = (split(old.as_bytes()), split(new.as_bytes()));
            let (mut kept, mut made) = (Vec::new(), Vec::new());
            for op in diff(&old, &new) {
                kept.extend_from_slice(&old[op.old_range()]);
                match op {
                    DiffOp::Equal { .. } => {
                        prop_assert_eq!(&old[op.old_range()], &new[op.new_range()]);
                        made.extend_from_slice(&old[op.old_range()]);
                    }
                    DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                        made.extend_from_slice(&new[op.new_range()]);
                    }
                }
            }
            prop_assert_eq!(kept, old);
            prop_assert_eq!(made, new);
        }
    }
}
