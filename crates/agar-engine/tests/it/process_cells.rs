//! Individuals in processes: whatever they do, it ends with a name, and nothing of it is left.

use crate::desk::Desk;
use crate::programs::{COUNTER, DAEMON, DEAF, EXIT, FLOOD, FORK_BOMB, OPEN, SPIN, limits, walls};
use agar_engine::process_cell::Sandboxes;
use agar_evolve::{CellError, Condition, Language, Limits, ProcessCell};
use std::sync::Arc;

fn cell(desk: &Desk, code: &str, limits: Limits) -> Result<ProcessCell, CellError> {
    let engine = desk.engine();
    let launcher = Sandboxes::of_language(&engine, walls(20), Language::Python);
    ProcessCell::new(Arc::new(launcher), code.as_bytes(), limits)
}

#[test]
fn a_process_keeps_state_sleeps_and_swaps_its_code() {
    let desk = Desk::new();
    let mut cell = cell(&desk, COUNTER, limits(60)).unwrap();
    assert_eq!(cell.evaluate(b"abc").unwrap(), b"cba");
    assert_eq!(cell.step(b"5").unwrap(), b"5");
    cell.hibernate().unwrap();
    assert_eq!(cell.condition(), Condition::Asleep);
    assert_eq!(cell.step(b"2").unwrap(), b"7");
    let bad = cell.swap(b"def load(state, schema): raise ValueError('no')");
    assert!(matches!(bad, Err(CellError::Refused(_))), "{bad:?}");
    assert!(cell.swap(b"this is not python").is_err());
    assert_eq!(cell.step(b"1").unwrap(), b"8");
    let tenfold = COUNTER.replace("int(message)", "10 * int(message)");
    cell.swap(tenfold.as_bytes()).unwrap();
    assert_eq!(cell.step(b"1").unwrap(), b"18");
    let refused = cell.step(b"not a number");
    assert!(matches!(refused, Err(CellError::Refused(_))), "{refused:?}");
    assert_eq!(cell.condition(), Condition::Awake);
    drop(cell);
    desk.assert_all_gone();
}

#[test]
fn a_hostile_process_ends_with_a_name_and_leaves_nothing() {
    let desk = Desk::new();
    for (name, code) in [("spin", SPIN), ("deaf", DEAF), ("fork", FORK_BOMB)] {
        let mut cell = cell(&desk, code, limits(10)).unwrap();
        let ended = cell.evaluate(b"x").unwrap_err();
        let late = matches!(ended, CellError::Deadline { .. } | CellError::Gone);
        assert!(late && !ended.is_reproducible(), "{name}: {ended:?}");
        assert_eq!(cell.condition(), Condition::Crashed, "{name}");
    }
    desk.assert_all_gone();
    let mut left = cell(&desk, DAEMON, limits(60)).unwrap();
    assert_eq!(left.evaluate(b"x").unwrap(), b"left one");
    left.end();
    desk.assert_all_gone();
    let ended = cell(&desk, OPEN, limits(60)).unwrap().evaluate(b"x");
    assert!(matches!(ended, Err(CellError::Refused(_))), "{ended:?}");
    let ended = cell(&desk, FLOOD, limits(60)).unwrap().evaluate(b"x");
    assert_eq!(ended, Err(CellError::Output { limit: 1_000 }));
    let ended = cell(&desk, EXIT, limits(60)).unwrap().evaluate(b"x");
    assert_eq!(ended, Err(CellError::Gone));
    desk.assert_all_gone();
}
