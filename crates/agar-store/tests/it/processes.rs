//! Several processes at once, and processes that die in the middle.
//!
//! The other process is this test program itself, told by a variable what to do.

use crate::world::{Numbers, at, place};
use agar_core::id::{ProjectId, SandboxId};
use agar_core::state::Event;
use agar_core::walls::{BaseKind, Identity, Network, Tier};
use agar_store::{FILE_NAME, Health, NewRun, NewSandbox, Scope, Store, StoreError, check};
use agar_testkit::random::Random;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What the other process is asked to do: `<count> <seed>`.
const ROLE: &str = "AGAR_STORE_TEST_ROLE";

/// The store it does it to.
const STORE: &str = "AGAR_STORE_TEST_PATH";

const PROJECT: &str = "/src/shop";

/// Not a rule of its own: what the other process runs.
#[test]
fn the_other_process() {
    let (Some(role), Some(path)) = (std::env::var_os(ROLE), std::env::var_os(STORE)) else {
        return;
    };
    let role = role.into_string().unwrap();
    let (count, seed) = role.split_once(' ').unwrap();
    let (count, seed): (u64, u64) = (count.parse().unwrap(), seed.parse().unwrap());
    // Everybody begins when the parent lets go.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    let mut store = Store::open(Path::new(&path)).unwrap();
    let mut random = Random::new(seed);
    let numbers = Numbers::starting_at(seed << 32);
    for _ in 0..count {
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&random.number().to_le_bytes());
        let fresh = ProjectId::new(at(1), bytes);
        let project = store.project(&place(PROJECT), fresh, at(1)).unwrap();
        write_one(
            &mut store,
            project.id,
            SandboxId::new(at(2), bytes),
            &numbers,
        )
        .unwrap();
        println!("wrote {}", SandboxId::new(at(2), bytes));
    }
}

/// One transaction: a sandbox with a run, four lines of journal.
fn write_one(
    store: &mut Store,
    project: ProjectId,
    id: SandboxId,
    numbers: &Numbers,
) -> Result<(), StoreError> {
    let new = NewSandbox {
        id,
        alias: None,
        project,
        tier: Tier::Full,
        network: Network::None,
        base: BaseKind::Frozen,
        generation: None,
        stacks: "[]".to_owned(),
        limits: agar_core::limits::Limits::default(),
        identity: Identity::Caller,
        note: Some("x".repeat(2000)),
        parent: None,
        origin: None,
    };
    store.write(|writer| {
        writer.create_sandbox(&new, numbers, at(3))?;
        writer.advance_sandbox(id, Event::Start, at(4))?;
        let run = NewRun {
            sandbox: id,
            argv: &["true".to_owned()],
            cwd: Path::new(PROJECT),
        };
        writer.start_run(&run, at(5))?;
        writer.advance_sandbox(id, Event::Pause, at(6))?;
        Ok(())
    })
}

const LINES_PER_WRITE: u64 = 4;

fn start(path: &Path, count: u64, seed: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::the_other_process", "--nocapture"])
        .env(ROLE, format!("{count} {seed}"))
        .env(STORE, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// The ids that a process says it has written.
fn written(line: &str) -> Option<SandboxId> {
    line.split_once("wrote ")?.1.trim().parse().ok()
}

#[test]
fn processes_that_start_and_write_at_once_lose_nothing() {
    const PROCESSES: u64 = 4;
    const WRITES: u64 = 25;
    let directory = tempfile::tempdir().unwrap();
    // Not there yet, and neither is its directory: they make it, all at once.
    let path = directory.path().join("state").join(FILE_NAME);
    let mut children: Vec<Child> = (1..=PROCESSES)
        .map(|seed| start(&path, WRITES, seed))
        .collect();
    for child in &mut children {
        drop(child.stdin.take());
    }
    let mut said = BTreeSet::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        said.extend(
            String::from_utf8(output.stdout)
                .unwrap()
                .lines()
                .filter_map(written),
        );
    }
    assert_eq!(said.len() as u64, PROCESSES * WRITES);
    let store = Store::open(&path).unwrap();
    let read = store.read();
    let project = read.projects().unwrap();
    assert_eq!(project.len(), 1, "all saw one project");
    let sandboxes = read.sandboxes(None, Scope::All).unwrap();
    let ids: BTreeSet<SandboxId> = sandboxes.iter().map(|sandbox| sandbox.id).collect();
    assert_eq!(ids, said);
    let entries = read.journal_since(project[0].id, 0, u32::MAX).unwrap();
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.number).collect();
    let expected: Vec<u64> = (1..=PROCESSES * WRITES * LINES_PER_WRITE).collect();
    assert_eq!(numbers, expected);
    drop(store);
    assert_eq!(check(&path).unwrap(), Health::Sound);
    let left: Vec<_> = fs_err::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".new-"))
        .collect();
    assert_eq!(left, [] as [&str; 0], "drafts are gone");
}

#[test]
fn a_process_killed_at_any_moment_leaves_whole_transactions() {
    const ROUNDS: u64 = 25;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE_NAME);
    let mut random = Random::new(7);
    let mut said = BTreeSet::new();
    for round in 1..=ROUNDS {
        let mut child = start(&path, u64::MAX, round);
        drop(child.stdin.take());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let enough = random.below(8);
        let mut heard = 0;
        while heard <= enough {
            let line = lines.next().unwrap().unwrap();
            if let Some(id) = written(&line) {
                said.insert(id);
                heard += 1;
            }
        }
        // A little further into whatever it is doing now.
        for _ in 0..random.below(2000) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(check(&path).unwrap(), Health::Sound);
    let store = Store::open(&path).unwrap();
    let read = store.read();
    let sandboxes = read.sandboxes(None, Scope::All).unwrap();
    let ids: BTreeSet<SandboxId> = sandboxes.iter().map(|sandbox| sandbox.id).collect();
    assert!(
        ids.is_superset(&said),
        "what was said to be written is there"
    );
    for id in &ids {
        assert_eq!(
            read.run_count(*id).unwrap(),
            1,
            "no sandbox without its run"
        );
    }
    let latest = read.journal_latest(read.projects().unwrap()[0].id).unwrap();
    assert_eq!(latest, ids.len() as u64 * LINES_PER_WRITE);
}
