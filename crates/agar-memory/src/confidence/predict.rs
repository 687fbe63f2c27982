//! From the memory to a [`Confidence`].

use crate::change::ChangeType;
use crate::command;
use crate::confidence::estimate::{
    Estimate, Sums, Weighed, estimate, interval, levels as levels_of,
};
use crate::confidence::likeness::likeness;
use crate::confidence::logit::logit;
use crate::confidence::{Band, Confidence, EVIDENCE_LEAST, Similar, percent};
use crate::error::MemoryError;
use crate::experiment::{Status, Suggestion};
use crate::finding::{self, FindingKind};
use crate::index::{Candidates, Query};
use crate::memory::{Memory, Tuning};
use crate::rates::{self, Levels};
use crate::terms::Terms;
use crate::text;
use agar_core::seam::Timestamp;
use agar_store::memory::MemoryReader;
use std::borrow::Cow;

/// Candidates that are compared with the suggestion.
const COMPARED: usize = 96;

/// Of these, how many count.
const COUNTED: usize = 64;

/// Less alike than this does not count.
const ALIKE_LEAST: f64 = 0.05;

/// At least so alike is called similar.
pub(crate) const SIMILAR: f64 = 0.25;

/// Shown to people.
const SHOWN: usize = 8;

/// An experiment of this project counts so much more than one elsewhere.
const HERE: f64 = 2.0;
const ELSEWHERE: f64 = 0.15;

/// What one experiment was like stays true for longer than how things go at present.
const PATIENCE: f64 = 8.0;

/// A neighbour and how alike it is.
#[derive(Debug, Clone)]
pub(crate) struct Neighbour {
    pub(crate) experiment: i64,
    pub(crate) here: bool,
    pub(crate) likeness: f64,
    pub(crate) success: bool,
    pub(crate) closed: Timestamp,
    agent: i64,
    weighed: Weighed,
}

impl Neighbour {
    /// What it counts for, against what the levels expected of it. Of this agent here they expect
    /// the same as now: what those outcomes say about the agent, the levels have said already.
    fn against(&self, agent: i64, now: f64) -> Weighed {
        Weighed {
            expected: if self.here && self.agent == agent {
                now
            } else {
                self.weighed.expected
            },
            ..self.weighed
        }
    }
}

/// Everything that a prediction found out, also what only the record needs.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) confidence: Confidence,
    /// What the levels alone say.
    pub(crate) expected: f64,
    /// The suggestion's terms, with how much each tells apart.
    pub(crate) terms: Terms,
    /// The neighbours that counted, the weightiest first.
    pub(crate) neighbours: Vec<Neighbour>,
}

impl Memory {
    /// How likely a suggestion is to work here. Changes nothing.
    pub fn predict(
        &self,
        suggestion: &Suggestion,
        now: Timestamp,
    ) -> Result<Confidence, MemoryError> {
        Ok(self.tell(suggestion, now)?.confidence)
    }

    pub(crate) fn tell(
        &self,
        suggestion: &Suggestion,
        now: Timestamp,
    ) -> Result<Told, MemoryError> {
        let suggestion = crate::redact::suggestion(suggestion);
        self.look(|reader| {
            let suggestion = self.as_command(reader, &suggestion)?;
            self.tell_at(reader, &suggestion, now)
        })
    }

    /// Words that are a command which ran here before are that command: `agar confidence 'npm ci'`.
    fn as_command<'a>(
        &self,
        reader: &MemoryReader<'_>,
        suggestion: &'a Suggestion,
    ) -> Result<Cow<'a, Suggestion>, MemoryError> {
        if !suggestion.commands.is_empty() {
            return Ok(Cow::Borrowed(suggestion));
        }
        let words: Vec<String> = suggestion
            .text
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let known = match command::shape(&words) {
            Some(shape) => {
                let id = finding::id(self.project, FindingKind::Command, &shape);
                reader.feature(&id)?.is_some()
            }
            None => false,
        };
        if !known {
            return Ok(Cow::Borrowed(suggestion));
        }
        Ok(Cow::Owned(Suggestion {
            commands: vec![words],
            ..suggestion.clone()
        }))
    }

    fn tell_at(
        &self,
        reader: &MemoryReader<'_>,
        suggestion: &Suggestion,
        now: Timestamp,
    ) -> Result<Told, MemoryError> {
        let levels = Levels::of(self.project, suggestion);
        let sums = rates::sums(reader, &levels, &self.tuning, now)?;
        let (neighbours, terms) = self.neighbours(reader, suggestion, now)?;
        let agent = rates::agent_hash(&suggestion.agent);
        let expected = levels_of(&sums).0;
        let weighed: Vec<Weighed> = neighbours
            .iter()
            .map(|it| it.against(agent, expected))
            .collect();
        let estimate = estimate(&sums, &weighed);
        let platt = Self::platt(reader)?;
        let known = estimate.strength >= EVIDENCE_LEAST;
        let p = if known {
            platt.apply(estimate.raw)
        } else {
            estimate.raw
        };
        let (low, high) = interval(p, estimate.strength);
        let count = |here: bool| {
            let similar = neighbours
                .iter()
                .filter(|it| it.here == here && it.likeness >= SIMILAR);
            let worked = similar.clone().filter(|it| it.success).count() as u64;
            (similar.count() as u64, worked)
        };
        let confidence = Confidence {
            p,
            low,
            high,
            raw: estimate.raw,
            evidence: estimate.strength,
            band: Band::of(p),
            here: count(true),
            elsewhere: count(false),
            similar: Self::similar(reader, &neighbours)?,
            lessons: self.applicable(reader, suggestion, &neighbours, now)?,
            notes: self.applicable_notes(reader, suggestion)?,
            reasons: reasons(suggestion, &sums, &estimate, p),
        };
        Ok(Told {
            confidence,
            expected: estimate.expected,
            terms,
            neighbours,
        })
    }

    /// The neighbours that count, the weightiest first, and the suggestion's terms.
    fn neighbours(
        &self,
        reader: &MemoryReader<'_>,
        suggestion: &Suggestion,
        now: Timestamp,
    ) -> Result<(Vec<Neighbour>, Terms), MemoryError> {
        let terms = Terms::of(suggestion);
        let tuning = self.tuning;
        let weigh = move |here: bool, closed_seconds: u32| {
            weight(
                &tuning,
                now,
                here,
                Timestamp::from_millis(u64::from(closed_seconds) * 1000),
            )
        };
        let project = rates::project_hash(self.project);
        let query = Query {
            terms: &terms,
            project,
            most: COMPARED,
            weigh: &weigh,
        };
        let candidates = self.index.candidates(reader, &query)?;
        let terms = terms.told(|hash| telling(&candidates, hash));
        let mut neighbours: Vec<Neighbour> = candidates
            .found
            .iter()
            .filter_map(|candidate| {
                let likeness = likeness(&terms, &candidate.terms);
                let here = candidate.evidence.project == project;
                let weight =
                    likeness.powi(2) * weight(&tuning, now, here, candidate.evidence.closed);
                (likeness >= ALIKE_LEAST).then_some(Neighbour {
                    experiment: candidate.evidence.experiment,
                    here,
                    likeness,
                    success: candidate.evidence.success >= 0.5,
                    closed: candidate.evidence.closed,
                    agent: candidate.evidence.agent,
                    weighed: Weighed {
                        weight,
                        success: candidate.evidence.success,
                        expected: candidate.evidence.expected,
                    },
                })
            })
            .collect();
        neighbours.sort_by(|a, b| b.weighed.weight.total_cmp(&a.weighed.weight));
        neighbours.truncate(COUNTED);
        Ok((neighbours, terms))
    }

    /// The most similar ones, for people.
    fn similar(
        reader: &MemoryReader<'_>,
        neighbours: &[Neighbour],
    ) -> Result<Vec<Similar>, MemoryError> {
        let mut nearest: Vec<&Neighbour> = neighbours
            .iter()
            .filter(|it| it.likeness >= SIMILAR)
            .collect();
        nearest.sort_by(|a, b| b.likeness.total_cmp(&a.likeness));
        let mut similar = Vec::new();
        for neighbour in nearest.into_iter().take(SHOWN) {
            if let Some(row) = reader.experiment_numbered(neighbour.experiment)? {
                similar.push(Similar {
                    id: row.id,
                    suggestion: text::line(&row.suggestion, 72),
                    status: Status::from_word(&row.status).unwrap_or(Status::Running),
                    agent: row.agent.clone(),
                    at: row.ended.unwrap_or(row.started),
                    likeness: neighbour.likeness,
                    here: neighbour.here,
                    reason: crate::record::first_reason(&row),
                });
            }
        }
        Ok(similar)
    }
}

/// Age and surroundings.
fn weight(tuning: &Tuning, now: Timestamp, here: bool, closed: Timestamp) -> f64 {
    let remains = tuning.remains(now.since(closed)).powf(1.0 / PATIENCE);
    remains * if here { HERE } else { ELSEWHERE }
}

/// How much a term tells apart, from 0 to 1, whatever the number of documents.
fn telling(candidates: &Candidates, hash: u32) -> f64 {
    let frequency = candidates.frequency.get(&hash).copied().unwrap_or(1.0);
    (1.0 + (candidates.documents + 1.0) / frequency.max(1.0)).ln()
        / (2.0 + candidates.documents).ln()
}

/// What the number is made of.
fn reasons(suggestion: &Suggestion, sums: &[Sums], estimate: &Estimate, p: f64) -> Vec<String> {
    if estimate.strength < EVIDENCE_LEAST {
        return vec!["no evidence yet: this is the first of its kind".to_owned()];
    }
    let change = suggestion.change_type();
    let agent = &suggestion.agent;
    let names = [
        "others elsewhere".to_owned(),
        format!("{agent} elsewhere"),
        if change == ChangeType::Other {
            format!("changes of no known sort by {agent} elsewhere")
        } else {
            format!("{change} changes by {agent} elsewhere")
        },
        "others in this project".to_owned(),
        format!("{agent} in this project"),
    ];
    let mut reasons = Vec::new();
    for (name, level) in names.iter().zip(sums) {
        if level.weight >= EVIDENCE_LEAST {
            let rate = percent(level.success / level.weight);
            reasons.push(format!(
                "{name}: {rate} % worked (weight {:.0})",
                level.weight.max(1.0)
            ));
        }
    }
    let shift = logit(estimate.raw) - logit(estimate.expected);
    if shift.abs() >= 0.1 {
        let way = if shift > 0.0 { "raise" } else { "lower" };
        reasons.push(format!(
            "similar experiments {way} it from {} to {} %",
            percent(estimate.expected),
            percent(estimate.raw)
        ));
    }
    if percent(p) != percent(estimate.raw) {
        reasons.push(format!(
            "past predictions were off: corrected from {} to {} %",
            percent(estimate.raw),
            percent(p)
        ));
    }
    reasons
}
