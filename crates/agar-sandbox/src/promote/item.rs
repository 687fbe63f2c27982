//! What a promotion is asked to carry: changed paths, each with both of its sides.
//!
//! A side says where its content can be read, not what it is, so that a change set of many large
//! files costs no memory before it is looked at.

use super::ground::{Ground, Seen, measure};
use crate::merge::{Digest, Entry, FileEntry, Special, is_text};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One path that differs between a base and a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The path, relative to the directory the promotion goes to.
    pub path: PathBuf,
    /// What was there when the sandbox began.
    pub base: Source,
    /// What is there in the sandbox.
    pub theirs: Source,
    /// Whether the sandbox could not see what was here; then it is carried only when named.
    pub masked: bool,
    /// Where the sandbox moved it from, if it did. The old path is an item of its own.
    pub from: Option<PathBuf>,
}

/// One side of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nothing.
    Nothing,
    /// Not known any more: the base was live and has moved.
    Unknown,
    /// A regular file.
    File {
        /// Its permission bits.
        mode: u32,
        /// Where its bytes are.
        content: Content,
    },
    /// A symbolic link.
    Symlink(Vec<u8>),
    /// A directory and its permission bits.
    Directory(u32),
    /// Something that is never carried.
    Special(Special),
}

/// Where a file's bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// In a file below a directory that is trusted; links on the way below it are not followed.
    Beneath {
        /// The directory.
        root: Arc<Path>,
        /// The file below it.
        path: PathBuf,
    },
    /// Here.
    Bytes(Arc<[u8]>),
    /// Nowhere any more; only what they were is known.
    Known(FileEntry),
}

impl Content {
    /// A file below a directory.
    pub fn beneath(root: &Path, path: &Path) -> Self {
        Self::Beneath {
            root: root.into(),
            path: path.to_path_buf(),
        }
    }

    /// The file, open, where there is one.
    pub(crate) fn file(&self) -> io::Result<Option<File>> {
        match self {
            Self::Beneath { root, path } => Ground::open(root)?.file(path).map(Some),
            Self::Bytes(_) | Self::Known(_) => Ok(None),
        }
    }

    /// All the bytes.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::Beneath { root, path } => Ground::open(root)?.read(path),
            Self::Bytes(bytes) => Ok(bytes.to_vec()),
            Self::Known(_) => Err(io::Error::other("the content was not kept")),
        }
    }

    fn measure(&self, mode: u32) -> io::Result<FileEntry> {
        match self {
            Self::Beneath { root, path } => measure(Ground::open(root)?.file(path)?, mode),
            Self::Bytes(bytes) => Ok(FileEntry {
                digest: Digest::of(bytes),
                size: bytes.len() as u64,
                mode,
                text: is_text(bytes),
            }),
            // What cannot be read cannot be merged by lines.
            Self::Known(known) => Ok(FileEntry {
                mode,
                text: false,
                ..*known
            }),
        }
    }
}

impl Source {
    /// What merging needs to know of it. Reads the file.
    pub(crate) fn entry(&self) -> io::Result<Entry> {
        Ok(match self {
            Self::Nothing => Entry::Absent,
            Self::Unknown => Entry::Unknown,
            Self::File { mode, content } => Entry::File(content.measure(*mode)?),
            Self::Symlink(target) => Entry::Symlink(target.clone()),
            Self::Directory(mode) => Entry::Directory(*mode),
            Self::Special(special) => Entry::Special(*special),
        })
    }

    /// The bytes, for a file; empty for anything else.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::File { content, .. } => content.read(),
            Self::Nothing
            | Self::Unknown
            | Self::Symlink(_)
            | Self::Directory(_)
            | Self::Special(_) => Ok(Vec::new()),
        }
    }

    /// What a plain directory holds at a path.
    pub fn of_directory(root: &Path, path: &Path) -> io::Result<Self> {
        let Seen { entry, .. } = Ground::open(root)?.look(path)?;
        Ok(match entry {
            Entry::Absent | Entry::Blocked => Self::Nothing,
            Entry::Unknown => Self::Unknown,
            Entry::File(file) => Self::File {
                mode: file.mode,
                content: Content::beneath(root, path),
            },
            Entry::Symlink(target) => Self::Symlink(target),
            Entry::Directory(mode) => Self::Directory(mode),
            Entry::Special(special) => Self::Special(special),
        })
    }
}

/// Every path that differs between two plain directories, for tests and for copies without layers.
pub fn compare(base: &Path, theirs: &Path) -> io::Result<Vec<Item>> {
    let mut items = Vec::new();
    let mut paths = vec![PathBuf::new()];
    let (base_ground, their_ground) = (Ground::open(base)?, Ground::open(theirs)?);
    while let Some(directory) = paths.pop() {
        let mut names = Vec::new();
        for ground in [&base_ground, &their_ground] {
            if matches!(ground.look(&directory)?.entry, Entry::Directory(_)) {
                names.extend(ground.names(&directory)?);
            }
        }
        names.sort();
        names.dedup();
        for name in names {
            let path = directory.join(name);
            let (was, is) = (
                base_ground.look(&path)?.entry,
                their_ground.look(&path)?.entry,
            );
            if matches!(was, Entry::Directory(_)) || matches!(is, Entry::Directory(_)) {
                paths.push(path.clone());
            }
            if was != is && !(was.is_nothing() && is.is_nothing()) {
                items.push(Item {
                    base: Source::of_directory(base, &path)?,
                    theirs: Source::of_directory(theirs, &path)?,
                    path,
                    masked: false,
                    from: None,
                });
            }
        }
    }
    items.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(items)
}

/// For a reader that wants to know how the bytes begin.
pub(crate) fn copy_and_digest(from: &mut File, to: &mut File) -> io::Result<Digest> {
    use std::io::Write as _;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok(Digest::from(hasher.finalize()));
        }
        hasher.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
    }
}
