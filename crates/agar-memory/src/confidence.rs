//! How likely a suggestion is to work here, and why.

mod beta;
mod estimate;
mod likeness;
mod logit;
mod platt;
mod predict;

pub(crate) use beta::lower_bound;
pub(crate) use estimate::{Sums, levels};
pub use platt::Platt;
pub(crate) use platt::{Past, WINDOW};
pub(crate) use predict::{Neighbour, SIMILAR, Told};

use crate::experiment::Status;
use crate::lesson::{Lesson, NoteText};
use agar_core::id::ExperimentId;
use agar_core::seam::Timestamp;
use serde::{Deserialize, Serialize};

/// Less evidence than this is none.
pub const EVIDENCE_LEAST: f64 = 0.5;

/// The seed's bands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Band {
    /// Above 80 %.
    Green,
    /// From 50 to 80 %.
    Yellow,
    /// Below 50 %.
    Red,
}

impl Band {
    /// The band of a probability.
    pub fn of(p: f64) -> Self {
        if p > 0.8 {
            Self::Green
        } else if p >= 0.5 {
            Self::Yellow
        } else {
            Self::Red
        }
    }
}

/// A past experiment that is alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Similar {
    /// Which.
    pub id: ExperimentId,
    /// What was proposed, in one line.
    pub suggestion: String,
    /// How it ended.
    pub status: Status,
    /// Who proposed it.
    pub agent: String,
    /// When it ended.
    pub at: Timestamp,
    /// How alike, from 0 to 1.
    pub likeness: f64,
    /// Whether it was in this project.
    pub here: bool,
    /// The first reason, of one that failed.
    pub reason: Option<String>,
}

/// How likely a suggestion is to work here, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// The probability. Without evidence it is the prior: look at [`is_known`](Self::is_known).
    pub p: f64,
    /// The lower end of the interval that holds it with 90 %.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Before recalibration.
    pub raw: f64,
    /// How many experiments' worth of evidence it rests on.
    pub evidence: f64,
    /// Its band, as the seed colours it.
    pub band: Band,
    /// Similar experiments in this project, and how many of them worked.
    pub here: (u64, u64),
    /// Similar experiments elsewhere, and how many of them worked.
    pub elsewhere: (u64, u64),
    /// The most similar ones.
    pub similar: Vec<Similar>,
    /// Lessons that apply.
    pub lessons: Vec<Lesson>,
    /// Notes that apply. They carry no evidence.
    pub notes: Vec<NoteText>,
    /// What the number is made of, in plain words.
    pub reasons: Vec<String>,
}

impl Confidence {
    /// Whether there is any evidence. If not, say "no evidence yet", never the number.
    pub fn is_known(&self) -> bool {
        self.evidence >= EVIDENCE_LEAST
    }

    /// One line, such as `61–82 % likely (14 similar, 9 worked)` or `no evidence yet`.
    pub fn headline(&self) -> String {
        if !self.is_known() {
            return "no evidence yet".to_owned();
        }
        let similar = self.here.0 + self.elsewhere.0;
        let worked = self.here.1 + self.elsewhere.1;
        let (low, high) = (percent(self.low), percent(self.high));
        if similar == 0 {
            return format!("{low}–{high} % likely (none similar)");
        }
        format!("{low}–{high} % likely ({similar} similar, {worked} worked)")
    }
}

/// A share as whole percent.
pub(crate) fn percent(share: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 0–100"
    )]
    let percent = (share * 100.0).round().clamp(0.0, 100.0) as u32;
    percent
}
