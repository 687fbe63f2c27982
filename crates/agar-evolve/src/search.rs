//! The reference brain: a search that breeds individuals for a task.
//!
//! A search is a value. [`Search::step`] makes one generation: children are bred by named streams
//! of chance, tried on as many threads as are given, and put in their places. What comes out
//! depends on the plan and the task alone. After each step everything needed to go on is in a
//! [`Checkpoint`] and in the individuals that it names; [`Search::resume`] goes on from there as if
//! nothing had happened, and [`Checkpoint::digest`], a hash over all that was ever born, proves it.
//!
//! Nothing of the brain is known to cells or tasks: who wants another one uses [`Task`] and
//! [`Bench`] and breeds by itself.

mod archive;
mod birth;
mod consult;
mod evaluate;
mod individual;
mod plan;
mod select;
mod stats;

pub use self::archive::{Archives, GridCell};
pub use self::individual::{Individual, Lineage, Origin};
pub use self::plan::{Axis, Feature, Mode, NotAPlan, Plan, Selection, Stop};
pub use self::stats::{Bin, Census, Health};

use self::birth::Birth;
use crate::event::{Event, Watch};
use crate::fitness::Penalty;
use crate::outside::Mutator;
use crate::task::{Bench, Task};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All that is needed, beside the plan, to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The generation that was finished last.
    pub generation: u32,
    /// Individuals born so far.
    pub born: u64,
    /// Trials that really ran.
    pub trials: u64,
    /// Who lives on each island, the best first.
    pub islands: Vec<Vec<u64>>,
    /// Who is kept beyond the living.
    pub archives: Archives,
    /// The best of all, if anyone has a score.
    pub best: Option<u64>,
    /// Generations since the best was found.
    pub stagnant: u32,
    /// A hash over everybody ever born, in order: equal histories, equal digests.
    pub digest: String,
}

/// What one step did.
#[derive(Debug, Clone)]
pub struct Generation {
    /// Its number, from zero.
    pub number: u32,
    /// Who was born, in order.
    pub births: Vec<Arc<Individual>>,
    /// What the living look like now.
    pub census: Census,
    /// Whom nobody needs any more.
    pub collected: Vec<u64>,
    /// Where the search stands.
    pub checkpoint: Checkpoint,
}

/// Why a search has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Somebody solves the task.
    Solved,
    /// The planned generations are over.
    Generations,
    /// The planned trials are used up.
    Trials,
    /// Nothing better came for as long as was planned.
    Stagnant,
}

/// A search under way.
#[derive(Debug)]
pub struct Search {
    plan: Plan,
    task: Arc<dyn Task>,
    bench: Bench,
    at: Checkpoint,
    /// Everyone who was not collected, those whom the checkpoint names among them.
    known: BTreeMap<u64, Arc<Individual>>,
    watch: Arc<dyn Watch>,
    mutator: Option<Arc<dyn Mutator>>,
    /// What came of asking outside in this generation, by word.
    outside: BTreeMap<String, usize>,
}

/// A checkpoint names somebody who was not handed over with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the checkpoint names individual {0}, who is missing")]
pub struct Missing(pub u64);

impl Search {
    /// A search that has not begun: the first step makes generation zero.
    pub fn new(plan: Plan, task: Arc<dyn Task>, bench: Bench, watch: Arc<dyn Watch>) -> Self {
        let at = Checkpoint {
            generation: 0,
            born: 0,
            trials: 0,
            islands: vec![Vec::new(); plan.islands.max(1)],
            archives: Archives::default(),
            best: None,
            stagnant: 0,
            digest: String::new(),
        };
        Self {
            plan: plan.for_task(task.as_ref()),
            task,
            bench,
            at,
            known: BTreeMap::new(),
            watch,
            mutator: None,
            outside: BTreeMap::new(),
        }
    }

    /// A search as it was at a checkpoint, with everyone who was not collected before it.
    pub fn resume(
        plan: Plan,
        task: Arc<dyn Task>,
        bench: Bench,
        watch: Arc<dyn Watch>,
        (at, known): (Checkpoint, Vec<Individual>),
    ) -> Result<Self, Missing> {
        let mut search = Self::new(plan, task, bench, watch);
        search.known = known.into_iter().map(|it| (it.id, Arc::new(it))).collect();
        if let Some(missing) = at.names().find(|id| !search.known.contains_key(id)) {
            return Err(Missing(missing));
        }
        search.at = at;
        Ok(search)
    }

    /// The plan.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Where it stands.
    pub const fn checkpoint(&self) -> &Checkpoint {
        &self.at
    }

    /// The best so far.
    pub fn best(&self) -> Option<&Arc<Individual>> {
        self.at.best.and_then(|id| self.known.get(&id))
    }

    /// Somebody who lives or is in an archive.
    pub fn individual(&self, id: u64) -> Option<&Arc<Individual>> {
        self.known.get(&id)
    }

    /// Everyone who lives, island by island, the best first.
    pub fn living(&self) -> impl Iterator<Item = &Arc<Individual>> {
        let ids = self.at.islands.iter().flatten();
        ids.filter_map(|id| self.known.get(id))
    }

    /// More about somebody, from cases that nobody was bred on.
    pub fn examine(&self, individual: &Individual) -> BTreeMap<String, f64> {
        self.task.examine(&individual.code, &self.bench)
    }

    /// Why it has ended, if it has.
    pub fn ended(&self) -> Option<Ended> {
        if self.at.born == 0 {
            return None;
        }
        let stop = &self.plan.stop;
        let solved = self
            .best()
            .is_some_and(|best| best.fitness().is_some_and(|fitness| fitness.solved));
        if stop.solved && solved {
            Some(Ended::Solved)
        } else if self.at.generation >= stop.generations {
            Some(Ended::Generations)
        } else if stop.trials.is_some_and(|most| self.at.trials >= most) {
            Some(Ended::Trials)
        } else if stop.stagnant.is_some_and(|most| self.at.stagnant >= most) {
            Some(Ended::Stagnant)
        } else {
            None
        }
    }

    /// Takes something off somebody's score, from outside, for a reason. It counts from the next
    /// step on; a penalty for nobody or by no positive number is none.
    pub fn penalise(&mut self, id: u64, penalty: Penalty) -> bool {
        let fair = penalty.amount.is_finite() && penalty.amount > 0.0;
        let Some(individual) = self.known.get(&id).filter(|_| fair) else {
            return false;
        };
        let mut changed = Individual::clone(individual);
        changed.penalties.push(penalty);
        self.known.insert(id, Arc::new(changed));
        for island in 0..self.at.islands.len() {
            self.rank(island);
        }
        self.recrown();
        true
    }

    /// Makes one generation on so many threads.
    pub fn step(&mut self, threads: usize) -> Generation {
        let first = self.at.born == 0;
        if !first {
            self.at.generation += 1;
        }
        let number = self.at.generation;
        let mut births = Vec::new();
        if first {
            births.extend(self.found(threads));
        } else {
            let rounds = match self.plan.mode {
                Mode::Generations => 1,
                Mode::Steady => self.plan.population.div_ceil(self.plan.batch.max(1)),
            };
            for round in 0..rounds {
                births.extend(self.round(round, threads));
            }
            births.extend(self.migrate());
        }
        self.at.stagnant = if self.recrown() {
            0
        } else {
            self.at.stagnant.saturating_add(1)
        };
        let collected = self.collect();
        let mut census = Census::of(number, &self.at, self.living(), &births);
        census.outside = std::mem::take(&mut self.outside);
        self.watch.event(&Event::Generation(&census));
        Generation {
            number,
            births,
            census,
            collected,
            checkpoint: self.at.clone(),
        }
    }

    /// The first generation.
    fn found(&mut self, threads: usize) -> Vec<Arc<Individual>> {
        let births: Vec<Birth> = (0..self.at.islands.len())
            .flat_map(|island| (0..self.plan.population).map(move |place| (island, place)))
            .map(|(island, place)| Birth::founder(&self.plan, self.task.as_ref(), island, place))
            .collect();
        let born = self.bear(births, threads);
        for individual in &born {
            if let Some(island) = self.at.islands.get_mut(individual.island) {
                island.push(individual.id);
            }
        }
        (0..self.at.islands.len()).for_each(|island| self.rank(island));
        born
    }

    /// One round of breeding on every island.
    fn round(&mut self, round: usize, threads: usize) -> Vec<Arc<Individual>> {
        let births: Vec<Birth> = (0..self.at.islands.len())
            .flat_map(|island| self.offspring(island, round))
            .collect();
        let born = self.bear(births, threads);
        for island in 0..self.at.islands.len() {
            self.settle(island, &born);
        }
        born
    }

    /// Who is to be born on an island in a round.
    fn offspring(&self, island: usize, round: usize) -> Vec<Birth> {
        let parents: Vec<&Individual> = self
            .at
            .islands
            .get(island)
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .filter_map(|id| self.known.get(id).map(AsRef::as_ref))
            .collect();
        let elites = self
            .at
            .archives
            .grid
            .iter()
            .filter_map(|place| self.known.get(&place.id));
        let elites: Vec<&Individual> = elites.map(AsRef::as_ref).collect();
        let pool = select::Pool::new(&parents, elites, &self.plan);
        let count = match self.plan.mode {
            Mode::Generations => self.plan.population.saturating_sub(self.plan.elite),
            Mode::Steady => {
                let done = round * self.plan.batch.max(1);
                self.plan.batch.max(1).min(self.plan.population - done)
            }
        };
        let place = round * self.plan.batch.max(1);
        (place..place + count)
            .map(|place| {
                let at = (self.at.generation, island, place);
                Birth::child(&self.plan, self.task.as_ref(), at, &pool)
            })
            .collect()
    }

    /// Tries those to be born, names them, and writes them into the digest.
    fn bear(&mut self, mut births: Vec<Birth>, threads: usize) -> Vec<Arc<Individual>> {
        self.consult(&mut births);
        self.watch.event(&Event::BatchStart {
            count: births.len() as u64,
        });
        let tried = evaluate::run(
            &births,
            (self.task.as_ref(), &self.bench),
            (threads, self.watch.as_ref()),
            &self.known,
        );
        self.at.trials += tried.ran;
        let mut born = Vec::with_capacity(births.len());
        for (birth, trial) in births.into_iter().zip(tried.results) {
            self.at.born += 1;
            let individual = birth.into_individual(self.at.born, self.at.generation, trial);
            self.at.digest = individual.chained(&self.at.digest);
            let individual = Arc::new(individual);
            self.known.insert(individual.id, Arc::clone(&individual));
            self.at.archives.offer(&individual, &self.plan, &self.known);
            born.push(individual);
        }
        self.watch.event(&Event::BatchStop {
            count: born.len() as u64,
        });
        born
    }

    /// Decides who lives on an island after a round.
    fn settle(&mut self, island: usize, born: &[Arc<Individual>]) {
        let children = born.iter().filter(|it| it.island == island).map(|it| it.id);
        let Some(living) = self.at.islands.get_mut(island) else {
            return;
        };
        match self.plan.mode {
            Mode::Generations => {
                living.truncate(self.plan.elite.min(self.plan.population));
                living.extend(children);
            }
            Mode::Steady => living.extend(children),
        }
        self.rank(island);
        if let Some(living) = self.at.islands.get_mut(island) {
            living.truncate(self.plan.population);
        }
    }

    /// Puts an island's inhabitants in order.
    fn rank(&mut self, island: usize) {
        let known = &self.known;
        if let Some(living) = self.at.islands.get_mut(island) {
            living.sort_by(|a, b| match (known.get(a), known.get(b)) {
                (Some(a), Some(b)) => a.before(b),
                _ => a.cmp(b),
            });
        }
    }

    /// Sends the best of each island to the next, in a ring.
    fn migrate(&mut self) -> Vec<Arc<Individual>> {
        let islands = self.at.islands.len();
        let due = self.plan.migrate_every > 0
            && self.at.generation.is_multiple_of(self.plan.migrate_every);
        if islands < 2 || !due {
            return Vec::new();
        }
        let leaving: Vec<Vec<u64>> = self
            .at
            .islands
            .iter()
            .map(|living| living.iter().take(self.plan.migrants).copied().collect())
            .collect();
        let mut arrived = Vec::new();
        for (from, ids) in leaving.iter().enumerate() {
            let to = (from + 1) % islands;
            let guests: Vec<Arc<Individual>> = ids
                .iter()
                .filter_map(|id| self.known.get(id).cloned())
                .collect();
            arrived.extend(guests.iter().map(|guest| self.welcome(guest, to)));
            self.rank(to);
        }
        arrived
    }

    /// Gives a guest the place of whoever is last on the island.
    fn welcome(&mut self, guest: &Individual, island: usize) -> Arc<Individual> {
        self.at.born += 1;
        let settled = guest.migrated(self.at.born, self.at.generation, island);
        self.at.digest = settled.chained(&self.at.digest);
        let settled = Arc::new(settled);
        self.known.insert(settled.id, Arc::clone(&settled));
        if let Some(living) = self.at.islands.get_mut(island) {
            living.pop();
            living.push(settled.id);
        }
        settled
    }

    /// Looks who is the best of all; whether it is somebody better than before.
    fn recrown(&mut self) -> bool {
        let named = self.at.names().filter_map(|id| self.known.get(&id));
        let best = named.filter(|it| it.fitness().is_some());
        let best = best.min_by(|a, b| a.before(b)).cloned();
        let before = self.best().cloned();
        let better = match (&before, &best) {
            (None, Some(_)) => true,
            (Some(before), Some(best)) => best.score() > before.score(),
            (_, None) => false,
        };
        self.at.best = best.map(|it| it.id);
        better
    }

    /// Lets go of everyone whom neither the living nor the archives need, nor the generations that
    /// are kept.
    fn collect(&mut self) -> Vec<u64> {
        let kept = self.plan.retain_generations;
        let oldest = self.at.generation.saturating_sub(kept);
        let needed: std::collections::BTreeSet<u64> = self.at.names().collect();
        let gone: Vec<u64> = self
            .known
            .values()
            .filter(|it| it.generation < oldest && !needed.contains(&it.id))
            .map(|it| it.id)
            .collect();
        for id in &gone {
            self.known.remove(id);
        }
        if !gone.is_empty() {
            self.watch.event(&Event::Collected {
                count: gone.len() as u64,
            });
        }
        gone
    }
}

impl Checkpoint {
    /// Everyone whom it names.
    pub fn names(&self) -> impl Iterator<Item = u64> {
        let living = self.islands.iter().flatten().copied();
        living.chain(self.archives.names()).chain(self.best)
    }
}
