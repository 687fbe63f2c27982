//! Searches and individuals as faces show them.

use super::failure::EvolveError;
use super::keep;
use super::wish::Wish;
use agar_core::seam::Timestamp;
use agar_evolve::search::{Checkpoint, Individual};
use agar_store::evolution::SearchRow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where a search stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchState {
    /// A process is working on it.
    Running,
    /// Nobody works on it and it has not ended: `agar evolve resume` goes on.
    Interrupted,
    /// Somebody solves the task.
    Solved,
    /// It ended without that.
    Ended,
}

impl SearchState {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Solved => "solved",
            Self::Ended => "ended",
        }
    }
}

/// A search, seen from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchView {
    /// Its name.
    pub name: String,
    /// The sort of task.
    pub task: String,
    /// Where it stands.
    pub state: SearchState,
    /// Why it ended, if it has.
    pub ended: Option<String>,
    /// All chance comes from it.
    pub seed: u64,
    /// Individuals that live at once, on all islands.
    pub population: u64,
    /// The last generation that is complete.
    pub generation: u32,
    /// The last one planned.
    pub generations: u32,
    /// Individuals born so far.
    pub born: u64,
    /// Trials that really ran.
    pub trials: u64,
    /// A hash over everybody ever born: equal histories, equal digests.
    pub digest: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When the last generation was complete.
    pub changed_at: Timestamp,
}

/// An individual, in the seed's fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndividualView {
    /// Its number in the order of birth.
    pub id: u64,
    /// The generation it was born in.
    pub generation: u32,
    /// The island it was born on.
    pub island: u64,
    /// The parent it is mostly made of.
    pub parent_id: Option<u64>,
    /// All its parents.
    pub parents: Vec<u64>,
    /// How it came to be.
    pub mutation_type: String,
    /// What exactly was done.
    pub operator: String,
    /// How many ancestors in a row it has.
    pub lineage_depth: u32,
    /// Its score, if it has one.
    pub score: Option<f64>,
    /// What the score is made of.
    pub components: BTreeMap<String, f64>,
    /// Whether it is a solution.
    pub solved: bool,
    /// Why it has no score.
    pub invalid: Option<String>,
    /// What its trial took, in instructions.
    pub instructions: u64,
    /// When it was tried.
    pub evaluated_at: Timestamp,
    /// The kind of its code.
    pub kind: String,
    /// Nodes, bytes or numbers.
    pub size: u64,
    /// Its code for people: a formula, or what there is to say.
    pub formula: String,
    /// Its code for programs: an expression in prefix form, or hexadecimal digits.
    pub code: String,
}

impl IndividualView {
    pub(super) fn new(individual: &Individual, at: Timestamp) -> Self {
        let fitness = individual.fitness();
        Self {
            id: individual.id,
            generation: individual.generation,
            island: individual.island as u64,
            parent_id: individual.lineage.parents.first().copied(),
            parents: individual.lineage.parents.clone(),
            mutation_type: individual.lineage.mutation_type.word().to_owned(),
            operator: individual.lineage.operator.clone(),
            lineage_depth: individual.lineage.lineage_depth,
            score: individual.score(),
            components: fitness.map(|it| it.components.clone()).unwrap_or_default(),
            solved: fitness.is_some_and(|it| it.solved),
            invalid: individual.verdict.as_ref().err().map(ToString::to_string),
            instructions: individual.instructions,
            evaluated_at: at,
            kind: individual.code.kind().to_owned(),
            size: individual.code.size() as u64,
            formula: individual.code.words(),
            code: individual.code.text(),
        }
    }
}

impl SearchView {
    pub(super) fn new(row: &SearchRow, running: bool) -> Result<Self, EvolveError> {
        let wish = keep::wish(row)?;
        let at = keep::checkpoint(row)?;
        Ok(Self::of(row, &wish, at.as_ref(), running))
    }

    fn of(row: &SearchRow, wish: &Wish, at: Option<&Checkpoint>, running: bool) -> Self {
        let state = match &row.ended {
            _ if running => SearchState::Running,
            None => SearchState::Interrupted,
            Some(word) if word == "solved" => SearchState::Solved,
            Some(_) => SearchState::Ended,
        };
        Self {
            name: row.name.clone(),
            task: wish.task.kind().to_owned(),
            state,
            ended: row.ended.clone(),
            seed: wish.search.seed,
            population: (wish.search.population * wish.search.islands) as u64,
            generation: row.generation,
            generations: wish.search.stop.generations,
            born: at.map_or(0, |at| at.born),
            trials: at.map_or(0, |at| at.trials),
            digest: at.map(|at| at.digest.clone()).unwrap_or_default(),
            created_at: row.created_at,
            changed_at: row.changed_at,
        }
    }
}
