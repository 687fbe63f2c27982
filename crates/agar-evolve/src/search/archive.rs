//! Who is kept beyond the living: the best ever, the best of each sort, and who is not beaten in
//! everything.

use super::individual::Individual;
use super::plan::{Axis, Feature, Plan};
use crate::chance::number;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many may stand on the front of score against size.
const FRONT_MAX: usize = 64;

/// One place of the grid.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GridCell {
    /// The bin on each side.
    pub bins: Vec<usize>,
    /// Who holds it.
    pub id: u64,
}

/// The archives, by number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Archives {
    /// The best ever with different genomes, the best first.
    pub hall: Vec<u64>,
    /// The best of each place of the grid, in the order of places.
    pub grid: Vec<GridCell>,
    /// Nobody has both a higher score and a smaller genome than any of these; the smallest first.
    pub front: Vec<u64>,
}

type Known = BTreeMap<u64, Arc<Individual>>;

impl Archives {
    /// Everyone in them.
    pub(super) fn names(&self) -> impl Iterator<Item = u64> {
        let grid = self.grid.iter().map(|place| place.id);
        self.hall.iter().chain(&self.front).copied().chain(grid)
    }

    /// Takes somebody in where they deserve it.
    pub(super) fn offer(&mut self, new: &Individual, plan: &Plan, known: &Known) {
        if new.score().is_none() {
            return;
        }
        self.offer_hall(new, plan.hall, known);
        self.offer_grid(new, &plan.grid, known);
        self.offer_front(new, known);
    }

    fn offer_hall(&mut self, new: &Individual, most: usize, known: &Known) {
        let same = |id: &u64| known.get(id).is_some_and(|it| it.digest == new.digest);
        if self.hall.iter().any(same) {
            return;
        }
        let ahead = |id: &u64| known.get(id).is_some_and(|it| it.before(new).is_lt());
        let at = self.hall.partition_point(ahead);
        if at < most {
            self.hall.insert(at, new.id);
            self.hall.truncate(most);
        }
    }

    fn offer_grid(&mut self, new: &Individual, axes: &[Axis], known: &Known) {
        if axes.is_empty() {
            return;
        }
        let bins: Option<Vec<usize>> = axes.iter().map(|axis| bin(new, axis)).collect();
        let Some(bins) = bins else {
            return;
        };
        match self.grid.binary_search_by(|place| place.bins.cmp(&bins)) {
            Err(at) => self.grid.insert(at, GridCell { bins, id: new.id }),
            Ok(at) => {
                let place = self.grid.get_mut(at);
                let beaten = |place: &&mut GridCell| {
                    let holder = known.get(&place.id);
                    holder.is_none_or(|holder| new.before(holder).is_lt())
                };
                if let Some(place) = place.filter(beaten) {
                    place.id = new.id;
                }
            }
        }
    }

    fn offer_front(&mut self, new: &Individual, known: &Known) {
        let held = |id: &u64| known.get(id).map(|it| (it.score(), it.code.size()));
        let mine = (new.score(), new.code.size());
        let beats = |a: (Option<f64>, usize), b: (Option<f64>, usize)| a.0 >= b.0 && a.1 <= b.1;
        if self
            .front
            .iter()
            .filter_map(held)
            .any(|other| beats(other, mine))
        {
            return;
        }
        self.front
            .retain(|id| held(id).is_some_and(|other| !beats(mine, other)));
        let at = self
            .front
            .partition_point(|id| held(id).is_some_and(|it| it.1 < mine.1));
        self.front.insert(at, new.id);
        // The smallest are worth the least where there are too many.
        if self.front.len() > FRONT_MAX {
            self.front.remove(0);
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is clamped to the bins first"
)]
fn bin(individual: &Individual, axis: &Axis) -> Option<usize> {
    let value = match &axis.feature {
        Feature::Size => number(individual.code.size()),
        Feature::Instructions => {
            number(usize::try_from(individual.instructions / 1_000).unwrap_or(usize::MAX))
        }
        Feature::Component(name) => *individual.fitness()?.components.get(name)?,
    };
    let along = (value - axis.from) / (axis.to - axis.from);
    let last = number(axis.bins.saturating_sub(1));
    Some((along * number(axis.bins)).floor().clamp(0.0, last) as usize)
}
