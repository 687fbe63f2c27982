//! The walk over the upper layers.
//!
//! Directories wait on an explicit list and not on the call stack, and none is held open while
//! another is read: a tree ten thousand levels deep costs neither stack nor descriptors.

use super::{
    Action, Below, Bulk, Change, ChangeError, ChangeSet, Copied, Detail, Options, Side, Tally,
    Unread, content, git,
};
use crate::layer::{Entry, Folder, Found, Kind, View, ViewError};
use crate::stack::{Role, Stack};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Walks every stack.
pub(super) fn walk(stacks: &[Stack], options: &Options<'_>) -> Result<ChangeSet, ChangeError> {
    let project = stacks
        .iter()
        .find(|stack| stack.role == Role::Project)
        .map(|stack| stack.target.clone());
    let mut set = ChangeSet::default();
    let mut touched = BTreeSet::new();
    for stack in stacks {
        let failed = |source| ChangeError::Layer {
            target: stack.target.clone(),
            source,
        };
        let upper = View::written(stack).map_err(failed)?;
        let base = View::base(stack).map_err(failed)?;
        let mut walk = Walk {
            stack,
            project: project.as_deref(),
            options,
            upper: &upper,
            base: &base,
            changes: Vec::new(),
            bulk: BTreeMap::new(),
            touched: &mut touched,
            unread: &mut set.unread,
        };
        walk.run().map_err(failed)?;
        let Walk {
            mut changes, bulk, ..
        } = walk;
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        set.bulk.extend(bulk.into_values());
        match stack.role {
            Role::Project => set.project.append(&mut changes),
            Role::Home | Role::Root => set.outside.append(&mut changes),
            Role::Bulk => {}
        }
    }
    set.outside.sort_by(|a, b| a.path.cmp(&b.path));
    if options.git {
        set.repositories = git::compare(stacks, &touched, &mut set.unread);
    }
    set.unread.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(set)
}

/// The walk over one stack.
struct Walk<'a> {
    stack: &'a Stack,
    project: Option<&'a Path>,
    options: &'a Options<'a>,
    upper: &'a View,
    base: &'a View,
    changes: Vec<Change>,
    /// Bulk directories by absolute path.
    bulk: BTreeMap<PathBuf, Bulk>,
    /// Git directories that the sandbox wrote to.
    touched: &'a mut BTreeSet<PathBuf>,
    unread: &'a mut Vec<Unread>,
}

/// A directory of the upper that waits to be read.
struct Waiting {
    path: PathBuf,
    /// The layers of the sandbox's own that its directory above is merged from.
    written: Vec<usize>,
    /// The layers that the base's directory is merged from; `None` when the base has none there.
    base: Option<Vec<usize>>,
    bulk: Option<PathBuf>,
    masked: bool,
    /// Whether an opaque directory above hides the base's directory, which alone is marked.
    hidden: bool,
}

/// Where a name stands: what the walk knows of it besides its entries.
struct Standing {
    path: PathBuf,
    absolute: PathBuf,
    bulk: Option<PathBuf>,
    masked: bool,
}

impl<'a> Walk<'a> {
    fn run(&mut self) -> Result<(), ViewError> {
        let bulk = (self.stack.role == Role::Bulk).then(|| self.stack.target.clone());
        let mut waiting = vec![Waiting {
            path: PathBuf::new(),
            written: self.upper.root()?.layers(),
            base: Some(self.base.root()?.layers()),
            bulk,
            masked: false,
            hidden: false,
        }];
        while let Some(next) = waiting.pop() {
            let path = next.path.clone();
            match self.directory(&next, &mut waiting) {
                Ok(()) => {}
                Err(error @ ViewError::Read { .. }) => self.give_up(&path, &error),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn directory(&mut self, here: &Waiting, waiting: &mut Vec<Waiting>) -> Result<(), ViewError> {
        let upper_view = self.upper;
        let Some(upper) = upper_view.enter(&here.path, &here.written)? else {
            // It vanished while we looked.
            return Ok(());
        };
        let base = self.base_folder(here)?;
        let base_layers = base.as_ref().map(Folder::layers);
        let names = upper.mentioned()?;
        let hidden = here.hidden || upper.is_opaque();
        if let (true, Some(base)) = (hidden, &base) {
            self.hidden_by_opaque(here, &names, base)?;
        }
        for name in names {
            let standing = self.standing(here, &name);
            if name == ".git" && standing.bulk.is_none() {
                self.touched.insert(standing.absolute);
                continue;
            }
            let was = match &base {
                Some(base) => base.find(&name)?,
                None => None,
            };
            let found = match upper.inspect(&name) {
                Err(error @ ViewError::Read { .. }) => {
                    self.give_up(&standing.path, &error);
                    continue;
                }
                found => found?,
            };
            match (found, was) {
                (None, _) | (Some(Found::Whiteout), None) => {}
                (Some(Found::Whiteout), Some(was)) => {
                    self.deleted(&standing, was, base_layers.as_deref().unwrap_or_default());
                }
                (Some(Found::Entry(now)), was) => {
                    // What the sandbox could not see, it did not start from.
                    let was = was.filter(|_| !standing.masked);
                    let layers = base_layers.as_deref();
                    waiting.extend(below(
                        (&standing, upper.layers()),
                        &now,
                        was.as_ref(),
                        layers,
                        hidden,
                    ));
                    self.entry(
                        &standing,
                        was,
                        now,
                        base_layers.as_deref().unwrap_or_default(),
                    );
                }
            }
        }
        Ok(())
    }

    /// What the copy was to begin with, if this stack's upper is one.
    fn copied(&self) -> Option<&'a Copied> {
        let whole = self.stack.role == Role::Project;
        self.options.copied.filter(|_| whole)
    }

    fn base_folder(&self, here: &Waiting) -> Result<Option<Folder<'a>>, ViewError> {
        match &here.base {
            Some(layers) => self.base.enter(&here.path, layers),
            None => Ok(None),
        }
    }

    /// What an opaque directory hides of the base and does not hold itself is deleted.
    fn hidden_by_opaque(
        &mut self,
        here: &Waiting,
        names: &[OsString],
        base: &Folder<'_>,
    ) -> Result<(), ViewError> {
        for (name, was) in base.entries()? {
            if names.binary_search(&name).is_ok() {
                continue;
            }
            let standing = self.standing(here, &name);
            if name == ".git" && standing.bulk.is_none() {
                self.touched.insert(standing.absolute);
                continue;
            }
            // It was not there when the copy was made, so nobody inside deleted it.
            if self.copied().is_some_and(|it| !it.had(&standing.path)) {
                continue;
            }
            self.deleted(&standing, was, &base.layers());
        }
        Ok(())
    }

    /// Compares one entry of the upper with what the base has there.
    fn entry(&mut self, at: &Standing, was: Option<Entry>, now: Entry, base_layers: &[usize]) {
        let is_as_copied = |it: &Copied| it.is_untouched(&at.path, now.place.status().ok());
        if self.copied().is_some_and(is_as_copied) {
            return;
        }
        let Some(was) = was else {
            self.push(at, Action::Added, None, Some(now));
            return;
        };
        if was.kind != now.kind {
            if was.kind == Kind::Directory {
                self.below_deleted(at, base_layers);
            }
            self.push(at, Action::TypeChanged, Some(was), Some(now));
            return;
        }
        match self.differs(at, &was, &now) {
            Some(true) => self.push(at, Action::Modified, Some(was), Some(now)),
            Some(false) if was.kind != Kind::Symlink && was.mode != now.mode => {
                self.push(at, Action::ModeChanged, Some(was), Some(now));
            }
            Some(false) | None => {}
        }
    }

    /// Whether the contents of two entries of one kind differ; `None` if one vanished meanwhile.
    fn differs(&mut self, at: &Standing, was: &Entry, now: &Entry) -> Option<bool> {
        let answer = match was.kind {
            Kind::File if was.size != now.size => Ok(true),
            // Bulk is only counted, and the kernel copies up what is written to.
            Kind::File if at.bulk.is_some() && self.options.bulk_detail == Detail::Summary => {
                Ok(true)
            }
            Kind::File => content::same(&was.place, &now.place).map(|same| !same),
            Kind::Symlink => was
                .place
                .read_link()
                .and_then(|was| Ok(was != now.place.read_link()?)),
            Kind::Device => Ok(was.device != now.device),
            Kind::Directory | Kind::Fifo | Kind::Socket => Ok(false),
        };
        match answer {
            Ok(differs) => Some(differs),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                self.unread.push(Unread {
                    path: at.absolute.clone(),
                    reason: error.to_string(),
                });
                Some(true)
            }
        }
    }

    fn deleted(&mut self, at: &Standing, was: Entry, base_layers: &[usize]) {
        let below = (was.kind == Kind::Directory && !self.is_only_counted(at))
            .then(|| self.below_deleted(at, base_layers));
        let mut change = self.change(at, Action::Deleted, Some(was), None);
        change.below = below;
        self.emit(at, change);
    }

    /// Lists and counts what lay below a deleted directory.
    fn below_deleted(&mut self, at: &Standing, base_layers: &[usize]) -> Below {
        let mut below = Below::default();
        let mut waiting = vec![Waiting {
            written: Vec::new(),
            path: at.path.clone(),
            base: Some(base_layers.to_vec()),
            bulk: at.bulk.clone(),
            masked: at.masked,
            hidden: false,
        }];
        while let Some(mut here) = waiting.pop() {
            let listing = self.base_folder(&here).and_then(|folder| match folder {
                Some(folder) => {
                    here.base = Some(folder.layers());
                    folder.entries()
                }
                None => Ok(Vec::new()),
            });
            let entries = listing.unwrap_or_else(|error| {
                self.give_up(&here.path, &error);
                Vec::new()
            });
            for (name, was) in entries {
                waiting.extend(self.one_below(&here, &name, was, &mut below));
            }
        }
        below
    }

    /// One entry below a deleted directory; what waits to be read when it is a directory itself.
    fn one_below(
        &mut self,
        here: &Waiting,
        name: &OsStr,
        was: Entry,
        below: &mut Below,
    ) -> Option<Waiting> {
        let standing = self.standing(here, name);
        if name == ".git" && standing.bulk.is_none() {
            self.touched.insert(standing.absolute);
            return None;
        }
        let waiting =
            (was.kind == Kind::Directory && !self.is_only_counted(&standing)).then(|| Waiting {
                written: Vec::new(),
                path: standing.path.clone(),
                base: here.base.clone(),
                bulk: standing.bulk.clone(),
                masked: standing.masked,
                hidden: false,
            });
        if was.kind == Kind::Directory {
            below.directories += 1;
        } else {
            below.files += 1;
        }
        if was.kind == Kind::File {
            below.bytes += was.size;
        }
        let room =
            usize::try_from(below.listed).is_ok_and(|listed| listed < self.options.listed_max);
        // A masked entry is always listed: it must not be applied with the rest by oversight.
        if room || standing.masked || standing.bulk.is_some() {
            below.listed += 1;
            let change = self.change(&standing, Action::Deleted, Some(was), None);
            self.emit(&standing, change);
        }
        waiting
    }

    fn is_only_counted(&self, at: &Standing) -> bool {
        at.bulk.is_some() && self.options.bulk_detail == Detail::Summary
    }

    fn standing(&self, here: &Waiting, name: &OsStr) -> Standing {
        let path = here.path.join(name);
        let absolute = self.stack.target.join(&path);
        let is = |predicate: Option<super::Predicate<'_>>| {
            predicate.is_some_and(|predicate| predicate(&absolute))
        };
        let bulk = match &here.bulk {
            Some(bulk) => Some(bulk.clone()),
            None if self.stack.role == Role::Project && is(self.options.bulk) => {
                Some(absolute.clone())
            }
            None => None,
        };
        Standing {
            masked: here.masked || is(self.options.masked),
            bulk,
            path,
            absolute,
        }
    }

    fn push(&mut self, at: &Standing, action: Action, was: Option<Entry>, now: Option<Entry>) {
        let change = self.change(at, action, was, now);
        self.emit(at, change);
    }

    fn change(
        &self,
        at: &Standing,
        action: Action,
        was: Option<Entry>,
        now: Option<Entry>,
    ) -> Change {
        Change {
            path: self.shown(&at.absolute),
            absolute: at.absolute.clone(),
            role: if at.bulk.is_some() {
                Role::Bulk
            } else {
                self.stack.role
            },
            action,
            before: was.map(Side::of),
            after: now.map(Side::of),
            lines: None,
            binary: false,
            masked: at.masked,
            below: None,
        }
    }

    fn emit(&mut self, at: &Standing, change: Change) {
        let Some(bulk) = &at.bulk else {
            self.changes.push(change);
            return;
        };
        let path = self.shown(bulk);
        let bulk = self.bulk.entry(bulk.clone()).or_insert_with(|| Bulk {
            path,
            absolute: bulk.clone(),
            tally: Tally::default(),
            changes: Vec::new(),
        });
        bulk.tally.add(&change);
        if self.options.bulk_detail == Detail::Full {
            bulk.changes.push(change);
        }
    }

    /// The path as the change set shows it.
    fn shown(&self, absolute: &Path) -> PathBuf {
        match (self.stack.role.is_outside(), self.project) {
            (false, Some(project)) => absolute.strip_prefix(project).unwrap_or(absolute).into(),
            (true, _) | (_, None) => absolute.into(),
        }
    }

    fn give_up(&mut self, path: &Path, error: &ViewError) {
        let reason = match std::error::Error::source(error) {
            Some(source) => source.to_string(),
            None => error.to_string(),
        };
        self.unread.push(Unread {
            path: self.stack.target.join(path),
            reason,
        });
    }
}

/// What waits to be read when an entry of the upper is a directory.
fn below(
    (at, written): (&Standing, Vec<usize>),
    now: &Entry,
    was: Option<&Entry>,
    base_layers: Option<&[usize]>,
    hidden: bool,
) -> Option<Waiting> {
    (now.kind == Kind::Directory).then(|| Waiting {
        path: at.path.clone(),
        written,
        base: was
            .filter(|was| was.kind == Kind::Directory)
            .and(base_layers.map(<[usize]>::to_vec)),
        bulk: at.bulk.clone(),
        masked: at.masked,
        hidden,
    })
}

impl Tally {
    fn add(&mut self, change: &Change) {
        // Directories are the way to a change, seldom a change worth a number.
        let counts = !change.is_directory() || change.action == Action::Deleted;
        match change.action {
            Action::Added => self.added += u64::from(counts),
            Action::Deleted => self.deleted += u64::from(counts),
            Action::Modified
            | Action::Renamed { .. }
            | Action::ModeChanged
            | Action::TypeChanged => self.modified += u64::from(counts),
        }
        if let Some(after) = change
            .after
            .as_ref()
            .filter(|after| after.kind == Kind::File)
        {
            self.bytes += after.size;
        }
    }
}
