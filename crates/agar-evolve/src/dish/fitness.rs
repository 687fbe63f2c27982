//! What somebody outside found an individual to be worth.

use super::{Dish, DishError};
use crate::event::Event;
use crate::fitness::Penalty;
use agar_core::seam::Timestamp;
use std::collections::BTreeMap;

/// A recorded fitness, in the seed's fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The score.
    pub score: f64,
    /// What it is made of.
    pub components: BTreeMap<String, f64>,
    /// When it was recorded.
    pub evaluated_at: Timestamp,
    /// What was taken off since, and why.
    pub penalties: Vec<Penalty>,
}

impl Recorded {
    /// The score after penalties.
    pub fn net(&self) -> f64 {
        self.score - self.penalties.iter().map(|it| it.amount).sum::<f64>()
    }
}

impl Dish {
    /// Records a fitness. A score that is no finite number is refused: `false`.
    pub fn record_fitness(
        &self,
        id: &str,
        score: f64,
        components: BTreeMap<String, f64>,
    ) -> Result<bool, DishError> {
        let whole = score.is_finite() && components.values().all(|value| value.is_finite());
        if !whole {
            self.seat(id)?;
            return Ok(false);
        }
        let evaluated_at = self.incubator.now();
        self.with(id, |member| {
            member.fitness = Some(Recorded {
                score,
                components,
                evaluated_at,
                penalties: Vec::new(),
            });
        })?;
        self.watch.event(&Event::FitnessComputed { score });
        Ok(true)
    }

    /// What was recorded.
    pub fn fitness(&self, id: &str) -> Result<Option<Recorded>, DishError> {
        self.with(id, |member| member.fitness.clone())
    }

    /// Takes something off a recorded fitness, for a reason. `false` where there is none to take
    /// from, or the amount is no positive number.
    pub fn penalise(&self, id: &str, penalty: Penalty) -> Result<bool, DishError> {
        let fair = penalty.amount.is_finite() && penalty.amount > 0.0;
        self.with(id, |member| match &mut member.fitness {
            Some(fitness) if fair => {
                fitness.penalties.push(penalty);
                true
            }
            Some(_) | None => false,
        })
    }

    /// Those of these who have a fitness, the best first; of equals by name.
    pub fn rank(&self, ids: &[String]) -> Vec<(String, f64)> {
        let scored = ids.iter().filter_map(|id| {
            let fitness = self.fitness(id).ok().flatten()?;
            Some((id.clone(), fitness.net()))
        });
        let mut ranked: Vec<(String, f64)> = scored.collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        ranked
    }

    /// The best few of these.
    pub fn top(&self, ids: &[String], count: usize) -> Vec<(String, f64)> {
        let mut ranked = self.rank(ids);
        ranked.truncate(count);
        ranked
    }
}
