//! Individuals in processes: whatever they do, it ends with a name, and nothing of it is left.

use crate::desk::Desk;
use agar_core::limits::Limits as Walls;
use agar_engine::SandboxOptions;
use agar_engine::process_cell::Sandboxes;
use agar_evolve::{CellError, Condition, Language, Limits, ProcessCell};
use std::sync::Arc;
use std::time::Duration;

const COUNTER: &str = r#"
total = 0
def evaluate(case):
    return case[::-1]
def step(message):
    global total
    total += int(message)
    print("not an answer")
    return str(total).encode()
def save():
    return str(total).encode()
def load(state, schema):
    global total
    total = int(state)
"#;

fn limits(seconds: u64) -> Limits {
    Limits {
        wall: Some(Duration::from_secs(seconds)),
        output_bytes: 1_000,
        state_bytes: 1_000,
        ..Limits::default()
    }
}

fn cell(desk: &Desk, code: &str, limits: Limits) -> Result<ProcessCell, CellError> {
    let engine = desk.engine();
    let options = SandboxOptions {
        limits: Walls {
            processes: Some(20),
            ..Walls::default()
        },
        ..SandboxOptions::default()
    };
    let launcher = Sandboxes::of_language(&engine, options, Language::Python);
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
    let spin = "def evaluate(case):\n    while True: pass\n";
    let deaf = "import signal, time\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\ndef evaluate(case):\n    while True: time.sleep(1)\n";
    let fork = "import os\ndef evaluate(case):\n    while True:\n        try: os.fork()\n        except OSError: pass\n";
    let daemon = "import os, time\ndef evaluate(case):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            while True: time.sleep(1)\n        os._exit(0)\n    return b'left one'\n";
    let open = "import os\nkept = []\ndef evaluate(case):\n    while True: kept.append(os.open('/dev/null', os.O_RDONLY))\n";
    let flood = "def evaluate(case):\n    return b'x' * 100000\n";
    let gone = "import os\ndef evaluate(case):\n    os._exit(3)\n";
    for (name, code) in [("spin", spin), ("deaf", deaf), ("fork", fork)] {
        let mut cell = cell(&desk, code, limits(10)).unwrap();
        let ended = cell.evaluate(b"x").unwrap_err();
        let late = matches!(ended, CellError::Deadline { .. } | CellError::Gone);
        assert!(late && !ended.is_reproducible(), "{name}: {ended:?}");
        assert_eq!(cell.condition(), Condition::Crashed, "{name}");
    }
    desk.assert_all_gone();
    let mut left = cell(&desk, daemon, limits(60)).unwrap();
    assert_eq!(left.evaluate(b"x").unwrap(), b"left one");
    left.end();
    desk.assert_all_gone();
    let ended = cell(&desk, open, limits(60)).unwrap().evaluate(b"x");
    assert!(matches!(ended, Err(CellError::Refused(_))), "{ended:?}");
    let ended = cell(&desk, flood, limits(60)).unwrap().evaluate(b"x");
    assert_eq!(ended, Err(CellError::Output { limit: 1_000 }));
    let ended = cell(&desk, gone, limits(60)).unwrap().evaluate(b"x");
    assert_eq!(ended, Err(CellError::Gone));
    desk.assert_all_gone();
}
