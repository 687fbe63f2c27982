//! Looking for past experiments, patterns, lessons and notes by words.

use crate::error::MemoryError;
use crate::experiment::{Cost, Decision, Ending, Status, Suggestion};
use crate::finding::{FindingKind, say};
use crate::memory::Memory;
use crate::record::{Learned, document_of, first_reason, suggestion_of};
use crate::terms::Terms;
use crate::text;
use agar_core::id::{ExperimentId, SandboxId};
use agar_core::seam::Timestamp;
use agar_store::memory::{DayCount, ExperimentPage, ExperimentRow, Prediction, Tally};
use serde::{Deserialize, Serialize};

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "what")]
pub enum Found {
    /// An experiment.
    Experiment {
        /// How well it fits, from 0 to 1.
        fit: f64,
        /// It.
        experiment: ExperimentSummary,
    },
    /// A pattern, a lesson or what they are made of.
    Finding {
        /// How well it fits, from 0 to 1.
        fit: f64,
        /// Its short name.
        id: String,
        /// What sort it is.
        kind: FindingKind,
        /// What it says.
        sentence: String,
    },
    /// A note.
    Note {
        /// How well it fits, from 0 to 1.
        fit: f64,
        /// Its short name.
        id: String,
        /// What was said.
        text: String,
    },
}

impl Found {
    /// How well it fits.
    pub fn fit(&self) -> f64 {
        match self {
            Self::Experiment { fit, .. } | Self::Finding { fit, .. } | Self::Note { fit, .. } => {
                *fit
            }
        }
    }
}

/// An experiment in one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentSummary {
    /// Which.
    pub id: ExperimentId,
    /// Its sandbox.
    pub sandbox: SandboxId,
    /// What was proposed, in one line.
    pub suggestion: String,
    /// Who proposed it.
    pub agent: String,
    /// What sort of change.
    pub change: String,
    /// Where it is.
    pub status: Status,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// Why it failed, in one line.
    pub reason: Option<String>,
    /// What it used.
    pub cost: Option<Cost>,
    /// Its place, for asking for the ones before it.
    pub number: i64,
}

/// Everything about one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentDetail {
    /// In one line.
    pub summary: ExperimentSummary,
    /// What was proposed.
    pub suggestion: Suggestion,
    /// How it ended.
    pub ending: Option<Ending>,
    /// What it taught.
    pub learned: Option<Learned>,
    /// What a person decided.
    pub decision: Option<Decision>,
    /// What was predicted: the probability, its interval and the evidence.
    pub predicted: Option<(f64, f64, f64, f64)>,
}

/// How much is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Experiments of the project.
    pub experiments: u64,
    /// How many of each status.
    pub by_status: Vec<(String, u64)>,
    /// Ended experiments of all projects.
    pub experiments_everywhere: u64,
    /// Findings that could become patterns or lessons.
    pub findings: u64,
    /// Patterns that graduated.
    pub patterns: u64,
    /// Lessons.
    pub lessons: u64,
    /// Notes.
    pub notes: u64,
    /// Bytes of the database.
    pub bytes: u64,
    /// Files of the index.
    pub index_files: u64,
}

impl Memory {
    /// What fits some words, the best first. Experiments of all projects are looked at, findings
    /// and notes of this one.
    pub fn search(
        &self,
        words: &str,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Found>, MemoryError> {
        let told = self.tell(&Suggestion::new(words), now)?;
        let mut found = Vec::new();
        let reader = self.store.read();
        for neighbour in &told.neighbours {
            if let Some(row) = reader.experiment_numbered(neighbour.experiment)? {
                found.push(Found::Experiment {
                    fit: neighbour.likeness,
                    experiment: summary(&row),
                });
            }
        }
        let wanted = Terms::of_text(words);
        let fit = |text: &str| {
            let theirs = Terms::of_text(text);
            let all = wanted.iter().count().max(1);
            let shared = wanted
                .iter()
                .filter(|term| theirs.iter().any(|other| other.hash == term.hash))
                .count();
            #[expect(clippy::cast_precision_loss, reason = "a few words")]
            let share = shared as f64 / all as f64;
            share
        };
        let telling = |kind: &FindingKind| kind.becomes_pattern() || kind.teaches();
        for kind in FindingKind::ALL.into_iter().filter(telling) {
            for feature in reader.features(self.project, kind.word(), 500)? {
                let parts = serde_json::from_str(&feature.parts).unwrap_or_default();
                let sentence = say(kind, &parts, feature.worked, feature.failed);
                let (fit, id) = (fit(&sentence), feature.id);
                found.push(Found::Finding {
                    fit,
                    id,
                    kind,
                    sentence,
                });
            }
        }
        for note in reader.notes(self.project, 500)? {
            let (fit, id, text) = (fit(&note.text), note.id, note.text);
            found.push(Found::Note { fit, id, text });
        }
        found.retain(|it| it.fit() > 0.0);
        found.sort_by(|a, b| b.fit().total_cmp(&a.fit()));
        found.truncate(limit);
        Ok(found)
    }

    /// The experiments of the project, newest first; those before a number, where one is given.
    pub fn experiments(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ExperimentSummary>, MemoryError> {
        let rows = self.store.read().experiments(self.project, before, limit)?;
        Ok(rows.iter().map(summary).collect())
    }

    /// One page of the experiments of the project, newest first.
    pub fn experiment_page(
        &self,
        page: &ExperimentPage<'_>,
    ) -> Result<Vec<ExperimentSummary>, MemoryError> {
        let rows = self.store.read().experiment_page(self.project, page)?;
        Ok(rows.iter().map(summary).collect())
    }

    /// How many experiments of the project began on each day since a moment, by status. A day
    /// begins where `east_ms` east of Greenwich it does.
    pub fn by_day(&self, since: Timestamp, east_ms: i64) -> Result<Vec<DayCount>, MemoryError> {
        let reader = self.store.read();
        Ok(reader.experiments_by_day(self.project, since, east_ms)?)
    }

    /// Everything about the experiment whose id begins so.
    pub fn experiment(&self, name: &str) -> Result<ExperimentDetail, MemoryError> {
        let row = self.experiment_row(name)?;
        let document = document_of(&row);
        let predicted = self.store.read().prediction(row.number)?;
        let said = |it: Prediction| (it.p, it.low, it.high, it.evidence);
        Ok(ExperimentDetail {
            summary: summary(&row),
            suggestion: suggestion_of(&row),
            ending: document.as_ref().map(|document| document.ending.clone()),
            learned: document.map(|document| document.learned),
            decision: row
                .decision
                .as_deref()
                .and_then(|text| serde_json::from_str(text).ok()),
            predicted: predicted.map(said),
        })
    }

    /// The experiments of a sandbox, oldest first.
    pub fn experiments_in(&self, sandbox: SandboxId) -> Result<Vec<ExperimentId>, MemoryError> {
        let rows = self.store.read().experiments_of(sandbox)?;
        Ok(rows.iter().map(|row| row.id).collect())
    }

    pub(crate) fn experiment_row(&self, name: &str) -> Result<ExperimentRow, MemoryError> {
        let mut found = self.store.read().experiments_like(self.project, name)?;
        match found.len() {
            0 => Err(MemoryError::Missing(name.to_owned())),
            1 => Ok(found.remove(0)),
            _ => Err(MemoryError::Ambiguous {
                name: name.to_owned(),
                candidates: found.iter().map(|row| row.id.to_string()).collect(),
            }),
        }
    }

    /// How much is remembered.
    pub fn stats(&self) -> Result<Stats, MemoryError> {
        let reader = self.store.read();
        let tally: Tally = reader.tally(self.project)?;
        let by_status = reader.status_counts(self.project)?;
        Ok(Stats {
            experiments: tally.experiments,
            by_status: by_status
                .into_iter()
                .map(|it| (it.status, it.count))
                .collect(),
            experiments_everywhere: tally.experiments_everywhere,
            findings: tally.features,
            patterns: tally.patterns,
            lessons: tally.lessons,
            notes: tally.notes,
            bytes: tally.bytes,
            index_files: reader.segments()?.len() as u64,
        })
    }
}

pub(crate) fn summary(row: &ExperimentRow) -> ExperimentSummary {
    ExperimentSummary {
        id: row.id,
        sandbox: row.sandbox,
        suggestion: text::line(&row.suggestion, 100),
        agent: row.agent.clone(),
        change: row.change.clone(),
        status: Status::from_word(&row.status).unwrap_or(Status::Running),
        started: row.started,
        ended: row.ended,
        reason: first_reason(row),
        cost: document_of(row).map(|document| document.ending.cost),
        number: row.number,
    }
}
