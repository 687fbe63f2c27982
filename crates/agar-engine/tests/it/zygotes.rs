//! Individuals that are forks of one program, or for whom the next program is ready: whatever they do
//! ends with a name, and the host has the processes and descriptors that it had before.

use crate::desk::Desk;
use agar_core::limits::Limits as Walls;
use agar_engine::SandboxOptions;
use agar_engine::process_cell::Sandboxes;
use agar_evolve::{CellError, Condition, Language, Launcher, Limits, ProcessCell};
use agar_testkit::leaks;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

const COUNTER: &str = "
SCHEMA = 1
total = 0
def step(message):
    global total
    total += int(message)
    return str(total).encode()
def save():
    return str(total).encode()
def load(state, schema):
    global total
    total = int(state)
";

/// The same for Node, in the words of JavaScript cells.
const NODE_COUNTER: &str = "
const SCHEMA = 1;
let total = 0;
const step = (message) => { total += Number(message); console.log('not an answer'); return total; };
const evaluate = (input) => ({ reversed: [...input].reverse().join('') });
function save() { return { total }; }
function load(state, schema) {
  if (schema !== SCHEMA) throw new Error('a state of schema ' + schema);
  total = JSON.parse(state).total;
}
";

fn limits(seconds: u64) -> Limits {
    Limits {
        wall: Some(Duration::from_secs(seconds)),
        output_bytes: 1_000,
        state_bytes: 1_000,
        ..Limits::default()
    }
}

fn warm(desk: &Desk, language: Language) -> Arc<dyn Launcher> {
    let options = SandboxOptions {
        limits: Walls {
            processes: Some(60),
            ..Walls::default()
        },
        ..SandboxOptions::default()
    };
    Sandboxes::warm(&desk.engine(), options, language, &[])
}

fn cell(launcher: &Arc<dyn Launcher>, code: &str, seconds: u64) -> ProcessCell {
    ProcessCell::new(Arc::clone(launcher), code.as_bytes(), limits(seconds)).unwrap()
}

/// What this process holds open: number and what it is.
fn descriptors() -> BTreeSet<(String, String)> {
    let held = fs_err::read_dir("/proc/self/fd").unwrap();
    held.filter_map(|entry| {
        let entry = entry.ok()?;
        let what = fs_err::read_link(entry.path()).ok()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Some((name, what.to_string_lossy().into_owned()))
    })
    // What they are listed by, here and in other tests at the same time.
    .filter(|(_, what)| !what.ends_with("/fd"))
    .collect()
}

/// Everything that was opened since has been closed. Other tests open and close their own meanwhile,
/// so these are waited for too.
fn closed_since(before: &BTreeSet<(String, String)>) {
    let opened: BTreeSet<_> = descriptors().difference(before).cloned().collect();
    let patience = Instant::now() + Duration::from_mins(3);
    loop {
        let left: Vec<_> = opened.intersection(&descriptors()).cloned().collect();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < patience, "still open: {left:?}");
        std::thread::yield_now();
    }
}

fn nothing_is_left(desk: &Desk) {
    desk.assert_all_gone();
    // A keeper whose last run ended takes its jail down by itself.
    agar_testkit::wait::until("no process to be left", || {
        leaks::processes_in(desk.root()).is_empty()
    });
}

#[test]
fn forks_of_one_zygote_keep_their_own_state() {
    let desk = Desk::new();
    let zygote = warm(&desk, Language::Python);
    let mut cells: Vec<_> = (0..5).map(|_| cell(&zygote, COUNTER, 60)).collect();
    assert_eq!(desk.left_in_state("sandboxes"), 1);
    for (number, cell) in (1..).zip(&mut cells) {
        assert_eq!(
            cell.step(format!("{number}").as_bytes()).unwrap(),
            format!("{number}").as_bytes()
        );
    }
    cells[2].hibernate().unwrap();
    assert_eq!(cells[2].step(b"10").unwrap(), b"13");
    let migrating = COUNTER.replace("SCHEMA = 1", "SCHEMA = 2")
        + "def migrate(state, schema):\n    return str(100 * schema + int(state)).encode()\n";
    cells[4].swap(migrating.as_bytes()).unwrap();
    assert_eq!(cells[4].step(b"1").unwrap(), b"106");
    assert!(cells[3].swap(b"nonsense(").is_err());
    assert_eq!(cells[3].step(b"0").unwrap(), b"4");
    drop((cells, zygote));
    nothing_is_left(&desk);
}

/// Each with what it is expected to end with, when asked once with these seconds.
const HOSTILE: &[(&str, u64, &str)] = &[
    ("def evaluate(case):\n    while True: pass\n", 5, "deadline"),
    (
        "import signal, time\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\ndef evaluate(case):\n    while True: time.sleep(1)\n",
        5,
        "deadline",
    ),
    (
        "import os, signal, time\ndef evaluate(case):\n    for _ in range(20):\n        if os.fork() == 0:\n            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n            while True: time.sleep(1)\n    return b'a crowd'\n",
        60,
        "answer",
    ),
    (
        "import os, time\ndef evaluate(case):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            while True: time.sleep(1)\n        os._exit(0)\n    return b'left one'\n",
        60,
        "answer",
    ),
    (
        "import os, signal, time\ndef evaluate(case):\n    os.kill(os.getppid(), signal.SIGKILL)\n    if os.fork() == 0:\n        while True: time.sleep(1)\n    return b'orphaned'\n",
        60,
        "answer",
    ),
    (
        "import os\nkept = []\ndef evaluate(case):\n    while True: kept.append(os.open('/dev/null', os.O_RDONLY))\n",
        60,
        "refused",
    ),
    (
        "def evaluate(case):\n    return b'x' * 100000\n",
        60,
        "output",
    ),
    (
        "import os\ndef evaluate(case):\n    while True:\n        for fd in range(3, 20):\n            try: os.write(fd, b'x' * 65536)\n            except OSError: pass\n",
        60,
        "convention",
    ),
    (
        "import os\ndef evaluate(case):\n    os._exit(3)\n",
        60,
        "gone",
    ),
];

fn named(ended: &Result<Vec<u8>, CellError>) -> &'static str {
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

#[test]
fn a_hostile_fork_ends_with_a_name_and_its_siblings_go_on() {
    let before = descriptors();
    let desk = Desk::new();
    let zygote = warm(&desk, Language::Python);
    let mut witness = cell(&zygote, COUNTER, 60);
    witness.step(b"1").unwrap();
    let quiet = leaks::processes_in(desk.root()).len();
    for (code, seconds, expected) in HOSTILE {
        let mut hostile = cell(&zygote, code, *seconds);
        let ended = hostile.evaluate(b"x");
        assert_eq!(named(&ended), *expected, "{code}: {ended:?}");
        drop(hostile);
        // All that it started is gone, and the others never noticed.
        let now = leaks::processes_in(desk.root());
        assert_eq!(now.len(), quiet, "{code}: {now:?}");
        assert_eq!(witness.step(b"0").unwrap(), b"1", "{code}");
    }
    assert_eq!(witness.condition(), Condition::Awake);
    drop((witness, zygote));
    nothing_is_left(&desk);
    closed_since(&before);
}

/// The sandbox's limit on processes is everybody's: whoever reaches it ends all of them.
#[test]
fn a_fork_bomb_ends_with_its_zygote_and_the_next_one_comes_up() {
    let desk = Desk::new();
    let zygote = warm(&desk, Language::Python);
    let bomb = "import os\ndef evaluate(case):\n    while True:\n        try: os.fork()\n        except OSError: pass\n";
    let mut hostile = cell(&zygote, bomb, 10);
    let ended = hostile.evaluate(b"x");
    assert!(["deadline", "gone"].contains(&named(&ended)), "{ended:?}");
    drop(hostile);
    assert_eq!(cell(&zygote, COUNTER, 60).step(b"4").unwrap(), b"4");
    drop(zygote);
    nothing_is_left(&desk);
}

#[test]
fn a_zygote_that_is_gone_is_started_again() {
    let desk = Desk::new();
    let zygote = warm(&desk, Language::Python);
    let mut first = cell(&zygote, COUNTER, 60);
    first.step(b"1").unwrap();
    // Two up: the zygote itself. They share a sandbox, and are not safe from each other.
    let murder = "import os, signal\ndef evaluate(case):\n    with open('/proc/%d/stat' % os.getppid()) as file:\n        os.kill(int(file.read().rpartition(')')[2].split()[1]), signal.SIGKILL)\n    return b'done'\n";
    let mut killer = cell(&zygote, murder, 60);
    drop(killer.evaluate(b"x"));
    assert_eq!(first.step(b"1"), Err(CellError::Gone));
    first.restart().unwrap();
    assert_eq!(first.step(b"3").unwrap(), b"3");
    drop((first, killer, zygote));
    nothing_is_left(&desk);
}

#[test]
fn node_keeps_state_swaps_its_code_and_has_the_next_one_ready() {
    let before = descriptors();
    let desk = Desk::new();
    if std::process::Command::new("node")
        .arg("-v")
        .output()
        .is_err()
    {
        agar_testkit::skip!("node", "Node is not installed");
    }
    let node = warm(&desk, Language::Node);
    let mut cell = cell(&node, NODE_COUNTER, 60);
    assert_eq!(cell.evaluate(b"abc").unwrap(), br#"{"reversed":"cba"}"#);
    assert_eq!(cell.step(b"5").unwrap(), b"5");
    cell.hibernate().unwrap();
    assert_eq!(cell.step(b"2").unwrap(), b"7");
    let refused = cell.swap(NODE_COUNTER.replace("SCHEMA = 1", "SCHEMA = 2").as_bytes());
    assert!(matches!(refused, Err(CellError::Refused(_))), "{refused:?}");
    let migrating = NODE_COUNTER.replace("SCHEMA = 1", "SCHEMA = 2")
        + "const migrate = (state, schema) => ({ total: 100 * schema + JSON.parse(state).total });";
    cell.swap(migrating.as_bytes()).unwrap();
    assert_eq!(cell.step(b"1").unwrap(), b"108");
    assert!(cell.swap(b"this is not javascript").is_err());
    let refused = cell.evaluate(&[]);
    assert_eq!(refused.unwrap(), br#"{"reversed":""}"#);
    drop((cell, node));
    nothing_is_left(&desk);
    closed_since(&before);
}

#[test]
fn hostile_node_ends_with_a_name_and_leaves_nothing() {
    let desk = Desk::new();
    if std::process::Command::new("node")
        .arg("-v")
        .output()
        .is_err()
    {
        agar_testkit::skip!("node", "Node is not installed");
    }
    let node = warm(&desk, Language::Node);
    // The context of `vm` is no wall, and is not meant as one: the sandbox is.
    let out = "const host = console.log.constructor('return process')();";
    for (code, seconds, expected) in [
        ("function evaluate() { for (;;); }", 10, "deadline"),
        (
            "function evaluate() { return 'x'.repeat(100000); }",
            60,
            "output",
        ),
        (
            "function evaluate() { throw new Error('no'); }",
            60,
            "refused",
        ),
        ("function evaluate() { return nothing; }", 60, "refused"),
        (
            &format!("{out} function evaluate() {{ host.exit(3); }}"),
            60,
            "gone",
        ),
        (
            &format!(
                "{out} function evaluate() {{ const child = host.mainModule?.require ?? host.getBuiltinModule; child('child_process').spawn('sleep', ['1000'], {{ detached: true, stdio: 'ignore' }}).unref(); return 'left one'; }}"
            ),
            60,
            "answer",
        ),
    ] {
        let mut hostile = cell(&node, code, seconds);
        let ended = hostile.evaluate(b"x");
        assert_eq!(named(&ended), expected, "{code}: {ended:?}");
    }
    drop(node);
    nothing_is_left(&desk);
}
