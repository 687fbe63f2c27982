//! What is kept of the events of a run: bounded, and without the executions that failed.
//!
//! An execution is told before it happens. Whether it worked is looked up later, when its process
//! asks again or the record is taken: by then the process either carries the program's name or its
//! file, or is gone, or the execution failed.

use super::{Attempt, Event};
use crate::report::{Denied, Execution, FileAccess};
use crate::wire::Raw;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How many executions and how many files one record holds.
const ENTRIES_MAX: usize = 10_000;
/// How many bytes of text one record holds.
const BYTES_MAX: usize = 2 << 20;
/// How far back an attempt of the same process is looked for.
const PENDING_MAX: usize = 64;

/// Collects events for the thread that reports the run.
#[derive(Debug)]
pub struct Recorder {
    state: Mutex<State>,
}

/// Everything recorded since the last time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// Programs that were started, in order.
    pub executions: Vec<Execution>,
    /// Programs that were started beyond those.
    pub executions_dropped: u64,
    /// Calls that were denied, by name.
    pub denied: Vec<Denied>,
    /// Files that were opened, each once for reading and once for writing.
    pub files: Vec<FileAccess>,
    /// File accesses beyond those.
    pub files_dropped: u64,
}

#[derive(Debug)]
struct State {
    since: Instant,
    bytes: usize,
    executions: Vec<(Attempt, u64, Outcome)>,
    executions_dropped: u64,
    denied: BTreeMap<&'static str, u64>,
    files: BTreeSet<(Raw, bool)>,
    files_dropped: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Pending,
    Worked,
    Failed,
}

impl State {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            bytes: 0,
            executions: Vec::new(),
            executions_dropped: 0,
            denied: BTreeMap::new(),
            files: BTreeSet::new(),
            files_dropped: 0,
        }
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// An empty record; its clock starts now.
    pub fn new() -> Self {
        Self {
            state: Mutex::new(State::new()),
        }
    }

    /// Adds an event, or counts it where there is no room.
    pub fn record(&self, event: Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Denied { call } => *state.denied.entry(call).or_default() += 1,
            Event::Executed(attempt) => state.executed(attempt),
            Event::FileAccess { path, write } => state.accessed(path, write),
        }
    }

    /// Takes everything recorded so far and starts anew.
    pub fn take(&self) -> Recorded {
        let mut state = {
            let mut held = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *held, State::new())
        };
        for (attempt, _, outcome) in &mut state.executions {
            if *outcome == Outcome::Pending {
                *outcome = look(attempt);
            }
        }
        let worked = |outcome: Outcome| match outcome {
            Outcome::Worked => true,
            Outcome::Pending | Outcome::Failed => false,
        };
        Recorded {
            executions: state
                .executions
                .into_iter()
                .filter(|(_, _, outcome)| worked(*outcome))
                .map(|(attempt, at_ms, _)| Execution {
                    pid: attempt.pid,
                    program: attempt.program,
                    arguments: attempt.arguments,
                    at_ms,
                })
                .collect(),
            executions_dropped: state.executions_dropped,
            denied: state
                .denied
                .into_iter()
                .map(|(call, count)| Denied {
                    call: call.to_owned(),
                    count,
                })
                .collect(),
            files: state
                .files
                .into_iter()
                .map(|(path, write)| FileAccess { path, write })
                .collect(),
            files_dropped: state.files_dropped,
        }
    }
}

impl State {
    fn executed(&mut self, attempt: Attempt) {
        // The process waits for its answer, so what it runs now is settled.
        let earlier = self.executions.iter_mut().rev().take(PENDING_MAX);
        for (other, _, outcome) in earlier {
            if *outcome == Outcome::Pending && other.pid == attempt.pid {
                *outcome = look(other);
            }
        }
        let bytes = attempt.program.as_os_str().len()
            + attempt
                .arguments
                .iter()
                .map(|argument| argument.as_os_str().len() + size_of::<Raw>())
                .sum::<usize>();
        if self.executions.len() >= ENTRIES_MAX || !self.has_room(bytes) {
            self.executions_dropped += 1;
            return;
        }
        let at_ms = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.executions.push((attempt, at_ms, Outcome::Pending));
    }

    fn accessed(&mut self, path: Raw, write: bool) {
        let key = (path, write);
        if self.files.contains(&key) {
            return;
        }
        if self.files.len() >= ENTRIES_MAX || !self.has_room(key.0.as_os_str().len()) {
            self.files_dropped += 1;
            return;
        }
        self.files.insert(key);
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        let fits = self.bytes + bytes <= BYTES_MAX;
        if fits {
            self.bytes += bytes;
        }
        fits
    }
}

/// Whether the process of the attempt runs the program now. One that is gone, or does not let
/// itself be looked at, is believed: its program existed.
fn look(attempt: &Attempt) -> Outcome {
    let pid = attempt.pid;
    let Ok(runs) = std::fs::metadata(format!("/proc/{pid}/exe")) else {
        return Outcome::Worked;
    };
    if attempt.file == Some((runs.dev(), runs.ino())) {
        return Outcome::Worked;
    }
    // A script runs as its interpreter, under its own name.
    match read_name(pid) {
        Some(name) if name != short_name(&attempt.program) => Outcome::Failed,
        Some(_) | None => Outcome::Worked,
    }
}

fn read_name(pid: u32) -> Option<Vec<u8>> {
    let file = rustix::fs::open(
        format!("/proc/{pid}/comm"),
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    );
    let mut name = [0; 32];
    let length = rustix::io::read(file.ok()?, &mut name).ok()?;
    Some(name[..length].trim_ascii_end().to_vec())
}

/// What the kernel calls a process after its program.
fn short_name(program: &Raw) -> &[u8] {
    let path = program.as_os_str().as_encoded_bytes();
    let start = path.iter().rposition(|byte| *byte == b'/');
    let name = start.map_or(path, |slash| &path[slash + 1..]);
    name[..name.len().min(15)].trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(pid: u32, program: &str) -> Attempt {
        Attempt {
            pid,
            program: program.into(),
            arguments: vec![program.into()],
            file: Some((0, 0)),
        }
    }

    /// No process has this number.
    const GONE: u32 = 0x7FFF_FFFF;

    #[test]
    fn a_hostile_process_cannot_grow_the_record() {
        let recorder = Recorder::new();
        let long = "x".repeat(1000);
        for number in 0..20_000_u32 {
            recorder.record(Event::Executed(attempt(GONE, &long)));
            recorder.record(Event::FileAccess {
                path: format!("/{number}/{long}").into(),
                write: false,
            });
            recorder.record(Event::Denied { call: "mount" });
        }
        let taken = recorder.take();
        let executions = taken.executions.len() as u64;
        let files = taken.files.len() as u64;
        assert!(executions * 2000 + files * 1000 <= (BYTES_MAX as u64) + 4000);
        assert_eq!(executions + taken.executions_dropped, 20_000);
        assert_eq!(files + taken.files_dropped, 20_000);
        assert_eq!(taken.denied.len(), 1);
        assert_eq!(taken.denied[0].count, 20_000);
        assert_eq!(recorder.take(), Recorded::default());
    }

    #[test]
    fn an_execution_that_left_its_process_as_it_was_is_not_recorded() {
        let recorder = Recorder::new();
        // This process runs the test program, and no such thing.
        recorder.record(Event::Executed(attempt(std::process::id(), "/bin/other")));
        recorder.record(Event::Executed(attempt(GONE, "/bin/true")));
        let programs: Vec<Raw> = recorder
            .take()
            .executions
            .into_iter()
            .map(|execution| execution.program)
            .collect();
        assert_eq!(programs, [Raw::from("/bin/true")]);
    }

    #[test]
    fn a_file_is_recorded_once_for_each_kind_of_access() {
        let recorder = Recorder::new();
        for write in [true, false, true, false] {
            recorder.record(Event::FileAccess {
                path: "/a".into(),
                write,
            });
        }
        assert_eq!(recorder.take().files.len(), 2);
    }
}
