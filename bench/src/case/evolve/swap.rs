//! Another genome under a living cell, its state carried over.

use super::{COUNTER, each, incubator, thousand};
use crate::measure::{Contestant, in_turns};
use crate::table::Row;
use agar_evolve::{Cell, Engines, Genome, RollbackState, Rules, Spec, Swap};
use anyhow::Result;

/// Swaps and rollbacks, compiled and interpreted.
pub(crate) fn run() -> Result<Vec<Row>> {
    let rules = Rules::tiny();
    let one = Genome::from_wat(COUNTER, &rules)?;
    let other = Genome::from_wat(&COUNTER.replace("i64.load8_u", "i64.load8_s"), &rules)?;
    let cell = |engines| -> Result<Cell> { Ok(incubator(engines).create(&one, Spec::default())?) };
    let mut compiled = cell(Engines::Heavy)?;
    let mut back = cell(Engines::Heavy)?;
    back.swap(Swap::to(other.clone(), ""))?;
    let mut interpreted = cell(Engines::Light)?;
    let swap = |cell: &mut Cell, genome: &Genome| -> Result<()> {
        cell.step(&[1])?;
        cell.swap(Swap::to(genome.clone(), "bench"))?;
        Ok(())
    };
    let measured = in_turns(
        40,
        vec![
            Contestant::new("swap with state, compiled", || {
                let mut turn = 0_usize;
                thousand(|| {
                    turn += 1;
                    swap(
                        &mut compiled,
                        if turn.is_multiple_of(2) { &one } else { &other },
                    )
                })
            }),
            Contestant::new("rollback to the version before, compiled", || {
                thousand(|| {
                    let number = back.history().current_version - 1;
                    back.rollback(number, RollbackState::Snapshot)?;
                    Ok(())
                })
            }),
            Contestant::new("swap with state, interpreted", || {
                let mut turn = 0_usize;
                thousand(|| {
                    turn += 1;
                    swap(
                        &mut interpreted,
                        if turn.is_multiple_of(2) { &one } else { &other },
                    )
                })
            }),
        ],
    )?;
    let mut rows = each(&measured);
    for row in rows.iter_mut().take(2) {
        *row = row.clone().at_most(20.0);
    }
    Ok(rows)
}
