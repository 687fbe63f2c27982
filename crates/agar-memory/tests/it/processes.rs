//! Several processes at once, and one that is killed in the middle.
//!
//! The other process is this test program itself, told by a variable what to do.

use crate::world::{World, command, open, project};
use agar_core::id::{ExperimentId, SandboxId};
use agar_core::seam::Timestamp;
use agar_memory::{Beginning, Ending, Health, Memory, Occasion, Status, check};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What the other process is asked to do: `write <seed>` or `graduate <sandbox>`.
const ROLE: &str = "AGAR_MEMORY_TEST_ROLE";

/// The memory it does it to.
const DIRECTORY: &str = "AGAR_MEMORY_TEST_DIRECTORY";

/// Experiments that each writer makes: enough for several index files.
const EACH: u64 = 300;

/// Not a rule of its own: what the other process runs.
#[test]
fn the_other_process() {
    let (Some(role), Some(directory)) = (std::env::var_os(ROLE), std::env::var_os(DIRECTORY))
    else {
        return;
    };
    let role = role.into_string().unwrap();
    let (what, which) = role.split_once(' ').unwrap();
    // Everybody begins when the parent lets go.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    let mut memory = open(Path::new(&directory));
    if what == "write" {
        let seed: u64 = which.parse().unwrap();
        for number in 0..EACH {
            write_one(&mut memory, seed * EACH + number);
        }
        return;
    }
    let sandbox: SandboxId = which.parse().unwrap();
    let at = Timestamp::from_millis(9_000_000_000);
    for _ in 0..200 {
        memory.graduate(sandbox, Occasion::Asked, at).unwrap();
        println!("graduated");
    }
}

fn write_one(memory: &mut Memory, number: u64) {
    let mut bytes = [0; 10];
    bytes[3..].copy_from_slice(&number.to_be_bytes()[1..]);
    let at = Timestamp::from_millis(8_640_000_000 + number * 1000);
    let id = ExperimentId::new(at, bytes);
    let beginning = Beginning {
        id,
        sandbox: SandboxId::new(at, bytes),
        user: "tester".to_owned(),
        suggestion: command(&format!("make target{}", number % 40)),
        limits: serde_json::Value::Null,
        at,
    };
    memory.begin(&beginning).unwrap();
    let status = if number.is_multiple_of(3) {
        Status::Failure
    } else {
        Status::Success
    };
    memory.record(&Ending::new(id, status, at)).unwrap();
}

fn start(role: &str, directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["processes::the_other_process", "--exact", "--nocapture"])
        .env(ROLE, role)
        .env(DIRECTORY, directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn two_writers_lose_nothing_and_what_each_writes_is_found() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let mut children = [
        start("write 0", directory.path()),
        start("write 1", directory.path()),
    ];
    for child in &mut children {
        drop(child.stdin.take());
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let mut memory = open(directory.path());
    let stats = memory.stats().unwrap();
    assert_eq!(
        (stats.experiments, stats.experiments_everywhere),
        (2 * EACH, 2 * EACH)
    );
    assert!(stats.index_files > 0);
    assert_eq!(check(directory.path()).unwrap(), Health::Sound);
    let now = Timestamp::from_millis(8_700_000_000);
    let before = memory.predict(&command("make target7"), now).unwrap();
    assert!(
        before
            .similar
            .iter()
            .take(5)
            .all(|it| it.suggestion == "make target7"),
        "{before:?}"
    );
    memory.tidy().unwrap();
    let after = memory.predict(&command("make target7"), now).unwrap();
    assert!(
        (before.p - after.p).abs() < 0.02,
        "{} {}",
        before.p,
        after.p
    );
}

#[test]
fn a_kill_during_graduation_leaves_all_of_it_or_nothing() {
    let mut world = World::new();
    let mut last = None;
    for _ in 0..6 {
        last = Some(
            world
                .tried(&command("cargo update"), Status::Success, |_| {})
                .1,
        );
    }
    let sandbox = last.unwrap();
    let directory = world.directory.path().to_owned();
    for lines in [0, 1, 3, 10, 40] {
        let mut child = start(&format!("graduate {sandbox}"), &directory);
        drop(child.stdin.take());
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        for _ in 0..lines {
            output.read_line(&mut line).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(check(&directory).unwrap(), Health::Sound);
        let memory = Memory::open(&directory, project(1), agar_memory::Tuning::default()).unwrap();
        let patterns = memory.patterns(world.now()).unwrap();
        let conversations = {
            let mut lines = Vec::new();
            memory
                .export(agar_memory::Export::Chat, &mut lines)
                .unwrap();
            lines.len()
        };
        assert!(conversations > 0);
        assert!(patterns.is_empty() || patterns.len() == 2, "{patterns:?}");
    }
    let graduation = world
        .memory
        .graduate(sandbox, Occasion::Asked, world.now())
        .unwrap();
    assert_eq!(graduation.graduated.len(), 2);
}
