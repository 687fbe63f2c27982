//! The notification handler on the real kernel: what it records, and which renames it completes.

mod renaming;

use crate::child::{errno_of, isolated};
use agar_core::walls::Monitor;
use agar_jail::notify::{Event, Handler, Recorded, Recorder};
use agar_jail::seccomp::{Filter, FilterOptions, install};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::channel;

/// Runs the checks in a thread behind the filter, with a handler in another, as the init does.
fn watched(options: FilterOptions, checks: impl FnOnce() + Send) -> Recorded {
    let recorder = Recorder::new();
    let (wake, _wake_end) = rustix::pipe::pipe().unwrap();
    std::thread::scope(|scope| {
        let (sender, listener) = channel();
        let checks = scope.spawn(move || {
            let listener = install(Filter::build(&options).program(), true).unwrap();
            sender.send(listener.unwrap()).unwrap();
            checks();
        });
        // Ends with the thread that it answers for.
        Handler::new(listener.recv().unwrap())
            .serve(wake.as_fd(), |event| recorder.record(event))
            .unwrap();
        checks.join().unwrap();
    });
    recorder.take()
}

fn options() -> FilterOptions {
    FilterOptions {
        monitor: Monitor::Executions,
        rename_shim: true,
        record_denied: true,
        ..FilterOptions::default()
    }
}

#[test]
fn executions_are_recorded_with_their_arguments() {
    isolated(|| {
        let recorded = watched(options(), || {
            let status = Command::new("sh")
                .args(["-c", "true; cat /dev/null; exec echo one 'two words'"])
                .stdout(std::process::Stdio::null())
                .status()
                .unwrap();
            assert!(status.success());
        });
        let lines: Vec<String> = recorded
            .executions
            .iter()
            .map(|execution| {
                let words: Vec<String> = execution
                    .arguments
                    .iter()
                    .map(ToString::to_string)
                    .collect();
                words.join(" ")
            })
            .collect();
        assert_eq!(
            lines,
            [
                "sh -c true; cat /dev/null; exec echo one 'two words'",
                "cat /dev/null",
                "echo one two words"
            ]
        );
        assert!(
            recorded
                .executions
                .iter()
                .all(|execution| execution.pid > 0)
        );
    });
}

#[test]
fn looking_for_a_program_along_the_path_is_not_an_execution() {
    isolated(|| {
        let recorded = watched(options(), || {
            let status = Command::new("/usr/bin/env")
                .env("PATH", "/nowhere:/nowhere/else:/usr/bin:/bin")
                .arg("true")
                .status()
                .unwrap();
            assert!(status.success());
            assert!(Command::new("/nowhere/at/all").status().is_err());
        });
        let programs: Vec<String> = recorded
            .executions
            .iter()
            .map(|execution| execution.program.to_string())
            .collect();
        assert_eq!(programs, ["/usr/bin/env", "/usr/bin/true"]);
    });
}

#[test]
fn scripts_are_recorded_under_their_own_name() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("a-script-with-a-long-name");
    fs_err::write(&script, "#!/bin/sh\nexit 7\n").unwrap();
    fs_err::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    isolated(|| {
        let recorded = watched(options(), || {
            assert_eq!(Command::new(&script).status().unwrap().code(), Some(7));
        });
        assert_eq!(recorded.executions.len(), 1);
        assert_eq!(recorded.executions[0].program.as_path(), script);
    });
}

#[test]
fn denied_calls_fail_and_are_counted() {
    isolated(|| {
        let recorded = watched(options(), || {
            for _ in 0..3 {
                assert_eq!(errno_of(libc::SYS_mount, [0; 4]), libc::EPERM);
            }
            assert_eq!(errno_of(libc::SYS_socket, [40, 1, 0, 0]), libc::EPERM);
        });
        let counts: Vec<(&str, u64)> = recorded
            .denied
            .iter()
            .map(|denied| (denied.call.as_str(), denied.count))
            .collect();
        assert_eq!(counts, [("mount", 3), ("socket", 1)]);
    });
}

#[test]
fn opened_files_are_recorded_when_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    fs_err::write(directory.path().join("read"), "").unwrap();
    let recorded_in = |monitor| {
        let options = FilterOptions {
            monitor,
            ..options()
        };
        watched(options, || {
            drop(fs_err::read(directory.path().join("read")).unwrap());
            fs_err::write(directory.path().join("written"), "").unwrap();
            let status = Command::new("cat")
                .current_dir(directory.path())
                .arg("read")
                .status()
                .unwrap();
            assert!(status.success());
        })
    };
    isolated(|| {
        let files = recorded_in(Monitor::Files).files;
        let ours: Vec<(PathBuf, bool)> = files
            .into_iter()
            .map(|file| (PathBuf::from(file.path), file.write))
            .filter(|(path, _)| path.starts_with(directory.path()))
            .collect();
        let path = |name| directory.path().join(name);
        assert_eq!(ours, [(path("read"), false), (path("written"), true)]);
        assert!(recorded_in(Monitor::Executions).files.is_empty());
    });
}

#[test]
fn rubbish_arguments_reach_the_kernel_and_hurt_nobody() {
    isolated(|| {
        let recorded = watched(
            FilterOptions {
                monitor: Monitor::Files,
                ..options()
            },
            || {
                for pointer in [0, 1, 4095, u64::MAX, 1 << 63] {
                    assert_ne!(errno_of(libc::SYS_execve, [pointer; 4]), 0);
                    assert_ne!(errno_of(libc::SYS_renameat2, [pointer; 4]), 0);
                    assert_ne!(errno_of(libc::SYS_openat, [pointer; 4]), 0);
                    assert_ne!(errno_of(libc::SYS_openat2, [pointer; 4]), 0);
                }
            },
        );
        assert!(recorded.executions.is_empty());
    });
}

#[test]
fn a_process_that_dies_while_it_asks_is_forgotten() {
    isolated(|| {
        watched(options(), || {
            for _ in 0..50 {
                let mut child = Command::new("sh")
                    .args(["-c", "while :; do /bin/true; done"])
                    .spawn()
                    .unwrap();
                child.kill().unwrap();
                child.wait().unwrap();
            }
            assert!(Command::new("true").status().unwrap().success());
        });
    });
}

#[test]
fn the_handler_stops_when_it_is_woken() {
    isolated(|| {
        let (wake, end) = rustix::pipe::pipe().unwrap();
        let filter = Filter::build(&options());
        std::thread::scope(|scope| {
            let (sender, listener) = channel();
            let (release, released) = channel::<()>();
            scope.spawn(move || {
                sender
                    .send(install(filter.program(), true).unwrap())
                    .unwrap();
                // Holds the filter until the handler has stopped.
                released.recv().unwrap_err();
            });
            let mut handler = Handler::new(listener.recv().unwrap().unwrap());
            drop(end);
            handler.serve(wake.as_fd(), drop::<Event>).unwrap();
            drop(release);
        });
    });
}
