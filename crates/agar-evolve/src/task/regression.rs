//! Finding a formula for points.

use super::{Bench, Evaluation, Task, Trace};
use crate::breed::Soil;
use crate::chance::{Chance, number};
use crate::code::Code;
use crate::fitness::{Fitness, Invalid, Verdict, finite};
use crate::genome::Genome;
use crate::tree::Tree;
use std::collections::BTreeMap;

/// The function that a candidate must export.
const ENTRY: &str = "f";

/// How many times the tolerance a candidate may be off on a held-out case before knowing all the
/// others exactly counts as knowing them by heart.
const BY_HEART: f64 = 1_000.0;

/// Arguments and the value that belongs to them.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The arguments.
    pub at: Vec<f64>,
    /// The value.
    pub value: f64,
}

/// Points, most of them to breed on and some held out.
#[derive(Debug, Clone)]
pub struct Regression {
    arguments: u16,
    training: Cases,
    held_out: Cases,
    tolerance: f64,
    /// Cases of the first stage, and the score below which the rest is not asked.
    cascade: Option<(usize, f64)>,
    seeds: Vec<Code>,
}

#[derive(Debug, Clone, Default)]
struct Cases {
    at: Vec<f64>,
    values: Vec<f64>,
}

impl Regression {
    /// A task of these points. Each error up to the tolerance counts as none when it is asked
    /// whether a candidate is a solution, never in its score.
    pub fn new(arguments: u16, training: &[Point], held_out: &[Point], tolerance: f64) -> Self {
        let cases = |points: &[Point]| Cases {
            at: points.iter().flat_map(|point| point.at.clone()).collect(),
            values: points.iter().map(|point| point.value).collect(),
        };
        Self {
            arguments,
            training: cases(training),
            held_out: cases(held_out),
            tolerance,
            cascade: None,
            seeds: Vec::new(),
        }
    }

    /// The same, asking the first `cases` alone first: who scores below `least` there is not asked
    /// the rest.
    #[must_use]
    pub fn with_cascade(mut self, cases: usize, least: f64) -> Self {
        self.cascade = Some((cases, least));
        self
    }

    /// The same, beginning with these.
    #[must_use]
    pub fn with_seeds(mut self, seeds: Vec<Code>) -> Self {
        self.seeds = seeds;
        self
    }

    /// Points of a formula: so many at even distances from one bound to the other to breed on, and
    /// as many between them, drawn by this seed, held out.
    pub fn of_formula(target: &Tree, (low, high): (f64, f64), count: usize, seed: u64) -> Self {
        let mut chance = Chance::of(&[seed, 0x0070_6f69_6e74]);
        let arguments = usize::from(target.arguments());
        let last = number(count.saturating_sub(1).max(1));
        let mut training = Vec::new();
        let mut held_out = Vec::new();
        for index in 0..count {
            // Each argument in its turn goes along its line; chance fills the space around.
            let mut at: Vec<f64> = (0..arguments).map(|_| chance.between(low, high)).collect();
            if let Some(along) = at.get_mut(index % arguments.max(1)) {
                *along = low + (high - low) * number(index) / last;
            }
            training.push(Point {
                value: target.value(&at),
                at,
            });
        }
        for _ in 0..count {
            let at: Vec<f64> = (0..arguments).map(|_| chance.between(low, high)).collect();
            held_out.push(Point {
                value: target.value(&at),
                at,
            });
        }
        Self::new(target.arguments(), &training, &held_out, 1e-6)
    }

    /// The same with another tolerance.
    #[must_use]
    pub const fn with_tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    fn within(&self, loss: f64, value: f64) -> bool {
        loss <= self.tolerance * value.abs().max(1.0)
    }

    fn ask(&self, genome: &Genome, bench: &Bench) -> Evaluation {
        let mut trace = Trace::default();
        let verdict = self.judge(genome, bench, &mut trace);
        trace.ending(verdict)
    }

    fn judge(&self, genome: &Genome, bench: &Bench, trace: &mut Trace) -> Verdict {
        if let Some((cases, least)) = self.cascade {
            let first = self.training.first(cases, usize::from(self.arguments));
            let losses = first.losses(genome, bench, trace)?;
            let score = score(&losses);
            if score < least && first.values.len() < self.training.values.len() {
                return finite(self.fitness(score, losses, false));
            }
        }
        let losses = self.training.losses(genome, bench, trace)?;
        self.training
            .in_any_order(genome, bench, usize::from(self.arguments), trace)?;
        let known = losses.iter().zip(&self.training.values);
        let exact = known
            .into_iter()
            .all(|(loss, value)| self.within(*loss, *value));
        let solved = exact && self.holds_out(genome, bench, trace)?;
        let score = score(&losses);
        finite(self.fitness(score, losses, solved))
    }

    /// Whether the held-out cases are right too.
    fn holds_out(
        &self,
        genome: &Genome,
        bench: &Bench,
        trace: &mut Trace,
    ) -> Result<bool, Invalid> {
        let losses = self.held_out.losses(genome, bench, trace)?;
        let pairs = || losses.iter().zip(&self.held_out.values);
        let strange = pairs().position(|(loss, value)| !self.within(loss / BY_HEART, *value));
        match strange {
            Some(case) => Err(Invalid::Memorised { case }),
            None => Ok(pairs().all(|(loss, value)| self.within(*loss, *value))),
        }
    }

    fn fitness(&self, score: f64, cases: Vec<f64>, solved: bool) -> Fitness {
        let whole = cases.len() == self.training.values.len();
        let largest = cases.iter().copied().fold(0.0, f64::max);
        let mean = cases.iter().sum::<f64>() / number(cases.len()).max(1.0);
        Fitness {
            // A candidate that was not asked everything is not to win against one that was.
            score: if whole { score } else { score * 0.01 },
            components: BTreeMap::from([
                ("mean_error".to_owned(), mean),
                ("largest_error".to_owned(), largest),
            ]),
            cases: if whole { cases } else { Vec::new() },
            solved,
        }
    }
}

/// One for no error, falling towards zero.
fn score(losses: &[f64]) -> f64 {
    let mean = losses.iter().sum::<f64>() / number(losses.len()).max(1.0);
    1.0 / (1.0 + mean)
}

impl Cases {
    fn first(&self, cases: usize, arguments: usize) -> Self {
        let count = cases.min(self.values.len());
        Self {
            at: self.at.iter().take(count * arguments).copied().collect(),
            values: self.values.iter().take(count).copied().collect(),
        }
    }

    /// How far off each answer of a fresh cell is.
    fn losses(
        &self,
        genome: &Genome,
        bench: &Bench,
        trace: &mut Trace,
    ) -> Result<Vec<f64>, Invalid> {
        let answers = answers(genome, bench, &self.at, trace)?;
        if answers.len() != self.values.len() {
            let words = format!("{} answers to {} cases", answers.len(), self.values.len());
            return Err(Invalid::WrongAnswer { case: 0, words });
        }
        let losses: Vec<f64> = answers
            .iter()
            .zip(&self.values)
            .map(|(answer, value)| (answer - value).abs())
            .collect();
        match losses.iter().position(|loss| !loss.is_finite()) {
            Some(case) => Err(Invalid::NotFinite { case }),
            None => Ok(losses),
        }
    }

    /// Asks a candidate that can remember once more, backwards: it must say the same.
    fn in_any_order(
        &self,
        genome: &Genome,
        bench: &Bench,
        arguments: usize,
        trace: &mut Trace,
    ) -> Result<(), Invalid> {
        if genome.facts().is_stateless() {
            return Ok(());
        }
        let forwards = answers(genome, bench, &self.at, trace)?;
        let backwards: Vec<f64> = self
            .at
            .chunks(arguments.max(1))
            .rev()
            .flatten()
            .copied()
            .collect();
        let mut again = answers(genome, bench, &backwards, trace)?;
        again.reverse();
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        match forwards.iter().zip(&again).position(|pair| !same(pair)) {
            Some(case) => Err(Invalid::Order { case }),
            None => Ok(()),
        }
    }
}

fn answers(
    genome: &Genome,
    bench: &Bench,
    at: &[f64],
    trace: &mut Trace,
) -> Result<Vec<f64>, Invalid> {
    let mut cell = bench.cell(genome)?;
    let said = cell.map(ENTRY, at);
    trace.note(cell.metrics().instructions, cell.artifacts())?;
    Ok(said?)
}

impl Task for Regression {
    fn name(&self) -> &'static str {
        "regression"
    }

    fn arguments(&self) -> u16 {
        self.arguments
    }

    fn first(&self, soil: &Soil, place: usize, chance: &mut Chance) -> Code {
        match self.seeds.get(place) {
            Some(code) => code.clone(),
            None => Code::Tree(crate::breed::ramped(soil, place, chance)),
        }
    }

    fn evaluate(&self, code: &Code, bench: &Bench) -> Evaluation {
        match bench.genome(code) {
            Err(reason) => Evaluation::invalid(reason),
            Ok(genome) => self.ask(&genome, bench),
        }
    }
}
