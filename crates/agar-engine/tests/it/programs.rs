//! Programs for process cells, hostile ones among them, and the names of their ends.

use agar_core::limits::Limits as Walls;
use agar_engine::SandboxOptions;
use agar_evolve::{CellError, Limits};
use std::time::Duration;

/// Adds what it is told.
pub(crate) const COUNTER: &str = r#"
SCHEMA = 1
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

pub(crate) const SPIN: &str = "def evaluate(case):\n    while True: pass\n";
/// Hears no signal.
pub(crate) const DEAF: &str = "import signal, time\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\ndef evaluate(case):\n    while True: time.sleep(1)\n";
pub(crate) const FORK_BOMB: &str = "import os\ndef evaluate(case):\n    while True:\n        try: os.fork()\n        except OSError: pass\n";
/// Answers, and leaves a process in a session of its own.
pub(crate) const DAEMON: &str = "import os, time\ndef evaluate(case):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            while True: time.sleep(1)\n        os._exit(0)\n    return b'left one'\n";
pub(crate) const OPEN: &str = "import os\nkept = []\ndef evaluate(case):\n    while True: kept.append(os.open('/dev/null', os.O_RDONLY))\n";
pub(crate) const FLOOD: &str = "def evaluate(case):\n    return b'x' * 100000\n";
pub(crate) const EXIT: &str = "import os\ndef evaluate(case):\n    os._exit(3)\n";

/// Limits of a cell that a flood reaches quickly.
pub(crate) fn limits(seconds: u64) -> Limits {
    Limits {
        wall: Some(Duration::from_secs(seconds)),
        output_bytes: 1_000,
        state_bytes: 1_000,
        ..Limits::default()
    }
}

/// A sandbox for so many processes.
pub(crate) fn walls(processes: u32) -> SandboxOptions {
    SandboxOptions {
        limits: Walls {
            processes: Some(processes),
            ..Walls::default()
        },
        ..SandboxOptions::default()
    }
}

/// The name of an end.
pub(crate) fn named(ended: &Result<Vec<u8>, CellError>) -> &'static str {
    match ended {
        Ok(_) => "answer",
        Err(CellError::Deadline { .. }) => "deadline",
        Err(CellError::Refused(_)) => "refused",
        Err(CellError::Output { .. }) => "output",
        Err(CellError::Gone) => "gone",
        Err(CellError::Convention { .. }) => "convention",
        Err(_) => "something else",
    }
}
