//! What a promotion would do, decided path by path, with nothing written.
//!
//! A proposal remembers what it saw of the project. Applying it later checks each of those
//! observations again, so that an edit made in between is noticed and never overwritten.

mod directories;
mod hunk;
mod resolve;

pub use hunk::Hunk;

use super::ground::{Ground, Seen};
use super::item::{Item, Source};
use crate::merge::{Choice, Clash, Entry, Region, Selection, Special};
use agar_core::fault::{self, Fault};
use agar_core::id::PromotionId;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};

/// What happens to one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Only the sandbox changed it; the project gets the change.
    Clean,
    /// Both changed it, and both changes are in the result.
    Merged,
    /// The project has it already, or the sandbox did not change it.
    AlreadyThere,
    /// Both changed it, and the person chose.
    Chosen(Choice),
    /// Both changed it, and nobody chose: nothing is written anywhere until somebody does.
    Conflict(Clash),
    /// It stays as it is.
    LeftOut(Reason),
}

/// Why a changed path is not carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Nobody asked for it.
    NotAsked,
    /// It belongs to git, whose files are never merged as files.
    Git,
    /// It is masked, and was not named.
    Masked,
    /// It is not a file, a link or a directory.
    Special(Special),
    /// The sandbox removed this directory, but the person keeps files of their own in it.
    HoldsYours,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAsked => f.write_str("not asked for"),
            Self::Git => f.write_str("git's own files are never carried as files"),
            Self::Masked => f.write_str("masked; name it to have it applied"),
            Self::Special(special) => write!(f, "a {special} is never carried"),
            Self::HoldsYours => f.write_str("the directory holds files of yours"),
        }
    }
}

/// What is to be done at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// Nothing.
    Nothing,
    /// What is there goes.
    Remove,
    /// A file with the sandbox's content comes there.
    Take {
        /// Its permission bits.
        mode: u32,
    },
    /// A file with this content comes there.
    Write {
        /// Its permission bits.
        mode: u32,
        /// Its content.
        content: Vec<u8>,
    },
    /// A symbolic link comes there.
    Link(Vec<u8>),
    /// A directory comes there.
    MakeDirectory {
        /// Its permission bits.
        mode: u32,
    },
    /// Only the permission bits change.
    Chmod {
        /// The bits afterwards.
        mode: u32,
    },
}

/// One path of a proposal.
#[derive(Debug)]
pub struct Planned {
    /// What happens to it.
    pub outcome: Outcome,
    /// Where both sides changed the same lines.
    pub conflicts: Vec<Region>,
    pub(crate) item: Item,
    pub(crate) seen: Seen,
    /// The person's side, if it is at another path because the sandbox moved the file.
    pub(crate) mine_at: Option<PathBuf>,
    pub(crate) theirs: Entry,
    pub(crate) act: Act,
}

impl Planned {
    /// The path, relative to where the promotion goes.
    pub fn path(&self) -> &Path {
        &self.item.path
    }

    /// Where the sandbox moved it from, if it did.
    pub fn from(&self) -> Option<&Path> {
        self.item.from.as_deref()
    }

    /// Whether something is written for it.
    pub fn is_written(&self) -> bool {
        self.act != Act::Nothing
    }

    /// Why, in words for a person, where there is something to say.
    pub fn explanation(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Conflict(Clash::Lines) => {
                let lines: Vec<String> = self.conflicts.iter().map(line_numbers).collect();
                Some(format!(
                    "you and the sandbox both changed {}",
                    lines.join(", ")
                ))
            }
            Outcome::Conflict(clash) => Some(clash.to_string()),
            Outcome::LeftOut(reason) => Some(reason.to_string()),
            Outcome::Clean | Outcome::Merged | Outcome::AlreadyThere | Outcome::Chosen(_) => None,
        }
    }
}

/// The person's lines of a region, counted as editors do.
fn line_numbers(region: &Region) -> String {
    match region.mine.len() {
        0 => format!("what follows line {}", region.mine.start),
        1 => format!("line {}", region.mine.end),
        _ => format!("lines {}\u{2013}{}", region.mine.start + 1, region.mine.end),
    }
}

/// A promotion could not be planned.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// A path is not one inside the directory.
    #[error("`{}` is not a path inside the project", path.display())]
    BadPath {
        /// The path.
        path: PathBuf,
    },
    /// A side of a path could not be read.
    #[error("cannot read {whose} `{}`", path.display())]
    Read {
        /// Whose side: the base's, the sandbox's or the project's.
        whose: &'static str,
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Fault for PrepareError {
    fn kind(&self) -> fault::Kind {
        match self {
            Self::BadPath { .. } => fault::Kind::Invalid,
            Self::Read { source, .. } if source.kind() == io::ErrorKind::ResourceBusy => {
                fault::Kind::Conflict
            }
            Self::Read { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                fault::Kind::Refused
            }
            Self::Read { .. } => fault::Kind::Internal,
        }
    }
}

/// What a promotion would do.
#[derive(Debug)]
pub struct Proposal {
    pub(crate) ground: Ground,
    pub(crate) files: Vec<Planned>,
    pub(crate) undoes: Option<PromotionId>,
}

impl Proposal {
    /// Decides what carrying the items to the directory means. Writes nothing.
    pub fn prepare(
        root: &Path,
        mut items: Vec<Item>,
        selection: &Selection,
    ) -> Result<Self, PrepareError> {
        let ground = Ground::open(root).map_err(|source| PrepareError::Read {
            whose: "the project's",
            path: root.to_path_buf(),
            source,
        })?;
        items.sort_by(|a, b| a.path.cmp(&b.path));
        items.dedup_by(|a, b| a.path == b.path);
        if let Some(item) = items.iter().find(|item| !is_inside(&item.path)) {
            return Err(PrepareError::BadPath {
                path: item.path.clone(),
            });
        }
        let mut files = Planner::new(&ground, selection, &items).plan(items)?;
        directories::settle(&ground, &mut files)?;
        Ok(Self {
            ground,
            files,
            undoes: None,
        })
    }

    /// Every path, sorted.
    pub fn files(&self) -> &[Planned] {
        &self.files
    }

    /// The paths that nobody has chosen a side for.
    pub fn conflicts(&self) -> impl Iterator<Item = &Planned> {
        self.files
            .iter()
            .filter(|file| matches!(file.outcome, Outcome::Conflict(_)))
    }

    /// Whether applying it would write nothing.
    pub fn is_empty(&self) -> bool {
        self.files.iter().all(|file| file.act == Act::Nothing)
    }

    /// The paths that applying it would write.
    pub fn written(&self) -> impl Iterator<Item = &Path> {
        let written = self.files.iter().filter(|file| file.act != Act::Nothing);
        written.map(|file| file.item.path.as_path())
    }

    /// The parts of a path's change that can be taken or left one by one.
    pub fn hunks(&self, path: &Path) -> Result<Vec<Hunk>, PrepareError> {
        match self.files.iter().find(|file| file.item.path == path) {
            Some(file) => hunk::hunks(&self.ground, file),
            None => Ok(Vec::new()),
        }
    }
}

/// Whether a path is relative and never climbs.
fn is_inside(path: &Path) -> bool {
    let mut components = path.components().peekable();
    components.peek().is_some() && components.all(|part| matches!(part, Component::Normal(_)))
}

/// Whether a path is git's own, at any depth and in any case: on a filesystem that folds case
/// `.GIT/config` is `.git/config`.
pub(crate) fn is_git(path: &Path) -> bool {
    path.components()
        .any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

/// What the planning of one path needs to know of the others.
struct Planner<'a> {
    ground: &'a Ground,
    selection: &'a Selection,
    /// The base's side of each path that the sandbox moved away, by the new path.
    moved: BTreeMap<PathBuf, (PathBuf, Source)>,
    /// Where something else makes way for a directory, so that what is below is free.
    opened: BTreeSet<PathBuf>,
}

impl<'a> Planner<'a> {
    fn new(ground: &'a Ground, selection: &'a Selection, items: &[Item]) -> Self {
        let base = |path: &Path| {
            let at = items
                .binary_search_by(|item| item.path.as_path().cmp(path))
                .ok()?;
            Some(items[at].base.clone())
        };
        let moved = items
            .iter()
            .filter_map(|item| {
                let from = item.from.clone()?;
                let base = base(&from)?;
                Some((item.path.clone(), (from, base)))
            })
            .filter(|(to, (from, _))| selection.includes(to) && selection.includes(from))
            .collect();
        Self {
            ground,
            selection,
            moved,
            opened: BTreeSet::new(),
        }
    }

    /// Plans the paths in order, parents first. What the sandbox moved away is planned last, when it
    /// is known whether the person's edits went along.
    fn plan(mut self, items: Vec<Item>) -> Result<Vec<Planned>, PrepareError> {
        let sources: BTreeSet<PathBuf> =
            self.moved.values().map(|(from, _)| from.clone()).collect();
        let (later, now): (Vec<Item>, Vec<Item>) = items
            .into_iter()
            .partition(|item| sources.contains(&item.path));
        let mut files = Vec::with_capacity(now.len() + later.len());
        for item in now {
            files.push(self.plan_one(item)?);
        }
        let carried: BTreeSet<PathBuf> = files
            .iter()
            .filter(|file| file.act != Act::Nothing)
            .filter_map(|file| file.mine_at.clone())
            .collect();
        for item in later {
            let follows = carried.contains(&item.path);
            let mut file = self.plan_one(item)?;
            if follows && matches!(file.outcome, Outcome::Conflict(Clash::TheyDeleted)) {
                file.outcome = Outcome::Clean;
                file.act = Act::Remove;
            }
            files.push(file);
        }
        files.sort_by(|a, b| a.item.path.cmp(&b.item.path));
        Ok(files)
    }

    fn plan_one(&mut self, item: Item) -> Result<Planned, PrepareError> {
        let left_out = if !self.selection.includes(&item.path) {
            Some(Reason::NotAsked)
        } else if is_git(&item.path) {
            Some(Reason::Git)
        } else if item.masked && !self.selection.names(&item.path) {
            Some(Reason::Masked)
        } else {
            None
        };
        if let Some(reason) = left_out {
            return Ok(Planned {
                outcome: Outcome::LeftOut(reason),
                conflicts: Vec::new(),
                item,
                seen: Seen {
                    entry: Entry::Absent,
                    stamp: None,
                },
                mine_at: None,
                theirs: Entry::Absent,
                act: Act::Nothing,
            });
        }
        let seen = self.look(&item.path)?;
        let sides = self.sides(&item, &seen)?;
        let file = resolve::resolve(self.ground, self.selection, sides, (item, seen))?;
        if matches!(file.act, Act::MakeDirectory { .. }) && !file.seen.entry.is_nothing() {
            self.opened.insert(file.item.path.clone());
        }
        Ok(file)
    }

    /// The person's side of a path.
    fn look(&self, path: &Path) -> Result<Seen, PrepareError> {
        let mut seen = self
            .ground
            .look(path)
            .map_err(|source| read_error("your", path, source))?;
        let freed = path
            .ancestors()
            .skip(1)
            .any(|above| self.opened.contains(above));
        if seen.entry == Entry::Blocked && freed {
            seen.entry = Entry::Absent;
        }
        Ok(seen)
    }

    /// All three sides. Where the sandbox moved a file that the person then edited, base and mine
    /// are those of the old path.
    fn sides(&self, item: &Item, seen: &Seen) -> Result<resolve::Sides, PrepareError> {
        let theirs = item
            .theirs
            .entry()
            .map_err(|source| read_error("the sandbox's", &item.path, source))?;
        if let (Some((from, base)), true) = (self.moved.get(&item.path), seen.entry.is_nothing()) {
            let old = self.look(from)?;
            let was = base
                .entry()
                .map_err(|source| read_error("the base's", from, source))?;
            if is_edited(&was, &old.entry) && matches!(theirs, Entry::File(_)) {
                return Ok(resolve::Sides {
                    base: was,
                    base_source: base.clone(),
                    mine: old.entry,
                    mine_at: Some(from.clone()),
                    theirs,
                });
            }
        }
        let base = item
            .base
            .entry()
            .map_err(|source| read_error("the base's", &item.path, source))?;
        Ok(resolve::Sides {
            base,
            base_source: item.base.clone(),
            mine: seen.entry.clone(),
            mine_at: None,
            theirs,
        })
    }
}

/// Whether both are files and the person's differs.
fn is_edited(base: &Entry, mine: &Entry) -> bool {
    match (base, mine) {
        (Entry::File(base), Entry::File(mine)) => base.digest != mine.digest,
        _ => false,
    }
}

pub(crate) fn read_error(whose: &'static str, path: &Path, source: io::Error) -> PrepareError {
    PrepareError::Read {
        whose,
        path: path.to_path_buf(),
        source,
    }
}
