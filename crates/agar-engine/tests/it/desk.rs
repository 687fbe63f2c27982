//! A person's desk: a home, a project in it, and agar opened for them.

use agar_core::seam::{Clock, Entropy, Timestamp};
use agar_engine::relay::{NoControls, Sink, Source, Streams};
use agar_engine::run::{RunAnswer, RunRequest, run};
use agar_engine::{Command, Engine, Surroundings};
use agar_testkit::leaks;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
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
    root: PathBuf,
    /// Removed with the desk; nothing if somebody else made it.
    directory: Option<tempfile::TempDir>,
}

/// A test that fails leaves its sandboxes behind, whose keepers would live on.
impl Drop for Desk {
    fn drop(&mut self) {
        if self.directory.is_some() {
            for holder in leaks::processes_in(&self.root) {
                holder.kill();
            }
            leaks::remove_noted_groups(&self.home().join(".local/state/agar"));
        }
    }
}

impl Desk {
    pub(crate) fn new() -> Self {
        // Not in `/tmp`, which is empty inside.
        let base = agar_testkit::world::base_directory();
        fs_err::create_dir_all(&base).unwrap();
        let directory = tempfile::tempdir_in(base).unwrap();
        let root = directory.path().canonicalize().unwrap();
        let desk = Self {
            root,
            directory: Some(directory),
        };
        for directory in [desk.project(), desk.runtime()] {
            fs_err::create_dir_all(&directory).unwrap();
        }
        desk
    }

    /// The desk that another process made.
    pub(crate) fn at(root: PathBuf) -> Self {
        Self {
            root,
            directory: None,
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        fs_err::write(self.project().join(path), text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs_err::read_to_string(self.project().join(path)).unwrap()
    }

    /// No sandbox is left, and nothing is alive once the next command has looked: keepers take their
    /// control groups down by themselves.
    pub(crate) fn assert_all_gone(&self) {
        assert_eq!(self.left_in_state("sandboxes"), 0);
        agar_testkit::wait::until("nothing to be alive", || {
            let nothing = agar_engine::list::ListRequest::default();
            agar_engine::list::list(&self.engine(), &nothing).unwrap();
            self.left_in_state("alive") == 0
        });
    }

    /// How many entries a directory of agar's state holds.
    pub(crate) fn left_in_state(&self, name: &str) -> usize {
        self.names_in_state(name).len()
    }

    /// What a directory of agar's state holds.
    pub(crate) fn names_in_state(&self, name: &str) -> Vec<String> {
        let directory = self.home().join(".local/state/agar").join(name);
        let entries = directory.read_dir().into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.collect()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.home().join("shop")
    }

    pub(crate) fn runtime(&self) -> PathBuf {
        self.root.join("run")
    }

    pub(crate) fn engine(&self) -> Engine {
        self.engine_with_path("/usr/local/bin:/usr/bin:/bin".as_ref())
    }

    /// The engine of somebody who finds programs here.
    pub(crate) fn engine_with_path(&self, path: &Path) -> Engine {
        let environment = [
            ("HOME", self.home()),
            ("XDG_RUNTIME_DIR", self.runtime()),
            ("PATH", path.to_owned()),
            ("API_TOKEN", PathBuf::from("swordfish")),
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
        let answer = self.run_into(script, capture(&mut output));
        (answer, String::from_utf8(output).unwrap())
    }

    pub(crate) fn run_into(&self, script: &str, streams: Streams<'_>) -> RunAnswer {
        let request = RunRequest {
            command: Command::new(["sh", "-c", script]),
            ..RunRequest::default()
        };
        run(&self.engine(), &request, streams).unwrap()
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
