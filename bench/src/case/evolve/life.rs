//! Create, call once, destroy.

use super::{BARE, COUNTER, each, incubator, peer, thousand};
use crate::measure::{Contestant, Samples, in_turns};
use crate::table::Row;
use agar_evolve::{Engines, Genome, Rules, Spec, Tree, Value};
use anyhow::Result;
use std::time::Instant;

/// The bare engine, a compiled cell and an interpreted one, with and without memory.
pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = one("no memory", BARE)?;
    rows.extend(one("one page", COUNTER)?);
    rows.push(batch()?);
    Ok(rows)
}

/// A hundred individuals at a time, from their code: made, evaluated at twenty points, destroyed.
/// The seed allows 32 seconds for it.
fn batch() -> Result<Row> {
    let incubator = incubator(Engines::Automatic);
    let trees: Vec<Tree> = (0..100)
        .map(|number| Tree::parse(&format!("(add (mul x0 (sub x0 {number})) (div 1 x0))"), 1))
        .collect::<Result<_, _>>()?;
    let points: Vec<f64> = (0..20).map(f64::from).collect();
    let mut samples = Samples::default();
    for _ in 0..200 {
        let begun = Instant::now();
        let mut cells = Vec::with_capacity(trees.len());
        for tree in &trees {
            let genome = Genome::from_tree(tree, &Rules::tiny())?;
            cells.push(incubator.create(&genome, Spec::default())?);
        }
        for cell in &mut cells {
            std::hint::black_box(cell.map("f", &points)?);
        }
        drop(cells);
        samples.push(begun.elapsed());
    }
    Ok(Row::times("evolve", "batch of 100 expressions, whole lives", &samples).at_most(5.0))
}

fn one(what: &str, text: &str) -> Result<Vec<Row>> {
    let genome = Genome::from_wat(text, &Rules::tiny())?;
    let (light, heavy) = (incubator(Engines::Light), incubator(Engines::Heavy));
    let bare = peer::Bare::new(text)?;
    let life = |incubator: &agar_evolve::Incubator| -> Result<()> {
        let mut cell = incubator.create(&genome, Spec::default())?;
        cell.call("add", &[Value::I64(1)])?;
        Ok(())
    };
    let measured = in_turns(
        40,
        vec![
            Contestant::new(&format!("life, {what}: raw wasmtime"), || {
                thousand(|| bare.life())
            }),
            Contestant::new(&format!("life, {what}: cell, compiled"), || {
                thousand(|| life(&heavy))
            }),
            Contestant::new(&format!("life, {what}: cell, interpreted"), || {
                thousand(|| life(&light))
            }),
        ],
    )?;
    let mut rows = each(&measured);
    if let Some(row) = rows.get_mut(1) {
        *row = row.clone().at_most(15.0);
    }
    Ok(rows)
}
