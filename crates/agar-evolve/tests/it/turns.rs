//! Cells that take turns in an instance: each has its own state, whatever the one before it did.

use crate::scripts::incubators;
use agar_evolve::{Cell, CellError, Genome, Incubator, Rules, Spec, Trap, Value};

/// As many counters as `globals`; `add` adds to each a multiple of its argument, and traps on zero
/// after it has changed the first.
fn genome(globals: i64) -> Genome {
    let joined = |of: &dyn Fn(i64) -> String, from: i64| {
        let parts: Vec<String> = (from..globals).map(of).collect();
        parts.join("\n")
    };
    let declared = joined(
        &|it| format!("(global $g{it} (mut i64) (i64.const {it}))"),
        0,
    );
    let step = |it: i64| {
        format!(
            "(global.set $g{it} (i64.add (global.get $g{it}) \
             (i64.mul (local.get 0) (i64.const {}))))\n",
            it + 1
        )
    };
    let first = step(0);
    let others = joined(&step, 1);
    let sum = joined(&|it| format!("(i64.add (global.get $g{it})"), 0);
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

/// Twenty cells in turns, some of which break off or sleep in between.
fn take_turns(incubator: &Incubator, globals: i64) {
    let genome = genome(globals);
    let create = || incubator.create(&genome, Spec::default()).unwrap();
    let mut cells: Vec<(Cell, i64)> = (0..20).map(|_| (create(), 0)).collect();
    for round in 1..40_i64 {
        let at = usize::try_from(round * 7 % 20).unwrap();
        let (cell, added) = &mut cells[at];
        if round % 6 == 0 {
            // Whoever comes next finds nothing of a run that broke off.
            let trapped = add(cell, 0);
            assert_eq!(trapped, Err(CellError::Trap(Trap::Unreachable)));
            cell.restart().unwrap();
            *added = 0;
        }
        if round % 5 == 0 {
            cell.hibernate().unwrap();
        }
        *added += round;
        assert_eq!(add(cell, round), Ok(expected(globals, *added)), "{round}");
    }
    // One that is born now begins where the first did.
    assert_eq!(add(&mut create(), 3), Ok(expected(globals, 3)));
}

#[test]
fn neighbours_never_see_each_other() {
    for incubator in incubators() {
        for globals in [1, 4, 5, 9] {
            take_turns(&incubator, globals);
        }
    }
}

/// One cell that counts by itself.
fn count(incubator: &Incubator, genome: &Genome, by: i64) {
    let mut cell = incubator.create(genome, Spec::default()).unwrap();
    for turn in 1..200_i64 {
        assert_eq!(add(&mut cell, by), Ok(expected(3, turn * by)));
    }
}

#[test]
fn neighbours_on_other_threads_neither() {
    let genome = genome(3);
    for incubator in incubators() {
        std::thread::scope(|scope| {
            for by in 1..5_i64 {
                let (incubator, genome) = (&incubator, &genome);
                scope.spawn(move || count(incubator, genome, by));
            }
        });
    }
}
