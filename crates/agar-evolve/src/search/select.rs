//! Choosing parents.

use super::individual::Individual;
use super::plan::{Plan, Selection};
use crate::chance::Chance;

/// Those who may become parents, with what choosing needs to know of them.
#[derive(Debug)]
pub(super) struct Pool<'a> {
    /// The best first.
    parents: &'a [&'a Individual],
    selection: Selection,
    tournament: usize,
    /// Those who hold a place in the grid, and how often a parent is one of them.
    elites: (Vec<&'a Individual>, f64),
    /// For each case how far apart two losses must be to differ.
    apart: Vec<f64>,
}

impl<'a> Pool<'a> {
    pub(super) fn new(
        parents: &'a [&'a Individual],
        elites: Vec<&'a Individual>,
        plan: &Plan,
    ) -> Self {
        let cases = parents.iter().map(|it| losses(it).len()).max().unwrap_or(0);
        let apart = match plan.selection {
            Selection::Tournament => Vec::new(),
            Selection::Lexicase => (0..cases).map(|case| deviation(parents, case)).collect(),
        };
        Self {
            parents,
            selection: plan.selection,
            tournament: plan.tournament.max(1),
            elites: (elites, plan.from_grid),
            apart,
        }
    }

    /// One parent.
    pub(super) fn parent(&self, chance: &mut Chance) -> Option<&'a Individual> {
        let (elites, share) = &self.elites;
        if !elites.is_empty() && chance.happens(*share) {
            return chance.pick(elites).copied();
        }
        match self.selection {
            Selection::Tournament => self.by_tournament(chance),
            Selection::Lexicase => self.by_cases(chance),
        }
    }

    /// The parents are in order, so the best of a few is the one with the least index.
    fn by_tournament(&self, chance: &mut Chance) -> Option<&'a Individual> {
        let drawn = (0..self.tournament).map(|_| chance.below(self.parents.len()));
        drawn.min().and_then(|best| self.parents.get(best)).copied()
    }

    fn by_cases(&self, chance: &mut Chance) -> Option<&'a Individual> {
        let mut order: Vec<usize> = (0..self.apart.len()).collect();
        chance.shuffle(&mut order);
        let able = self.parents.iter().copied();
        let mut left: Vec<&Individual> = able
            .filter(|it| losses(it).len() == self.apart.len() && !order.is_empty())
            .collect();
        for case in order {
            if left.len() <= 1 {
                break;
            }
            let loss = |it: &Individual| losses(it).get(case).copied().unwrap_or(f64::MAX);
            let least = left.iter().map(|it| loss(it)).fold(f64::MAX, f64::min);
            let bound = least + self.apart.get(case).copied().unwrap_or(0.0);
            left.retain(|it| loss(it) <= bound);
        }
        match chance.pick(&left) {
            Some(parent) => Some(parent),
            // Nobody has a score yet.
            None => self.by_tournament(chance),
        }
    }
}

fn losses(individual: &Individual) -> &[f64] {
    individual.fitness().map_or(&[], |fitness| &fitness.cases)
}

/// The median distance from the median of a case's losses.
fn deviation(parents: &[&Individual], case: usize) -> f64 {
    let losses = parents
        .iter()
        .filter_map(|it| losses(it).get(case).copied());
    let mut losses: Vec<f64> = losses.collect();
    let middle = median(&mut losses);
    let mut distances: Vec<f64> = losses.iter().map(|loss| (loss - middle).abs()).collect();
    median(&mut distances)
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}
