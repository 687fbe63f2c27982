//! An experiment begins, and ends: what is kept of it, and what it teaches.

mod scribe;

use crate::confidence::{Confidence, Told};
use crate::error::MemoryError;
use crate::experiment::{Beginning, Decision, Ending, Suggestion};
use crate::fingerprint::Fingerprint;
use crate::index::{Upkeep, upkeep};
use crate::lesson::Lesson;
use crate::memory::Memory;
use crate::redact;
use crate::sandbox;
use crate::text;
use agar_core::id::ExperimentId;
use agar_store::StoreError;
use agar_store::memory::{ExperimentRow, NewExperiment, Prediction};
use scribe::Scribe;
use serde::{Deserialize, Serialize};

/// What an ended experiment taught.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// Which experiment.
    pub id: ExperimentId,
    /// One line, such as `"cargo update" works here: 15 of 17`, or a new lesson.
    pub headline: String,
    /// What it showed, in plain words, the most telling first.
    pub insights: Vec<String>,
    /// Lessons that are new, or whose state changed.
    pub lessons: Vec<Lesson>,
    /// How much it should move trust in attempts like it, from −1 to 1: what came minus what was
    /// expected. The seed's `confidenceAdjustment`.
    pub confidence_adjustment: f64,
    /// Experiments that were similar.
    pub similar: Vec<ExperimentId>,
    /// Whether its patterns may be offered for graduation: it worked, nothing critical went wrong,
    /// and the adjustment is not negative.
    pub graduation_candidate: bool,
}

/// What is kept of an ended experiment beside its columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Document {
    pub(crate) ending: Ending,
    pub(crate) learned: Learned,
    pub(crate) errors: Vec<Fingerprint>,
}

impl Memory {
    /// Records that an experiment begins, with what is predicted for it, and gives its sandbox a
    /// memory of its own.
    pub fn begin(&mut self, beginning: &Beginning) -> Result<Confidence, MemoryError> {
        self.create_sandbox_memory(beginning.sandbox)?;
        self.begin_without_sandbox(beginning)
    }

    /// The same for experiments that ran elsewhere: nothing is made for a sandbox.
    pub(crate) fn begin_without_sandbox(
        &mut self,
        beginning: &Beginning,
    ) -> Result<Confidence, MemoryError> {
        let told = self.tell(&beginning.suggestion, beginning.at)?;
        self.insert(beginning, &told)?;
        let confidence = told.confidence.clone();
        self.recent = Some((beginning.id, told));
        Ok(confidence)
    }

    pub(crate) fn insert(&mut self, beginning: &Beginning, told: &Told) -> Result<(), MemoryError> {
        let suggestion = redact::suggestion(&beginning.suggestion);
        // The text has a column of its own.
        let context = to_json(&Suggestion {
            text: String::new(),
            ..suggestion.clone()
        })?;
        let limits = to_json(&redact::value(&beginning.limits))?;
        let project = self.project;
        self.store.write(|writer| {
            let number = writer.begin_experiment(&NewExperiment {
                id: beginning.id,
                sandbox: beginning.sandbox,
                project,
                user: &beginning.user,
                agent: &suggestion.agent,
                change: suggestion.change_type().word(),
                suggestion: &suggestion.text,
                context: &context,
                limits: &limits,
                started: beginning.at,
            })?;
            let confidence = &told.confidence;
            writer.predict(
                number,
                project,
                &Prediction {
                    at: beginning.at,
                    raw: confidence.raw,
                    p: confidence.p,
                    low: confidence.low,
                    high: confidence.high,
                    evidence: confidence.evidence,
                },
            )?;
            Ok::<(), MemoryError>(())
        })
    }

    /// Records how an experiment ended, and learns from it, in one transaction. The experiment, its
    /// outcome and its fingerprints always reach the project's memory; patterns stay in the
    /// sandbox's until [`graduate`](Self::graduate).
    pub fn record(&mut self, ending: &Ending) -> Result<Learned, MemoryError> {
        let row = self.running(ending.id)?;
        let ending = redact::ending(ending);
        let suggestion = suggestion_of(&row);
        // What it was told when it began is what its outcome is measured against.
        let told = match self.recent.take() {
            Some((id, told)) if id == ending.id => told,
            _ => self.tell(&suggestion, ending.at)?,
        };
        let (project, tuning) = (self.project, self.tuning);
        let (document, findings) = self.store.write(|writer| {
            let scribe = Scribe {
                writer,
                project,
                tuning: &tuning,
                row: &row,
                suggestion: &suggestion,
                ending: &ending,
                told: &told,
            };
            scribe.write()
        })?;
        self.recent = Some((ending.id, told));
        sandbox::remember(self, &row, &document, &findings)?;
        upkeep(&self.index, &mut self.store, Upkeep::Quick)?;
        Ok(document.learned)
    }

    fn running(&self, id: ExperimentId) -> Result<ExperimentRow, MemoryError> {
        let row = self.store.read().experiment(id)?;
        let row = row.ok_or_else(|| MemoryError::Missing(id.to_string()))?;
        if row.ended.is_some() {
            return Err(MemoryError::Ended(id.to_string()));
        }
        Ok(row)
    }

    /// Records what a person decided, beside the evidence.
    pub fn decide(&mut self, id: ExperimentId, decision: &Decision) -> Result<(), MemoryError> {
        let row = self.store.read().experiment(id)?;
        let row = row.ok_or_else(|| MemoryError::Missing(id.to_string()))?;
        let clean = Decision {
            feedback: decision.feedback.as_deref().map(redact::plain),
            ..decision.clone()
        };
        let text = to_json(&clean)?;
        self.store
            .write(|writer| Ok::<(), MemoryError>(writer.decide(row.number, &text)?))
    }
}

/// The suggestion of an experiment on record.
pub(crate) fn suggestion_of(row: &ExperimentRow) -> Suggestion {
    let mut suggestion: Suggestion = serde_json::from_str(&row.context).unwrap_or_default();
    suggestion.text.clone_from(&row.suggestion);
    suggestion.agent.clone_from(&row.agent);
    suggestion.change = row.change.parse().ok();
    suggestion
}

/// Everything about the end of an experiment on record.
pub(crate) fn document_of(row: &ExperimentRow) -> Option<Document> {
    row.document
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
}

/// Why an experiment failed, in one line.
pub(crate) fn first_reason(row: &ExperimentRow) -> Option<String> {
    let document = document_of(row)?;
    if document.ending.status.success() {
        return None;
    }
    // As it was printed, where that is known: masked lines are for comparing.
    let error = document.errors.first().map(|error| error.template.clone());
    let reason = document.ending.failure_reasons.first().cloned().or(error)?;
    Some(text::line(&reason, 100))
}

pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<String, MemoryError> {
    serde_json::to_string(value).map_err(|error| {
        MemoryError::Store(StoreError::Failed(agar_store::memory::unwritable(error)))
    })
}
