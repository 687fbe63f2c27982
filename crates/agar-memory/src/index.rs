//! Finding past experiments that are alike, among a million of them, in a cold process.
//!
//! The truth is the table of evidence; the index is made from it and can be made again. It is a few
//! files, each over a range of evidence numbers, that never change once they have their name; which
//! of them are in force is said by a table, so that a reader sees files and rows of one moment
//! whatever other processes do. Rows that no file holds yet, at most [`TAIL_MAX`] or so, are looked
//! at one by one.
//!
//! A file holds hashes and numbers, no text. Its lists are sorted by how much a term says about a
//! document, so that a query reads the best of each list and stops when its budget is spent. Only
//! candidates come from it: what is answered is computed from the rows, so a damaged file can cost
//! an answer its completeness, never its truth.

mod build;
mod candidates;
mod file;
mod scores;
mod upkeep;

pub(crate) use candidates::{Candidates, Query};
pub(crate) use upkeep::{Upkeep, drop_documents, upkeep};

use crate::error::MemoryError;
use agar_store::memory::{MemoryReader, Segment};
use file::SegmentFile;
use scores::Scores;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows without a file before one is made of them.
pub(crate) const TAIL_MAX: i64 = 128;

/// An index, as one process sees it.
#[derive(Debug)]
pub(crate) struct Index {
    directory: PathBuf,
    open: RefCell<HashMap<String, Arc<SegmentFile>>>,
    scores: RefCell<Scores>,
    missed: Cell<u8>,
}

impl Index {
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            open: RefCell::new(HashMap::new()),
            scores: RefCell::new(Scores::default()),
            missed: Cell::new(0),
        }
    }

    /// Whether a missing file is worth another look: the third time it is lost, not moved.
    fn may_look_again(&self) -> bool {
        let missed = self.missed.get();
        self.missed.set(missed.saturating_add(1));
        missed < 2
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The files in force at the reader's moment. One that is missing or damaged is left out and
    /// reported, so that its range is looked up in the rows' stead and it is made again.
    fn files(&self, reader: &MemoryReader<'_>) -> Result<Files, MemoryError> {
        let segments = reader.segments()?;
        let last = segments.iter().map(|segment| segment.last).max();
        let mut open = self.open.borrow_mut();
        open.retain(|name, _| segments.iter().any(|segment| segment.name == *name));
        let mut files = Vec::with_capacity(segments.len());
        let mut unusable = Vec::new();
        for segment in segments {
            if let Some(file) = open.get(&segment.name) {
                files.push(Arc::clone(file));
                continue;
            }
            match SegmentFile::open(&self.directory.join(&segment.name), &segment) {
                Ok(file) => {
                    let file = Arc::new(file);
                    open.insert(segment.name.clone(), Arc::clone(&file));
                    files.push(file);
                }
                // Another process joined it with others: a newer moment names the file that is.
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.may_look_again() => {
                    return Err(MemoryError::IndexMoved);
                }
                Err(_) => unusable.push(segment),
            }
        }
        self.missed.set(0);
        Ok(Files {
            sound: files,
            unusable,
            last: last.unwrap_or(0),
        })
    }
}

/// The files in force at one moment.
struct Files {
    sound: Vec<Arc<SegmentFile>>,
    /// Files that are missing or damaged.
    unusable: Vec<Segment>,
    /// The last row that any file holds.
    last: i64,
}
