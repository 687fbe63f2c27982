//! Carrying out a proposal: write ahead, rename, commit.
//!
//! ```text
//! 1  make `<id>.open`, record where it goes             nothing of the project is touched
//! 2  fill the slots, record the intent
//! 3  sync slots, texts, journal and directories         ── first barrier
//! 4  swap, move in, move out, each checked again        from here a crash is mended
//! 5  sync the project's directories and the stages      ── second barrier
//! 6  record the commit, tidy, rename to `<id>`
//! ```
//!
//! Why these syncs and no others is in `docs/decisions/0003-promotion-journal.md`.

use super::draft::Draft;
use super::faults::{Effects, Halt};
use super::ground::Ground;
use super::journal::{AFTER, Journal, Label, OPEN, Record, Started};
use super::proposal::Proposal;
use super::stage::{Stages, Unsynced};
use super::step::{Step, Trouble, Yard};
use super::{ApplyError, recover};
use rustix::fs::{Mode, OFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// One run of the protocol.
pub(super) struct Attempt<'a> {
    proposal: &'a Proposal,
    label: &'a Label,
    effects: Effects<'a>,
    promotions: &'a Path,
    /// The promotion's own directory.
    directory: PathBuf,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(
        proposal: &'a Proposal,
        label: &'a Label,
        promotions: &'a Path,
        effects: Effects<'a>,
    ) -> Self {
        Self {
            proposal,
            label,
            effects,
            promotions,
            directory: promotions.join(format!("{}{OPEN}", label.id)),
        }
    }

    /// The promotion's own directory while it is open.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Does it all.
    pub(super) fn run(self) -> Result<(), ApplyError> {
        let promotions =
            open_directory(self.promotions).map_err(|error| failed(self.promotions, error))?;
        let (stages, placed) = self.place(&promotions)?;
        let mut journal = self
            .start(&stages.extra)
            .map_err(|halt| failed(&self.directory, halt))?;
        let handles = self.open_stages(&stages.extra)?;
        let draft = Draft::fill(self.proposal, &handles, &placed, self.effects)?;
        let steps = self
            .first_barrier(&mut journal, draft, &promotions, &handles)
            .map_err(|halt| failed(&self.directory, halt))?;
        let yard = Yard {
            ground: &self.proposal.ground,
            stages: handles,
            effects: self.effects,
        };
        for step in &steps {
            step.forward(&yard).map_err(stopped)?;
        }
        second_barrier(&yard, &steps).map_err(|halt| failed(yard.ground.path(), halt))?;
        recover::commit(&self.directory, &yard, &steps, &stages.extra)
            .map_err(|halt| failed(&self.directory, halt))
    }

    /// Finds the stage for each path. Makes nothing.
    fn place(
        &self,
        promotions: &OwnedFd,
    ) -> Result<(Stages, BTreeMap<PathBuf, usize>), ApplyError> {
        let fail = |error: io::Error| failed(self.promotions, error);
        let mut stages = Stages::new(promotions, self.label.id).map_err(fail)?;
        let mut placed = BTreeMap::new();
        for path in self.proposal.written() {
            let stage = stages.for_path(&self.proposal.ground, path).map_err(fail)?;
            placed.insert(path.to_path_buf(), stage);
        }
        Ok((stages, placed))
    }

    /// Makes the directory and begins the journal.
    fn start(&self, stages: &[PathBuf]) -> Result<Journal, Halt> {
        self.effects.run("make the promotion's directory", || {
            private_directory(&self.directory)
        })?;
        let started = Record::Started(Started {
            label: self.label.clone(),
            root: self.proposal.ground.path().to_path_buf(),
            root_stamp: self.proposal.ground.stamp()?,
            undoes: self.proposal.undoes,
            stages: stages.to_vec(),
        });
        let mut journal = self
            .effects
            .run("make the journal", || Journal::open(&self.directory))?;
        self.effects
            .run("record the start", || journal.append(&started))?;
        if !stages.is_empty() {
            // A stage in the project must be found again whatever happens.
            self.effects
                .run("sync the start", || journal.file().sync_data())?;
        }
        Ok(journal)
    }

    /// Opens the stages, the promotion's own directory first; makes the extra ones.
    fn open_stages(&self, extra: &[PathBuf]) -> Result<Vec<OwnedFd>, ApplyError> {
        let open = |path: &Path| open_directory(path).map_err(|error| failed(path, error));
        let mut handles = vec![open(&self.directory)?];
        for path in extra {
            self.effects
                .run("make a stage", || private_directory(path))
                .map_err(|halt| failed(path, halt))?;
            handles.push(open(path)?);
        }
        Ok(handles)
    }

    /// Makes durable everything that recovery needs, before the first rename.
    fn first_barrier(
        &self,
        journal: &mut Journal,
        mut draft: Draft<'_>,
        promotions: &OwnedFd,
        stages: &[OwnedFd],
    ) -> Result<Vec<Step>, Halt> {
        let intent = draft.intent()?;
        let Draft {
            mut to_sync, after, ..
        } = draft;
        if !after.is_empty() {
            let kept = self.effects.run("keep the new texts", || {
                let mut file = fs_err::File::create_new(self.directory.join(AFTER))?;
                file.write_all(&after)?;
                Ok::<_, io::Error>(file.into_parts().0)
            })?;
            to_sync.push(kept);
        }
        let steps = intent.steps.clone();
        let record = Record::Intent(intent);
        self.effects
            .run("record the intent", || journal.append(&record))?;
        let mut handles: Vec<BorrowedFd<'_>> = stages.iter().map(AsFd::as_fd).collect();
        handles.extend([promotions.as_fd(), journal.file().as_fd()]);
        self.effects
            .run("first barrier", || to_sync.sync_with(&handles))?;
        Ok(steps)
    }
}

pub(super) fn failed(path: &Path, error: impl Into<Halt>) -> ApplyError {
    ApplyError::from_halt(path, error.into())
}

fn stopped(trouble: Trouble) -> ApplyError {
    match trouble {
        Trouble::Moved(path) => ApplyError::Moved { path },
        Trouble::Halt(path, halt) => failed(&path, halt),
    }
}

/// Makes the renames durable: the directories on both ends of each.
pub(super) fn second_barrier(yard: &Yard<'_>, steps: &[Step]) -> Result<(), Halt> {
    let parents: BTreeSet<&Path> = steps
        .iter()
        .map(|step| step.path().parent().unwrap_or(Path::new("")))
        .collect();
    let directories = open_parents(yard.ground, &parents);
    // There is a stage on each filesystem that the steps touch.
    let stages: Vec<BorrowedFd<'_>> = yard.stages.iter().map(AsFd::as_fd).collect();
    yard.effects
        .run("second barrier", || directories.sync_with(&stages))
}

/// The directories among these that are still there.
fn open_parents(ground: &Ground, parents: &BTreeSet<&Path>) -> Unsynced {
    let mut directories = Unsynced::default();
    for parent in parents {
        if directories.is_full() {
            break;
        }
        if let Ok(directory) = ground.directory(parent) {
            directories.push(directory);
        }
    }
    directories
}

/// Makes a directory that only its owner may enter.
pub(super) fn private_directory(path: &Path) -> io::Result<()> {
    rustix::fs::mkdir(path, Mode::RWXU).map_err(|errno| super::ground::named(path, errno))
}

/// Opens a directory of agar's own.
pub(super) fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| super::ground::named(path, errno))
}
