//! Making an index file: from rows, or from files.

use crate::index::file::{
    DOCUMENTS_MAX, Document, FAN_OUT, HEADER, MAGIC, POSTING, SegmentFile, TERM,
};
use crate::terms::{Term, Terms};
use agar_store::memory::Evidence;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Postings kept of one term: a query never reads further.
pub(super) const LIST_MAX: usize = 1 << 16;

/// A file in the making.
#[derive(Debug, Default)]
pub(super) struct Draft {
    documents: Vec<Document>,
    lists: BTreeMap<u32, List>,
}

#[derive(Debug, Default)]
struct List {
    documents: u32,
    postings: Vec<(u32, u8)>,
}

impl Draft {
    pub(super) fn is_full(&self) -> bool {
        self.documents.len() >= DOCUMENTS_MAX
    }

    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// Adds a row. Rows come in order of their numbers.
    pub(super) fn add(&mut self, evidence: &Evidence) {
        let index = low(self.documents.len());
        self.documents.push(Document {
            number: evidence.number,
            project: fold(evidence.project),
            closed_seconds: u32::try_from(evidence.closed.millis() / 1000).unwrap_or(u32::MAX),
            success: evidence.success >= 0.5,
        });
        let terms = Terms::unpack(&evidence.terms);
        // Each part by itself, as likeness is: the files that a change happened to touch must not
        // make its words count for less.
        let place = |term: Term| usize::from(term.part.code()) * 2 + usize::from(term.told > 0);
        let mut squares = [0.0_f64; 8];
        for term in terms.iter() {
            squares[place(term)] += term.weight().powi(2);
        }
        for term in terms.iter() {
            let length = squares[place(term)].sqrt().max(1.0);
            let list = self.lists.entry(term.hash).or_default();
            list.documents += 1;
            list.postings.push((index, says(term.weight() / length)));
        }
    }

    /// Adds everything of a file but the documents that are to go. Files come in order.
    pub(super) fn absorb(&mut self, file: &SegmentFile, gone: &[i64]) -> io::Result<()> {
        let mut moved_to = Vec::with_capacity(file.documents());
        for document in file.all_documents()? {
            if gone.contains(&document.number) {
                moved_to.push(None);
            } else {
                moved_to.push(Some(low(self.documents.len())));
                self.documents.push(document);
            }
        }
        let mut buffer = Vec::new();
        for entry in file.entries()? {
            let list = self.lists.entry(entry.hash).or_default();
            let before = list.postings.len();
            let mut without = 0;
            file.postings(&entry, usize::MAX, &mut buffer, |document, said| {
                let place = moved_to.get(document).copied().flatten();
                without += u32::from(place.is_none());
                list.postings.extend(place.map(|place| (place, said)));
            })?;
            list.documents += entry.documents.saturating_sub(without);
            if list.postings.len() == before && list.documents == 0 {
                self.lists.remove(&entry.hash);
            }
        }
        Ok(())
    }

    /// Writes the file. `first` is where its range begins.
    pub(super) fn write(mut self, first: i64, last: i64, out: &mut impl Write) -> io::Result<()> {
        for list in self.lists.values_mut() {
            // Best first; among equals the newest.
            list.postings
                .sort_unstable_by(|a, b| b.1.cmp(&a.1).then(b.0.cmp(&a.0)));
            list.postings.truncate(LIST_MAX);
        }
        let postings: usize = self.lists.values().map(|list| list.postings.len()).sum();
        let words = [
            MAGIC,
            first.cast_unsigned(),
            last.cast_unsigned(),
            self.documents.len() as u64,
            self.lists.len() as u64,
            postings as u64,
            0,
            0,
        ];
        let header: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        out.write_all(&header)?;
        out.write_all(blake3::hash(&header).as_bytes())?;
        debug_assert_eq!(header.len() + 32, HEADER);
        for document in &self.documents {
            let delta = u32::try_from(document.number - first).unwrap_or(u32::MAX);
            for word in [
                delta,
                document.project,
                document.closed_seconds,
                u32::from(document.success),
            ] {
                out.write_all(&word.to_le_bytes())?;
            }
        }
        self.write_terms(out)?;
        self.write_lists(out)
    }

    fn write_terms(&self, out: &mut impl Write) -> io::Result<()> {
        let mut fan_out = vec![0_u32; FAN_OUT];
        for hash in self.lists.keys() {
            fan_out[(hash >> 20) as usize + 1] += 1;
        }
        for index in 1..FAN_OUT {
            fan_out[index] += fan_out[index - 1];
        }
        for word in fan_out {
            out.write_all(&word.to_le_bytes())?;
        }
        let mut place = 0_u64;
        for (hash, list) in &self.lists {
            let mut bytes = [0; TERM];
            bytes[..4].copy_from_slice(&hash.to_le_bytes());
            bytes[4..8].copy_from_slice(&list.documents.to_le_bytes());
            bytes[8..12].copy_from_slice(&low(list.postings.len()).to_le_bytes());
            bytes[12..].copy_from_slice(&place.to_le_bytes());
            out.write_all(&bytes)?;
            place += list.postings.len() as u64;
        }
        Ok(())
    }

    fn write_lists(&self, out: &mut impl Write) -> io::Result<()> {
        for list in self.lists.values() {
            for &(document, says) in &list.postings {
                let packed: [u8; POSTING] = (document << 8 | u32::from(says)).to_le_bytes();
                out.write_all(&packed)?;
            }
        }
        Ok(())
    }
}

/// A project's hash in 32 bits.
pub(super) fn fold(hash: i64) -> u32 {
    let wide = hash.cast_unsigned();
    #[expect(clippy::cast_possible_truncation, reason = "both halves are folded in")]
    let folded = (wide ^ (wide >> 32)) as u32;
    folded
}

/// A share as a byte, never zero.
fn says(share: f64) -> u8 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the range of a byte"
    )]
    let byte = (share * 255.0).round().clamp(1.0, 255.0) as u8;
    byte
}

#[expect(clippy::cast_possible_truncation, reason = "at most DOCUMENTS_MAX")]
fn low(count: usize) -> u32 {
    count as u32
}
