//! Sandboxes that stay: made, used again, looked at.

use crate::desk::{Desk, capture};
use agar_core::fault::{Fault as _, Kind};
use agar_core::run::End;
use agar_core::state::State;
use agar_engine::Command;
use agar_engine::copy_files::{CopyRequest, Place, copy_files};
use agar_engine::create::{CreateRequest, create};
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::inspect::{InspectRequest, inspect};
use agar_engine::processes::{ProcessesRequest, processes};
use agar_engine::remove::{RemoveRequest, remove};

fn shell(desk: &Desk, script: &str) -> (Option<End>, String) {
    let request = ExecRequest {
        command: Command::new(["sh", "-c", script]),
        ..ExecRequest::default()
    };
    let mut output = Vec::new();
    let answer = exec(&desk.engine(), &request, capture(&mut output)).unwrap();
    (answer.run.end, String::from_utf8(output).unwrap())
}

fn made(desk: &Desk, alias: &str) {
    let request = CreateRequest {
        alias: Some(alias.to_owned()),
        ..CreateRequest::default()
    };
    let answer = create(&desk.engine(), &request).unwrap();
    assert_eq!(answer.sandbox.state, State::Running);
}

fn removed(desk: &Desk) {
    let request = RemoveRequest {
        all: true,
        force: true,
        ..RemoveRequest::default()
    };
    remove(&desk.engine(), &request).unwrap();
}

#[test]
fn what_one_command_wrote_the_next_one_reads() {
    let desk = Desk::new();
    made(&desk, "calm-fern");
    shell(&desk, "echo kept > note; sleep 300 &");
    assert_eq!(shell(&desk, "cat note").1, "kept\n");
    assert!(!desk.project().join("note").exists());
    let running = processes(&desk.engine(), &ProcessesRequest::default()).unwrap();
    let commands: Vec<&str> = running
        .processes
        .iter()
        .map(|it| it.command.as_str())
        .collect();
    assert_eq!(commands, ["sleep 300"]);
    let everything = inspect(&desk.engine(), &InspectRequest::default()).unwrap();
    assert_eq!(everything.runs.len(), 2);
    assert!(
        everything
            .events
            .iter()
            .any(|event| event.kind == "run.ended")
    );
    let request = RemoveRequest::default();
    let refusal = remove(&desk.engine(), &request).unwrap_err();
    assert_eq!(refusal.kind(), Kind::Conflict);
    removed(&desk);
    assert_eq!(desk.left_in_state("alive"), 0);
}

#[test]
fn later_edits_of_the_person_do_not_appear_in_a_frozen_sandbox() {
    let desk = Desk::new();
    desk.write("a.txt", "before\n");
    made(&desk, "calm-fern");
    desk.write("a.txt", "after\n");
    assert_eq!(shell(&desk, "cat a.txt").1, "before\n");
    removed(&desk);
}

#[test]
fn files_go_in_and_come_out() {
    let desk = Desk::new();
    made(&desk, "calm-fern");
    let inside = |path: &str| Place::Sandbox {
        sandbox: "calm".to_owned(),
        path: path.into(),
    };
    let outside = |path: &str| Place::Host {
        path: desk.root().join(path),
    };
    fs_err::create_dir_all(desk.root().join("tree/deep")).unwrap();
    fs_err::write(desk.root().join("tree/deep/leaf"), "green").unwrap();
    let copy = |from, to| copy_files(&desk.engine(), &CopyRequest { from, to }).unwrap();
    copy(outside("tree"), inside("."));
    assert_eq!(shell(&desk, "cat tree/deep/leaf").1, "green");
    shell(&desk, "echo red > tree/deep/other");
    let copied = copy(inside("tree"), outside("back"));
    assert_eq!(copied.files, 2);
    let read = |path: &str| fs_err::read_to_string(desk.root().join(path)).unwrap();
    assert_eq!(read("back/deep/leaf"), "green");
    assert_eq!(read("back/deep/other"), "red\n");
    removed(&desk);
}

#[test]
fn a_name_that_is_not_there_says_so() {
    let desk = Desk::new();
    let request = InspectRequest {
        sandbox: Some("no-such".to_owned()),
    };
    let error = inspect(&desk.engine(), &request).unwrap_err();
    assert_eq!(error.kind(), Kind::NotFound);
    assert_eq!(error.to_string(), "there is no sandbox called `no-such`");
}
