//! Callers who do not wait for what cannot go on now.

use crate::desk::Desk;
use crate::standing_still::{Stage, say};
use crate::travelling::Yard;
use agar_core::fault::{Fault as _, Kind};
use agar_core::limits::{Limits, Resource};
use agar_core::run::End;
use agar_core::size::Bytes;
use agar_engine::attach::{AttachRequest, look, prepare};
use agar_engine::exec::{ExecAnswer, ExecRequest, exec};
use agar_engine::list::{ListRequest, list};
use agar_engine::relay::{Control, Controls, Sink, Source, Streams, WindowSize};
use agar_engine::run::{Afterwards, RunAnswer, RunRequest, run};
use agar_engine::{Command, EngineError, SandboxOptions};
use agar_jail::client::Keeper;
use agar_testkit::wait;
use rustix::fs::{FlockOperation, flock};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, kill_process};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// Long enough for what is on its way.
const MOMENT: Duration = Duration::from_millis(200);

/// Somebody who leaves when something is written to the other end.
struct Leaver(OwnedFd);

fn leaver() -> (Leaver, OwnedFd) {
    let (told, tell) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    (Leaver(told), tell)
}

fn leave(tell: &OwnedFd) {
    rustix::io::write(tell, b"x").unwrap();
}

impl Controls for Leaver {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    fn next(&mut self) -> Option<Control> {
        let told = rustix::io::read(&self.0, &mut [0_u8; 1][..]);
        matches!(told, Ok(1)).then_some(Control::Stop)
    }
}

/// Runs a command as another process would, for a caller who may leave.
fn exec_as(
    desk: &Desk,
    script: &str,
    caller: &mut Leaver,
    stdout: Sink<'_>,
) -> Result<ExecAnswer, EngineError> {
    let request = ExecRequest {
        sandbox: Some("calm-fern".to_owned()),
        command: Command::new(["sh", "-c", script]),
        ..ExecRequest::default()
    };
    let streams = Streams {
        stdout,
        ..Streams::unheard(caller)
    };
    exec(&desk.engine(), &request, streams)
}

#[test]
fn whoever_waits_for_a_snapshot_can_leave_and_the_command_never_starts() {
    let stage = Stage::new();
    let keeper = stage.keeper();
    let still = keeper.freeze().unwrap();
    let (mut caller, tell) = leaver();
    let error = std::thread::scope(|scope| {
        let desk = &stage.yard.desk;
        let waiting = scope.spawn(|| exec_as(desk, "echo x >made", &mut caller, Sink::Discard));
        stage.await_run(2);
        // It is heard in the order of asking: whoever is told this comes after the command.
        assert_eq!(stage.keeper().status().unwrap().runs, [0_u32; 0]);
        leave(&tell);
        waiting.join().unwrap().unwrap_err()
    });
    assert_eq!(error.kind(), Kind::Interrupted);
    assert_eq!(
        error.to_string(),
        "left calm-fern before the command had started"
    );
    still.end().unwrap();
    assert_eq!(stage.keeper().status().unwrap().runs, [0_u32; 0]);
    assert_eq!(say(&stage.yard.desk, "ls").unwrap(), "file\nsrc\n");
}

#[test]
fn what_is_said_of_a_paused_sandbox_does_not_wait_for_whoever_works_on_it() {
    let stage = Stage::new();
    stage.keeper().pause().unwrap();
    let turn = fs_err::File::create(stage.directory.join("turn")).unwrap();
    flock(&turn, FlockOperation::LockExclusive).unwrap();
    let error = say(&stage.yard.desk, "echo hi").unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot run a command in calm-fern: it is paused"
    );
    drop(turn);
    stage.keeper().resume().unwrap();
}

#[test]
fn what_was_typed_right_before_leaving_a_terminal_arrives_although_its_keeper_was_slow() {
    let stage = Stage::new();
    let desk = &stage.yard.desk;
    let request = AttachRequest {
        plain: true,
        shell: Some("/bin/sh".into()),
        ..AttachRequest::default()
    };
    let ready = prepare(&desk.engine(), &request).unwrap();
    let (mut caller, tell) = leaver();
    let told = caller.0.try_clone().unwrap();
    let (keys, keyboard) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    rustix::io::write(&keyboard, b"echo typed >made\n").unwrap();
    leave(&tell);
    let keeper = stage.pid();
    kill_process(keeper, Signal::STOP).unwrap();
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let streams = Streams {
                stdin: Source::Descriptor(keys.as_fd()),
                terminal: Some(WindowSize {
                    rows: 24,
                    columns: 80,
                }),
                ..Streams::unheard(&mut caller)
            };
            look(&desk.engine(), &ready, streams)
        });
        wait::until("it to want to leave", || {
            matches!(rustix::io::ioctl_fionread(&told), Ok(0))
        });
        kill_process(keeper, Signal::CONT).unwrap();
        assert!(!looking.join().unwrap().unwrap().over, "it goes on");
    });
    wait::until("what was typed to have been done", || {
        say(desk, "cat made").is_ok_and(|made| made == "typed\n")
    });
}

/// A pipe that takes nothing until it is read from.
fn full_pipe() -> (OwnedFd, OwnedFd) {
    let (from, to) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
    while rustix::io::write(&to, &[0; 4096]).is_ok() {}
    (from, to)
}

fn drain(from: &OwnedFd) {
    while matches!(rustix::io::read(from, &mut [0_u8; 4096][..]), Ok(count) if count > 0) {}
}

/// The sandbox of somebody else's making.
fn keeper_of(yard: &Yard, alias: &str) -> Keeper {
    let id = yard.id(alias);
    let socket = yard.desk.runtime().join(format!("agar/{id}.sock"));
    Keeper::connect(&socket, &directory_of(yard, alias)).unwrap()
}

fn directory_of(yard: &Yard, alias: &str) -> std::path::PathBuf {
    let state = yard.desk.home().join(".local/state/agar");
    state.join("sandboxes").join(yard.id(alias))
}

#[test]
fn a_run_that_went_beyond_its_output_while_it_stands_still_ends_so_when_it_goes_on() {
    let yard = Yard::new();
    let limits = Limits {
        output_bytes: Some(Bytes(10_000)),
        ..Limits::default()
    };
    let options = SandboxOptions {
        limits,
        ..SandboxOptions::default()
    };
    yard.create_with("calm-fern", options);
    let keeper = keeper_of(&yard, "calm-fern");
    let (from, to) = full_pipe();
    let (mut caller, _tell) = leaver();
    // What comes after the first word is not read before the first word was taken.
    let script = "echo first; until [ -e go ]; do sleep 0.01; done; head -c 60000 /dev/zero; \
                  echo x >made; sleep 1000";
    let answer = std::thread::scope(|scope| {
        let sink = Sink::Descriptor(to.as_fd());
        let running = scope.spawn(|| exec_as(&yard.desk, script, &mut caller, sink));
        await_log(&directory_of(&yard, "calm-fern"), 1);
        yard.say(
            "calm-fern",
            "touch go; until [ -e made ]; do sleep 0.01; done",
        );
        keeper.pause().unwrap();
        drain(&from);
        let ended = wait::holds_within(MOMENT, || {
            drain(&from);
            running.is_finished()
        });
        assert!(!ended, "nobody left");
        keeper.resume().unwrap();
        wait::until("it to end", || {
            drain(&from);
            running.is_finished()
        });
        running.join().unwrap().unwrap()
    });
    let Some(End::Stopped { breach }) = answer.run.end else {
        panic!("{:?}", answer.run);
    };
    assert_eq!(breach.resource, Resource::Output);
    assert!(!answer.run.interrupted);
}

/// Waits until something that a run printed is in its log.
fn await_log(sandbox: &Path, number: u32) {
    let log = sandbox.join(format!("runs/{number}/output"));
    wait::until("the run to say something", || log.exists());
}

#[test]
fn an_interrupted_run_that_stood_still_keeps_what_was_known_of_it() {
    let yard = Yard::new();
    let (mut caller, tell) = leaver();
    let answer: RunAnswer = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            let request = RunRequest {
                command: Command::new(["sh", "-c", "echo begun; sleep 1000"]),
                options: SandboxOptions {
                    alias: Some("calm-fern".to_owned()),
                    ..SandboxOptions::default()
                },
                afterwards: Afterwards::Keep,
                ..RunRequest::default()
            };
            let streams = Streams::unheard(&mut caller);
            run(&yard.desk.engine(), &request, streams).unwrap()
        });
        wait::until("the sandbox to be made", || {
            let all = list(&yard.engine, &ListRequest::default()).unwrap();
            !all.sandboxes.is_empty()
        });
        await_log(&directory_of(&yard, "calm-fern"), 1);
        keeper_of(&yard, "calm-fern").pause().unwrap();
        leave(&tell);
        running.join().unwrap()
    });
    assert_eq!(answer.run.end, Some(End::Signaled { signal: 9 }));
    assert!(answer.run.interrupted);
    assert_eq!(answer.run.output_bytes, 6);
}
