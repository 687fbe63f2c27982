//! The handle through which everything goes.

use crate::confidence::{Platt, Told};
use crate::error::MemoryError;
use crate::index::{Index, Upkeep, upkeep};
use agar_core::id::{ExperimentId, ProjectId, SandboxId};
use agar_core::seam::Timestamp;
use agar_core::settings::{Graduation as GraduationSettings, Patterns as PatternSettings};
use agar_store::Health;
use agar_store::memory::{MEMORY_FILE, MemoryReader, MemoryStore, SandboxStart, copy_template};
use std::path::{Path, PathBuf};

/// The thresholds, with the seed's names and defaults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuning {
    /// `minConfidence`: a pattern crosses only when it is at least this sure.
    pub min_confidence: f64,
    /// `minSuccessRate`: and when at least this share of its experiments worked.
    pub min_success_rate: f64,
    /// `minSimilarSuccesses`: and when so many similar experiments worked.
    pub min_similar_successes: u32,
    /// `minOccurrences`: and when it was seen so often.
    pub min_occurrences: u32,
    /// `confidenceDecay`: what remains of the weight of evidence after a day.
    pub confidence_decay: f64,
    /// `maxPatternAge`: days after which a pattern that nobody saw again is hidden.
    pub max_pattern_age_days: u32,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            min_confidence: 0.7,
            min_success_rate: 0.8,
            min_similar_successes: 2,
            min_occurrences: 3,
            confidence_decay: 0.95,
            max_pattern_age_days: 30,
        }
    }
}

impl Tuning {
    /// From the settings in force.
    pub fn new(graduation: &GraduationSettings, patterns: &PatternSettings) -> Self {
        let share = |hundredths: u16| f64::from(hundredths) / 10_000.0;
        Self {
            min_confidence: share(graduation.min_confidence),
            min_success_rate: share(graduation.min_success_rate),
            min_similar_successes: graduation.min_similar_successes,
            min_occurrences: patterns.min_occurrences,
            confidence_decay: share(patterns.confidence_decay).clamp(0.01, 1.0),
            max_pattern_age_days: patterns.max_age_days,
        }
    }

    /// What remains of the weight of evidence of this age.
    pub(crate) fn remains(&self, age_millis: u64) -> f64 {
        self.confidence_decay.powf(days(age_millis))
    }
}

/// Milliseconds as days.
pub(crate) fn days(millis: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let millis = millis as f64;
    millis / 86_400_000.0
}

/// The memory of a project, with what other projects know as its background.
///
/// It is `Send`, not `Sync`: each thread opens its own. Any number of processes may use one memory
/// at once.
#[derive(Debug)]
pub struct Memory {
    pub(crate) store: MemoryStore,
    pub(crate) index: Index,
    pub(crate) directory: PathBuf,
    pub(crate) project: ProjectId,
    pub(crate) tuning: Tuning,
    /// What was found out for the experiment that began last, so that its end need not ask again.
    pub(crate) recent: Option<(ExperimentId, Told)>,
}

impl Memory {
    /// Opens the memory in this directory (`<state>/memory`) for a project, and makes it where
    /// there is none.
    pub fn open(directory: &Path, project: ProjectId, tuning: Tuning) -> Result<Self, MemoryError> {
        let store = MemoryStore::open(&directory.join(MEMORY_FILE))?;
        Ok(Self {
            store,
            index: Index::new(&directory.join("index")),
            directory: directory.to_owned(),
            project,
            tuning,
            recent: None,
        })
    }

    /// The project it speaks for.
    pub fn project(&self) -> ProjectId {
        self.project
    }

    /// The memory's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The same memory for another project.
    #[must_use]
    pub fn of_project(mut self, project: ProjectId) -> Self {
        self.project = project;
        self
    }

    /// Where the memory of a sandbox lies: outside its view, and kept when the sandbox goes.
    pub fn sandbox_file(directory: &Path, sandbox: SandboxId) -> PathBuf {
        directory.join("sandboxes").join(format!("{sandbox}.db"))
    }

    /// Gives a new sandbox its own memory, a copy of an empty one. Takes a fraction of a
    /// millisecond. Doing it twice is doing it once.
    pub fn create_sandbox_memory(&self, sandbox: SandboxId) -> Result<PathBuf, MemoryError> {
        let path = Self::sandbox_file(&self.directory, sandbox);
        if path.exists() {
            return Ok(path);
        }
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent).map_err(MemoryError::io)?;
        }
        copy_template(&self.directory, &path)?;
        Ok(path)
    }

    pub(crate) fn sandbox_store(
        &self,
        sandbox: SandboxId,
        at: Timestamp,
    ) -> Result<MemoryStore, MemoryError> {
        let path = self.create_sandbox_memory(sandbox)?;
        let start = SandboxStart {
            sandbox,
            parent: self.store.path(),
            at,
        };
        Ok(MemoryStore::open_sandbox(&path, start)?)
    }

    /// Puts the index in order: merges its files and mends damaged ones. For when nobody waits
    /// (`agar upkeep`); a thousand experiments take milliseconds, a million a few seconds.
    pub fn tidy(&mut self) -> Result<(), MemoryError> {
        upkeep(&self.index, &mut self.store, Upkeep::Thorough)
    }

    /// Reads with what the index needs: when another process moved its files, it looks again.
    pub(crate) fn look<T>(
        &self,
        work: impl Fn(&MemoryReader<'_>) -> Result<T, MemoryError>,
    ) -> Result<T, MemoryError> {
        for _ in 0..4 {
            match self.store.snapshot(&work) {
                Err(MemoryError::IndexMoved) => {}
                other => return other,
            }
        }
        Err(MemoryError::IndexMoved)
    }

    /// The recalibration in force.
    pub(crate) fn platt(reader: &MemoryReader<'_>) -> Result<Platt, MemoryError> {
        let kept = reader.state("platt")?;
        Ok(kept
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default())
    }
}

/// Reads the whole memory in a directory and says what is wrong with it, for `agar doctor`.
pub fn check(directory: &Path) -> Result<Health, MemoryError> {
    Ok(agar_store::memory::check_memory(
        &directory.join(MEMORY_FILE),
    )?)
}
