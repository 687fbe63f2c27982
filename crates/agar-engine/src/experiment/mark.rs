//! Which experiments are under way, seen with one directory read.
//!
//! Whoever begins one leaves a mark and holds a lock on it until the outcome is recorded. A mark that
//! nobody holds is an experiment whose process died: the next one concludes it from what is on
//! record.

use crate::alive;
use agar_core::id::{ExperimentId, SandboxId};
use rustix::fs::{FlockOperation, Mode, OFlags};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The mark of an experiment that this process began.
#[derive(Debug)]
pub(crate) struct OpenMark {
    path: PathBuf,
    _lock: OwnedFd,
}

fn directory(memory: &Path) -> PathBuf {
    memory.join("open")
}

impl OpenMark {
    /// Leaves a mark and holds it.
    pub(crate) fn leave(
        memory: &Path,
        experiment: ExperimentId,
        (sandbox, run): (SandboxId, u32),
    ) -> io::Result<Self> {
        let path = directory(memory).join(experiment.to_string());
        let lock = alive::hold(&path, FlockOperation::LockExclusive)?;
        let mut file = std::fs::File::from(lock);
        file.write_all(format!("{sandbox} {run}").as_bytes())?;
        Ok(Self {
            path,
            _lock: file.into(),
        })
    }

    /// Takes the mark away: the outcome is on record.
    pub(crate) fn remove(&self) {
        // A mark left behind is found and removed by the next command.
        let _ = rustix::fs::unlink(&self.path);
    }
}

/// An experiment that nobody minds any more.
#[derive(Debug)]
pub(super) struct Lost {
    pub(super) experiment: ExperimentId,
    pub(super) sandbox: SandboxId,
    /// Which run of the sandbox it is.
    pub(super) run: u32,
    /// Its mark, now held.
    pub(super) mark: OpenMark,
}

/// Experiments that nobody minds any more.
pub(super) fn lost(memory: &Path) -> io::Result<Vec<Lost>> {
    let entries = match directory(memory).read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut lost = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let Ok(lock) = rustix::fs::open(&path, flags, Mode::empty()) else {
            continue;
        };
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str());
        let experiment = name.and_then(|name| name.parse().ok());
        let text = fs_err::read_to_string(&path).unwrap_or_default();
        let mark = OpenMark { path, _lock: lock };
        match (experiment, place(&text)) {
            (Some(experiment), Some((sandbox, run))) => lost.push(Lost {
                experiment,
                sandbox,
                run,
                mark,
            }),
            // It died before it wrote down whose it is, so it began nothing.
            (Some(_) | None, _) => mark.remove(),
        }
    }
    Ok(lost)
}

/// The sandbox and the run that a mark names.
fn place(text: &str) -> Option<(SandboxId, u32)> {
    let (sandbox, run) = text.split_once(' ')?;
    Some((sandbox.parse().ok()?, run.parse().ok()?))
}
