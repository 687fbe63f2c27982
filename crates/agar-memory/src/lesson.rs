//! What failures teach, quarantined away from patterns until it is confirmed.
//!
//! ```text
//! quarantined ──seen again, and more often than failures are here──▶ confirmed
//!      │  ▲                                                              │
//!      │  └───────────────── it fails again ──────────────┐             │
//!      └──similar attempts work more often than not──▶ contradicted ◀───┘
//!                                                          │
//!                                    they keep working ────▶ retired
//! ```
//!
//! The state follows from the counts, weighed by age, each time an experiment ends that showed the
//! lesson's finding, or that was warned of it and worked.

use crate::confidence::lower_bound;
use crate::error::MemoryError;
use crate::experiment::Suggestion;
use crate::finding::{self, FindingKind, say};
use crate::memory::{Memory, Tuning, days};
use crate::redact;
use crate::terms::Terms;
use agar_core::seam::Timestamp;
use agar_store::memory::{Feature, LessonRow, MemoryReader, MemoryWriter, Note};
use serde::{Deserialize, Serialize};

/// Where a lesson is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LessonState {
    /// Seen, not yet often enough to believe.
    Quarantined,
    /// Seen often enough.
    Confirmed,
    /// Similar attempts work.
    Contradicted,
    /// They keep working: it is shown no more.
    Retired,
}

impl LessonState {
    const ALL: [Self; 4] = [
        Self::Quarantined,
        Self::Confirmed,
        Self::Contradicted,
        Self::Retired,
    ];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Quarantined => "quarantined",
            Self::Confirmed => "confirmed",
            Self::Contradicted => "contradicted",
            Self::Retired => "retired",
        }
    }

    fn from_word(word: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|state| state.word() == word)
            .unwrap_or(Self::Quarantined)
    }

    /// Whether it warns of a similar attempt.
    pub const fn warns(self) -> bool {
        matches!(self, Self::Quarantined | Self::Confirmed)
    }
}

/// A lesson.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// Its short name, for `agar memory show`.
    pub id: String,
    /// What sort of finding it is about.
    pub kind: FindingKind,
    /// What it says.
    pub sentence: String,
    /// Where it is.
    pub state: LessonState,
    /// Why it is there.
    pub why: String,
    /// Experiments that failed with it.
    pub failed: u64,
    /// Experiments that were warned of it and worked.
    pub worked: u64,
    /// How likely it is to strike again, weighed by age.
    pub confidence: f64,
    /// The lower end of that.
    pub lower_bound: f64,
    /// The upper end of that.
    pub upper_bound: f64,
    /// When it was first seen.
    pub first: Timestamp,
    /// When it was last seen.
    pub last: Timestamp,
    /// Whether nobody has seen it for longer than a pattern may go unseen.
    pub expired: bool,
}

/// What somebody said. It carries no evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteText {
    /// Its short name.
    pub id: String,
    /// Who said it.
    pub author: String,
    /// What was said.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// At least so alike, and a neighbour's lessons apply.
const APPLIES: f64 = 0.3;

/// Neighbours and lessons that are looked at and shown.
const NEIGHBOURS_MAX: usize = 16;
const SHOWN: usize = 5;

impl Memory {
    /// The lessons of the project, those that changed last first. All of them: retired and expired
    /// ones say so.
    pub fn lessons(&self, now: Timestamp) -> Result<Vec<Lesson>, MemoryError> {
        let reader = self.store.read();
        let mut lessons = Vec::new();
        for row in reader.lessons(self.project, 1000)? {
            if let Some(feature) = reader.feature_numbered(row.feature)? {
                lessons.push(lesson(&row, &feature, &self.tuning, now));
            }
        }
        Ok(lessons)
    }

    /// The lessons that warn of a suggestion: those of similar attempts here, and those about what
    /// it will do.
    pub(crate) fn applicable(
        &self,
        reader: &MemoryReader<'_>,
        suggestion: &Suggestion,
        neighbours: &[crate::confidence::Neighbour],
        now: Timestamp,
    ) -> Result<Vec<Lesson>, MemoryError> {
        let mut found: Vec<(f64, Lesson)> = Vec::new();
        let mut consider = |feature: &Feature, relevance: f64| -> Result<(), MemoryError> {
            let known = found.iter().any(|(_, lesson)| lesson.id == feature.id);
            let Some(row) = reader.lesson_about(feature.number)?.filter(|_| !known) else {
                return Ok(());
            };
            let lesson = lesson(&row, feature, &self.tuning, now);
            if lesson.state.warns() && !lesson.expired {
                found.push((relevance * lesson.confidence, lesson));
            }
            Ok(())
        };
        for expected in finding::expected(suggestion) {
            if let Some(feature) = reader.feature(&expected.id(self.project))? {
                consider(&feature, 1.0)?;
            }
        }
        let near = neighbours
            .iter()
            .filter(|it| it.here && it.likeness >= APPLIES && !it.success);
        for neighbour in near.take(NEIGHBOURS_MAX) {
            let shown = reader.features_of(neighbour.experiment)?;
            let befell =
                |it: &&Feature| FindingKind::from_word(&it.kind).is_some_and(FindingKind::befalls);
            for feature in shown.iter().filter(befell) {
                consider(feature, neighbour.likeness)?;
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.truncate(SHOWN);
        Ok(found.into_iter().map(|(_, lesson)| lesson).collect())
    }

    /// Notes that share telling words with a suggestion.
    pub(crate) fn applicable_notes(
        &self,
        reader: &MemoryReader<'_>,
        suggestion: &Suggestion,
    ) -> Result<Vec<NoteText>, MemoryError> {
        let terms = Terms::of(suggestion);
        let mut found: Vec<(usize, NoteText)> = Vec::new();
        for note in reader.notes(self.project, 200)? {
            let theirs = Terms::unpack(&note.terms);
            let shared = theirs
                .iter()
                .filter(|term| terms.iter().any(|other| other.hash == term.hash))
                .count();
            // Two words, or one of a short note.
            if shared >= 2 || shared * 8 >= theirs.iter().count().max(1) {
                found.push((shared, note_text(note)));
            }
        }
        found.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
        found.truncate(SHOWN);
        Ok(found.into_iter().map(|(_, note)| note).collect())
    }

    /// Writes down what somebody says. It starts with no evidence and is shown as what it is.
    pub fn note(
        &mut self,
        author: &str,
        text: &str,
        now: Timestamp,
    ) -> Result<NoteText, MemoryError> {
        Ok(self.add_note(author, text, now)?.0)
    }

    /// The same, and whether it is new: the same words of one moment are one note.
    pub(crate) fn add_note(
        &mut self,
        author: &str,
        text: &str,
        now: Timestamp,
    ) -> Result<(NoteText, bool), MemoryError> {
        let text = redact::plain(text);
        let hash = blake3::hash(format!("{}\n{now}\n{text}", self.project).as_bytes());
        let note = Note {
            id: hash.to_hex()[..12].to_owned(),
            author: redact::plain(author),
            terms: Terms::of_text(&text).pack(),
            text,
            at: now,
        };
        let project = self.project;
        let new = self
            .store
            .write(|writer| Ok::<bool, MemoryError>(writer.add_note(project, &note)?))?;
        Ok((note_text(note), new))
    }

    /// The notes of the project, newest first.
    pub fn notes(&self) -> Result<Vec<NoteText>, MemoryError> {
        let notes = self.store.read().notes(self.project, 1000)?;
        Ok(notes.into_iter().map(note_text).collect())
    }
}

pub(crate) fn note_text(note: Note) -> NoteText {
    NoteText {
        id: note.id,
        author: note.author,
        text: note.text,
        at: note.at,
    }
}

pub(crate) fn lesson(
    row: &LessonRow,
    feature: &Feature,
    tuning: &Tuning,
    now: Timestamp,
) -> Lesson {
    let parts = serde_json::from_str(&feature.parts).unwrap_or_default();
    let kind = FindingKind::from_word(&feature.kind).unwrap_or(FindingKind::Error);
    let (failed, worked) = weights(feature, tuning, now);
    Lesson {
        id: row.id.clone(),
        kind,
        sentence: say(kind, &parts, feature.worked, feature.failed),
        state: LessonState::from_word(&row.state),
        why: row.why.clone(),
        failed: feature.failed,
        worked: feature.worked,
        confidence: (failed + 0.5) / (failed + worked + 1.0),
        lower_bound: lower_bound(failed, worked),
        upper_bound: 1.0 - lower_bound(worked, failed),
        first: feature.first,
        last: feature.last,
        expired: days(now.since(feature.last)) > f64::from(tuning.max_pattern_age_days),
    }
}

/// Failures and successes as they weigh now.
pub(crate) fn weights(feature: &Feature, tuning: &Tuning, now: Timestamp) -> (f64, f64) {
    let remains = tuning.remains(now.since(feature.as_of));
    (
        feature.failed_weight * remains,
        feature.worked_weight * remains,
    )
}

/// Makes or moves the lesson about a finding, as its counts say. `failing` is the share of
/// failures among all experiments here. Answers the lesson if its state is new.
pub(crate) fn update(
    writer: &MemoryWriter<'_>,
    memory: (agar_core::id::ProjectId, &Tuning),
    feature: &Feature,
    failing: f64,
    now: Timestamp,
) -> Result<Option<Lesson>, MemoryError> {
    let (project, tuning) = memory;
    let known = writer.read().lesson_about(feature.number)?;
    if known.is_none() && (feature.failed == 0 || feature.failed <= feature.worked) {
        return Ok(None);
    }
    let (state, why) = judge(feature, tuning, failing, now);
    if known.as_ref().is_some_and(|row| row.state == state.word()) {
        return Ok(None);
    }
    let row = LessonRow {
        id: feature.id.clone(),
        feature: feature.number,
        state: state.word().to_owned(),
        since: now,
        why,
    };
    writer.set_lesson(project, &row)?;
    Ok(Some(lesson(&row, feature, tuning, now)))
}

fn judge(
    feature: &Feature,
    tuning: &Tuning,
    failing: f64,
    now: Timestamp,
) -> (LessonState, String) {
    let (failed, worked) = weights(feature, tuning, now);
    let share = (failed + 0.5) / (failed + worked + 1.0);
    let counts = format!("{} failed, {} worked", feature.failed, feature.worked);
    if share < 0.25 && feature.worked >= 3 {
        return (
            LessonState::Retired,
            format!("{counts}: similar attempts keep working"),
        );
    }
    if share < 0.5 && feature.worked >= 1 {
        return (
            LessonState::Contradicted,
            format!("{counts}: similar attempts work"),
        );
    }
    let bound = lower_bound(failed, worked);
    if feature.failed >= u64::from(tuning.min_occurrences) && bound > failing.min(0.5) {
        return (
            LessonState::Confirmed,
            format!("{counts}: more than failures are common here"),
        );
    }
    (
        LessonState::Quarantined,
        format!(
            "{counts}: {} needed, above the usual share",
            tuning.min_occurrences
        ),
    )
}
