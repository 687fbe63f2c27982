use super::*;
use crate::relay::NoControls;
use std::cell::RefCell;
use std::process::{Child, Command, Stdio};

/// A command on pipes, with a pipe that closes when it has been reaped.
struct World {
    child: Child,
    log: OutputLog,
    _directory: tempfile::TempDir,
}

impl World {
    fn start(script: &str) -> Self {
        let child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let directory = tempfile::tempdir().unwrap();
        let log = OutputLog::new(directory.path().join("output"), <[u8]>::to_vec);
        Self {
            child,
            log,
            _directory: directory,
        }
    }

    fn relay(&mut self, streams: Streams<'_>, limit: Option<u64>) -> (Relayed, Vec<i32>) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let done = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
        let sent = RefCell::new(Vec::new());
        let signal = |number: i32| {
            sent.borrow_mut().push(number);
            let signal = rustix::process::Signal::from_named_raw(number).unwrap();
            let _ = rustix::process::kill_process(pid, signal);
        };
        let ends = Ends {
            stdin: self.child.stdin.take().map(OwnedFd::from),
            stdout: self.child.stdout.take().map(OwnedFd::from),
            stderr: self.child.stderr.take().map(OwnedFd::from),
            terminal: None,
            done: done.as_fd(),
            signal: &signal,
            resize: None,
            meanwhile: Meanwhile::default(),
        };
        let relayed = relay(ends, streams, &mut self.log, limit).unwrap();
        self.child.wait().unwrap();
        (relayed, sent.into_inner())
    }
}

fn streams<'a>(
    stdin: Source<'a>,
    (stdout, stderr): (Sink<'a>, Sink<'a>),
    controls: &'a mut dyn Controls,
) -> Streams<'a> {
    Streams {
        stdin,
        stdout,
        stderr,
        terminal: None,
        controls,
    }
}

#[test]
fn both_streams_arrive_whole_and_apart() {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut world = World::start("cat; echo oops >&2");
    let sinks = (Sink::Buffer(&mut out), Sink::Buffer(&mut err));
    let input = vec![b'x'; 300_000];
    let (relayed, _) = world.relay(streams(Source::Bytes(&input), sinks, &mut NoControls), None);
    assert_eq!(out.len(), 300_000);
    assert_eq!(err, b"oops\n");
    assert_eq!(relayed.output_bytes, 300_005);
}

#[test]
fn a_command_that_never_reads_does_not_hold_up_its_end() {
    let mut world = World::start("exit 3");
    let input = vec![b'x'; 1 << 20];
    let sinks = (Sink::Discard, Sink::Discard);
    world.relay(streams(Source::Bytes(&input), sinks, &mut NoControls), None);
}

#[test]
fn a_caller_that_went_away_ends_the_writer_as_in_any_pipeline() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    drop(reader);
    let mut world = World::start("exec yes");
    let sinks = (Sink::Descriptor(writer.as_fd()), Sink::Discard);
    world.relay(streams(Source::Empty, sinks, &mut NoControls), None);
}

#[test]
fn output_beyond_the_limit_ends_the_run_and_is_not_passed_on() {
    let mut out = Vec::new();
    let mut world = World::start("exec yes");
    let sinks = (Sink::Buffer(&mut out), Sink::Discard);
    let (relayed, sent) = world.relay(streams(Source::Empty, sinks, &mut NoControls), Some(10_000));
    let breach = relayed.breach.unwrap();
    assert_eq!((breach.resource, breach.limit), (Resource::Output, 10_000));
    assert_eq!(out.len(), 10_000);
    assert!(sent.contains(&SIGKILL));
}

/// Controls that are all there from the start.
struct Script(OwnedFd, Vec<Control>);

impl Controls for Script {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    fn next(&mut self) -> Option<Control> {
        self.1.pop()
    }
}

#[test]
fn the_third_interrupt_is_an_order() {
    let (ready, writer) = rustix::pipe::pipe().unwrap();
    drop(writer);
    let mut controls = Script(ready, vec![Control::Signal(SIGINT); 3]);
    let mut world = World::start("trap '' INT TERM; while :; do read -r line || sleep 0.05; done");
    let sinks = (Sink::Discard, Sink::Discard);
    let (relayed, sent) = world.relay(streams(Source::Empty, sinks, &mut controls), None);
    assert!(relayed.interrupted);
    assert_eq!(sent, [SIGINT, SIGTERM, SIGKILL]);
}

#[test]
fn what_is_left_running_does_not_hold_the_caller() {
    let mut out = Vec::new();
    let mut world = World::start("sleep 5 & echo started");
    let sinks = (Sink::Buffer(&mut out), Sink::Discard);
    world.relay(streams(Source::Empty, sinks, &mut NoControls), None);
    assert_eq!(out, b"started\n");
}
