//! A person's desk: a home, a project in it, and agar opened for them.

use agar_core::seam::{Clock, Entropy, Timestamp};
use agar_engine::relay::{NoControls, Sink, Source, Streams};
use agar_engine::run::{RunAnswer, RunRequest, run};
use agar_engine::{Command, Engine, Surroundings};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The machine's own clock.
struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let millis = now.tv_sec * 1000 + now.tv_nsec / 1_000_000;
        Timestamp::from_millis(millis.unsigned_abs())
    }
}

/// The machine's own randomness.
struct Kernel;

impl Entropy for Kernel {
    fn fill(&self, bytes: &mut [u8]) {
        rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty()).unwrap();
    }
}

/// A home with a project in it.
pub(crate) struct Desk {
    pub(crate) root: tempfile::TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let desk = Self { root };
        for directory in [desk.project(), desk.runtime()] {
            fs_err::create_dir_all(&directory).unwrap();
        }
        desk
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.home().join("shop")
    }

    pub(crate) fn runtime(&self) -> PathBuf {
        self.root.path().join("run")
    }

    pub(crate) fn engine(&self) -> Engine {
        let environment = [
            ("HOME", self.home()),
            ("XDG_RUNTIME_DIR", self.runtime()),
            ("PATH", PathBuf::from("/usr/local/bin:/usr/bin:/bin")),
        ];
        let environment = environment
            .into_iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect();
        let ids = (
            rustix::process::getuid().as_raw(),
            rustix::process::getgid().as_raw(),
        );
        let surroundings = Surroundings::new(
            ids,
            (self.project(), self.home()),
            environment,
            (Arc::new(WallClock), Arc::new(Kernel)),
        );
        Engine::open(surroundings).unwrap()
    }

    /// Runs a shell script in a sandbox of its own.
    pub(crate) fn run(&self, script: &str) -> (RunAnswer, String) {
        let mut output = Vec::new();
        let request = RunRequest {
            command: Command::new(["sh", "-c", script]),
            ..RunRequest::default()
        };
        let answer = run(&self.engine(), &request, capture(&mut output)).unwrap();
        (answer, String::from_utf8(output).unwrap())
    }
}

/// Streams whose output is caught.
pub(crate) fn capture(output: &mut Vec<u8>) -> Streams<'_> {
    // A value without fields: leaking it costs nothing and gives it the lifetime it needs.
    let controls = Box::leak(Box::new(NoControls));
    Streams {
        stdin: Source::Empty,
        stdout: Sink::Buffer(output),
        stderr: Sink::Discard,
        terminal: None,
        controls,
    }
}
