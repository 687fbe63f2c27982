//! Commands that look for what a crash left behind, beside others that start and end jails.

use crate::desk::{Desk, capture};
use agar_core::id::SandboxId;
use agar_core::state::State;
use agar_engine::Command;
use agar_engine::create::{CreateRequest, create};
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::files::{remove_file, write_file};
use agar_engine::list::{ListRequest, list};
use agar_engine::stop::{StopRequest, stop};
use agar_testkit::{leaks, wait};
use rustix::fs::{FlockOperation, flock};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// A sandbox whose jail is up.
fn made(desk: &Desk) -> SandboxId {
    create(&desk.engine(), &CreateRequest::default())
        .unwrap()
        .sandbox
        .id
}

/// To stop this one.
fn only(id: SandboxId) -> StopRequest {
    StopRequest {
        sandboxes: vec![id.to_string()],
        ..StopRequest::default()
    }
}

fn directory(desk: &Desk, id: SandboxId) -> PathBuf {
    let state = desk.home().join(".local/state/agar");
    state.join("sandboxes").join(id.to_string())
}

fn state(desk: &Desk) -> State {
    let listed = list(&desk.engine(), &ListRequest::default()).unwrap();
    listed.sandboxes[0].sandbox.state
}

#[test]
fn a_sandbox_that_somebody_works_on_is_not_cleared_away_beside_them() {
    let desk = Desk::new();
    let id = made(&desk);
    let turn = fs_err::File::create(directory(&desk, id).join("turn")).unwrap();
    flock(&turn, FlockOperation::LockExclusive).unwrap();
    for keeper in leaks::processes_in(desk.root()) {
        keeper.kill();
    }
    wait::until("the keeper to be gone", || {
        let lock = fs_err::File::open(directory(&desk, id).join("lock")).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockShared).is_ok()
    });
    assert_eq!(state(&desk), State::Running);
    assert_eq!(desk.left_in_state("alive"), 1);
    drop(turn);
    assert_eq!(state(&desk), State::Finished);
    assert_eq!(desk.left_in_state("alive"), 0);
}

#[test]
fn no_keeper_outlives_what_it_was_started_for_however_many_look() {
    const ROUNDS: usize = 40;
    let desk = Desk::new();
    let id = made(&desk);
    let only = only(id);
    stop(&desk.engine(), &only).unwrap();
    let done = AtomicBool::new(false);
    let look = || {
        while !done.load(Ordering::Relaxed) {
            list(&desk.engine(), &ListRequest::default()).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(look);
        }
        let (name, path) = (id.to_string(), Path::new("made/new"));
        let worked = std::panic::catch_unwind(|| {
            for _ in 0..ROUNDS {
                write_file(&desk.engine(), (&name, path), b"x").unwrap();
                remove_file(&desk.engine(), (&name, path)).unwrap();
            }
        });
        done.store(true, Ordering::Relaxed);
        worked.unwrap();
    });
    assert_eq!(state(&desk), State::Finished);
    assert_eq!(desk.left_in_state("alive"), 0);
    wait::until("nothing to run", || {
        leaks::processes_in(desk.root()).is_empty()
    });
}

#[test]
fn a_stop_and_the_end_of_what_it_stops_may_be_written_down_by_either() {
    const ROUNDS: usize = 25;
    let desk = Desk::new();
    let id = made(&desk);
    let only = only(id);
    let request = ExecRequest {
        sandbox: Some(id.to_string()),
        command: Command::new(["sh", "-c", "echo up; exec sleep 600"]),
        ..ExecRequest::default()
    };
    for round in 1..=ROUNDS {
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| exec(&desk.engine(), &request, capture(&mut Vec::new())));
            let report = directory(&desk, id).join(format!("runs/{round}/output"));
            wait::until("it to run", || report.exists());
            stop(&desk.engine(), &only).unwrap();
            // It was stopped, or came too late to begin.
            drop(asked.join().unwrap());
        });
    }
    assert_eq!(state(&desk), State::Finished);
}
