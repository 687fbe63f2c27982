//! What a population looks like.

use super::Checkpoint;
use super::individual::Individual;
use crate::chance::number;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many bins the distribution has.
const BINS: usize = 10;

/// How well a population is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Those with a score.
    pub valid: usize,
    /// Those without one.
    pub invalid: usize,
    /// Why they have none, and how many.
    pub reasons: BTreeMap<String, usize>,
    /// How many different genomes.
    pub distinct: usize,
    /// Trials that a clock ended: another run might come out differently.
    pub not_reproducible: usize,
}

/// How many scores lie in a range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// From this score.
    pub from: f64,
    /// Up to this one.
    pub to: f64,
    /// How many.
    pub count: usize,
}

/// The living of a generation, in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Census {
    /// Which generation.
    pub generation: u32,
    /// Individuals born so far.
    pub born: u64,
    /// Trials that really ran so far.
    pub trials: u64,
    /// How well the population is.
    pub health: Health,
    /// The highest score among the living, if anyone has one.
    pub best: Option<f64>,
    /// Three quarters have at most this.
    pub upper: Option<f64>,
    /// Half of them have at most this.
    pub median: Option<f64>,
    /// A quarter has at most this.
    pub lower: Option<f64>,
    /// The lowest score.
    pub worst: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The mean size of a genome.
    pub size: f64,
    /// How the scores are spread between the lowest and the highest.
    pub distribution: Vec<Bin>,
    /// Who was born of which operator, and how many.
    pub operators: BTreeMap<String, usize>,
    /// What came of asking outside: `child`, or why there was none, and how often.
    #[serde(default)]
    pub outside: BTreeMap<String, usize>,
    /// Places taken in the grid of elites.
    pub grid: usize,
    /// The best of all so far.
    pub champion: Option<u64>,
}

impl Census {
    pub(super) fn of<'a>(
        generation: u32,
        at: &Checkpoint,
        living: impl Iterator<Item = &'a Arc<Individual>>,
        births: &[Arc<Individual>],
    ) -> Self {
        let living: Vec<&Arc<Individual>> = living.collect();
        let mut scores: Vec<f64> = living.iter().filter_map(|it| it.score()).collect();
        scores.sort_by(f64::total_cmp);
        let at_share = |share: usize| {
            let last = scores.len().saturating_sub(1);
            scores.get(last * share / 4).copied()
        };
        let size: f64 = living.iter().map(|it| number(it.code.size())).sum();
        let sum: f64 = scores.iter().sum();
        let mut operators: BTreeMap<String, usize> = BTreeMap::new();
        for individual in births {
            *operators
                .entry(individual.lineage.operator.clone())
                .or_default() += 1;
        }
        Self {
            generation,
            born: at.born,
            trials: at.trials,
            health: health(&living),
            best: at_share(4),
            upper: at_share(3),
            median: at_share(2),
            lower: at_share(1),
            worst: at_share(0),
            mean: (!scores.is_empty())
                .then(|| sum / number(scores.len()))
                .filter(|it| it.is_finite()),
            size: size / number(living.len()).max(1.0),
            distribution: distribution(&scores),
            operators,
            outside: BTreeMap::new(),
            grid: at.archives.grid.len(),
            champion: at.best,
        }
    }

    /// The named points of the distribution.
    pub const fn quantiles(&self) -> [(&'static str, Option<f64>); 5] {
        [
            ("best", self.best),
            ("upper", self.upper),
            ("median", self.median),
            ("lower", self.lower),
            ("worst", self.worst),
        ]
    }
}

fn health(living: &[&Arc<Individual>]) -> Health {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut not_reproducible = 0;
    for reason in living.iter().filter_map(|it| it.verdict.as_ref().err()) {
        *reasons.entry(reason.word().to_owned()).or_default() += 1;
        not_reproducible += usize::from(!reason.is_reproducible());
    }
    let invalid = reasons.values().sum();
    let distinct: BTreeSet<&[u8; 32]> = living.iter().map(|it| &it.digest).collect();
    Health {
        valid: living.len() - invalid,
        invalid,
        reasons,
        distinct: distinct.len(),
        not_reproducible,
    }
}

/// The spread of sorted scores.
fn distribution(scores: &[f64]) -> Vec<Bin> {
    let (Some(low), Some(high)) = (scores.first().copied(), scores.last().copied()) else {
        return Vec::new();
    };
    let width = (high - low) / number(BINS);
    if !(width.is_finite() && width > 0.0) {
        return vec![Bin {
            from: low,
            to: high,
            count: scores.len(),
        }];
    }
    let edge = |bin: usize| low + width * number(bin);
    let below = |bin: usize| match bin {
        0 => 0,
        BINS => scores.len(),
        _ => scores.partition_point(|score| *score < edge(bin)),
    };
    (0..BINS)
        .map(|bin| Bin {
            from: edge(bin),
            to: if bin + 1 == BINS { high } else { edge(bin + 1) },
            count: below(bin + 1) - below(bin),
        })
        .collect()
}
