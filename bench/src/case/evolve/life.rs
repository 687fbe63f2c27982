//! Create, call once, destroy.

use super::{BARE, COUNTER, each, incubator, peer, thousand};
use crate::measure::{Contestant, in_turns};
use crate::table::Row;
use agar_evolve::{Engines, Genome, Rules, Spec, Value};
use anyhow::Result;

/// The bare engine, a compiled cell and an interpreted one, with and without memory.
pub(crate) fn run() -> Result<Vec<Row>> {
    let mut rows = one("no memory", BARE)?;
    rows.extend(one("one page", COUNTER)?);
    Ok(rows)
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
