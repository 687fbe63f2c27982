//! Packing items into bins as they come.
//!
//! A candidate says how much it likes to put an item into a bin, from the item's size, the room in
//! the bin and what would be left. Sizes are whole numbers, so all that it can be asked fits into
//! one table: the cell fills the table in one run, and the host does the packing itself. What a
//! candidate cannot do is pack, count bins, or see what comes next.

use super::{Bench, Evaluation, Task, Trace};
use crate::chance::{Chance, number};
use crate::code::Code;
use crate::fitness::{Fitness, Invalid, Verdict, finite};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Items in the order in which they come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The room in an empty bin.
    pub capacity: usize,
    /// The sizes, each from one to the capacity.
    pub items: Vec<usize>,
}

/// How instances are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Sizes from 20 to 100, equally likely, into bins of 150: as in the OR-Library's `u` files.
    Uniform,
    /// Sizes of a Weibull distribution of scale 45 and shape 3, into bins of 100.
    Weibull,
}

impl Sort {
    /// An instance of this sort.
    pub fn draw(self, items: usize, chance: &mut Chance) -> Instance {
        let capacity = match self {
            Self::Uniform => 150,
            Self::Weibull => 100,
        };
        let items = (0..items).map(|_| match self {
            Self::Uniform => 20 + chance.below(81),
            Self::Weibull => weibull(chance).clamp(1, capacity),
        });
        Instance {
            capacity,
            items: items.collect(),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a size between 0 and a few hundred"
)]
fn weibull(chance: &mut Chance) -> usize {
    let draw = -(1.0 - chance.unit()).ln();
    (45.0 * draw.cbrt()).round() as usize
}

/// The fewest bins there can be: what the items take together.
pub fn bounds(instance: &Instance) -> usize {
    let total: usize = instance.items.iter().sum();
    total.div_ceil(instance.capacity.max(1))
}

/// How many bins it takes if each item goes where `likes` of its size and the room there is
/// highest; of equals the tightest. An empty bin is always there.
pub fn pack_with(instance: &Instance, likes: impl Fn(usize, usize) -> f64) -> usize {
    // How many bins have each room. Bins of equal room are equal.
    let mut open = vec![0_usize; instance.capacity + 1];
    let mut rooms = Rooms::up_to(instance.capacity);
    rooms.set(instance.capacity, true);
    let mut bins = 0;
    for item in &instance.items {
        let best = rooms
            .from(*item)
            .map(|room| (room, likes(*item, room)))
            .reduce(|best, next| if next.1 > best.1 { next } else { best });
        let room = best.map_or(instance.capacity, |(room, _)| room);
        match open.get_mut(room) {
            Some(count) if *count > 0 => {
                *count -= 1;
                rooms.set(room, *count > 0 || room == instance.capacity);
            }
            Some(_) | None => bins += 1,
        }
        let left = room.saturating_sub(*item);
        if let Some(count) = open.get_mut(left) {
            *count += 1;
            rooms.set(left, true);
        }
    }
    bins
}

/// The rooms that there are, a bit each: few of those that there could be, and looked through for
/// every item.
struct Rooms(Vec<u64>);

impl Rooms {
    fn up_to(most: usize) -> Self {
        Self(vec![0; most / 64 + 1])
    }

    fn set(&mut self, room: usize, there: bool) {
        if let Some(word) = self.0.get_mut(room / 64) {
            let bit = 1 << (room % 64);
            *word = if there { *word | bit } else { *word & !bit };
        }
    }

    /// Those of at least this size, the tightest first.
    fn from(&self, least: usize) -> impl Iterator<Item = usize> {
        let words = self.0.iter().enumerate().skip(least / 64);
        words.flat_map(move |(index, word)| {
            let below = if index == least / 64 { least % 64 } else { 0 };
            let mut left = word & (u64::MAX << below);
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(index * 64 + bit)
            })
        })
    }
}

/// What a candidate says to every item and room there can be.
#[derive(Debug)]
struct Table {
    capacity: usize,
    likes: Vec<f64>,
}

impl Table {
    fn of(code: &Code, capacity: usize, bench: &Bench, trace: &mut Trace) -> Result<Self, Invalid> {
        let genome = bench.genome(code)?;
        if !genome.facts().is_stateless() {
            let words = "a heuristic must not remember".to_owned();
            return Err(Invalid::Refused { words });
        }
        let mut points = Vec::with_capacity(capacity * (capacity + 1) / 2 * 3);
        for item in 1..=capacity {
            for room in item..=capacity {
                points.extend([number(item), number(room), number(room - item)]);
            }
        }
        let mut cell = bench.cell(&genome)?;
        let said = cell.map("f", &points);
        trace.note(cell.metrics().instructions, cell.artifacts())?;
        let likes = said?;
        match likes.iter().position(|liking| !liking.is_finite()) {
            Some(case) => Err(Invalid::NotFinite { case }),
            None => Ok(Self { capacity, likes }),
        }
    }

    fn likes(&self, item: usize, room: usize) -> f64 {
        // Rows of one fewer each time: those of the items before this one come first.
        let before = (item - 1) * self.capacity - (item - 1) * item.saturating_sub(2) / 2;
        let at = before + (room - item);
        self.likes.get(at).copied().unwrap_or(f64::MIN)
    }
}

/// Instances to breed on, and others to examine the best with.
#[derive(Debug, Clone)]
pub struct BinPacking {
    training: Vec<Instance>,
    held_out: Vec<Instance>,
    /// Instances of the first stage, and the score below which the rest is not packed.
    cascade: Option<(usize, f64)>,
}

/// How many bins it takes a candidate, instance by instance.
pub fn pack(
    code: &Code,
    instances: &[Instance],
    bench: &Bench,
    trace: &mut Trace,
) -> Result<Vec<usize>, Invalid> {
    let mut tables: BTreeMap<usize, Table> = BTreeMap::new();
    let mut bins = Vec::with_capacity(instances.len());
    for instance in instances {
        let table = match tables.entry(instance.capacity) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(Table::of(code, instance.capacity, bench, trace)?)
            }
        };
        bins.push(pack_with(instance, |item, room| table.likes(item, room)));
    }
    Ok(bins)
}

/// Bins beyond the fewest there can be, as a share of those.
fn excess(bins: &[usize], instances: &[Instance]) -> f64 {
    let least = number(instances.iter().map(bounds).sum());
    let more = bins.iter().zip(instances);
    let more: f64 = more
        .map(|(bins, instance)| number(*bins) - number(bounds(instance)))
        .sum();
    more / least.max(1.0)
}

fn mean(counts: &[usize]) -> f64 {
    number(counts.iter().sum()) / number(counts.len()).max(1.0)
}

impl BinPacking {
    /// The task of these instances.
    pub const fn new(training: Vec<Instance>, held_out: Vec<Instance>) -> Self {
        Self {
            training,
            held_out,
            cascade: None,
        }
    }

    /// The same, packing the first `instances` alone first: who scores below `least` there is not
    /// asked to pack the rest.
    #[must_use]
    pub const fn with_cascade(mut self, instances: usize, least: f64) -> Self {
        self.cascade = Some((instances, least));
        self
    }

    /// Generated instances of one sort: so many to breed on, and as many others.
    pub fn generated(sort: Sort, instances: usize, items: usize, seed: u64) -> Self {
        let draw = |which: u64| -> Vec<Instance> {
            (0..instances as u64)
                .map(|index| sort.draw(items, &mut Chance::of(&[seed, which, index])))
                .collect()
        };
        Self::new(draw(1), draw(2))
    }

    /// The same, examined with these instances instead.
    #[must_use]
    pub fn examined_with(mut self, held_out: Vec<Instance>) -> Self {
        self.held_out = held_out;
        self
    }

    fn judge(&self, code: &Code, bench: &Bench, trace: &mut Trace) -> Verdict {
        if let Some((instances, least)) = self.cascade {
            let first = self.training.get(..instances).unwrap_or_default();
            let bins = pack(code, first, bench, trace)?;
            if excess(&bins, first) > -least {
                return self.fitness(&bins, first);
            }
        }
        let bins = pack(code, &self.training, bench, trace)?;
        self.fitness(&bins, &self.training)
    }

    /// What these bins are worth, of all instances or of the first stage's.
    fn fitness(&self, bins: &[usize], instances: &[Instance]) -> Verdict {
        let whole = instances.len() == self.training.len();
        let cases: Vec<f64> = bins
            .iter()
            .zip(instances)
            .map(|(bins, instance)| number(*bins) - number(bounds(instance)))
            .collect();
        let excess = excess(bins, instances);
        finite(Fitness {
            // Who was not asked everything is not to win against one who was: one bin more for each
            // that there must be is worse than any packing that gets so far.
            score: if whole { -excess } else { -excess - 1.0 },
            components: BTreeMap::from([
                ("bins".to_owned(), mean(bins)),
                ("excess".to_owned(), excess),
            ]),
            cases: if whole { cases } else { Vec::new() },
            solved: false,
        })
    }
}

impl Task for BinPacking {
    fn name(&self) -> &'static str {
        "bin_packing"
    }

    fn arguments(&self) -> u16 {
        3
    }

    fn evaluate(&self, code: &Code, bench: &Bench) -> Evaluation {
        let mut trace = Trace::default();
        let verdict = self.judge(code, bench, &mut trace);
        trace.ending(verdict)
    }

    fn examine(&self, code: &Code, bench: &Bench) -> BTreeMap<String, f64> {
        let Ok(bins) = pack(code, &self.held_out, bench, &mut Trace::default()) else {
            return BTreeMap::new();
        };
        let tightest = |instance: &Instance| pack_with(instance, |item, room| -number(room - item));
        let best_fit: Vec<usize> = self.held_out.iter().map(tightest).collect();
        let least: Vec<usize> = self.held_out.iter().map(bounds).collect();
        BTreeMap::from([
            ("bins".to_owned(), mean(&bins)),
            ("best_fit_bins".to_owned(), mean(&best_fit)),
            ("lower_bound".to_owned(), mean(&least)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn best_fit_packs_as_it_should() {
        let instance = Instance {
            capacity: 10,
            items: vec![6, 5, 4, 5, 3, 7],
        };
        assert_eq!(pack_with(&instance, |item, room| -number(room - item)), 3);
        assert_eq!(bounds(&instance), 3);
        // Who likes empty bins most takes one for each item.
        assert_eq!(pack_with(&instance, |_, room| number(room)), 6);
    }

    /// Of two bins with place, room and liking: the one that is liked more, of equals the tighter.
    fn better(one: (usize, usize, f64), other: (usize, usize, f64)) -> (usize, usize, f64) {
        let tighter = other.2 >= one.2 && other.1 < one.1;
        if other.2 > one.2 || tighter {
            other
        } else {
            one
        }
    }

    /// The same without a list of the rooms.
    fn pack_plainly(instance: &Instance, likes: impl Fn(usize, usize) -> f64) -> usize {
        let mut bins: Vec<usize> = Vec::new();
        for item in &instance.items {
            let empty = (bins.len(), instance.capacity);
            let all = bins.iter().copied().enumerate().chain([empty]);
            let fitting = all.filter(|(_, room)| room >= item);
            let judged = fitting.map(|(at, room)| (at, room, likes(*item, room)));
            let (at, room, _) = judged.reduce(better).unwrap();
            if at == bins.len() {
                bins.push(room);
            }
            bins[at] -= item;
        }
        bins.len()
    }

    proptest! {
        #[test]
        fn bins_of_equal_room_are_equal(seed: u64, salt: u64) {
            for sort in [Sort::Uniform, Sort::Weibull] {
                let instance = sort.draw(80, &mut Chance::of(&[seed]));
                // Few different likings, so that there are equals.
                let wild = |item: usize, room: usize| {
                    number(Chance::of(&[salt, item as u64, room as u64]).below(5))
                };
                prop_assert_eq!(pack_with(&instance, wild), pack_plainly(&instance, wild));
            }
        }

        #[test]
        fn no_liking_packs_below_the_bound_or_above_one_bin_an_item(seed: u64, salt: u64) {
            let instance = Sort::Uniform.draw(60, &mut Chance::of(&[seed]));
            let wild = |item: usize, room: usize| {
                Chance::of(&[salt, item as u64, room as u64]).unit()
            };
            let bins = pack_with(&instance, wild);
            prop_assert!((bounds(&instance)..=60).contains(&bins));
        }

        #[test]
        fn the_table_holds_every_item_and_room_once(item in 1_usize..=40, left in 0_usize..40) {
            let capacity = 40;
            let room = item + left;
            prop_assume!(room <= capacity);
            let mut likes = Vec::new();
            for item in 1..=capacity {
                likes.extend((item..=capacity).map(|room| number(item * 1000 + room)));
            }
            let table = Table { capacity, likes };
            prop_assert!((table.likes(item, room) - number(item * 1000 + room)).abs() < 0.5);
        }
    }
}
