//! The record of one promotion, from which a crash is mended and an undo is made.
//!
//! A promotion has a directory of its own, called `<id>.open` until it is settled. In it are the
//! `journal`, one checked line per record; numbered slots, which hold new contents before and old
//! contents after; and `after`, which holds the new texts once more, because a text must be known to
//! tell a later edit from what was applied.
//!
//! ```text
//! started ──▶ intent ──▶ committed        the tree is wholly after
//!    │           └─────▶ reversed         the tree is wholly before
//!    └─────────────────▶ reversed
//! ```

use super::ground::Stamp;
use super::step::Step;
use crate::merge::FileEntry;
use crate::spelling;
use agar_core::id::PromotionId;
use agar_core::seam::Timestamp;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The name of the journal's file.
pub(crate) const JOURNAL: &str = "journal";

/// The name of the file that holds new texts.
pub(crate) const AFTER: &str = "after";

/// What follows the id in the name of a promotion that is not settled.
pub(crate) const OPEN: &str = ".open";

/// What a promotion is, for lists and for undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Its name.
    pub id: PromotionId,
    /// When it began.
    pub at: Timestamp,
    /// What it carries: the alias of a sandbox, as a rule.
    pub title: String,
}

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Record {
    /// The directory was made. Nothing of the project is touched yet.
    Started(Started),
    /// Everything that will be done; from here on the project may have changed.
    Intent(Intent),
    /// All of it was done.
    Committed,
    /// None of it is done, or none of it any more.
    Reversed,
}

/// How a promotion begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Started {
    pub(crate) label: Label,
    /// The directory it goes to.
    #[serde(with = "spelling::path")]
    pub(crate) root: PathBuf,
    /// Which directory that is, whatever its path.
    pub(crate) root_stamp: Stamp,
    /// The promotion that it takes back.
    pub(crate) undoes: Option<PromotionId>,
    /// Where slots are, besides the promotion's own directory: other filesystems in the project.
    #[serde(with = "spelling::paths")]
    pub(crate) stages: Vec<PathBuf>,
}

/// What a promotion does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intent {
    /// The effects, in order.
    pub(crate) steps: Vec<Step>,
    /// The paths, as they were and as they will be.
    pub(crate) changes: Vec<Change>,
}

/// One path before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    #[serde(with = "spelling::path")]
    pub(crate) path: PathBuf,
    pub(crate) before: Kept,
    pub(crate) after: Kept,
}

/// What stands at a path before or after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kept {
    Nothing,
    Directory { mode: u32 },
    Symlink { target: String },
    File { file: FileEntry, at: Where },
}

/// Where the bytes of a file are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Where {
    /// In a slot.
    Slot(u32),
    /// In the file of new texts.
    After { offset: u64, length: u64 },
    /// Nowhere.
    Gone,
}

/// The journal of a promotion, open for writing.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
}

impl Journal {
    /// Opens the journal in a promotion's directory, or begins it.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join(JOURNAL);
        let mut options = fs_err::OpenOptions::new();
        let file = options.create(true).append(true).open(path)?;
        Ok(Self {
            file: file.into_parts().0,
        })
    }

    /// Adds a record. It is durable only when the file is synced.
    pub(crate) fn append(&mut self, record: &Record) -> io::Result<()> {
        let json = serde_json::to_string(record)?;
        let line = format!("{} {json}\n", check(json.as_bytes()));
        self.file.write_all(line.as_bytes())
    }

    /// The file, to sync it.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

/// A short checksum: enough to tell a torn line.
fn check(bytes: &[u8]) -> String {
    let hash = blake3::hash(bytes).to_hex();
    hash.as_str()[..16].to_owned()
}

/// Reads a journal up to the first line that is not whole.
pub(crate) fn read(directory: &Path) -> io::Result<Vec<Record>> {
    let text = match fs_err::read(directory.join(JOURNAL)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    Ok(text
        .split_inclusive(|&byte| byte == b'\n')
        .map_while(parse)
        .collect())
}

/// A record, if the line is whole.
fn parse(line: &[u8]) -> Option<Record> {
    let line = line.strip_suffix(b"\n")?;
    let (sum, json) = line.split_at_checked(16)?;
    let json = json.strip_prefix(b" ")?;
    if check(json).as_bytes() != sum {
        return None;
    }
    serde_json::from_slice(json).ok()
}

/// What the records of a promotion come to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Story {
    pub(crate) started: Option<Started>,
    pub(crate) intent: Option<Intent>,
    pub(crate) end: Option<End>,
}

/// How a promotion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Committed,
    Reversed,
}

impl Story {
    /// Reads the story of a promotion.
    pub(crate) fn read(directory: &Path) -> io::Result<Self> {
        let mut story = Self::default();
        for record in read(directory)? {
            match record {
                Record::Started(started) => story.started = Some(started),
                Record::Intent(intent) => story.intent = Some(intent),
                Record::Committed => story.end = Some(End::Committed),
                Record::Reversed => story.end = Some(End::Reversed),
            }
        }
        Ok(story)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_journal_cut_anywhere_reads_as_its_whole_lines() {
        let world = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(world.path()).unwrap();
        let records = [Record::Committed, Record::Reversed, Record::Committed];
        for record in &records {
            journal.append(record).unwrap();
        }
        let whole = fs_err::read(world.path().join(JOURNAL)).unwrap();
        let ends: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] == b'\n').collect();
        for cut in 0..=whole.len() {
            fs_err::write(world.path().join(JOURNAL), &whole[..cut]).unwrap();
            let lines = ends.iter().filter(|&&end| end < cut).count();
            assert_eq!(read(world.path()).unwrap(), &records[..lines]);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
            prop_assert_eq!(parse(&bytes), None);
        }
    }
}
