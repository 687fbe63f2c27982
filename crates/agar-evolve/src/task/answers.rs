//! Answering questions in bytes, each right or wrong.

use super::{Bench, Evaluation, Task, Trace};
use crate::breed::Soil;
use crate::chance::{Chance, number};
use crate::code::Code;
use crate::fitness::{Fitness, Invalid, Verdict, finite};
use crate::genome::Genome;
use std::collections::BTreeMap;

/// Questions with their answers. Candidates are modules that export `evaluate`.
#[derive(Debug, Clone)]
pub struct Answers {
    cases: Vec<(Vec<u8>, Vec<u8>)>,
    seeds: Vec<Code>,
}

impl Answers {
    /// A task of these questions and answers, which begins with these candidates.
    pub const fn new(cases: Vec<(Vec<u8>, Vec<u8>)>, seeds: Vec<Code>) -> Self {
        Self { cases, seeds }
    }

    fn judge(&self, genome: &Genome, bench: &Bench, trace: &mut Trace) -> Verdict {
        let order: Vec<usize> = (0..self.cases.len()).collect();
        let said = self.ask(genome, bench, &order, trace)?;
        if !genome.facts().is_stateless() {
            let mut other = order;
            other.reverse();
            let mut again = self.ask(genome, bench, &other, trace)?;
            again.reverse();
            if let Some(case) = said.iter().zip(&again).position(|(a, b)| a != b) {
                return Err(Invalid::Order { case });
            }
        }
        let right = said
            .iter()
            .zip(&self.cases)
            .map(|(said, (_, answer))| said == answer);
        let cases: Vec<f64> = right.map(|right| f64::from(u8::from(!right))).collect();
        let wrong: f64 = cases.iter().sum();
        let share = 1.0 - wrong / number(cases.len()).max(1.0);
        finite(Fitness {
            score: share,
            components: BTreeMap::from([("wrong".to_owned(), wrong)]),
            solved: cases.iter().all(|loss| *loss == 0.0),
            cases,
        })
    }

    /// What one fresh cell says to the questions in this order.
    fn ask(
        &self,
        genome: &Genome,
        bench: &Bench,
        order: &[usize],
        trace: &mut Trace,
    ) -> Result<Vec<Vec<u8>>, Invalid> {
        let mut cell = bench.cell(genome)?;
        let mut said = Vec::with_capacity(order.len());
        for case in order {
            let question = self
                .cases
                .get(*case)
                .map(|(question, _)| question.as_slice());
            let answer = cell.evaluate(question.unwrap_or_default());
            trace.note(cell.metrics().last_instructions, cell.artifacts())?;
            said.push(answer?);
        }
        Ok(said)
    }
}

impl Task for Answers {
    fn name(&self) -> &'static str {
        "answers"
    }

    fn first(&self, soil: &Soil, place: usize, chance: &mut Chance) -> Code {
        match self.seeds.get(place % self.seeds.len().max(1)) {
            Some(code) => code.clone(),
            None => Code::Tree(crate::breed::ramped(soil, place, chance)),
        }
    }

    fn evaluate(&self, code: &Code, bench: &Bench) -> Evaluation {
        let mut trace = Trace::default();
        let genome = bench.genome(code);
        let verdict = genome.and_then(|genome| self.judge(&genome, bench, &mut trace));
        trace.ending(verdict)
    }
}
