//! Children that somebody outside makes.

use super::Search;
use super::birth::{Birth, Wants};
use super::individual::Individual;
use crate::code::Code;
use crate::outside::{Mutator, NoChild, Question, Told};
use std::sync::Arc;

/// How many of those without a score are told of.
const FAILURES_TOLD: usize = 3;

/// The word under which children that came back are counted.
const CHILD: &str = "child";

impl Search {
    /// Lets somebody outside make the share of children that the plan says.
    #[must_use]
    pub fn with_mutator(mut self, mutator: Arc<dyn Mutator>) -> Self {
        self.mutator = Some(mutator);
        self
    }

    /// Asks for the children that are to come from outside, all of a round at once. Where none
    /// comes, the one that was bred for its place stays.
    pub(super) fn consult(&mut self, births: &mut [Birth]) {
        let Some(mutator) = self.mutator.clone() else {
            return;
        };
        let (places, questions): (Vec<usize>, Vec<Question>) = births
            .iter()
            .enumerate()
            .filter_map(|(at, birth)| Some((at, self.question(birth.wants.as_ref()?))))
            .unzip();
        if questions.is_empty() {
            return;
        }
        let children = mutator.children(&questions);
        for (at, child) in places.into_iter().zip(children) {
            let Some(birth) = births.get_mut(at) else {
                continue;
            };
            let child = child.and_then(|code| self.fitting(birth, code));
            let word = match child {
                Ok(code) => {
                    birth.adopt(code);
                    CHILD
                }
                Err(reason) => reason.word(),
            };
            *self.outside.entry(word.to_owned()).or_default() += 1;
        }
    }

    fn question(&self, wants: &Wants) -> Question {
        let told = |id: &u64| self.known.get(id).map(|it| Told::of(it));
        let failed =
            |it: &&Arc<Individual>| it.verdict.is_err() && it.island == wants.wanted.island;
        Question {
            wanted: wants.wanted,
            // What reads it may keep numbers in 53 bits.
            seed: wants.seed >> 11,
            task: self.task.name().to_owned(),
            arguments: self.plan.soil.arguments,
            nodes_max: self.plan.soil.nodes_max,
            parents: wants.parents.iter().filter_map(told).collect(),
            best: self.at.best.as_ref().and_then(told),
            failures: self
                .known
                .values()
                .rev()
                .filter(failed)
                .take(FAILURES_TOLD)
                .map(|it| Told::of(it))
                .collect(),
        }
    }

    /// The code, if it is one that the search may have.
    fn fitting(&self, birth: &Birth, code: Code) -> Result<Code, NoChild> {
        let unfit = |words: &str| NoChild::Unfit {
            words: words.to_owned(),
        };
        let soil = &self.plan.soil;
        match (&code, birth.code.as_ref()) {
            (Code::Tree(tree), _) if tree.arguments() != soil.arguments => {
                Err(unfit("it has another number of arguments"))
            }
            (Code::Tree(tree), _) if !soil.holds(tree) => Err(unfit(
                "it has more nodes, or is deeper, than the soil allows",
            )),
            (Code::Numbers(numbers), Code::Numbers(own)) => {
                let (low, high) = self.task.bounds();
                let within = numbers.iter().all(|it| (low..=high).contains(it));
                match (within, numbers.len() == own.len()) {
                    (true, true) => Ok(code),
                    (false, _) => Err(unfit("a number is out of bounds")),
                    (true, false) => Err(unfit("it has another count of numbers")),
                }
            }
            (Code::Numbers(_), _) => Err(unfit("numbers are no program")),
            _ => Ok(code),
        }
    }
}
