//! Past promotions, and the way back from one.
//!
//! Undoing is a three-way merge too: what was applied is the base, what stood there before is theirs,
//! and mine is the project as it stands. So an edit made after the promotion is kept, and one that
//! meets what is taken back is a conflict, shown before anything is written.

use super::Promotions;
use super::item::{Content, Item, Source};
use super::journal::{AFTER, Change, End, Intent, Kept, Label, OPEN, Started, Story, Where};
use super::proposal::{PrepareError, Proposal};
use super::recover::remove_tree;
use crate::merge::Selection;
use crate::spelling;
use agar_core::fault::{self, Fault};
use agar_core::id::PromotionId;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A promotion that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promotion {
    /// What it is called and when it was.
    pub label: Label,
    /// The directory it went to, at the time.
    pub root: PathBuf,
    /// The promotion that it took back, if that is what it did.
    pub undoes: Option<PromotionId>,
    /// The paths it wrote or removed.
    pub paths: Vec<PathBuf>,
}

/// An undo could not be planned.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// There is no such promotion.
    #[error("there is no promotion {id}")]
    NotFound {
        /// The id asked for.
        id: PromotionId,
    },
    /// The promotion's record could not be read.
    #[error("cannot read the record of promotion {id}")]
    Record {
        /// The promotion.
        id: PromotionId,
        /// What the system said.
        source: io::Error,
    },
    /// The way back could not be planned.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
}

impl Fault for UndoError {
    fn kind(&self) -> fault::Kind {
        match self {
            Self::NotFound { .. } => fault::Kind::NotFound,
            Self::Record { .. } => fault::Kind::Internal,
            Self::Prepare(source) => source.kind(),
        }
    }
}

/// What the disk says of a promotion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was carried out, and can be taken back.
    Applied,
    /// A crash cut it short, and nobody has settled it yet.
    Open,
    /// It came to nothing, or was forgotten.
    Nothing,
}

impl Promotions {
    /// What became of a promotion, whatever anybody remembers of it.
    pub fn standing(&self, id: PromotionId) -> io::Result<Standing> {
        if self.directory.join(format!("{id}{OPEN}")).try_exists()? {
            return Ok(Standing::Open);
        }
        let applied = committed(&self.directory.join(id.to_string()))?.is_some();
        Ok(if applied {
            Standing::Applied
        } else {
            Standing::Nothing
        })
    }

    /// Where a promotion that was carried out went at the time.
    pub fn root_of(&self, id: PromotionId) -> io::Result<Option<PathBuf>> {
        let story = committed(&self.directory.join(id.to_string()))?;
        Ok(story.map(|(started, _)| started.root))
    }

    /// Every promotion that was carried out, the oldest first.
    pub fn list(&self) -> io::Result<Vec<Promotion>> {
        let entries = match fs_err::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut list = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir()
                && !entry
                    .file_name()
                    .as_encoded_bytes()
                    .ends_with(OPEN.as_bytes())
                && let Some((started, intent)) = committed(&entry.path())?
            {
                list.push(Promotion {
                    label: started.label,
                    root: started.root,
                    undoes: started.undoes,
                    paths: intent
                        .changes
                        .into_iter()
                        .map(|change| change.path)
                        .collect(),
                });
            }
        }
        list.sort_by_key(|promotion| promotion.label.id);
        Ok(list)
    }

    /// The promotion that `agar undo` means when none is named: the last one that is neither an
    /// undo nor undone.
    pub fn last(&self) -> io::Result<Option<Promotion>> {
        let list = self.list()?;
        let mut undone: Vec<PromotionId> = Vec::new();
        for promotion in list.into_iter().rev() {
            match promotion.undoes {
                _ if undone.contains(&promotion.label.id) => {}
                Some(id) => undone.push(id),
                None => return Ok(Some(promotion)),
            }
        }
        Ok(None)
    }

    /// Says what taking a promotion back would do, in the project as it stands at `root`.
    pub fn undo(
        &self,
        id: PromotionId,
        root: &Path,
        selection: &Selection,
    ) -> Result<Proposal, UndoError> {
        let directory: Arc<Path> = self.directory.join(id.to_string()).into();
        let unreadable = |source| UndoError::Record { id, source };
        let story = committed(&directory).map_err(unreadable)?;
        let (_, intent) = story.ok_or(UndoError::NotFound { id })?;
        let mut items = Vec::with_capacity(intent.changes.len());
        for change in &intent.changes {
            items.push(way_back(&directory, change).map_err(unreadable)?);
        }
        let mut proposal = Proposal::prepare(root, items, selection)?;
        proposal.undoes = Some(id);
        Ok(proposal)
    }

    /// What a promotion changed, path by path: before and after, to make a commit of it.
    pub fn changes(&self, id: PromotionId) -> Result<Vec<Item>, UndoError> {
        let directory: Arc<Path> = self.directory.join(id.to_string()).into();
        let unreadable = |source| UndoError::Record { id, source };
        let story = committed(&directory).map_err(unreadable)?;
        let (started, intent) = story.ok_or(UndoError::NotFound { id })?;
        let mut items = Vec::with_capacity(intent.changes.len());
        for change in &intent.changes {
            let mut item = way_back(&directory, change).map_err(unreadable)?;
            std::mem::swap(&mut item.base, &mut item.theirs);
            for side in [&mut item.base, &mut item.theirs] {
                stand_in(side, &started.root, &change.path);
            }
            items.push(item);
        }
        Ok(items)
    }

    /// Forgets a promotion: it cannot be undone any more.
    pub fn forget(&self, id: PromotionId) -> io::Result<()> {
        remove_tree(&self.directory.join(id.to_string()))
    }
}

/// The record of a promotion that was carried out.
fn committed(directory: &Path) -> io::Result<Option<(Started, Intent)>> {
    let story = Story::read(directory)?;
    Ok(match (story.started, story.intent, story.end) {
        (Some(started), Some(intent), Some(End::Committed)) => Some((started, intent)),
        _ => None,
    })
}

/// Where a content was not kept, the project's own file is it, until somebody edits it.
fn stand_in(side: &mut Source, root: &Path, path: &Path) {
    if let Source::File { content, .. } = side
        && matches!(content, Content::Known(_))
    {
        *content = Content::beneath(root, path);
    }
}

fn way_back(directory: &Arc<Path>, change: &Change) -> io::Result<Item> {
    Ok(Item {
        path: change.path.clone(),
        base: source(directory, &change.after)?,
        theirs: source(directory, &change.before)?,
        masked: false,
        from: None,
    })
}

fn source(directory: &Arc<Path>, kept: &Kept) -> io::Result<Source> {
    Ok(match kept {
        Kept::Nothing => Source::Nothing,
        Kept::Directory { mode } => Source::Directory(*mode),
        Kept::Symlink { target } => {
            let target = spelling::unbase64(target);
            Source::Symlink(target.ok_or_else(|| io::Error::other("a link is misspelt"))?)
        }
        Kept::File { file, at } => Source::File {
            mode: file.mode,
            content: match *at {
                Where::Gone => Content::Known(*file),
                Where::Slot(number) => Content::Beneath {
                    root: Arc::clone(directory),
                    path: number.to_string().into(),
                },
                Where::After { offset, length } => {
                    let mut after = fs_err::File::open(directory.join(AFTER))?;
                    after.seek(SeekFrom::Start(offset))?;
                    let mut text = Vec::new();
                    after.take(length).read_to_end(&mut text)?;
                    Content::Bytes(text.into())
                }
            },
        },
    })
}
