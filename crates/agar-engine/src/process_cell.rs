//! Process cells in sandboxes: one program each, with the walls, limits and end of any run.
//!
//! `agar-evolve` knows what is said to such a cell; this knows where it runs. Each program gets a
//! sandbox of its own, made from the project like any other and removed afterwards. Whatever it
//! forks, detaches or leaves open is inside, and ends with it.

use crate::relay::{Control, Controls, Sink, Source, Streams};
use crate::run::{Afterwards, RunRequest, run};
use crate::{Command, Engine, SandboxOptions, Surroundings};
use agar_evolve::{Ahead, Language, Launcher, Life, Unlaunched, Zygote};
use std::ffi::OsString;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Starts programs in sandboxes.
#[derive(Debug, Clone)]
pub struct Sandboxes {
    surroundings: Surroundings,
    options: SandboxOptions,
    argv: Vec<OsString>,
}

impl Sandboxes {
    /// Sandboxes of the caller's project, in which this command speaks the conversation of
    /// [`agar_evolve::ProcessCell`].
    pub fn new<W: Into<OsString>>(
        engine: &Engine,
        options: SandboxOptions,
        argv: impl IntoIterator<Item = W>,
    ) -> Self {
        Self {
            surroundings: engine.surroundings().clone(),
            options,
            argv: argv.into_iter().map(Into::into).collect(),
        }
    }

    /// The same for code in a language whose interpreter is installed.
    pub fn of_language(engine: &Engine, options: SandboxOptions, language: Language) -> Self {
        Self::new(engine, options, language.command())
    }

    /// Individuals of this language with little to wait for: forks of one program that has imported
    /// these modules, or, where the language cannot fork, programs of their own of which the next is
    /// always ready.
    pub fn warm(
        engine: &Engine,
        options: SandboxOptions,
        language: Language,
        modules: &[&str],
    ) -> Arc<dyn Launcher> {
        if let Some(command) = language.zygote(modules) {
            let program = Self::new(engine, options, command);
            return Arc::new(Zygote::new(Arc::new(program)));
        }
        let each = Self::of_language(engine, options, language);
        Arc::new(Ahead::new(Arc::new(each)))
    }
}

impl Launcher for Sandboxes {
    fn launch(&self) -> Result<(UnixStream, Box<dyn Life>), Unlaunched> {
        let (ours, stream) = UnixStream::pair()?;
        let (wake, woken) = UnixStream::pair()?;
        let this = self.clone();
        // An engine belongs to one thread, and a run lasts as long as its program.
        let named = std::thread::Builder::new().name("agar-process-cell".to_owned());
        let thread = named.spawn(move || this.run(&stream, woken))?;
        let running = Running {
            wake: Some(wake),
            thread: Some(thread),
        };
        Ok((ours, Box::new(running)))
    }
}

impl Sandboxes {
    /// Runs the program to its end. What went wrong is for the log of its run; whoever talks to it
    /// sees the stream close.
    fn run(self, stream: &UnixStream, woken: UnixStream) {
        let Ok(engine) = Engine::open(self.surroundings) else {
            return;
        };
        let request = RunRequest {
            options: self.options,
            command: Command::new(self.argv),
            afterwards: Afterwards::Remove,
            proposal: None,
        };
        let mut controls = Ending { woken, told: false };
        let streams = Streams {
            stdin: Source::Descriptor(stream.as_fd()),
            stdout: Sink::Descriptor(stream.as_fd()),
            stderr: Sink::Discard,
            terminal: None,
            controls: &mut controls,
        };
        drop(run(&engine, &request, streams));
    }
}

/// A program in its sandbox.
struct Running {
    /// Closing it ends the run.
    wake: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Life for Running {
    fn end(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has ended too; its sandbox goes with the next command.
            drop(thread.join());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends the run once the other end is closed.
struct Ending {
    woken: UnixStream,
    told: bool,
}

impl Controls for Ending {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        (!self.told).then(|| self.woken.as_fd())
    }

    fn next(&mut self) -> Option<Control> {
        if self.told {
            return None;
        }
        let mut some = [0; 1];
        self.woken.set_nonblocking(true).ok()?;
        // Nothing is ever written: it is open and silent, or closed.
        let closed = matches!(std::io::Read::read(&mut self.woken, &mut some), Ok(0));
        self.told = closed;
        closed.then_some(Control::Stop)
    }
}
