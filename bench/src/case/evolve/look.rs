//! Looking at a dish: one of ten thousand, and the list of all.

use super::incubator;
use crate::measure::Samples;
use crate::table::Row;
use agar_evolve::dish::{Birth, Source};
use agar_evolve::{Dish, DishSettings, Engines, Tree, Unwatched};
use anyhow::Result;
use std::sync::Arc;
use std::time::Instant;

const MANY: usize = 10_000;

/// What the seed promises under 1 ms and under 10 ms, of its hundred.
pub(crate) fn run() -> Result<Vec<Row>> {
    let settings = DishSettings::default();
    let dish = Dish::new(incubator(Engines::Automatic), settings, Arc::new(Unwatched));
    let tree = Tree::parse("(mul x0 x0)", 1)?;
    let names: Vec<String> = (0..MANY).map(|number| format!("evo-{number}")).collect();
    for name in &names {
        dish.create(name, Source::Tree(&tree), Birth::default())?;
    }
    let (mut info, mut list) = (Samples::default(), Samples::default());
    for name in names.iter().step_by(MANY / 1_000) {
        let begun = Instant::now();
        std::hint::black_box(dish.info(name)?);
        info.push(begun.elapsed());
    }
    for _ in 0..200 {
        let begun = Instant::now();
        std::hint::black_box(dish.list());
        list.push(begun.elapsed());
    }
    Ok(vec![
        Row::times("evolve", "info of one among 10,000", &info).at_most(1.0),
        Row::times("evolve", "list of 10,000", &list).at_most(10.0),
    ])
}
