//! Children before they are tried.

use super::individual::{Individual, Lineage, Origin};
use super::plan::Plan;
use super::select::Pool;
use crate::breed;
use crate::chance::Chance;
use crate::code::Code;
use crate::outside::Wanted;
use crate::task::{Evaluation, Task};
use std::sync::Arc;

/// The numbers that keep streams of chance apart.
const FOUNDING: u64 = 0x666f_756e;
const BREEDING: u64 = 0x6272_6565;

/// Somebody who is about to be tried.
#[derive(Debug)]
pub(super) struct Birth {
    pub(super) code: Arc<Code>,
    pub(super) digest: [u8; 32],
    island: usize,
    lineage: Lineage,
    /// Set where somebody outside is to make it; this one stands in if nobody does.
    pub(super) wants: Option<Wants>,
}

/// Of whom somebody outside is to make a child.
#[derive(Debug)]
pub(super) struct Wants {
    pub(super) wanted: Wanted,
    pub(super) seed: u64,
    pub(super) parents: Vec<u64>,
    depth: u32,
}

impl Birth {
    /// One of the first generation.
    pub(super) fn founder(plan: &Plan, task: &dyn Task, island: usize, place: usize) -> Self {
        let mut chance = Chance::of(&[plan.seed, FOUNDING, island as u64, place as u64]);
        let seed = chance.clone().bits();
        let code = task.first(&plan.soil, place, &mut chance);
        let lineage = Lineage {
            parents: Vec::new(),
            mutation_type: Origin::Seed,
            operator: "seed".to_owned(),
            seed,
            lineage_depth: 0,
        };
        Self::new(code, island, lineage)
    }

    /// A child of parents from the pool, in this generation, on this island, at this place.
    pub(super) fn child(
        plan: &Plan,
        task: &dyn Task,
        (generation, island, place): (u32, usize, usize),
        pool: &Pool<'_>,
    ) -> Self {
        let name = [
            plan.seed,
            BREEDING,
            u64::from(generation),
            island as u64,
            place as u64,
        ];
        let mut chance = Chance::of(&name);
        let seed = chance.clone().bits();
        let Some(mother) = pool.parent(&mut chance) else {
            return Self::founder(plan, task, island, place);
        };
        let wanted = Wanted {
            generation,
            island,
            place,
        };
        // Nothing is drawn where nobody is asked: such searches are what they always were.
        let asks = plan.outside > 0.0 && chance.happens(plan.outside);
        let wants = asks.then(|| Wants::of(wanted, seed, [Some(mother), pool.parent(&mut chance)]));
        let draw = chance.unit();
        let father = (draw < plan.crossover)
            .then(|| pool.parent(&mut chance))
            .flatten();
        let made = match father {
            Some(father) => crossed(plan, (&mother.code, &father.code), &mut chance),
            None if draw < plan.crossover + plan.neutral => {
                reworded(plan, &mother.code, &mut chance)
            }
            None => None,
        };
        let (code, origin, operator) =
            made.unwrap_or_else(|| changed(plan, task, &mother.code, &mut chance));
        let mut parents = vec![mother.id];
        let mut depth = mother.lineage.lineage_depth;
        if let Some(father) = father.filter(|_| origin == Origin::Crossover) {
            parents.push(father.id);
            depth = depth.max(father.lineage.lineage_depth);
        }
        let lineage = Lineage {
            parents,
            mutation_type: origin,
            operator: operator.to_owned(),
            seed,
            lineage_depth: depth + 1,
        };
        Self {
            wants,
            ..Self::new(code, island, lineage)
        }
    }

    /// Takes a child from outside for the one that stood in.
    pub(super) fn adopt(&mut self, code: Code) {
        let Some(wants) = self.wants.take() else {
            return;
        };
        self.digest = code.digest();
        self.code = Arc::new(code);
        self.lineage = Lineage {
            parents: wants.parents,
            mutation_type: Origin::Outside,
            operator: Origin::Outside.word().to_owned(),
            seed: self.lineage.seed,
            lineage_depth: wants.depth + 1,
        };
    }

    fn new(code: Code, island: usize, lineage: Lineage) -> Self {
        Self {
            digest: code.digest(),
            code: Arc::new(code),
            island,
            lineage,
            wants: None,
        }
    }

    pub(super) fn into_individual(self, id: u64, generation: u32, trial: Evaluation) -> Individual {
        let (code, digest) = match trial.improved {
            Some(code) => (Arc::new(code.clone()), code.digest()),
            None => (self.code, self.digest),
        };
        Individual {
            id,
            generation,
            island: self.island,
            lineage: self.lineage,
            code,
            digest,
            verdict: trial.verdict,
            instructions: trial.instructions,
            penalties: Vec::new(),
            artifacts: trial.artifacts,
        }
    }
}

impl Wants {
    /// Parents who are one and the same count once.
    fn of(wanted: Wanted, seed: u64, parents: [Option<&Individual>; 2]) -> Self {
        let mut wants = Self {
            wanted,
            seed,
            parents: Vec::new(),
            depth: 0,
        };
        for parent in parents.into_iter().flatten() {
            if !wants.parents.contains(&parent.id) {
                wants.parents.push(parent.id);
                wants.depth = wants.depth.max(parent.lineage.lineage_depth);
            }
        }
        wants
    }
}

type Made = (Code, Origin, &'static str);

/// A child of two, where their kinds can be crossed.
fn crossed(plan: &Plan, parents: (&Code, &Code), chance: &mut Chance) -> Option<Made> {
    let code = match parents {
        (Code::Tree(mother), Code::Tree(father)) => {
            Code::Tree(breed::cross(&plan.soil, mother, father, chance))
        }
        (Code::Numbers(mother), Code::Numbers(father)) => {
            Code::Numbers(breed::blend(mother, father, chance))
        }
        (Code::Module(mother), Code::Module(father)) => {
            Code::Module(breed::cross_modules(mother, father, chance)?)
        }
        (Code::Script(mother), Code::Script(father)) => {
            Code::Script(breed::cross_scripts(mother, father, chance)?)
        }
        _ => return None,
    };
    Some((code, Origin::Crossover, "crossover"))
}

/// The same in other words.
fn reworded(plan: &Plan, parent: &Code, chance: &mut Chance) -> Option<Made> {
    let code = match parent {
        Code::Tree(tree) => Code::Tree(breed::reword(&plan.soil, tree, chance)),
        Code::Module(wasm) => Code::Module(breed::reword_module(wasm, chance)?),
        Code::Script(_) | Code::Numbers(_) => return None,
    };
    Some((code, Origin::Neutral, "neutral"))
}

/// The parent with something changed.
fn changed(plan: &Plan, task: &dyn Task, parent: &Code, chance: &mut Chance) -> Made {
    match parent {
        Code::Tree(tree) => {
            let (tree, done) = breed::vary(&plan.soil, tree, chance);
            (Code::Tree(tree), Origin::Mutation, done.word())
        }
        Code::Module(wasm) => {
            let child = breed::mutate_module(wasm, chance).unwrap_or_else(|| wasm.clone());
            (Code::Module(child), Origin::Mutation, "module")
        }
        Code::Script(source) => {
            let child = breed::mutate_script(source, chance);
            (Code::Script(child), Origin::Mutation, "literal")
        }
        Code::Numbers(numbers) => {
            let numbers = breed::jolt(numbers, (task.bounds(), task.block()), chance);
            (Code::Numbers(numbers), Origin::Mutation, "jolt")
        }
    }
}
