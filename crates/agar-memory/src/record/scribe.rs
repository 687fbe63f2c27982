//! What one ended experiment changes in the memory, within one transaction.

use crate::confidence::{Past, Platt, Sums, Told, WINDOW, levels};
use crate::error::MemoryError;
use crate::experiment::{Ending, Status, Suggestion};
use crate::finding::{self, Finding, FindingKind, say};
use crate::fingerprint::{self, Fingerprint};
use crate::lesson::{self, Lesson};
use crate::memory::Tuning;
use crate::rates::{self, Levels};
use crate::record::{Document, Learned, to_json};
use crate::terms::{Terms, hash64};
use crate::text;
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use agar_store::memory::{
    Closing, ExperimentRow, Feature, Mark, MemoryWriter, NewEvidence, Sighting,
};
use serde_json::json;

/// Writes one ended experiment down.
pub(super) struct Scribe<'a> {
    pub(super) writer: &'a MemoryWriter<'a>,
    pub(super) project: ProjectId,
    pub(super) tuning: &'a Tuning,
    pub(super) row: &'a ExperimentRow,
    pub(super) suggestion: &'a Suggestion,
    pub(super) ending: &'a Ending,
    pub(super) told: &'a Told,
}

impl Scribe<'_> {
    pub(super) fn write(&self) -> Result<(Document, Vec<Finding>), MemoryError> {
        let success = if self.ending.status.success() {
            1.0
        } else {
            0.0
        };
        let at = self.ending.at;
        let errors = self.errors()?;
        let levels = Levels::new(self.project, &self.row.agent, &self.row.change);
        let failing = self.failing(&levels)?;
        self.add_evidence(&errors, success)?;
        rates::add(self.writer, &levels, self.tuning, (success, at))?;
        self.writer.score(self.row.number, success, at)?;
        recalibrate(self.writer)?;
        let mut findings = finding::extract(self.suggestion, self.ending, &errors);
        if self.ending.is_undecided() {
            findings.retain(|finding| !finding.kind.teaches());
        }
        let mut features = Vec::new();
        for finding in &findings {
            features.push(self.sight(finding, success)?);
        }
        let mut lessons = self.teach(&features, failing)?;
        lessons.extend(self.contradict(&features, failing, success)?);
        let derived = finding::derive(&self.writer.read(), self.project, &findings)?;
        for it in derived {
            let feature = self.set_derived(&it)?;
            if it.finding.kind.teaches() {
                lessons.extend(self.update(&feature, failing)?);
            }
            features.push(feature);
        }
        self.refresh_graduated(&features)?;
        let learned = self.learned(&features, lessons, success);
        let document = Document {
            ending: self.ending.clone(),
            learned,
            errors,
        };
        self.close(&document)?;
        Ok((document, findings))
    }

    fn errors(&self) -> Result<Vec<Fingerprint>, MemoryError> {
        let mut errors: Vec<Fingerprint> = Vec::new();
        let output = fingerprint::text_of(self.ending);
        for found in fingerprint::fingerprints(&output) {
            let family = fingerprint::family(self.writer, &found.template)?;
            if !errors.contains(&family) {
                errors.push(family);
            }
        }
        Ok(errors)
    }

    /// The share of failures here, before this one counts.
    fn failing(&self, names: &Levels) -> Result<f64, MemoryError> {
        let reader = self.writer.read();
        let sums: Vec<Sums> = rates::sums(&reader, names, self.tuning, self.ending.at)?;
        Ok(1.0 - levels(&sums).0)
    }

    fn add_evidence(&self, errors: &[Fingerprint], success: f64) -> Result<(), MemoryError> {
        let terms = self
            .told
            .terms
            .clone()
            .with(errors.iter().map(|error| Terms::error(&error.id)))
            .with(
                self.ending
                    .changed
                    .iter()
                    .take(64)
                    .map(|file| Terms::file(file)),
            );
        self.writer.add_evidence(&NewEvidence {
            experiment: self.row.number,
            project: rates::project_hash(self.project),
            agent: rates::agent_hash(&self.row.agent),
            change: hash64("change", &self.row.change).cast_signed(),
            closed: self.ending.at,
            success,
            expected: self.told.expected,
            terms: &terms.pack(),
        })?;
        Ok(())
    }

    /// Counts a finding of this experiment.
    fn sight(&self, finding: &Finding, success: f64) -> Result<Feature, MemoryError> {
        let at = self.ending.at;
        let id = finding.id(self.project);
        let parts = to_json(&finding.parts)?;
        let sentence = say(finding.kind, &finding.parts, 0, 0);
        let mark = Mark {
            id: &id,
            kind: finding.kind.word(),
            sentence: &sentence,
            parts: &parts,
        };
        let mut feature = self.writer.mark(self.project, &mark, at)?;
        let sighting = Sighting {
            experiment: self.row.number,
            success,
            value: finding.value,
            at,
        };
        if self.writer.sight(feature.number, &sighting)? {
            count(&mut feature, self.tuning, success, at);
            if let Some(value) = finding.value {
                mean(&mut feature, value)?;
            }
            self.writer.set_feature(&feature)?;
        }
        Ok(feature)
    }

    /// Lessons from a failure.
    fn teach(&self, features: &[Feature], failing: f64) -> Result<Vec<Lesson>, MemoryError> {
        let mut lessons = Vec::new();
        let kind = |feature: &Feature| FindingKind::from_word(&feature.kind);
        let explained = features
            .iter()
            .any(|it| matches!(kind(it), Some(FindingKind::Error | FindingKind::Test)));
        for feature in features {
            // What went wrong says more than that the command did. When it keeps failing, it is the
            // command.
            let said_better =
                explained && kind(feature) == Some(FindingKind::Command) && feature.failed < 2;
            if kind(feature).is_some_and(FindingKind::teaches) && !said_better {
                lessons.extend(self.update(feature, failing)?);
            }
        }
        Ok(lessons)
    }

    fn update(&self, feature: &Feature, failing: f64) -> Result<Option<Lesson>, MemoryError> {
        let memory = (self.project, self.tuning);
        lesson::update(self.writer, memory, feature, failing, self.ending.at)
    }

    /// An experiment that was warned and worked speaks against the lesson.
    fn contradict(
        &self,
        shown: &[Feature],
        failing: f64,
        success: f64,
    ) -> Result<Vec<Lesson>, MemoryError> {
        let mut changed = Vec::new();
        if success < 0.5 {
            return Ok(changed);
        }
        for warned in &self.told.confidence.lessons {
            let Some(mut feature) = self.writer.read().feature(&warned.id)? else {
                continue;
            };
            let is_shown = shown.iter().any(|it| it.id == warned.id);
            if is_shown || !warned.kind.befalls() || !self.did_the_same(&feature, shown) {
                continue;
            }
            let sighting = Sighting {
                experiment: self.row.number,
                success,
                value: None,
                at: self.ending.at,
            };
            if self.writer.sight(feature.number, &sighting)? {
                let last = feature.last;
                count(&mut feature, self.tuning, success, self.ending.at);
                feature.last = last;
                self.writer.set_feature(&feature)?;
                changed.extend(self.update(&feature, failing)?);
            }
        }
        Ok(changed)
    }

    /// Whether this experiment ran the command that a lesson is about; where it is about none,
    /// whether it went about it in no way of its own.
    fn did_the_same(&self, lesson: &Feature, shown: &[Feature]) -> bool {
        let parts: serde_json::Value = serde_json::from_str(&lesson.parts).unwrap_or_default();
        match parts.get("where").and_then(serde_json::Value::as_str) {
            Some(place) => {
                let id = finding::id(self.project, FindingKind::Command, place);
                shown.iter().any(|feature| feature.id == id)
            }
            None => self.suggestion.strategy.is_none(),
        }
    }

    /// Keeps what follows from several experiments, with its counts as they are now.
    fn set_derived(&self, derived: &finding::Derived) -> Result<Feature, MemoryError> {
        let at = self.ending.at;
        let id = derived.finding.id(self.project);
        let parts = to_json(&derived.finding.parts)?;
        let sentence = say(derived.finding.kind, &derived.finding.parts, 0, 0);
        let mark = Mark {
            id: &id,
            kind: derived.finding.kind.word(),
            sentence: &sentence,
            parts: &parts,
        };
        let mut feature = self.writer.mark(self.project, &mark, at)?;
        let sighting = Sighting {
            experiment: self.row.number,
            success: if self.ending.status.success() {
                1.0
            } else {
                0.0
            },
            value: None,
            at,
        };
        self.writer.sight(feature.number, &sighting)?;
        #[expect(clippy::cast_precision_loss, reason = "a count of experiments")]
        let (worked, failed) = (derived.worked as f64, derived.failed as f64);
        feature.parts = parts;
        feature.worked = derived.worked;
        feature.failed = derived.failed;
        feature.worked_weight = worked;
        feature.failed_weight = failed;
        feature.as_of = at;
        feature.last = at;
        self.writer.set_feature(&feature)?;
        Ok(feature)
    }

    /// Patterns that have graduated before are as sure as the evidence is now.
    fn refresh_graduated(&self, features: &[Feature]) -> Result<(), MemoryError> {
        for feature in features {
            let sure = crate::pattern::confidence(feature, self.tuning, self.ending.at);
            let uses = (feature.worked, feature.failed);
            self.writer
                .update_confidence(&feature.id, sure, uses, self.ending.at)?;
        }
        Ok(())
    }

    fn learned(&self, features: &[Feature], lessons: Vec<Lesson>, success: f64) -> Learned {
        let confidence = &self.told.confidence;
        let adjustment = success - confidence.raw;
        let insights = insights(features, self.ending.status);
        let undecided = self.ending.is_undecided();
        let headline = lessons
            .iter()
            .find(|lesson| lesson.state.warns() && success < 0.5)
            .map(|lesson| lesson.sentence.clone())
            .or_else(|| insights.first().filter(|_| !undecided).cloned())
            .unwrap_or_else(|| self.plainly());
        Learned {
            id: self.row.id,
            headline,
            insights,
            lessons,
            confidence_adjustment: adjustment,
            similar: confidence.similar.iter().map(|it| it.id).collect(),
            graduation_candidate: self.ending.status == Status::Success
                && self.ending.failure_reasons.is_empty()
                && adjustment >= 0.0,
        }
    }

    /// What came of it, where it showed nothing that can be seen again.
    fn plainly(&self) -> String {
        let what = text::line(&self.row.suggestion, 60);
        let (similar, worked) = self.told.confidence.here;
        let success = self.ending.status.success();
        let came = match self.ending.status {
            Status::Success => "worked",
            Status::Failure => "failed",
            Status::Partial if self.ending.is_undecided() => "could not be judged",
            Status::Partial | Status::Running => "worked in part",
        };
        if similar == 0 {
            return format!("\"{what}\" {came}");
        }
        let (worked, all) = (worked + u64::from(success), similar + 1);
        format!("\"{what}\" {came}: {worked} of {all} like it worked here")
    }

    fn close(&self, document: &Document) -> Result<(), MemoryError> {
        let lessons: Vec<&str> = document
            .learned
            .lessons
            .iter()
            .map(|lesson| lesson.sentence.as_str())
            .collect();
        let errors = json!({
            "failureReasons": self.ending.failure_reasons,
            "fingerprints": document.errors,
        });
        let closing = Closing {
            status: self.ending.status.word(),
            success: self.ending.status.success(),
            document: &to_json(document)?,
            metrics: &to_json(&self.ending.metrics)?,
            errors: &to_json(&errors)?,
            lessons: &to_json(&lessons)?,
            ended: self.ending.at,
        };
        Ok(self.writer.close_experiment(self.row, &closing)?)
    }
}

/// Adds an outcome to the counts of a finding.
fn count(feature: &mut Feature, tuning: &Tuning, success: f64, at: Timestamp) {
    let as_of = feature.as_of.max(at);
    let remains = tuning.remains(as_of.since(feature.as_of));
    let weight = tuning.remains(as_of.since(at));
    feature.worked_weight = feature.worked_weight * remains + weight * success;
    feature.failed_weight = feature.failed_weight * remains + weight * (1.0 - success);
    feature.as_of = as_of;
    feature.last = feature.last.max(at);
    feature.first = feature.first.min(at);
    if success >= 0.5 {
        feature.worked += 1;
    } else {
        feature.failed += 1;
    }
}

/// Keeps the mean of what was measured.
fn mean(feature: &mut Feature, value: f64) -> Result<(), MemoryError> {
    let mut parts: serde_json::Value = serde_json::from_str(&feature.parts).unwrap_or_default();
    let before = parts.get("mean").and_then(serde_json::Value::as_f64);
    let count = parts
        .get("count")
        .and_then(serde_json::Value::as_f64)
        .unwrap_or(0.0);
    let mean = before.map_or(value, |before| before + (value - before) / (count + 1.0));
    parts["mean"] = json!(mean);
    parts["count"] = json!(count + 1.0);
    feature.parts = to_json(&parts)?;
    Ok(())
}

/// Fits the recalibration to the newest scored predictions.
fn recalibrate(writer: &MemoryWriter<'_>) -> Result<(), MemoryError> {
    let kept: Option<Platt> = writer
        .read()
        .state("platt")?
        .and_then(|text| serde_json::from_str(&text).ok());
    let since: usize = writer
        .read()
        .state("platt_age")?
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    // A window of a thousand hardly moves with one: it is fitted again when it has moved by 1 %.
    let due = kept.is_none_or(|platt| since >= platt.from / 100);
    if !due {
        return Ok(writer.set_state("platt_age", &(since + 1).to_string())?);
    }
    let window: Vec<Past> = writer
        .read()
        .scored(None, WINDOW)?
        .iter()
        .filter(|it| it.prediction.evidence >= crate::confidence::EVIDENCE_LEAST)
        .map(|it| Past {
            at: it.prediction.at,
            scored: it.scored,
            raw: it.prediction.raw,
            outcome: it.outcome,
        })
        .collect();
    writer.set_state("platt", &to_json(&Platt::learn(&window))?)?;
    writer.set_state("platt_age", "0")?;
    Ok(())
}

/// What an experiment showed, in plain words, the most telling first.
fn insights(features: &[Feature], status: Status) -> Vec<String> {
    let rank = |kind: FindingKind| match kind {
        FindingKind::Break => 0,
        FindingKind::Packages => 1,
        FindingKind::Strategy => 2,
        FindingKind::Error => 3,
        FindingKind::Test => 4,
        FindingKind::Command => 5,
        FindingKind::Overhead => 6,
        FindingKind::Files => 7,
        FindingKind::Duration => 8,
        FindingKind::File | FindingKind::Package | FindingKind::Version => 9,
    };
    let mut said: Vec<(u8, String)> = Vec::new();
    for feature in features {
        let Some(kind) = FindingKind::from_word(&feature.kind) else {
            continue;
        };
        let vacuous =
            rank(kind) == 9 || kind == FindingKind::Files && feature.worked + feature.failed < 3;
        if vacuous || (status.success() && matches!(kind, FindingKind::Error | FindingKind::Test)) {
            continue;
        }
        let parts = serde_json::from_str(&feature.parts).unwrap_or_default();
        said.push((
            rank(kind),
            say(kind, &parts, feature.worked, feature.failed),
        ));
    }
    said.sort_by_key(|(rank, _)| *rank);
    said.into_iter()
        .map(|(_, sentence)| sentence)
        .take(12)
        .collect()
}
