//! The form of an index file, and reading from it.
//!
//! ```text
//! header      8 words of 8 bytes, then a hash of them
//! documents   16 bytes each: number − first, project, second of its end, success
//! fan-out     4097 numbers: where the terms with these first 12 bits begin
//! terms       20 bytes each, sorted: hash, documents, kept, place of its list
//! lists       4 bytes each, best first: document in 24 bits, how much it says in 8
//! ```
//!
//! Numbers are little-endian. Everything read is checked against the bounds: the file may be
//! damaged.

use agar_store::memory::Segment;
use fs_err::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The first word of the file: its form and version.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"agarix01");

pub(super) const HEADER: usize = 8 * 8 + 32;
pub(super) const DOCUMENT: usize = 16;
pub(super) const FAN_OUT: usize = 4097;
pub(super) const TERM: usize = 20;
pub(super) const POSTING: usize = 4;

/// More documents do not fit into a posting.
pub(super) const DOCUMENTS_MAX: usize = 1 << 24;

/// A document as its file describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) number: i64,
    pub(super) project: u32,
    pub(super) closed_seconds: u32,
    pub(super) success: bool,
}

/// A term as its file describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) hash: u32,
    /// Documents that hold it.
    pub(super) documents: u32,
    /// Of these, how many are in the list.
    pub(super) kept: u32,
    /// Where the list begins, in postings.
    pub(super) place: u64,
}

/// An open index file.
#[derive(Debug)]
pub(super) struct SegmentFile {
    file: std::fs::File,
    first: i64,
    documents: usize,
    terms: usize,
    postings: u64,
    fan_out: Vec<u32>,
}

impl SegmentFile {
    pub(super) fn open(path: &Path, segment: &Segment) -> io::Result<Self> {
        let (file, _) = File::open(path)?.into_parts();
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0)?;
        let (words, sum) = header.split_at(64);
        if blake3::hash(words).as_bytes() != sum || word(words, 0) != MAGIC {
            return Err(damaged("its header"));
        }
        let size = |index| usize::try_from(word(words, index)).map_err(|_| damaged("a size"));
        let (documents, terms) = (size(3)?, size(4)?);
        let postings = word(words, 5);
        let first = word(words, 1).cast_signed();
        let expected = (HEADER + documents * DOCUMENT + FAN_OUT * 4 + terms * TERM) as u64
            + postings * POSTING as u64;
        if file.metadata()?.len() != expected || first != segment.first {
            return Err(damaged("its length"));
        }
        let mut fan_out = vec![0; FAN_OUT * 4];
        file.read_exact_at(&mut fan_out, (HEADER + documents * DOCUMENT) as u64)?;
        Ok(Self {
            file,
            first,
            documents,
            terms,
            postings,
            fan_out: fan_out.chunks_exact(4).map(small).collect(),
        })
    }

    pub(super) fn documents(&self) -> usize {
        self.documents
    }

    fn terms_at(&self) -> u64 {
        (HEADER + self.documents * DOCUMENT + FAN_OUT * 4) as u64
    }

    /// What the file knows of a term.
    pub(super) fn entry(&self, hash: u32) -> io::Result<Option<Entry>> {
        let bucket = (hash >> 20) as usize;
        let (from, to) = (self.fan_out[bucket], self.fan_out[bucket + 1]);
        if from >= to || to as usize > self.terms {
            return Ok(None);
        }
        let mut bytes = vec![0; (to - from) as usize * TERM];
        let at = self.terms_at() + u64::from(from) * TERM as u64;
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes
            .chunks_exact(TERM)
            .map(entry)
            .find(|entry| entry.hash == hash))
    }

    /// Every term, in order of its hash.
    pub(super) fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut bytes = vec![0; self.terms * TERM];
        self.file.read_exact_at(&mut bytes, self.terms_at())?;
        Ok(bytes.chunks_exact(TERM).map(entry).collect())
    }

    /// Shows the best postings of a term: a document of this file, and how much it says (0–255).
    pub(super) fn postings(
        &self,
        entry: &Entry,
        most: usize,
        buffer: &mut Vec<u8>,
        mut show: impl FnMut(usize, u8),
    ) -> io::Result<usize> {
        let count = (entry.kept as usize).min(most);
        let end = entry.place.saturating_add(count as u64);
        if end > self.postings {
            return Err(damaged("a list"));
        }
        buffer.resize(count * POSTING, 0);
        let at = self.terms_at() + (self.terms * TERM) as u64 + entry.place * POSTING as u64;
        self.file.read_exact_at(buffer, at)?;
        for posting in buffer.chunks_exact(POSTING) {
            let packed = small(posting);
            let document = (packed >> 8) as usize;
            if document < self.documents {
                show(document, packed.to_le_bytes()[0]);
            }
        }
        Ok(count)
    }

    /// A document of this file.
    pub(super) fn document(&self, index: usize) -> io::Result<Document> {
        let mut bytes = [0; DOCUMENT];
        let at = (HEADER + index * DOCUMENT) as u64;
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(self.parse(&bytes))
    }

    /// Every document, in order.
    pub(super) fn all_documents(&self) -> io::Result<Vec<Document>> {
        let mut bytes = vec![0; self.documents * DOCUMENT];
        self.file.read_exact_at(&mut bytes, HEADER as u64)?;
        Ok(bytes
            .chunks_exact(DOCUMENT)
            .map(|chunk| self.parse(chunk))
            .collect())
    }

    fn parse(&self, bytes: &[u8]) -> Document {
        Document {
            number: self.first.saturating_add(i64::from(small(&bytes[..4]))),
            project: small(&bytes[4..8]),
            closed_seconds: small(&bytes[8..12]),
            success: small(&bytes[12..16]) == 1,
        }
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("an index file is damaged: {what}"),
    )
}

fn word(bytes: &[u8], index: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
    u64::from_le_bytes(word)
}

fn small(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[..4]);
    u32::from_le_bytes(word)
}

fn entry(bytes: &[u8]) -> Entry {
    Entry {
        hash: small(&bytes[..4]),
        documents: small(&bytes[4..8]),
        kept: small(&bytes[8..12]),
        place: u64::from(small(&bytes[12..16])) | u64::from(small(&bytes[16..20])) << 32,
    }
}
