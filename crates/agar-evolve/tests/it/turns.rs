//! Cells that take turns in an instance: each has its own state, whatever the one before it did.

use crate::scripts::incubators;
use agar_evolve::{Cell, CellError, Genome, Rules, Spec, Trap, Value};

/// As many counters as `globals`; `add` adds to each a multiple of its argument, and traps on zero
/// after it has changed the first.
fn genome(globals: i64) -> Genome {
    let declared: String = (0..globals)
        .map(|it| format!("(global $g{it} (mut i64) (i64.const {it}))\n"))
        .collect();
    let step = |it: i64| {
        format!(
            "(global.set $g{it} (i64.add (global.get $g{it}) \
             (i64.mul (local.get 0) (i64.const {}))))\n",
            it + 1
        )
    };
    let first = step(0);
    let others: String = (1..globals).map(step).collect();
    let sum: String = (0..globals)
        .map(|it| format!("(i64.add (global.get $g{it})"))
        .collect();
    let ends = ")".repeat(usize::try_from(globals).unwrap());
    let text = format!(
        "(module {declared}
           (func (export \"add\") (param i64) (result i64)
             {first}
             (if (i64.eqz (local.get 0)) (then (global.set $g0 (i64.const 99)) unreachable))
             {others}
             {sum} (i64.const 0){ends}))"
    );
    Genome::from_wat(&text, &Rules::default()).unwrap()
}

/// What `add` answers after these were added, by the same rule.
fn expected(globals: i64, added: i64) -> i64 {
    (0..globals).map(|it| it + added * (it + 1)).sum()
}

fn add(cell: &mut Cell, number: i64) -> Result<i64, CellError> {
    match cell.call("add", &[Value::I64(number)])?.as_slice() {
        [Value::I64(sum)] => Ok(*sum),
        other => panic!("{other:?}"),
    }
}

#[test]
fn neighbours_never_see_each_other() {
    for globals in [1, 4, 5, 9] {
        let genome = genome(globals);
        for incubator in incubators() {
            let create = || incubator.create(&genome, Spec::default()).unwrap();
            let mut cells: Vec<(Cell, i64)> = (0..20).map(|_| (create(), 0)).collect();
            for round in 1..40_i64 {
                let at = usize::try_from(round * 7 % 20).unwrap();
                if round % 6 == 0 {
                    // Whoever comes next finds nothing of a run that broke off.
                    let trapped = add(&mut cells[at].0, 0);
                    assert_eq!(trapped, Err(CellError::Trap(Trap::Unreachable)));
                    cells[at].0.restart().unwrap();
                    cells[at].1 = 0;
                }
                if round % 5 == 0 {
                    cells[at].0.hibernate().unwrap();
                }
                let (cell, added) = &mut cells[at];
                *added += round;
                assert_eq!(add(cell, round), Ok(expected(globals, *added)), "{round}");
            }
            // One that is born now begins where the first did.
            assert_eq!(add(&mut create(), 3), Ok(expected(globals, 3)));
        }
    }
}

#[test]
fn neighbours_on_other_threads_neither() {
    let genome = genome(3);
    for incubator in incubators() {
        std::thread::scope(|scope| {
            for thread in 0..4_i64 {
                let (incubator, genome) = (incubator.clone(), genome.clone());
                scope.spawn(move || {
                    let mut cell = incubator.create(&genome, Spec::default()).unwrap();
                    for turn in 1..200_i64 {
                        let said = add(&mut cell, thread + 1);
                        assert_eq!(said, Ok(expected(3, turn * (thread + 1))));
                    }
                });
            }
        });
    }
}
