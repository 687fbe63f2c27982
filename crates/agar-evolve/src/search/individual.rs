//! One individual of a search: code, where it came from, and what it is worth.

use crate::code::Code;
use crate::engine::host::Artifact;
use crate::fitness::{Fitness, Penalty, Verdict};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::sync::Arc;

/// How an individual came to be: the seed's `mutation_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It was there at the beginning.
    Seed,
    /// Of two parents.
    Crossover,
    /// Of one parent, changed.
    Mutation,
    /// Of one parent, said in other words.
    Neutral,
    /// It came over from another island.
    Migration,
    /// Somebody outside made it of its parents.
    Outside,
}

impl Origin {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Seed,
        Self::Crossover,
        Self::Mutation,
        Self::Neutral,
        Self::Migration,
        Self::Outside,
    ];

    /// The stable word for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Seed => "seed",
            Self::Crossover => "crossover",
            Self::Mutation => "mutation",
            Self::Neutral => "neutral",
            Self::Migration => "migration",
            Self::Outside => "outside",
        }
    }

    /// The origin of that name.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.word() == word)
    }
}

/// Where an individual came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// Its parents, the one it is mostly made of first.
    pub parents: Vec<u64>,
    /// How it was made.
    pub mutation_type: Origin,
    /// What exactly was done, in one word.
    pub operator: String,
    /// The name of the stream of chance that made it.
    pub seed: u64,
    /// How many ancestors in a row it has.
    pub lineage_depth: u32,
}

/// One individual.
#[derive(Debug, Clone, PartialEq)]
pub struct Individual {
    /// Its number, in the order of birth, from one.
    pub id: u64,
    /// The generation it was born in.
    pub generation: u32,
    /// The island it was born on.
    pub island: usize,
    /// Where it came from.
    pub lineage: Lineage,
    /// What it is made of.
    pub code: Arc<Code>,
    /// The name of its code.
    pub digest: [u8; 32],
    /// What the host made of it.
    pub verdict: Verdict,
    /// What its trial took, in instructions.
    pub instructions: u64,
    /// What was taken off its score from outside.
    pub penalties: Vec<Penalty>,
    /// What it put out while it was tried, as far as that is kept.
    pub artifacts: Vec<Artifact>,
}

impl Individual {
    /// Its fitness, if it has any.
    pub fn fitness(&self) -> Option<&Fitness> {
        self.verdict.as_ref().ok()
    }

    /// Its score after penalties.
    pub fn score(&self) -> Option<f64> {
        let taken: f64 = self.penalties.iter().map(|penalty| penalty.amount).sum();
        self.fitness().map(|fitness| fitness.score - taken)
    }

    /// Orders two, the better first: by score, then the smaller, then the older.
    pub fn before(&self, other: &Self) -> Ordering {
        let by_score = match (self.score(), other.score()) {
            (Some(a), Some(b)) => b.total_cmp(&a),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        };
        by_score
            .then_with(|| self.code.size().cmp(&other.code.size()))
            .then_with(|| self.id.cmp(&other.id))
    }

    /// The same on another island, as a new individual.
    pub(super) fn migrated(&self, id: u64, generation: u32, island: usize) -> Self {
        Self {
            id,
            generation,
            island,
            lineage: Lineage {
                parents: vec![self.id],
                mutation_type: Origin::Migration,
                operator: "migration".to_owned(),
                seed: self.lineage.seed,
                lineage_depth: self.lineage.lineage_depth + 1,
            },
            ..self.clone()
        }
    }

    /// The digest of a history after this birth.
    pub fn chained(&self, digest: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut put = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        put(digest.as_bytes());
        for number in [
            self.id,
            u64::from(self.generation),
            self.island as u64,
            self.lineage.seed,
            u64::from(self.lineage.lineage_depth),
            self.instructions,
        ] {
            put(&number.to_le_bytes());
        }
        for parent in &self.lineage.parents {
            put(&parent.to_le_bytes());
        }
        put(self.lineage.operator.as_bytes());
        put(&self.digest);
        match &self.verdict {
            Err(reason) => put(reason.word().as_bytes()),
            Ok(fitness) => {
                put(&fitness.score.to_bits().to_le_bytes());
                for loss in &fitness.cases {
                    put(&loss.to_bits().to_le_bytes());
                }
                for (name, value) in &fitness.components {
                    put(name.as_bytes());
                    put(&value.to_bits().to_le_bytes());
                }
            }
        }
        hasher.finalize().to_hex().to_string()
    }
}
