//! Somebody outside who makes children: a program, or a language model behind an endpoint.
//!
//! A search that has one asks it for a share of its children. It is told as data who the parents
//! are, what they are worth, what they put out, and what failed of late; it answers code, or there
//! is a reason why it did not. Code from outside is tried like any other and believed no more. Where
//! no child came back, a child of the search's own takes the place, and the census counts why.
//!
//! Whoever implements [`Mutator`] must give the same answer to the same [`Wanted`] when a search is
//! taken up again, or the search would not come to the same end. Writing answers down does that.

use crate::code::Code;
use crate::search::Individual;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The place in a search that a child is for. Each is asked about once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Wanted {
    /// The generation it will be born in.
    pub generation: u32,
    /// On which island.
    pub island: usize,
    /// At which place there.
    pub place: usize,
}

/// What is asked: make a child of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// What the child is for.
    #[serde(flatten)]
    pub wanted: Wanted,
    /// A number to draw chance from, below 2⁵³: the same for the same place of the same search.
    pub seed: u64,
    /// The word for the task.
    pub task: String,
    /// How many arguments an expression has.
    pub arguments: u16,
    /// The most nodes that an expression may have.
    pub nodes_max: usize,
    /// The parents, the one that was chosen first at the front.
    pub parents: Vec<Told>,
    /// The best so far.
    pub best: Option<Told>,
    /// Those of late who have no score, and why.
    pub failures: Vec<Told>,
}

/// One individual, as it is told to somebody outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// Its number.
    pub id: u64,
    /// The kind of its code.
    pub kind: String,
    /// Its code for programs.
    pub code: String,
    /// Its code for people.
    pub formula: String,
    /// Its score, if it has one; more is better.
    pub score: Option<f64>,
    /// What the score is made of.
    pub components: BTreeMap<String, f64>,
    /// What each case lost; zero is perfect.
    pub cases: Vec<f64>,
    /// Why it has no score, in one word.
    pub invalid: Option<String>,
    /// The same in a sentence.
    pub why: Option<String>,
    /// What its trial took, in instructions.
    pub instructions: u64,
    /// What it put out while it was tried.
    pub artifacts: Vec<Said>,
}

/// Something that an individual put out under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The name.
    pub key: String,
    /// The content as text; what is no text is replaced.
    pub text: String,
}

impl Told {
    pub(crate) fn of(individual: &Individual) -> Self {
        let fitness = individual.fitness();
        let reason = individual.verdict.as_ref().err();
        Self {
            id: individual.id,
            kind: individual.code.kind().to_owned(),
            code: individual.code.text(),
            formula: individual.code.words(),
            score: individual.score(),
            components: fitness.map(|it| it.components.clone()).unwrap_or_default(),
            cases: fitness.map(|it| it.cases.clone()).unwrap_or_default(),
            invalid: reason.map(|it| it.word().to_owned()),
            why: reason.map(ToString::to_string),
            instructions: individual.instructions,
            artifacts: individual
                .artifacts
                .iter()
                .map(|artifact| Said {
                    key: artifact.key.clone(),
                    text: String::from_utf8_lossy(&artifact.value).into_owned(),
                })
                .collect(),
        }
    }
}

/// Why no child came back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "because")]
pub enum NoChild {
    /// It took too long.
    #[error("no answer came within {seconds} s")]
    Timeout {
        /// How long was waited.
        seconds: u64,
    },
    /// It could not be reached, or went away.
    #[error("it cannot be reached: {words}")]
    Gone {
        /// What stood in the way.
        words: String,
    },
    /// It answered with a failure of its own.
    #[error("it refused: {words}")]
    Refused {
        /// What it said.
        words: String,
    },
    /// The answer is longer than may be.
    #[error("the answer is longer than {limit} bytes")]
    TooLong {
        /// The most that is read.
        limit: u64,
    },
    /// The answer is not in the form that was agreed.
    #[error("the answer cannot be read: {words}")]
    Nonsense {
        /// What is wrong with it.
        words: String,
    },
    /// There is code in the answer, but it is none.
    #[error("the child is no code: {words}")]
    NotCode {
        /// What is wrong with it.
        words: String,
    },
    /// The code is none that the search may have.
    #[error("the child does not fit: {words}")]
    Unfit {
        /// Why not.
        words: String,
    },
    /// Nobody was asked, because too many questions in a row had gone wrong.
    #[error("nobody was asked any more")]
    GivenUp,
}

impl NoChild {
    /// The stable word for programs.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Timeout { .. } => "timeout",
            Self::Gone { .. } => "gone",
            Self::Refused { .. } => "refused",
            Self::TooLong { .. } => "too_long",
            Self::Nonsense { .. } => "nonsense",
            Self::NotCode { .. } => "not_code",
            Self::Unfit { .. } => "unfit",
            Self::GivenUp => "given_up",
        }
    }
}

/// Makes children for a search, from outside.
pub trait Mutator: fmt::Debug + Send + Sync {
    /// A child for each question, in their order.
    fn children(&self, questions: &[Question]) -> Vec<Result<Code, NoChild>>;
}
