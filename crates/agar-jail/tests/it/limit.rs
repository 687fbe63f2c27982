//! Limits without control groups: what the kernel keeps per process, and what the watch sees.

use crate::child::{isolated, spawn, wait};
use agar_core::limits::{Limits, Resource};
use agar_core::size::Bytes;
use agar_jail::limit::{Sharing, Watch, carry};
use agar_testkit::wait::until;
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// A shell and what it started, all ended together.
struct Shell(Child);

impl Shell {
    fn start(script: &str) -> Self {
        let child = Command::new("sh")
            .args(["-c", script])
            .process_group(0)
            .spawn()
            .unwrap();
        Self(child)
    }

    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.id().cast_signed()).unwrap();
        kill_process_group(group, Signal::KILL).unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn everything_below_a_process_is_counted_and_nothing_else() {
    let shell = Shell::start("sleep 1000 & sleep 1000 & (sleep 1000 & wait) & wait");
    let mut watch = Watch::default();
    until("four processes below the shell", || {
        watch.sample(shell.id(), None).unwrap().processes == 4
    });
    let sample = watch.sample(shell.id(), None).unwrap();
    assert!(sample.memory_bytes > 0);
    let (largest, _) = sample.largest.unwrap();
    let name = watch.name(largest).unwrap();
    assert!(name.contains("(pid "), "{name}");
    let exact = watch.sample(shell.id(), Some(1)).unwrap();
    assert!(exact.memory_bytes > 0 && exact.memory_bytes < sample.memory_bytes);
}

#[test]
fn the_largest_process_is_blamed_for_memory() {
    let shell = Shell::start("head -c 50000000 /dev/zero | (tail; sleep 1000) & sleep 1000");
    let limits = Limits {
        memory_bytes: Some(Bytes::mib(20)),
        ..Limits::default()
    };
    let mut watch = Watch::default();
    let mut breach = None;
    until("tail to fill its memory", || {
        let sample = watch.sample(shell.id(), Some(20 << 20)).unwrap();
        breach = watch.breach(&sample, &limits);
        breach.is_some()
    });
    let breach = breach.unwrap();
    assert_eq!(breach.resource, Resource::Memory);
    assert!(breach.seen > 20 << 20);
    assert!(breach.culprit.unwrap().starts_with("tail (pid "));
}

#[test]
fn a_process_that_is_gone_is_an_error_not_an_empty_sample() {
    let pid = spawn(|| {});
    wait(pid);
    let number = u32::try_from(pid.as_raw_nonzero().get()).unwrap();
    assert!(Watch::default().sample(number, None).is_err());
}

#[test]
fn a_file_cannot_grow_far_beyond_the_limit_of_the_sandbox() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("big");
    isolated(|| {
        let limits = Limits {
            disk_bytes: Some(Bytes(4096)),
            ..Limits::default()
        };
        let limited = carry(&limits, Sharing::Shared).unwrap();
        assert_eq!(limited, [Resource::Disk]);
        // SAFETY: the signal of a full file is ignored, so that the write fails instead.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        // Little past the limit the watch must see it; far past it the kernel says no.
        fs_err::write(&file, vec![0; 10_000]).unwrap();
        let grown = fs_err::OpenOptions::new().write(true).open(&file).unwrap();
        assert!(grown.set_len(1 << 30).is_err());
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 10_000);
    });
}

#[test]
fn a_limit_on_processes_is_never_put_on_the_users_other_processes() {
    isolated(|| {
        let limits = Limits {
            processes: Some(3),
            ..Limits::default()
        };
        assert!(carry(&limits, Sharing::Shared).unwrap().is_empty());
        let own = carry(&limits, Sharing::Own).unwrap();
        let root = rustix::process::getuid().is_root();
        assert_eq!(own.is_empty(), root, "root is not counted by the kernel");
    });
}
