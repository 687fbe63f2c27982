//! One run of a program in a clean environment, with a deadline.

use crate::wait::{PATIENCE, holds_within};
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The path of a fresh Debian.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The most that is kept of what a program prints.
const OUTPUT_BYTES_MAX: usize = 64 << 20;

/// A program about to be run. Nothing of this process's environment reaches it but what is set.
#[derive(Debug)]
pub struct Invocation {
    command: Command,
    input: Vec<u8>,
    patience: Duration,
}

/// How a program ended and what it printed.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output; what is not UTF-8 is replaced.
    pub stdout: String,
    /// Its standard error; what is not UTF-8 is replaced.
    pub stderr: String,
}

impl Outcome {
    /// The exit status as a shell shows it: 128 and the signal for a killed program.
    pub fn code(&self) -> i32 {
        self.status
            .code()
            .or_else(|| self.status.signal().map(|signal| 128 + signal))
            .unwrap_or(-1)
    }

    /// The outcome, if it ended with this status; else a panic that shows everything.
    #[track_caller]
    #[expect(
        clippy::return_self_not_must_use,
        reason = "many tests want only the check"
    )]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "{self}");
        self
    }

    /// The outcome, if it worked; else a panic that shows everything.
    #[track_caller]
    #[expect(
        clippy::return_self_not_must_use,
        reason = "many tests want only the check"
    )]
    pub fn success(self) -> Self {
        self.expect_code(0)
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "exit {}", self.code())?;
        writeln!(f, "--- stdout\n{}", self.stdout)?;
        writeln!(f, "--- stderr\n{}", self.stderr)
    }
}

impl Invocation {
    /// A run of this program with an empty environment but for a `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", PATH).env("LANG", "C.UTF-8");
        Self {
            command,
            input: Vec::new(),
            patience: PATIENCE,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, args: I) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Takes a variable out of its environment.
    #[must_use]
    pub fn without_env(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Starts it in this directory.
    #[must_use]
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// What it reads from its standard input; nothing unless said.
    #[must_use]
    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// How long it may take before the test gives up.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The program and its arguments, for another way of starting it.
    pub fn into_command(self) -> Command {
        self.command
    }

    /// Runs it to its end.
    ///
    /// Its process group is killed and the test fails when it takes longer than its patience, or
    /// when something it left behind still holds its output open.
    #[track_caller]
    pub fn run(self) -> Outcome {
        let words = words(&self.command);
        let patience = self.patience;
        let mut running = self.spawn();
        assert!(
            holds_within(patience, || running.has_ended()),
            "`{words}` did not end within {patience:?}\n{}",
            running.kill()
        );
        running.finish()
    }

    /// Starts it in a process group of its own and lets it run.
    #[track_caller]
    pub fn spawn(mut self) -> Running {
        let input = std::mem::take(&mut self.input);
        let (running, mut stdin) = self.spawn_with_input();
        // On its own thread: the program may fill its output before it reads its input. It may
        // also end without reading.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
        running
    }

    /// The same with its input in the hands of the test, which ends when that is dropped.
    #[track_caller]
    pub fn spawn_with_input(mut self) -> (Running, ChildStdin) {
        let words = words(&self.command);
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("`{words}` does not start: {error}"));
        let stdin = child.stdin.take().expect("its input is a pipe");
        let stdout = child.stdout.take().map(collect);
        let stderr = child.stderr.take().map(collect);
        let running = Running {
            child,
            stdout,
            stderr,
        };
        (running, stdin)
    }
}

/// A program that runs.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: Option<Reader>,
    stderr: Option<Reader>,
}

/// A thread that collects one output, and what it has so far.
#[derive(Debug)]
struct Reader {
    thread: JoinHandle<()>,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Running {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended, and everything that held its output with it.
    pub fn has_ended(&mut self) -> bool {
        let closed = |output: &Option<Reader>| {
            output
                .as_ref()
                .is_none_or(|reader| reader.thread.is_finished())
        };
        matches!(self.child.try_wait(), Ok(Some(_))) && closed(&self.stdout) && closed(&self.stderr)
    }

    /// What it printed to its standard output until now.
    pub fn printed(&self) -> String {
        so_far(self.stdout.as_ref())
    }

    /// What it printed to its standard error until now.
    pub fn said(&self) -> String {
        so_far(self.stderr.as_ref())
    }

    /// Waits for it to print the text.
    #[track_caller]
    pub fn expect(&mut self, text: &str) {
        self.expect_in(text, Self::printed);
    }

    /// Waits for it to say the text on its standard error.
    #[track_caller]
    pub fn expect_said(&mut self, text: &str) {
        self.expect_in(text, Self::said);
    }

    #[track_caller]
    fn expect_in(&mut self, text: &str, output: fn(&Self) -> String) {
        let found = holds_within(PATIENCE, || output(self).contains(text) || self.has_ended());
        assert!(
            found && output(self).contains(text),
            "`{text}` was never printed\n{}",
            self.kill()
        );
    }

    /// Sends a signal to the program alone.
    pub fn signal(&self, signal: rustix::process::Signal) {
        if let Some(pid) = pid(&self.child) {
            // It may have ended by itself: that is for the test to judge, not for the signal.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Kills its process group and says how it ended.
    pub fn kill(&mut self) -> Outcome {
        if let Some(pid) = pid(&self.child) {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
        self.end()
    }

    /// Waits for its end.
    #[track_caller]
    pub fn finish(mut self) -> Outcome {
        assert!(
            holds_within(PATIENCE, || self.has_ended()),
            "the program did not end\n{}",
            self.kill()
        );
        self.end()
    }

    fn end(&mut self) -> Outcome {
        let status = self.child.wait().expect("the child can be waited for");
        Outcome {
            status,
            stdout: text(self.stdout.as_ref()),
            stderr: text(self.stderr.as_ref()),
        }
    }
}

/// A test that fails half way leaves nothing running.
impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

fn pid(child: &Child) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(child.id().try_into().ok()?)
}

fn collect(mut from: impl Read + Send + 'static) -> Reader {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&bytes);
    let thread = std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        // What was read before an error is still worth showing.
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if let Ok(mut sink) = sink.lock() {
                // Read on, but keep no more: a flood must end the test, not the machine.
                let room = OUTPUT_BYTES_MAX.saturating_sub(sink.len());
                sink.extend_from_slice(&buffer[..count.min(room)]);
            }
        }
    });
    Reader { thread, bytes }
}

fn so_far(output: Option<&Reader>) -> String {
    let bytes = output.and_then(|reader| reader.bytes.lock().ok());
    bytes.map_or_else(String::new, |bytes| {
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// What was printed. Something that still holds the output open after a kill is not waited for.
fn text(output: Option<&Reader>) -> String {
    if let Some(reader) = output {
        holds_within(Duration::from_secs(5), || reader.thread.is_finished());
    }
    so_far(output)
}

fn words(command: &Command) -> String {
    let mut words = OsString::from(command.get_program());
    for arg in command.get_args() {
        words.push(" ");
        words.push(arg);
    }
    words.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_clean_and_input_reaches_the_program() {
        let outcome = Invocation::new("/bin/sh")
            .args(["-c", "echo ${HOME-none}; cat; echo bad >&2; exit 3"])
            .stdin("hello")
            .run();
        assert_eq!(outcome.code(), 3);
        assert_eq!(outcome.stdout, "none\nhello");
        assert_eq!(outcome.stderr, "bad\n");
    }

    #[test]
    fn a_killed_program_reports_its_signal() {
        let outcome = Invocation::new("/bin/sh").args(["-c", "kill -9 $$"]).run();
        assert_eq!(outcome.code(), 137);
    }
}
