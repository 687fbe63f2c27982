//! Individuals that are forks of one program, or for whom the next program is ready: whatever they do
//! ends with a name, and the host has the processes and descriptors that it had before.

use crate::desk::Desk;
use crate::programs::{
    COUNTER, DAEMON, DEAF, EXIT, FLOOD, FORK_BOMB, OPEN, SPIN, limits, named, walls,
};
use agar_engine::process_cell::Sandboxes;
use agar_evolve::{CellError, Condition, Language, Launcher, ProcessCell};
use agar_testkit::leaks;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A counter for Node, in the words of JavaScript cells.
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

fn warm(desk: &Desk, language: Language) -> Arc<dyn Launcher> {
    Sandboxes::warm(&desk.engine(), walls(60), language, &[])
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

fn has_node() -> bool {
    let told = std::process::Command::new("node").arg("-v").output();
    told.is_ok()
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
    (SPIN, 5, "deadline"),
    (DEAF, 5, "deadline"),
    (DAEMON, 60, "answer"),
    (OPEN, 60, "refused"),
    (FLOOD, 60, "output"),
    (EXIT, 60, "gone"),
    (
        "import os, signal, time\ndef evaluate(case):\n    for _ in range(20):\n        if os.fork() == 0:\n            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n            while True: time.sleep(1)\n    return b'a crowd'\n",
        60,
        "answer",
    ),
    (
        "import os, signal, time\ndef evaluate(case):\n    os.kill(os.getppid(), signal.SIGKILL)\n    if os.fork() == 0:\n        while True: time.sleep(1)\n    return b'orphaned'\n",
        60,
        "answer",
    ),
    (
        "import os\ndef evaluate(case):\n    while True:\n        for fd in range(3, 20):\n            try: os.write(fd, b'x' * 65536)\n            except OSError: pass\n",
        60,
        "convention",
    ),
];

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
    let mut hostile = cell(&zygote, FORK_BOMB, 10);
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
    if !has_node() {
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
    if !has_node() {
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
