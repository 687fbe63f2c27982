//! Forgetting for good: afterwards the text is in no file of the memory.
//!
//! Rows are deleted with their bytes overwritten, the write-ahead log is folded in and emptied, the
//! index files that hold the experiment are made again without it, and the memory of its sandbox is
//! removed. What an experiment added to sums and counts is taken out again.

use crate::error::MemoryError;
use crate::index::drop_documents;
use crate::memory::{Memory, Tuning};
use crate::rates::{self, Levels};
use crate::record::document_of;
use agar_core::id::{ExperimentId, ProjectId, SandboxId};
use agar_store::memory::{ExperimentRow, Feature, MemoryWriter};
use serde::{Deserialize, Serialize};
use std::io;

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One experiment, pattern, lesson or note, by its name or the beginning of it.
    Name(String),
    /// Everything of the project that holds this text, in whatever case.
    Text(String),
    /// Everything of the project.
    Everything,
}

/// What is gone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Forgotten {
    /// Experiments.
    pub experiments: Vec<ExperimentId>,
    /// Their sandboxes: logs and layers of these are the caller's to remove.
    pub sandboxes: Vec<SandboxId>,
    /// Findings, with their patterns and lessons.
    pub findings: u64,
    /// Notes.
    pub notes: u64,
}

impl Memory {
    /// Forgets. The answer names the sandboxes whose records and run logs hold the same words: the
    /// engine takes these out with `agar_store::Store::scrub` and removes the logs.
    pub fn forget(&mut self, target: &Target) -> Result<Forgotten, MemoryError> {
        let plan = self.plan(target)?;
        let mut gone = Forgotten::default();
        let numbers: Vec<i64> = self.evidence_numbers(&plan)?;
        let (project, tuning) = (self.project, self.tuning);
        self.store.write(|writer| {
            for row in &plan.experiments {
                gone.findings += forget_experiment(writer, project, row, &tuning)?;
                gone.experiments.push(row.id);
                gone.sandboxes.push(row.sandbox);
            }
            for feature in &plan.features {
                writer.forget_feature(feature.0, &feature.1)?;
                gone.findings += 1;
            }
            for hash in &plan.fingerprints {
                writer.forget_fingerprint(hash)?;
            }
            for note in &plan.notes {
                gone.notes += u64::from(writer.forget_note(note)?);
            }
            Ok::<(), MemoryError>(())
        })?;
        gone.sandboxes.sort();
        gone.sandboxes.dedup();
        if !numbers.is_empty() {
            drop_documents(&self.index, &mut self.store, &numbers)?;
        }
        for sandbox in &gone.sandboxes {
            self.forget_sandbox(*sandbox)?;
        }
        self.empty_log()?;
        Ok(gone)
    }

    fn plan(&self, target: &Target) -> Result<Plan, MemoryError> {
        match target {
            Target::Name(name) => self.plan_name(name),
            Target::Text(text) => self.plan_text(text),
            Target::Everything => self.plan_everything(),
        }
    }

    fn plan_text(&self, text: &str) -> Result<Plan, MemoryError> {
        let reader = self.store.read();
        let mut experiments = Vec::new();
        for number in reader.experiments_holding(self.project, text)? {
            experiments.extend(reader.experiment_numbered(number)?);
        }
        let lower = text.to_lowercase();
        let notes = reader.notes(self.project, u32::MAX)?;
        Ok(Plan {
            experiments,
            features: reader.features_holding(self.project, text)?,
            fingerprints: reader.fingerprints_holding(text)?,
            notes: notes
                .into_iter()
                .filter(|note| note.text.to_lowercase().contains(&lower))
                .map(|note| note.id)
                .collect(),
        })
    }

    fn plan_everything(&self) -> Result<Plan, MemoryError> {
        let reader = self.store.read();
        let mut features = Vec::new();
        for kind in crate::finding::FindingKind::ALL {
            let found = reader.features(self.project, kind.word(), u32::MAX)?;
            features.extend(found.into_iter().map(|it| (it.number, it.id)));
        }
        let notes = reader.notes(self.project, u32::MAX)?;
        Ok(Plan {
            experiments: reader.experiments(self.project, None, u32::MAX)?,
            features,
            fingerprints: Vec::new(),
            notes: notes.into_iter().map(|note| note.id).collect(),
        })
    }

    fn plan_name(&self, name: &str) -> Result<Plan, MemoryError> {
        let reader = self.store.read();
        let mut plan = Plan::default();
        for feature in reader.features_like(self.project, name)? {
            plan.features.push((feature.number, feature.id));
        }
        for note in reader.notes(self.project, u32::MAX)? {
            if note.id.starts_with(name) {
                plan.notes.push(note.id);
            }
        }
        match self.experiment_row(name) {
            Ok(row) => plan.experiments.push(row),
            Err(MemoryError::Missing(_)) => {}
            Err(other) => return Err(other),
        }
        match plan.experiments.len() + plan.features.len() + plan.notes.len() {
            0 => Err(MemoryError::Missing(name.to_owned())),
            1 => Ok(plan),
            _ => {
                let rows = plan.experiments.iter().map(|row| row.id.to_string());
                let features = plan.features.iter().map(|(_, id)| id.clone());
                Err(MemoryError::Ambiguous {
                    name: name.to_owned(),
                    candidates: rows.chain(features).chain(plan.notes.clone()).collect(),
                })
            }
        }
    }

    fn evidence_numbers(&self, plan: &Plan) -> Result<Vec<i64>, MemoryError> {
        let reader = self.store.read();
        let mut numbers = Vec::new();
        for row in &plan.experiments {
            numbers.extend(reader.evidence_of(row.number)?.map(|it| it.number));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Removes the memory of a sandbox, unless another experiment in it is remembered still; then
    /// it is made anew and what it alone knew is gone.
    fn forget_sandbox(&self, sandbox: SandboxId) -> Result<(), MemoryError> {
        let path = Self::sandbox_file(&self.directory, sandbox);
        for ending in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            match fs_err::remove_file(std::path::PathBuf::from(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(MemoryError::io(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn empty_log(&self) -> Result<(), MemoryError> {
        // SQLite waits for readers itself, as long as the store's patience lasts.
        for _ in 0..3 {
            if self.store.truncate_log()? {
                return Ok(());
            }
        }
        Err(MemoryError::StillInLog)
    }
}

/// What goes.
#[derive(Debug, Default)]
struct Plan {
    experiments: Vec<ExperimentRow>,
    features: Vec<(i64, String)>,
    fingerprints: Vec<String>,
    notes: Vec<String>,
}

/// Takes one experiment out, and answers how many findings nobody shows any more.
fn forget_experiment(
    writer: &MemoryWriter<'_>,
    project: ProjectId,
    row: &ExperimentRow,
    tuning: &Tuning,
) -> Result<u64, MemoryError> {
    let shown = writer.read().features_of(row.number)?;
    if let Some(evidence) = writer.read().evidence_of(row.number)? {
        let levels = Levels::new(project, &row.agent, &row.change);
        let outcome = (evidence.success, evidence.closed);
        rates::remove(writer, &levels, tuning, outcome)?;
    }
    if let Some(document) = document_of(row) {
        for hash in crate::fingerprint::hashes(&document.ending) {
            writer.forget_fingerprint(&hash)?;
        }
    }
    writer.forget_experiment(row.number, &row.id.to_string())?;
    recount(writer, &shown, tuning)
}

/// Counts findings again from the sightings that are left; those without any go.
fn recount(
    writer: &MemoryWriter<'_>,
    shown: &[Feature],
    tuning: &Tuning,
) -> Result<u64, MemoryError> {
    let mut gone = 0;
    for feature in shown {
        let left = writer.read().sightings(feature.number, u32::MAX)?;
        if left.is_empty() {
            writer.forget_feature(feature.number, &feature.id)?;
            gone += 1;
            continue;
        }
        let mut counted = feature.clone();
        counted.worked = left.iter().filter(|it| it.success >= 0.5).count() as u64;
        counted.failed = left.len() as u64 - counted.worked;
        let weight =
            |it: &&agar_store::memory::Sighting| tuning.remains(feature.as_of.since(it.at));
        counted.worked_weight = left
            .iter()
            .filter(|it| it.success >= 0.5)
            .map(|it| weight(&it))
            .sum();
        counted.failed_weight = left
            .iter()
            .filter(|it| it.success < 0.5)
            .map(|it| weight(&it))
            .sum();
        writer.set_feature(&counted)?;
        if counted.failed == 0 {
            writer.forget_lesson(feature.number)?;
        }
    }
    Ok(gone)
}
