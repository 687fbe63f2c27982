//! A memory in a temporary directory, and experiments by the handful.

use agar_core::id::{ExperimentId, ProjectId, SandboxId};
use agar_core::seam::Timestamp;
use agar_memory::replay::Outcome;
use agar_memory::{Beginning, Ending, Learned, Memory, Operation, Status, Suggestion, Tuning};
use serde_json::json;
use std::cell::Cell;
use std::path::Path;

/// A day in milliseconds.
pub(crate) const DAY: u64 = 86_400_000;

pub(crate) fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(crate) fn project(number: u8) -> ProjectId {
    ProjectId::new(at(1), [number; 10])
}

/// A memory and a clock.
pub(crate) struct World {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) memory: Memory,
    now: Cell<u64>,
    count: Cell<u64>,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let memory = open(directory.path());
        Self {
            directory,
            memory,
            now: Cell::new(100 * DAY),
            count: Cell::new(0),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        at(self.now.get())
    }

    pub(crate) fn pass(&self, millis: u64) {
        self.now.set(self.now.get() + millis);
    }

    pub(crate) fn id(&self) -> [u8; 10] {
        self.count.set(self.count.get() + 1);
        let mut bytes = [0; 10];
        bytes[3..].copy_from_slice(&self.count.get().to_be_bytes()[1..]);
        bytes
    }

    pub(crate) fn begin(&mut self, suggestion: &Suggestion) -> (ExperimentId, SandboxId) {
        let (id, sandbox) = (
            ExperimentId::new(self.now(), self.id()),
            SandboxId::new(self.now(), self.id()),
        );
        let beginning = Beginning {
            id,
            sandbox,
            user: "tester".to_owned(),
            suggestion: suggestion.clone(),
            limits: json!({"memory": 512}),
            at: self.now(),
        };
        self.memory.begin(&beginning).unwrap();
        (id, sandbox)
    }

    /// Takes in many at once, so that the index has files.
    pub(crate) fn bulk(&mut self, count: u64, text: impl Fn(u64) -> (String, bool)) {
        let start = self.now.get();
        let mut outcomes = (0..count).map(|number| {
            let (text, success) = text(number);
            Outcome {
                opened: at(start + number * 1000),
                closed: at(start + number * 1000 + 500),
                suggestion: command(&text),
                project: String::new(),
                success,
            }
        });
        assert_eq!(self.memory.load(&mut outcomes).unwrap(), count);
        self.pass(count * 1000);
        self.memory.tidy().unwrap();
    }

    /// Begins and ends one; `shape` fills in the end.
    pub(crate) fn tried(
        &mut self,
        suggestion: &Suggestion,
        status: Status,
        shape: impl FnOnce(&mut Ending),
    ) -> (Learned, SandboxId) {
        let (id, sandbox) = self.begin(suggestion);
        self.pass(60_000);
        let mut ending = Ending::new(id, status, self.now());
        for command in &suggestion.commands {
            ending.operations.push(Operation {
                command: command.clone(),
                exit: Some(i32::from(!status.success())),
                started: self.now(),
                millis: 1000,
            });
        }
        shape(&mut ending);
        (self.memory.record(&ending).unwrap(), sandbox)
    }
}

pub(crate) fn open(directory: &Path) -> Memory {
    Memory::open(directory, project(1), Tuning::default()).unwrap()
}

pub(crate) fn command(line: &str) -> Suggestion {
    Suggestion {
        text: line.to_owned(),
        commands: vec![line.split(' ').map(str::to_owned).collect()],
        ..Suggestion::default()
    }
}
