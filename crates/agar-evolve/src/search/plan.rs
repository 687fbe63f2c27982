//! How a search is to go, as data.

use crate::breed::Soil;
use crate::task::Task;
use agar_core::fault::{Fault, Kind};
use serde::{Deserialize, Serialize};

/// When children take their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// All at once: the parents go, but for the best few.
    #[default]
    Generations,
    /// In small batches: the worst of all go.
    Steady,
}

/// How parents are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// The best of a few drawn at random.
    #[default]
    Tournament,
    /// The best on cases taken in random order, within what separates them.
    Lexicase,
}

/// What an individual is told apart by in the grid of elites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// How large it is.
    Size,
    /// What a trial takes, in thousands of instructions.
    Instructions,
    /// A component of its fitness.
    Component(String),
}

/// One side of the grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// By what.
    pub feature: Feature,
    /// Where the first bin begins.
    pub from: f64,
    /// Where the last one ends.
    pub to: f64,
    /// How many bins; what lies outside goes into the nearest.
    pub bins: usize,
}

/// When a search ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// After this generation.
    pub generations: u32,
    /// As soon as somebody solves the task.
    pub solved: bool,
    /// After so many trials.
    pub trials: Option<u64>,
    /// After so many generations without anything better.
    pub stagnant: Option<u32>,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            generations: 100,
            solved: true,
            trials: None,
            stagnant: None,
        }
    }
}

/// How a search is to go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// All chance comes from it.
    pub seed: u64,
    /// Individuals on each island.
    pub population: usize,
    /// Islands, which breed apart.
    pub islands: usize,
    /// Generations between two migrations; zero for none.
    pub migrate_every: u32,
    /// How many go from each island to the next.
    pub migrants: usize,
    /// When children take their places.
    pub mode: Mode,
    /// Children born at once where they take their places in small batches.
    pub batch: usize,
    /// How many of the best stay.
    pub elite: usize,
    /// How parents are chosen.
    pub selection: Selection,
    /// How many are drawn for a tournament.
    pub tournament: usize,
    /// Share of children with two parents.
    pub crossover: f64,
    /// Share of children that say the same in other words.
    pub neutral: f64,
    /// Share of children that somebody outside is asked for, where somebody is.
    pub outside: f64,
    /// Share of parents that come from the grid of elites, where there is one.
    pub from_grid: f64,
    /// What expressions are made of.
    pub soil: Soil,
    /// The best ever that are kept.
    pub hall: usize,
    /// The sides of the grid of elites; without any there is none.
    pub grid: Vec<Axis>,
    /// Generations whose dead are kept.
    pub retain_generations: u32,
    /// When it ends.
    pub stop: Stop,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            seed: 1,
            population: 100,
            islands: 3,
            migrate_every: 5,
            migrants: 2,
            mode: Mode::Generations,
            batch: 16,
            elite: 2,
            selection: Selection::Tournament,
            tournament: 3,
            crossover: 0.6,
            neutral: 0.0,
            outside: 0.0,
            from_grid: 0.5,
            soil: Soil::default(),
            hall: 10,
            grid: Vec::new(),
            retain_generations: 3,
            stop: Stop::default(),
        }
    }
}

/// A plan that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {why}")]
pub struct NotAPlan {
    /// The part of the plan.
    pub key: &'static str,
    /// What is wrong with it.
    pub why: &'static str,
}

impl Fault for NotAPlan {
    fn kind(&self) -> Kind {
        Kind::Invalid
    }
}

/// The most individuals that may live at once.
const LIVING_MAX: usize = 100_000;

/// The most places of a grid.
const PLACES_MAX: usize = 100_000;

impl Plan {
    /// The plan with what the task itself decides.
    pub(super) fn for_task(mut self, task: &dyn Task) -> Self {
        self.soil.arguments = task.arguments();
        self
    }

    /// Whether it can be followed.
    pub fn check(&self) -> Result<(), NotAPlan> {
        let shares = [self.crossover, self.neutral, self.outside, self.from_grid];
        let mut places = self.grid.iter().map(|axis| axis.bins);
        let places = places.try_fold(1_usize, usize::checked_mul);
        let rules = [
            (self.population >= 2, "population", "must be at least 2"),
            (self.islands >= 1, "islands", "must be at least 1"),
            (
                self.population.saturating_mul(self.islands) <= LIVING_MAX,
                "population",
                "must not be more than 100000 on all islands together",
            ),
            (
                self.elite < self.population,
                "elite",
                "must be less than the population",
            ),
            (
                self.migrants <= self.population / 2,
                "migrants",
                "must not be more than half of the population",
            ),
            (self.tournament >= 1, "tournament", "must be at least 1"),
            (self.batch >= 1, "batch", "must be at least 1"),
            (
                shares.iter().all(|share| (0.0..=1.0).contains(share)),
                "crossover",
                "and the other shares must be between 0 and 1",
            ),
            (
                self.crossover + self.neutral <= 1.0,
                "crossover",
                "and `neutral` must not be more than 1 together",
            ),
            (
                !self.soil.operators.is_empty(),
                "operators",
                "must name at least one",
            ),
            (
                (1..=10_000).contains(&self.soil.nodes_max),
                "nodes_max",
                "must be between 1 and 10000",
            ),
            (
                (1..=500).contains(&self.soil.depth_max),
                "depth_max",
                "must be between 1 and 500",
            ),
            (
                self.soil.numbers.is_finite() && self.soil.numbers >= 0.0,
                "numbers",
                "must be a finite number, zero or more",
            ),
            (
                self.grid
                    .iter()
                    .all(|axis| axis.bins >= 1 && axis.from < axis.to),
                "grid",
                "must have bins, and `from` below `to`, on each side",
            ),
            (
                places.is_some_and(|places| places <= PLACES_MAX),
                "grid",
                "must not have more than 100000 places",
            ),
        ];
        match rules.into_iter().find(|(holds, ..)| !holds) {
            Some((_, key, why)) => Err(NotAPlan { key, why }),
            None => Ok(()),
        }
    }
}
