//! What a tree looked like, kept on disk.
//!
//! ```text
//! "AGARMAN1"  blake3 of the rest (32)  length of the facts (u32)  facts (JSON)
//! directories (u32)
//!   length (u16)  path  entries (u32)
//!     length (u16)  name  flags (u8)  mode (u32)  size (u64)  mtime ctime (i64)  inode (u64)
//!     [copy's inode (u64)  copy's ctime (i64)]
//! ```
//! All numbers are little-endian. A file that does not check is never trusted, and never mended:
//! what it described is made again. Nothing is synced to disk either, since a sync would wait for
//! every file of the layer: a manifest that a power failure tore does not check, and one written
//! before the last boot is compared with its layers before it is believed.

use super::Bulk;
use crate::copy::{Directory, Entry, Landed, Listing};
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::io;
use std::path::Path;

const MAGIC: &[u8; 8] = b"AGARMAN1";
const HASH: usize = 32;

/// What is known about a tree as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Facts {
    /// The number of the generation; zero for a live base.
    pub number: u64,
    /// The generations whose layers make up this one, topmost first, itself included.
    pub layers: Vec<u64>,
    /// Directories that are not part of the picture.
    pub bulk: Vec<Bulk>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// The boot of the machine during which it was written or last compared.
    pub boot: String,
    /// How many entries there are.
    pub entries: u64,
    /// Whether a git index lies outside the picture.
    pub minimal_git_stat: bool,
}

/// A tree with its facts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manifest {
    /// What is known about it as a whole.
    pub facts: Facts,
    /// Each of its entries.
    pub listing: Listing,
}

/// A manifest could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is not there, or the disk failed.
    #[error("cannot read the manifest")]
    Disk(#[from] io::Error),
    /// It is not what was written.
    #[error("the manifest is damaged")]
    Damaged,
}

const CLOSED: u8 = 1;
const RACY: u8 = 2;
const LANDED: u8 = 4;
const LINKED: u8 = 8;
const LEFT_OUT: u8 = 16;

impl Manifest {
    /// Writes the manifest; the caller makes it appear atomically.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        fs_err::write(path, self.encode()?)
    }

    /// Reads and checks a manifest.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        Self::decode(&fs_err::read(path)?).ok_or(ManifestError::Damaged)
    }

    fn encode(&self) -> io::Result<Vec<u8>> {
        let mut body = Vec::with_capacity(self.listing.len() * 96 + 4096);
        body.extend_from_slice(MAGIC);
        body.extend_from_slice(&[0; HASH]);
        let facts = Facts {
            entries: self.listing.len() as u64,
            ..self.facts.clone()
        };
        let facts = serde_json::to_vec(&facts)?;
        put_u32(&mut body, facts.len())?;
        body.extend_from_slice(&facts);
        put_u32(&mut body, self.listing.directories.len())?;
        for directory in &self.listing.directories {
            put_text(&mut body, &directory.path)?;
            put_u32(&mut body, directory.entries.len())?;
            for entry in &directory.entries {
                put_entry(&mut body, entry)?;
            }
        }
        let hash = blake3::hash(&body[MAGIC.len() + HASH..]);
        body[MAGIC.len()..MAGIC.len() + HASH].copy_from_slice(hash.as_bytes());
        Ok(body)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (hash, rest) = rest.split_at_checked(HASH)?;
        if blake3::hash(rest).as_bytes() != hash {
            return None;
        }
        let mut reader = Reader { rest };
        let length = reader.size()?;
        let facts: Facts = serde_json::from_slice(reader.take(length)?).ok()?;
        let count = reader.size()?;
        let mut directories = Vec::with_capacity(count.min(reader.rest.len()));
        for _ in 0..count {
            let path = reader.text()?.to_vec();
            let count = reader.size()?;
            let mut entries = Vec::with_capacity(count.min(reader.rest.len()));
            for _ in 0..count {
                entries.push(reader.entry()?);
            }
            directories.push(Directory { path, entries });
        }
        let listing = Listing {
            directories,
            ..Listing::default()
        };
        reader.rest.is_empty().then_some(Self { facts, listing })
    }
}

fn put_u32(body: &mut Vec<u8>, value: usize) -> io::Result<()> {
    let value = u32::try_from(value).map_err(|_| io::ErrorKind::FileTooLarge)?;
    body.extend_from_slice(&value.to_le_bytes());
    Ok(())
}

fn put_text(body: &mut Vec<u8>, text: &[u8]) -> io::Result<()> {
    let length = u16::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidFilename)?;
    body.extend_from_slice(&length.to_le_bytes());
    body.extend_from_slice(text);
    Ok(())
}

fn put_entry(body: &mut Vec<u8>, entry: &Entry) -> io::Result<()> {
    put_text(body, entry.name.to_bytes())?;
    let landed = entry.landed;
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    body.push(
        flag(entry.closed, CLOSED)
            | flag(entry.racy, RACY)
            | flag(landed.is_some(), LANDED)
            | flag(landed.is_some_and(|landed| landed.linked), LINKED)
            | flag(landed.is_some_and(|landed| landed.left_out), LEFT_OUT),
    );
    body.extend_from_slice(&entry.mode.to_le_bytes());
    body.extend_from_slice(&entry.size.to_le_bytes());
    body.extend_from_slice(&entry.mtime_ns.to_le_bytes());
    body.extend_from_slice(&entry.ctime_ns.to_le_bytes());
    body.extend_from_slice(&entry.ino.to_le_bytes());
    if let Some(landed) = landed {
        body.extend_from_slice(&landed.ino.to_le_bytes());
        body.extend_from_slice(&landed.ctime_ns.to_le_bytes());
    }
    Ok(())
}

/// Reads what was written, and nothing beyond its end.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.array()?)).ok()
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = u16::from_le_bytes(self.array()?);
        self.take(length.into())
    }

    fn entry(&mut self) -> Option<Entry> {
        let name = CString::new(self.text()?).ok()?;
        let [flags] = self.array()?;
        let mut entry = Entry {
            name,
            mode: u32::from_le_bytes(self.array()?),
            nlink: 1,
            uid: 0,
            gid: 0,
            size: u64::from_le_bytes(self.array()?),
            blocks: 0,
            mtime_ns: i64::from_le_bytes(self.array()?),
            ctime_ns: i64::from_le_bytes(self.array()?),
            ino: u64::from_le_bytes(self.array()?),
            closed: flags & CLOSED != 0,
            racy: flags & RACY != 0,
            landed: None,
            follower: false,
        };
        if flags & LANDED != 0 {
            entry.landed = Some(Landed {
                ino: u64::from_le_bytes(self.array()?),
                ctime_ns: i64::from_le_bytes(self.array()?),
                linked: flags & LINKED != 0,
                left_out: flags & LEFT_OUT != 0,
            });
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Manifest {
        let entry = |name: &str, landed| Entry {
            name: CString::new(name).unwrap(),
            mode: 0o100_644,
            nlink: 1,
            uid: 0,
            gid: 0,
            size: 12,
            blocks: 0,
            mtime_ns: -5,
            ctime_ns: i64::MAX,
            ino: u64::MAX,
            closed: false,
            racy: true,
            landed,
            follower: false,
        };
        let landed = Landed {
            ino: 7,
            ctime_ns: 8,
            linked: true,
            left_out: false,
        };
        let entries = vec![entry("a", None), entry("b\n\u{e9}", Some(landed))];
        let directories = vec![
            Directory {
                path: Vec::new(),
                entries,
            },
            Directory {
                path: b"d\xff".to_vec(),
                entries: Vec::new(),
            },
        ];
        let facts = Facts {
            number: 3,
            layers: vec![3, 1],
            entries: 2,
            ..Facts::default()
        };
        Manifest {
            facts,
            listing: Listing {
                directories,
                ..Listing::default()
            },
        }
    }

    #[test]
    fn a_manifest_is_read_back_as_it_was_written() {
        let manifest = sample();
        assert_eq!(
            Manifest::decode(&manifest.encode().unwrap()),
            Some(manifest)
        );
    }

    #[test]
    fn a_manifest_with_any_byte_changed_or_cut_off_is_not_believed() {
        let whole = sample().encode().unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x20;
            assert_eq!(Manifest::decode(&changed), None, "byte {at}");
            assert_eq!(Manifest::decode(&whole[..at]), None, "cut at {at}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(body: Vec<u8>) {
            let mut bytes = MAGIC.to_vec();
            bytes.extend_from_slice(blake3::hash(&body).as_bytes());
            bytes.extend_from_slice(&body);
            drop(Manifest::decode(&bytes));
        }
    }
}
