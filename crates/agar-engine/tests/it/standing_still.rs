//! Snapshots of sandboxes in which something keeps writing.

use crate::desk::{Desk, capture};
use crate::travelling::Yard;
use agar_core::fault::{Fault as _, Kind, Remedy};
use agar_core::snapshot::Taken;
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::list::{ListRequest, Look, list};
use agar_engine::processes::{ProcessesRequest, processes};
use agar_engine::remove::{RemoveRequest, remove};
use agar_engine::snapshot::{SnapshotRequest, snapshot};
use agar_engine::{Command, EngineError};
use agar_jail::client::Keeper;
use agar_testkit::{keepers, wait};
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;

/// Writes the same number to one file after the other, in every way that a file can be written, again
/// and again with the next number. So at each moment no file is ahead of the one before it, and the
/// last is at most one behind the first. Meanwhile it rewrites many others, so that copying takes time.
const WRITER: &str = r#"
import mmap, os, struct
def pack(n): return struct.pack("<Q", n)
def opened(name):
    fd = os.open(name, os.O_RDWR | os.O_CREAT, 0o644)
    os.ftruncate(fd, 4096)
    return fd
def mapped(fd): return mmap.mmap(fd, 4096)
def in_place(name):
    fd = opened(name)
    return lambda n: os.pwrite(fd, pack(n), 0)
def long_map(name):
    view = mapped(opened(name))
    def write(n): view[0:8] = pack(n)
    return write
def short_map(name):
    os.close(opened(name))
    def write(n):
        fd = os.open(name, os.O_RDWR)
        view = mapped(fd)
        os.close(fd)
        view[0:8] = pack(n)
        view.close()
    return write
def saved(name):
    def write(n):
        with open(name + "~", "wb") as file: file.write(pack(n))
        os.rename(name + "~", name)
    return write
def linked(name):
    def write(n):
        with open(name + "~", "wb") as file: file.write(pack(n))
        os.link(name + "~", name + "+")
        os.rename(name + "+", name)
        os.unlink(name + "~")
    return write
home = os.environ["HOME"] + "/"
os.mkdir("many")
writers = [in_place("a"), long_map("b"), in_place(home + "c"), short_map("d"), saved("e"),
           long_map(home + "f"), linked("g"), in_place("h")]
n = 0
while True:
    n += 1
    for write in writers: write(n)
    with open("many/%d" % (n % 300), "wb") as file: file.write(os.urandom(20000))
"#;

/// Prints the numbers in the order in which they are written.
const READER: &str = r#"
import os, struct
home = os.environ["HOME"] + "/"
names = ["a", "b", home + "c", "d", "e", home + "f", "g", "h"]
print(*[struct.unpack("<Q", open(name, "rb").read(8))[0] for name in names])
"#;

/// The numbers that a sandbox holds.
fn numbers(yard: &Yard, sandbox: &str) -> Vec<u64> {
    let printed = yard.say(sandbox, "exec python3 reader.py");
    let numbers = printed.split_whitespace().map(|word| word.parse().unwrap());
    numbers.collect()
}

#[test]
fn a_snapshot_of_a_sandbox_that_is_written_to_shows_a_state_that_there_was() {
    let yard = Yard::new();
    yard.desk.write("writer.py", WRITER);
    yard.desk.write("reader.py", READER);
    yard.create("calm-fern");
    yard.say(
        "calm-fern",
        "python3 writer.py >/dev/null 2>&1 & until [ -e many/299 ]; do sleep 0.01; done",
    );
    let mut last = 0;
    for number in 0..8 {
        let taken = yard.snapshot("calm-fern", &format!("n{number}"));
        assert_eq!(taken.snapshot.taken, Taken::Running);
        assert!(taken.snapshot.frozen_us.is_some());
        let fork = format!("fork-{number}");
        yard.fork(&format!("calm-fern@n{number}"), &fork);
        let numbers = numbers(&yard, &fork);
        let (first, end) = (numbers[0], numbers[numbers.len() - 1]);
        assert!(numbers.is_sorted_by(|one, next| one >= next), "{numbers:?}");
        assert!(first - end <= 1, "{numbers:?}");
        assert!(first > last, "the writer went on: {numbers:?}");
        last = first;
        yard.remove(&fork);
    }
}

#[test]
fn a_keeper_that_was_stopped_while_it_takes_new_layers_keeps_nobody_from_the_store() {
    let yard = Yard::new();
    yard.create("other");
    yard.create("calm-fern");
    yard.say("calm-fern", "echo x > made");
    let request = SnapshotRequest {
        sandbox: Some("calm-fern".to_owned()),
        name: Some("first".to_owned()),
        note: None,
    };
    let state = yard.desk.home().join(".local/state/agar");
    let sandbox = state.join("sandboxes").join(yard.id("calm-fern"));
    let keeper = keepers::of_sandbox(&state, &sandbox).unwrap();
    let taken = std::thread::scope(|scope| {
        kill_process(keeper, Signal::STOP).unwrap();
        let desk = &yard.desk;
        let taking = scope.spawn(|| snapshot(&desk.engine(), &request));
        wait::until("the snapshot to have made its layers", || rotated(&sandbox));
        // Writes that it runs and that it ended; with the store held it would give up.
        let said = yard.say("other", "echo said");
        kill_process(keeper, Signal::CONT).unwrap();
        assert_eq!(said, "said\n");
        taking.join().unwrap().unwrap()
    });
    assert_eq!(taken.snapshot.taken, Taken::Idle);
    assert!(!taken.jail_ended);
    assert_eq!(yard.say("calm-fern", "cat made"), "x\n");
}

/// Whether a sandbox has an upper layer that was not its first.
fn rotated(sandbox: &std::path::Path) -> bool {
    let names = fs_err::read_dir(sandbox).unwrap().flatten();
    names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .any(|name| name.starts_with("upper-") && name.matches('-').count() == 2)
}

/// A sandbox with something in it, and its keeper.
pub(crate) struct Stage {
    pub(crate) yard: Yard,
    pub(crate) directory: PathBuf,
    socket: PathBuf,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let yard = Yard::new();
        yard.create("calm-fern");
        yard.say("calm-fern", "sleep 1000 >/dev/null 2>&1 &");
        let id = yard.id("calm-fern");
        let state = yard.desk.home().join(".local/state/agar");
        Self {
            directory: state.join("sandboxes").join(&id),
            socket: yard.desk.runtime().join(format!("agar/{id}.sock")),
            yard,
        }
    }

    pub(crate) fn keeper(&self) -> Keeper {
        Keeper::connect(&self.socket, &self.directory).unwrap()
    }

    pub(crate) fn pid(&self) -> Pid {
        let state = self.yard.desk.home().join(".local/state/agar");
        keepers::of_sandbox(&state, &self.directory).unwrap()
    }

    /// Waits until the run of this number is about to be sent to the keeper.
    pub(crate) fn await_run(&self, number: u32) {
        let run = self.directory.join(format!("runs/{number}"));
        wait::until("the run to be made", || run.exists());
    }
}

/// Runs a command as another process would.
pub(crate) fn say(desk: &Desk, script: &str) -> Result<String, EngineError> {
    let request = ExecRequest {
        sandbox: Some("calm-fern".to_owned()),
        command: Command::new(["sh", "-c", script]),
        ..ExecRequest::default()
    };
    let mut output = Vec::new();
    exec(&desk.engine(), &request, capture(&mut output))?;
    Ok(String::from_utf8(output).unwrap())
}

#[test]
fn a_command_that_comes_while_a_snapshot_has_everything_stand_still_waits_for_it() {
    let stage = Stage::new();
    let keeper = stage.keeper();
    let still = keeper.freeze().unwrap();
    let said = std::thread::scope(|scope| {
        let saying = scope.spawn(|| say(&stage.yard.desk, "echo hi"));
        stage.await_run(2);
        // It is heard in the order of asking: whoever is told this comes after the command.
        assert_eq!(stage.keeper().status().unwrap().runs, [0_u32; 0]);
        still.end().unwrap();
        saying.join().unwrap()
    });
    assert_eq!(said.unwrap(), "hi\n");
}

#[test]
fn a_command_that_comes_just_as_its_sandbox_is_paused_is_told_so() {
    let stage = Stage::new();
    let keeper = stage.keeper();
    // Its record says that it runs.
    keeper.pause().unwrap();
    let error = say(&stage.yard.desk, "echo hi").unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict);
    assert_eq!(
        error.to_string(),
        "cannot run a command in calm-fern: it is paused"
    );
    let line = "agar resume calm-fern".to_owned();
    assert_eq!(error.remedy(), Some(Remedy::Command { line }));
    keeper.resume().unwrap();
    assert_eq!(say(&stage.yard.desk, "echo hi").unwrap(), "hi\n");
}

#[test]
fn a_command_whose_jail_ends_before_it_was_taken_runs_once_in_the_next() {
    let stage = Stage::new();
    let keeper = stage.pid();
    kill_process(keeper, Signal::STOP).unwrap();
    let said = std::thread::scope(|scope| {
        let saying = scope.spawn(|| say(&stage.yard.desk, "echo x >>made; cat made"));
        stage.await_run(2);
        kill_process(keeper, Signal::KILL).unwrap();
        saying.join().unwrap()
    });
    assert_eq!(said.unwrap(), "x\n");
}

#[test]
fn a_command_in_a_sandbox_that_is_being_removed_is_told_so() {
    let stage = Stage::new();
    let keeper = stage.pid();
    kill_process(keeper, Signal::STOP).unwrap();
    let error = std::thread::scope(|scope| {
        let saying = scope.spawn(|| say(&stage.yard.desk, "echo hi"));
        stage.await_run(2);
        let removing = scope.spawn(|| {
            let request = RemoveRequest {
                sandboxes: vec!["calm-fern".to_owned()],
                force: true,
                ..RemoveRequest::default()
            };
            remove(&stage.yard.desk.engine(), &request)
        });
        let home = stage.yard.desk.home().join(".local/state/agar");
        let ending = home.join(format!(
            "alive/{}.ending",
            stage.directory.file_name().unwrap().display()
        ));
        wait::until("the sandbox to be ending", || ending.exists());
        kill_process(keeper, Signal::CONT).unwrap();
        removing.join().unwrap().unwrap();
        saying.join().unwrap().unwrap_err()
    });
    assert_eq!(error.to_string(), "calm-fern was removed meanwhile");
    assert_eq!(error.kind(), Kind::NotFound);
}

#[test]
fn a_keeper_that_does_not_answer_keeps_nobody_from_looking_and_is_killed_by_a_removal() {
    let stage = Stage::new();
    let keeper = stage.pid();
    kill_process(keeper, Signal::STOP).unwrap();
    let engine = stage.yard.desk.engine();
    let look = ListRequest {
        look: Look::Usage,
        ..ListRequest::default()
    };
    let listed = list(&engine, &look).unwrap().sandboxes;
    assert_eq!(listed[0].memory_bytes, None);
    let nothing = ProcessesRequest::default();
    assert_eq!(processes(&engine, &nothing).unwrap().processes, []);
    let removal = |force| RemoveRequest {
        sandboxes: vec!["calm-fern".to_owned()],
        force,
        ..RemoveRequest::default()
    };
    let error = remove(&engine, &removal(false)).unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict, "it is not taken for idle");
    remove(&engine, &removal(true)).unwrap();
    // This process started it, and has not looked after it.
    let stat = format!("/proc/{}/stat", keeper.as_raw_nonzero());
    wait::until("the keeper to be gone", || {
        fs_err::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
    });
}
