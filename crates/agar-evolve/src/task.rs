//! What individuals are bred for, and how the host finds out how well they do it.
//!
//! A task asks a cell, gets data, and computes the score itself. The cell never sees an expected
//! answer, never reports a number that counts, and is never timed by a clock: what a run costs is
//! counted in instructions.

mod answers;
mod bins;
mod circles;
mod lander;
mod regression;

pub use self::answers::Answers;
pub use self::bins::{BinPacking, Instance, Sort, bounds, pack, pack_with};
pub use self::circles::{CirclePacking, Packing, verify_circles};
pub use self::lander::Lander;
pub use self::regression::{Point, Regression};

use crate::breed::{self, Soil};
use crate::cell::{Cell, Spec};
use crate::chance::Chance;
use crate::code::Code;
use crate::engine::host::Artifact;
use crate::fitness::{Invalid, Verdict};
use crate::genome::{Genome, Rules};
use crate::incubator::Incubator;
use crate::limits::Limits;
use std::collections::BTreeMap;
use std::fmt;

/// Where candidates are tried.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Makes the cells.
    pub incubator: Incubator,
    /// What a genome may be.
    pub rules: Rules,
    /// The walls around each run.
    pub limits: Limits,
}

/// What came of trying one candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// What it is worth.
    pub verdict: Verdict,
    /// What it took, in instructions of the cell.
    pub instructions: u64,
    /// What it put out meanwhile, as far as that is kept.
    pub artifacts: Vec<Artifact>,
    /// The candidate as it came out of the trial, where a task lets what was learned be inherited.
    pub improved: Option<Code>,
}

impl Evaluation {
    /// No score, for this reason.
    pub const fn invalid(reason: Invalid) -> Self {
        Self {
            verdict: Err(reason),
            instructions: 0,
            artifacts: Vec::new(),
            improved: None,
        }
    }
}

/// How many artifacts of a trial are kept, and how many bytes of all of them.
const ARTIFACTS_KEPT: (usize, usize) = (32, 8 << 10);

/// What a trial leaves behind beside its verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// What it took so far, in instructions.
    pub instructions: u64,
    /// What the candidate put out; of too much the first.
    pub artifacts: Vec<Artifact>,
}

impl Trace {
    /// Notes one run, and refuses a candidate that says itself what it is worth.
    pub fn note(&mut self, instructions: u64, artifacts: &[Artifact]) -> Result<(), Invalid> {
        self.instructions += instructions;
        boasts(artifacts)?;
        let (most, bytes) = ARTIFACTS_KEPT;
        for artifact in artifacts {
            let kept: usize = self.artifacts.iter().map(size).sum();
            let known = self.artifacts.contains(artifact);
            if known || self.artifacts.len() >= most || kept + size(artifact) > bytes {
                continue;
            }
            self.artifacts.push(artifact.clone());
        }
        Ok(())
    }

    fn ending(self, verdict: Verdict) -> Evaluation {
        Evaluation {
            verdict,
            instructions: self.instructions,
            artifacts: self.artifacts,
            improved: None,
        }
    }
}

fn size(artifact: &Artifact) -> usize {
    artifact.key.len() + artifact.value.len()
}

/// Something to breed for. The host's side: none of it runs in a cell.
pub trait Task: fmt::Debug + Send + Sync {
    /// The word for it.
    fn name(&self) -> &'static str;

    /// Tries a candidate. The same candidate always gets the same verdict.
    fn evaluate(&self, code: &Code, bench: &Bench) -> Evaluation;

    /// How many arguments an expression for it has.
    fn arguments(&self) -> u16 {
        1
    }

    /// The bounds of genomes that are numbers.
    fn bounds(&self) -> (f64, f64) {
        (0.0, 1.0)
    }

    /// How many of them belong together: a place is two.
    fn block(&self) -> usize {
        1
    }

    /// A candidate of the first generation.
    fn first(&self, soil: &Soil, place: usize, chance: &mut Chance) -> Code {
        Code::Tree(breed::ramped(soil, place, chance))
    }

    /// More about a candidate, from cases that it was not bred on. For people: nothing breeds by it.
    fn examine(&self, _code: &Code, _bench: &Bench) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }
}

/// Names by which candidates like to tell what they are worth.
const OWN_SCORES: [&str; 4] = ["score", "fitness", "reward", "combined_score"];

fn own_score(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    OWN_SCORES.contains(&name.as_str())
}

impl Bench {
    /// The genome of a candidate that is code, if the rules allow it.
    pub fn genome(&self, code: &Code) -> Result<Genome, Invalid> {
        let genome = match code {
            Code::Tree(tree) => Genome::from_tree(tree, &self.rules),
            Code::Module(wasm) => Genome::from_wasm(wasm, &self.rules),
            Code::Script(source) => Genome::from_javascript(source, &self.rules),
            Code::Numbers(_) => {
                let words = "numbers are no program".to_owned();
                return Err(Invalid::Refused { words });
            }
        };
        let genome = genome.map_err(|error| Invalid::Refused {
            words: error.to_string(),
        })?;
        let functions = &genome.facts().functions;
        match functions.iter().find(|function| own_score(&function.name)) {
            Some(function) => Err(Invalid::OwnScore {
                name: function.name.clone(),
            }),
            None => Ok(genome),
        }
    }

    /// A cell for it. It is given no cases: whatever it is asked, it is asked one by one.
    pub fn cell(&self, genome: &Genome) -> Result<Cell, Invalid> {
        let spec = Spec {
            limits: self.limits,
            ..Spec::default()
        };
        Ok(self.incubator.create(genome, spec)?)
    }
}

/// Whether a cell said itself what it is worth.
fn boasts(artifacts: &[Artifact]) -> Result<(), Invalid> {
    match artifacts.iter().find(|artifact| own_score(&artifact.key)) {
        Some(artifact) => Err(Invalid::OwnScore {
            name: artifact.key.clone(),
        }),
        None => Ok(()),
    }
}
