//! What an individual is worth, as the host found it.
//!
//! A genome answers data; the number here is computed from that data outside the cell. What cannot
//! be scored honestly is not given a bad score but none: [`Invalid`] ranks below every score there
//! can be, and says why.

use crate::failure::CellError;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A score and what it is made of. More is better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fitness {
    /// The score before penalties. Finite.
    pub score: f64,
    /// Named parts of it, for people and for archives. Finite.
    pub components: BTreeMap<String, f64>,
    /// What each case lost, in the order of the cases; zero is perfect.
    pub cases: Vec<f64>,
    /// Whether the task calls this a solution, held-out cases included.
    pub solved: bool,
}

/// Why there is no score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "because")]
pub enum Invalid {
    /// An answer, or what follows from it, is infinite or no number.
    #[error("case {case}: the answer is not a finite number")]
    NotFinite {
        /// The first such case, from zero.
        case: usize,
    },
    /// The code is no genome under the rules.
    #[error("it is refused: {words}")]
    Refused {
        /// Which rule, in words.
        words: String,
    },
    /// The run trapped or broke the calling convention.
    #[error("it crashed: {words}")]
    Crashed {
        /// How, in words.
        words: String,
    },
    /// A limit that is counted ended the run.
    #[error("it was stopped: {words}")]
    Limit {
        /// Which, in words.
        words: String,
    },
    /// The wall clock ended the run; the same run might end otherwise elsewhere.
    #[error("it ran out of time: {words}")]
    Timeout {
        /// After how long, in words.
        words: String,
    },
    /// It answered something that is no answer to the task.
    #[error("case {case}: {words}")]
    WrongAnswer {
        /// The first such case, from zero.
        case: usize,
        /// What is wrong with it.
        words: String,
    },
    /// It says itself what it is worth.
    #[error("it reports a score of its own, as `{name}`")]
    OwnScore {
        /// The name it used.
        name: String,
    },
    /// It answers the same case differently, by what it was asked before.
    #[error("case {case}: the answer depends on what was asked before")]
    Order {
        /// The first such case, from zero.
        case: usize,
    },
    /// It knows the cases it was bred on, and nothing else.
    #[error("it knows the training cases by heart and fails on held-out case {case}")]
    Memorised {
        /// The first held-out case it fails on, from zero.
        case: usize,
    },
}

impl Invalid {
    /// The stable word for programs.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::NotFinite { .. } => "not_finite",
            Self::Refused { .. } => "refused",
            Self::Crashed { .. } => "crashed",
            Self::Limit { .. } => "limit",
            Self::Timeout { .. } => "timeout",
            Self::WrongAnswer { .. } => "wrong_answer",
            Self::OwnScore { .. } => "own_score",
            Self::Order { .. } => "order",
            Self::Memorised { .. } => "memorised",
        }
    }

    /// Whether scoring the same genome again gives the same.
    pub const fn is_reproducible(&self) -> bool {
        !matches!(self, Self::Timeout { .. })
    }
}

impl From<CellError> for Invalid {
    fn from(error: CellError) -> Self {
        let words = error.to_string();
        match error {
            CellError::Instructions { .. }
            | CellError::Stack { .. }
            | CellError::Output { .. }
            | CellError::MailboxFull { .. } => Self::Limit { words },
            CellError::Deadline { .. }
            | CellError::EngineStack
            | CellError::NoRoom(_)
            | CellError::NoCompiler
            | CellError::Unstarted { .. }
            | CellError::Gone
            | CellError::Engine(_) => Self::Timeout { words },
            CellError::Trap(_)
            | CellError::Convention { .. }
            | CellError::NoFunction { .. }
            | CellError::NoVersion { .. }
            | CellError::Arguments { .. }
            | CellError::Refused(_)
            | CellError::Crashed
            | CellError::NotSaveable { .. } => Self::Crashed { words },
        }
    }
}

/// What the host made of an individual's answers.
pub type Verdict = Result<Fitness, Invalid>;

/// What somebody outside took off a score, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Penalty {
    /// How much; finite, not negative.
    pub amount: f64,
    /// Why.
    pub reason: String,
}

/// Orders two verdicts, the better first. No score is worse than any score.
pub fn better_first(a: &Verdict, b: &Verdict) -> Ordering {
    match (a, b) {
        (Ok(a), Ok(b)) => b.score.total_cmp(&a.score),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => Ordering::Equal,
    }
}

/// Gives a score, unless it or a part of it is no finite number.
pub(crate) fn finite(fitness: Fitness) -> Verdict {
    let whole = fitness.score.is_finite() && fitness.components.values().all(|it| it.is_finite());
    let odd = fitness.cases.iter().position(|loss| !loss.is_finite());
    match odd {
        Some(case) => Err(Invalid::NotFinite { case }),
        None if !whole => Err(Invalid::NotFinite { case: 0 }),
        None => Ok(fitness),
    }
}
