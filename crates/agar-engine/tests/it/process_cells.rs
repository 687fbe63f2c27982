//! Individuals in processes: whatever they do, it ends with a name, and nothing of it is left.

use crate::desk::Desk;
use crate::programs::{COUNTER, DAEMON, DEAF, EXIT, FLOOD, FORK_BOMB, OPEN, SPIN, limits, walls};
use agar_engine::process_cell::Sandboxes;
use agar_evolve::{
    CellError, Condition, Dish, DishSettings, Incubator, Language, Launcher, Limits, NoRoom,
    ProcessCell, Room, Settings, Unwatched,
};
use agar_testkit::clock::FixedClock;
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
fn a_dish_runs_no_more_programs_at_once_than_it_may() {
    let desk = Desk::new();
    let engine = desk.engine();
    let settings = DishSettings {
        processes_max: 2,
        ..DishSettings::default()
    };
    let incubator = Incubator::new(&Settings::default(), Arc::new(FixedClock::default()));
    let dish = Dish::new(incubator, settings, Arc::new(Unwatched));
    let sandboxes = Sandboxes::of_language(&engine, walls(20), Language::Python);
    let launcher: Arc<dyn Launcher> = dish.launcher(Arc::new(sandboxes));
    let begin = |code: &str| ProcessCell::new(Arc::clone(&launcher), code.as_bytes(), limits(60));
    let mut first = begin(COUNTER).unwrap();
    // What does not load takes no place.
    assert!(begin("this is not python").is_err());
    let mut second = begin(COUNTER).unwrap();
    assert_eq!(dish.processes(), 2);
    let full = CellError::NoRoom(NoRoom {
        room: Room::Processes,
        limit: 2,
    });
    assert_eq!(begin(COUNTER).unwrap_err(), full);
    // The new program would run beside the old one, which goes on.
    assert_eq!(second.swap(COUNTER.as_bytes()), Err(full.clone()));
    assert_eq!(second.step(b"3").unwrap(), b"3");
    first.hibernate().unwrap();
    second.swap(COUNTER.as_bytes()).unwrap();
    let third = begin(COUNTER).unwrap();
    assert_eq!(first.step(b"1").unwrap_err(), full);
    drop((second, third));
    assert_eq!(dish.processes(), 0);
    assert_eq!(first.step(b"1").unwrap(), b"1");
    drop(first);
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
