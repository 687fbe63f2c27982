//! A run by name in a dish, as a user of it makes one: alone, and in a batch.

use super::alive::in_microseconds;
use super::{BARE, COUNTER, Once, add, incubator, step};
use crate::measure::Samples;
use crate::table::Row;
use agar_evolve::dish::{Birth, Source};
use agar_evolve::{Cell, Chance, Dish, DishSettings, Engines, Unwatched};
use anyhow::Result;
use std::sync::Arc;
use std::time::Instant;

/// The few and the many take turns, since the machine is not equally fast at all times.
const TURNS: u64 = 10;

/// Runs of a turn that are not counted: the caches are the other's at first.
const FIRST: usize = 500;

const COUNTED: usize = 2_000;

const FEW: usize = 100;

const MANY: usize = 100_000;

/// Among a hundred and among a hundred thousand, in no order.
pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (what, text, engines, once) in [
        ("no memory", BARE, Engines::Heavy, add as Once),
        ("no memory, interpreted", BARE, Engines::Light, add),
        ("one page", COUNTER, Engines::Heavy, step),
    ] {
        let few = Crowd::new(FEW, text, engines, once)?;
        let many = Crowd::new(MANY, text, engines, once)?;
        for (words, way) in [("a run", alone as Way), ("a run in a batch", batched)] {
            let [few, many] = in_turn([&few, &many], way)?;
            let ratio = Some(many.p99 / few.p99);
            let named = |count: usize| format!("{count} in a dish, {what}: {words}");
            rows.push(Row {
                what: named(FEW),
                ..few
            });
            rows.push(
                Row {
                    what: named(MANY),
                    ratio,
                    ..many
                }
                .ratio_at_most(2.0),
            );
        }
    }
    Ok(rows)
}

/// What either takes.
fn in_turn(crowds: [&Crowd; 2], way: Way) -> Result<[Row; 2]> {
    let mut samples = [Samples::default(), Samples::default()];
    for turn in 0..TURNS {
        for (crowd, samples) in crowds.into_iter().zip(&mut samples) {
            way(crowd, turn, samples)?;
        }
    }
    Ok(samples.map(|it| in_microseconds("", &it)))
}

/// So many in a dish.
struct Crowd {
    dish: Dish,
    names: Vec<String>,
    once: Once,
}

type Way = fn(&Crowd, u64, &mut Samples) -> Result<()>;

impl Crowd {
    fn new(count: usize, text: &str, engines: Engines, once: Once) -> Result<Self> {
        let settings = DishSettings::default();
        let dish = Dish::new(incubator(engines), settings, Arc::new(Unwatched));
        let names: Vec<String> = (0..count).map(|number| format!("evo-{number}")).collect();
        for name in &names {
            dish.create(name, Source::Wat(text), Birth::default())?;
            dish.run(name, once)?;
        }
        Ok(Self { dish, names, once })
    }

    /// Who is run in this turn.
    fn drawn(&self, turn: u64) -> Vec<String> {
        let mut chance = Chance::of(&[turn]);
        let draw = |_| self.names.get(chance.below(self.names.len())).cloned();
        (0..FIRST + COUNTED).filter_map(draw).collect()
    }
}

fn alone(crowd: &Crowd, turn: u64, samples: &mut Samples) -> Result<()> {
    for (at, id) in crowd.drawn(turn).iter().enumerate() {
        let begun = Instant::now();
        crowd.dish.run(id, crowd.once)?;
        let took = begun.elapsed();
        if at >= FIRST {
            samples.push(took);
        }
    }
    Ok(())
}

/// From the end of each run to the end of the next, so that nothing between them is left out.
fn batched(crowd: &Crowd, turn: u64, samples: &mut Samples) -> Result<()> {
    let once = |cell: &mut Cell| (crowd.once)(cell).map(|()| Instant::now());
    let ended = crowd.dish.batch_run(&crowd.drawn(turn), 1, once);
    let ended: Vec<Instant> = ended.into_iter().collect::<Result<_, _>>()?;
    for pair in ended.windows(2).skip(FIRST) {
        if let [last, this] = pair {
            samples.push(this.duration_since(*last));
        }
    }
    Ok(())
}
