//! The course of a search: generation after generation, each on record before the next one begins.

use super::failure::EvolveError;
use super::keep::{self, Kept};
use super::outside::{Outside, stopped};
use super::run::restore_watched;
use super::watch::{self, Lookout, Told};
use crate::surroundings::Step;
use crate::{Engine, EngineError};
use agar_evolve::Watch;
use agar_evolve::search::{Bin, Census, Generation, Search};
use agar_store::Fact;
use agar_store::evolution::SearchRow;
use std::fmt::Write as _;
use std::sync::Arc;

/// A search under way.
pub(super) struct Course<'a> {
    engine: &'a Engine,
    row: &'a SearchRow,
    pub(super) search: Search,
    lookout: Arc<Lookout>,
    outside: Option<Arc<Outside>>,
    /// The best score of each generation that was made.
    pub(super) history: Vec<Option<f64>>,
    /// The population at the end.
    pub(super) census: Option<Census>,
}

impl<'a> Course<'a> {
    /// The search as it stands, with those who watch it and those who make its children.
    pub(super) fn open(
        engine: &'a Engine,
        kept: &Kept,
        row: &'a SearchRow,
        told: &Told,
    ) -> Result<Self, EngineError> {
        let lookout = Arc::new(Lookout::new(engine, told)?);
        let watch: Arc<dyn Watch> = Arc::<Lookout>::clone(&lookout);
        let mut search = restore_watched(engine, kept, row, watch)?;
        let wish = keep::wish(row)?;
        let outside = wish.outside.as_ref().map(|wish| {
            let place = (kept.database.as_path(), row.id);
            Outside::new(engine, wish, place).map(Arc::new)
        });
        let outside = outside.transpose()?;
        if let Some(outside) = &outside {
            search = search.with_mutator(Arc::<Outside>::clone(outside));
        }
        Ok(Self {
            engine,
            row,
            search,
            lookout,
            outside,
            history: Vec::new(),
            census: None,
        })
    }

    /// Goes on to the end.
    pub(super) fn run(&mut self, kept: &mut Kept, threads: usize) -> Result<(), EngineError> {
        let went = self.generations(kept, threads);
        self.engine.surroundings().progress.end();
        self.lookout.publish()?;
        went
    }

    fn generations(&mut self, kept: &mut Kept, threads: usize) -> Result<(), EngineError> {
        while self.search.ended().is_none() {
            let made = self.search.step(threads);
            self.unless_given_up(kept, &made)?;
            let broken = |why: String| EvolveError::Record {
                name: self.row.name.clone(),
                why,
            };
            let ended = self.search.ended();
            let rows = keep::generation(&made, ended, self.engine.now()).map_err(broken)?;
            kept.store
                .write(|writer| writer.add_generation(self.row.id, &rows))?;
            self.journal(&made)?;
            self.lookout.publish()?;
            self.say(&made.census);
            self.history.push(made.census.best);
            self.census = Some(made.census);
        }
        Ok(())
    }

    /// A generation that nobody outside had a part in, although somebody should, is not one: it is
    /// not kept, and its questions are asked again when the search goes on.
    fn unless_given_up(&self, kept: &mut Kept, made: &Generation) -> Result<(), EngineError> {
        let gave_up = self.outside.as_ref().and_then(|outside| outside.gave_up());
        let Some(reason) = gave_up else {
            return Ok(());
        };
        kept.store
            .write(|writer| writer.drop_failed_replies(self.row.id, made.number))?;
        Err(stopped(&self.row.name, &reason).into())
    }

    fn journal(&self, made: &Generation) -> Result<(), EngineError> {
        if let Some(fact) = watch::contained(&self.row.name, made) {
            watch::note(self.engine, &fact)?;
        }
        if let Some(ended) = self.search.ended() {
            let fact = Fact::EvolveEnded {
                search: self.row.name.clone(),
                ended: keep::ending(ended).to_owned(),
                generation: made.number,
                digest: made.checkpoint.digest.clone(),
            };
            watch::note(self.engine, &fact)?;
        }
        Ok(())
    }

    fn say(&self, census: &Census) {
        let best = self.search.best().and_then(|best| best.score());
        self.engine.surroundings().progress.step(Step {
            doing: &doing(best, census),
            done: u64::from(census.generation),
            total: Some(u64::from(self.search.plan().stop.generations)),
        });
    }
}

/// How the population is, in one line: the best, who has a score, how scores spread.
fn doing(best: Option<f64>, census: &Census) -> String {
    let mut doing = "evolving".to_owned();
    if let Some(best) = best {
        let _ = write!(doing, " · best {best:.6}");
    }
    let health = &census.health;
    let all = health.valid + health.invalid;
    let _ = write!(doing, " · {} of {all} with a score", health.valid);
    let spread = spread(&census.distribution);
    if !spread.is_empty() {
        let _ = write!(doing, " {spread}");
    }
    doing
}

/// The distribution of scores, the lowest first, one column for each bin.
fn spread(bins: &[Bin]) -> String {
    const COLUMNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(0).max(1);
    let column = |bin: &Bin| {
        if bin.count == 0 {
            return ' ';
        }
        let height = (bin.count * COLUMNS.len()).div_ceil(most);
        COLUMNS
            .get(height.saturating_sub(1))
            .copied()
            .unwrap_or('█')
    };
    bins.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_scores_is_seen_in_columns() {
        let bin = |count| Bin {
            from: 0.0,
            to: 1.0,
            count,
        };
        assert_eq!(spread(&[bin(1), bin(0), bin(80), bin(40)]), "▁ █▄");
        assert_eq!(spread(&[]), "");
    }
}
