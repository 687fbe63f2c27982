//! What was seen to hold across experiments.

use crate::confidence::lower_bound;
use crate::error::MemoryError;
use crate::finding::{FindingKind, say};
use crate::lesson::weights;
use crate::memory::{Memory, Tuning, days};
use agar_core::id::{ExperimentId, SandboxId};
use agar_core::seam::Timestamp;
use agar_store::memory::{Evolution, Feature, MemoryReader};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A pattern of the project: it has graduated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pattern {
    /// Its short name, for `agar memory show`.
    pub id: String,
    /// What sort it is.
    pub kind: FindingKind,
    /// What it says.
    pub sentence: String,
    /// Experiments that showed it and worked.
    pub worked: u64,
    /// Experiments that showed it and failed.
    pub failed: u64,
    /// How likely an attempt that shows it is to work, weighed by age. Computed when read.
    pub confidence: f64,
    /// The lower end of that.
    pub lower_bound: f64,
    /// The upper end of that.
    pub upper_bound: f64,
    /// When it was first seen.
    pub first: Timestamp,
    /// When it was last seen.
    pub last: Timestamp,
    /// Whether nobody has seen it for longer than a pattern may go unseen. It is hidden, not gone.
    pub expired: bool,
    /// The sandboxes it graduated from.
    pub from: Vec<SandboxId>,
}

/// Where a pattern or a lesson comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Its short name.
    pub id: String,
    /// What it says.
    pub sentence: String,
    /// What it is made of.
    pub parts: Value,
    /// The experiments that showed it, newest first: which, when, and whether it worked.
    pub experiments: Vec<Seen>,
}

/// One experiment that showed something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Which.
    pub id: ExperimentId,
    /// What was proposed, in one line.
    pub suggestion: String,
    /// Whether it worked.
    pub worked: bool,
    /// When.
    pub at: Timestamp,
}

impl Memory {
    /// The patterns of the project, the surest first. Expired ones are among them and say so.
    pub fn patterns(&self, now: Timestamp) -> Result<Vec<Pattern>, MemoryError> {
        let reader = self.store.read();
        let mut patterns: Vec<Pattern> = Vec::new();
        for row in reader.graduated(self.project, 5000)? {
            let from: Option<SandboxId> = row.sandbox.parse().ok();
            if let Some(known) = patterns.iter_mut().find(|it| it.id == row.pattern) {
                known.from.extend(from);
                continue;
            }
            if let Some(feature) = reader.feature(&row.pattern)? {
                patterns.extend(pattern(&feature, from, &self.tuning, now));
            }
        }
        patterns.sort_by(|a, b| {
            b.lower_bound
                .total_cmp(&a.lower_bound)
                .then(a.id.cmp(&b.id))
        });
        Ok(patterns)
    }

    /// Where a pattern or a lesson comes from. The name may be shortened.
    pub fn provenance(&self, name: &str) -> Result<Provenance, MemoryError> {
        let reader = self.store.read();
        let mut found = reader.features_like(self.project, name)?;
        let feature = match found.len() {
            0 => return Err(MemoryError::Missing(name.to_owned())),
            1 => found.remove(0),
            _ => {
                return Err(MemoryError::Ambiguous {
                    name: name.to_owned(),
                    candidates: found.into_iter().map(|feature| feature.id).collect(),
                });
            }
        };
        let parts: Value = serde_json::from_str(&feature.parts).unwrap_or_default();
        let kind = FindingKind::from_word(&feature.kind).unwrap_or(FindingKind::Error);
        Ok(Provenance {
            sentence: say(kind, &parts, feature.worked, feature.failed),
            experiments: seen(&reader, feature.number)?,
            id: feature.id,
            parts,
        })
    }

    /// The seed's view `pattern_evolution`: patterns of more than three sandboxes.
    pub fn evolution(&self) -> Result<Vec<Evolution>, MemoryError> {
        Ok(self.store.read().evolution()?)
    }
}

fn seen(reader: &MemoryReader<'_>, feature: i64) -> Result<Vec<Seen>, MemoryError> {
    let mut experiments = Vec::new();
    for sighting in reader.sightings(feature, 50)? {
        if let Some(row) = reader.experiment_numbered(sighting.experiment)? {
            experiments.push(Seen {
                id: row.id,
                suggestion: crate::text::line(&row.suggestion, 72),
                worked: sighting.success >= 0.5,
                at: sighting.at,
            });
        }
    }
    Ok(experiments)
}

fn pattern(
    feature: &Feature,
    from: Option<SandboxId>,
    tuning: &Tuning,
    now: Timestamp,
) -> Option<Pattern> {
    let kind = FindingKind::from_word(&feature.kind)?;
    let parts = serde_json::from_str(&feature.parts).unwrap_or_default();
    let (failed, worked) = weights(feature, tuning, now);
    Some(Pattern {
        id: feature.id.clone(),
        kind,
        sentence: say(kind, &parts, feature.worked, feature.failed),
        worked: feature.worked,
        failed: feature.failed,
        confidence: confidence(feature, tuning, now),
        lower_bound: lower_bound(worked, failed),
        upper_bound: 1.0 - lower_bound(failed, worked),
        first: feature.first,
        last: feature.last,
        expired: days(now.since(feature.last)) > f64::from(tuning.max_pattern_age_days),
        from: from.into_iter().collect(),
    })
}

/// How likely an attempt that shows it is to work: the mean, weighed by age, from one success and
/// one failure assumed.
pub(crate) fn confidence(feature: &Feature, tuning: &Tuning, now: Timestamp) -> f64 {
    let (failed, worked) = weights(feature, tuning, now);
    (worked + 1.0) / (worked + failed + 2.0)
}
