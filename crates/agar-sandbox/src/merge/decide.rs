//! What follows for one path from base, mine and theirs.
//!
//! ```text
//! theirs = mine             nothing to do, it is already there
//! theirs = base             nothing to do, the sandbox did not change it
//! mine = base               take theirs
//! three files, text         merge by lines; permission bits merge bit by bit
//! anything else             a conflict, of a kind that has a name
//! ```
//!
//! Permission bits merge on their own and never conflict: where the sandbox changed a bit, that bit
//! is taken, and a bit that both changed was changed to the same value.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The bits of a mode that are merged. Set-user-id, set-group-id and sticky never cross: what ran in
/// a sandbox does not get to hand out privileges outside.
pub(crate) const PERMISSIONS: u32 = 0o777;

/// The bits that make a file a program.
const EXECUTABLE: u32 = 0o111;

/// A BLAKE3 digest of a file's content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(content: &[u8]) -> Self {
        Self(*blake3::hash(content).as_bytes())
    }
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        Self(*hash.as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        blake3::Hash::from_hex(&text)
            .map(Self::from)
            .map_err(|_| format!("`{text}` is not a digest"))
    }
}

/// A regular file, as far as merging cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileEntry {
    /// The digest of its content.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// Its permission bits.
    pub mode: u32,
    /// Whether it can be merged by lines.
    pub text: bool,
}

/// A thing on disk that is neither file, symlink nor directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Special {
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block or character device.
    Device,
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fifo => "named pipe",
            Self::Socket => "socket",
            Self::Device => "device",
        })
    }
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// Nothing.
    Absent,
    /// A regular file.
    File(FileEntry),
    /// A symbolic link and the bytes it holds.
    Symlink(Vec<u8>),
    /// A directory and its permission bits.
    Directory(u32),
    /// Something that is never carried across.
    Special(Special),
    /// Nothing, and nothing can be put there: a parent of the path is not a directory.
    Blocked,
    /// Something that cannot be told any more: the base was the live directory, and the person has
    /// changed this path since.
    Unknown,
}

impl Entry {
    /// Whether there is nothing at the path.
    pub const fn is_nothing(&self) -> bool {
        match self {
            Self::Absent | Self::Blocked => true,
            Self::File(_)
            | Self::Symlink(_)
            | Self::Directory(_)
            | Self::Special(_)
            | Self::Unknown => false,
        }
    }

    /// Whether both stand for the same thing, permission bits included.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(a), Self::File(b)) => {
                a.digest == b.digest && (a.mode ^ b.mode) & PERMISSIONS == 0
            }
            (Self::Directory(a), Self::Directory(b)) => (a ^ b) & PERMISSIONS == 0,
            (Self::Unknown, _) | (_, Self::Unknown) => false,
            (
                Self::Absent
                | Self::Blocked
                | Self::File(_)
                | Self::Symlink(_)
                | Self::Directory(_)
                | Self::Special(_),
                _,
            ) => self == other || (self.is_nothing() && other.is_nothing()),
        }
    }
}

/// Why mine and theirs do not go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clash {
    /// Both changed the same lines.
    Lines,
    /// Both changed a file that cannot be merged by lines.
    Binary,
    /// The person deleted what the sandbox changed.
    YouDeleted,
    /// The sandbox deleted what the person changed.
    TheyDeleted,
    /// Both made something at this path, and not the same.
    BothAdded,
    /// One made it another kind of thing than the other left it.
    TypeChanged,
    /// A directory on one side stands where the other has something else.
    DirectoryInTheWay,
    /// The base was live and has moved: what both started from is not known any more.
    BaseMoved,
    /// The base was live, nothing is there now, and the person may have deleted it meanwhile.
    PerhapsDeleted,
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lines => "you and the sandbox both changed the same lines",
            Self::Binary => "you and the sandbox both changed this binary file",
            Self::YouDeleted => "you deleted it, the sandbox changed it",
            Self::TheyDeleted => "the sandbox deleted it, you changed it",
            Self::BothAdded => "you and the sandbox both added it, differently",
            Self::TypeChanged => "it became another kind of file on one side",
            Self::DirectoryInTheWay => "a directory on one side, something else on the other",
            Self::BaseMoved => "you changed it while the sandbox used it live",
            Self::PerhapsDeleted => "you may have deleted it while the sandbox used it live",
        })
    }
}

/// What to do with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// The sandbox did not change it, or the project has the change already.
    AlreadyThere,
    /// The project gets what the sandbox has; a file gets these permission bits.
    Take {
        /// The permission bits, where theirs is a file or a directory.
        mode: u32,
    },
    /// The content stays; only the permission bits change.
    Chmod {
        /// The permission bits afterwards.
        mode: u32,
    },
    /// The contents must be merged by lines.
    Merge {
        /// The permission bits afterwards.
        mode: u32,
    },
    /// A person must choose.
    Conflict(Clash),
    /// Never carried across.
    Refuse(Special),
}

/// Permission bits from three sides: the sandbox's change of a bit is taken, every other bit stays.
pub const fn merged_mode(base: u32, mine: u32, theirs: u32) -> u32 {
    let changed = (base ^ theirs) & PERMISSIONS;
    (mine & !changed) | (theirs & changed)
}

/// Decides one path.
pub fn decide(base: &Entry, mine: &Entry, theirs: &Entry) -> Decision {
    if theirs.is(mine) || theirs.is(base) {
        return Decision::AlreadyThere;
    }
    if let Entry::Special(special) = theirs {
        return Decision::Refuse(*special);
    }
    if let (Entry::Special(special), Entry::Special(_)) = (base, mine) {
        return Decision::Refuse(*special);
    }
    if *mine == Entry::Blocked {
        return if theirs.is_nothing() {
            Decision::AlreadyThere
        } else {
            Decision::Conflict(Clash::DirectoryInTheWay)
        };
    }
    if mine.is(base) {
        return Decision::Take {
            mode: mode_of(theirs),
        };
    }
    if *base == Entry::Unknown {
        return Decision::Conflict(if mine.is_nothing() {
            Clash::PerhapsDeleted
        } else {
            Clash::BaseMoved
        });
    }
    both_changed(base, mine, theirs)
}

fn mode_of(entry: &Entry) -> u32 {
    match entry {
        Entry::File(file) => file.mode & PERMISSIONS,
        Entry::Directory(mode) => mode & PERMISSIONS,
        Entry::Absent | Entry::Symlink(_) | Entry::Special(_) | Entry::Blocked | Entry::Unknown => {
            0
        }
    }
}

/// Decides a path that differs on all three sides.
fn both_changed(base: &Entry, mine: &Entry, theirs: &Entry) -> Decision {
    match (base, mine, theirs) {
        (Entry::File(base), Entry::File(mine), Entry::File(theirs)) => files(base, mine, theirs),
        (Entry::Absent, Entry::File(mine), Entry::File(theirs)) if mine.digest == theirs.digest => {
            // Neither side's wish that it can be run is lost.
            chmod(mine.mode, mine.mode | (theirs.mode & EXECUTABLE))
        }
        (Entry::Directory(base), Entry::Directory(mine), Entry::Directory(theirs)) => {
            chmod(*mine, merged_mode(*base, *mine, *theirs))
        }
        // A directory holds nothing of its own, so two that were made differently do not clash, and
        // one that was removed here is made again by whatever the sandbox puts into it.
        (_, Entry::Directory(_), Entry::Directory(_))
        | (Entry::Directory(_), _, Entry::Directory(_)) => Decision::AlreadyThere,
        // Either the directory is still there, and whether it may go depends on what the person keeps
        // in it, or both did away with it and only the sandbox put something in its place.
        (Entry::Directory(_), Entry::Directory(_) | Entry::Absent, _) => Decision::Take {
            mode: mode_of(theirs),
        },
        (Entry::Directory(_), _, Entry::Absent) => Decision::AlreadyThere,
        (_, Entry::Directory(_), _) | (_, _, Entry::Directory(_)) => {
            Decision::Conflict(Clash::DirectoryInTheWay)
        }
        (_, _, Entry::Absent) => Decision::Conflict(Clash::TheyDeleted),
        (_, Entry::Absent, _) => Decision::Conflict(Clash::YouDeleted),
        (Entry::Absent, _, _) => Decision::Conflict(Clash::BothAdded),
        (
            Entry::File(_)
            | Entry::Symlink(_)
            | Entry::Directory(_)
            | Entry::Special(_)
            | Entry::Blocked
            | Entry::Unknown,
            _,
            _,
        ) => Decision::Conflict(kinds(mine, theirs)),
    }
}

/// Two different things of one kind, or of two.
fn kinds(mine: &Entry, theirs: &Entry) -> Clash {
    match (mine, theirs) {
        // A link is one short text without lines.
        (Entry::Symlink(_), Entry::Symlink(_)) => Clash::Binary,
        _ => Clash::TypeChanged,
    }
}

fn files(base: &FileEntry, mine: &FileEntry, theirs: &FileEntry) -> Decision {
    let mode = merged_mode(base.mode, mine.mode, theirs.mode);
    if theirs.digest == base.digest || theirs.digest == mine.digest {
        return chmod(mine.mode, mode);
    }
    if mine.digest == base.digest {
        return Decision::Take { mode };
    }
    if base.text && mine.text && theirs.text {
        return Decision::Merge { mode };
    }
    Decision::Conflict(Clash::Binary)
}

fn chmod(now: u32, then: u32) -> Decision {
    if (now ^ then) & PERMISSIONS == 0 {
        Decision::AlreadyThere
    } else {
        Decision::Chmod {
            mode: then & PERMISSIONS,
        }
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
