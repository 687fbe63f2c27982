//! A disk with no room left.

use crate::world::{at, command, project};
use agar_core::fault::{Fault as _, Kind};
use agar_core::id::{ExperimentId, SandboxId};
use agar_memory::{Beginning, Health, Memory, MemoryError, Tuning, check};
use agar_testkit::{Caller, SmallDisk, skip};
use std::path::Path;

fn begin(memory: &mut Memory, number: u64) -> Result<(), MemoryError> {
    let mut bytes = [0; 10];
    bytes[3..].copy_from_slice(&number.to_be_bytes()[1..]);
    let mut suggestion = command("make");
    suggestion.text = format!("{number} {}", "x ".repeat(8000));
    let beginning = Beginning {
        id: ExperimentId::new(at(1), bytes),
        sandbox: SandboxId::new(at(1), bytes),
        user: "tester".to_owned(),
        suggestion,
        limits: serde_json::Value::Null,
        at: at(1),
    };
    memory.begin(&beginning).map(drop)
}

#[test]
fn a_full_disk_refuses_the_write_and_keeps_what_was_there() {
    if Caller::current() != Caller::Root {
        skip!("full-disk", "mounting a small disk needs root");
    }
    let disk = SmallDisk::new(c"size=3m,mode=0700");
    let directory: &Path = &disk.path().join("memory");
    let mut memory = Memory::open(directory, project(1), Tuning::default()).unwrap();
    let mut written = 0;
    let error = loop {
        match begin(&mut memory, written) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), Kind::Limit, "{error:?}");
    assert!(written > 0);
    drop(memory);
    let memory = Memory::open(directory, project(1), Tuning::default()).unwrap();
    assert_eq!(memory.stats().unwrap().experiments, written);
    assert_eq!(check(directory).unwrap(), Health::Sound);
}
