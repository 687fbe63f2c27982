//! Between the caller's streams and a run's.
//!
//! The caller's descriptors never enter a sandbox: a command inside reads and writes pipes or a
//! terminal of its own, and this module carries the bytes across, counts them, keeps a bounded log
//! and passes on what the face has to say meanwhile. One loop, no threads.

mod departure;
mod log;
mod pump;

pub(crate) use departure::Meanwhile;
pub(crate) use log::{LOG_BYTES_MAX, OutputLog, read as read_log};
pub(crate) use pump::{Ends, relay};

use std::os::fd::BorrowedFd;

pub use agar_jail::client::WindowSize;

/// Where a command's input comes from.
#[derive(Debug)]
pub enum Source<'a> {
    /// Nowhere: the command reads the end at once.
    Empty,
    /// A descriptor of the caller.
    Descriptor(BorrowedFd<'a>),
    /// These bytes.
    Bytes(&'a [u8]),
}

/// Where a command's output goes, besides the bounded log.
#[derive(Debug)]
pub enum Sink<'a> {
    /// Nowhere.
    Discard,
    /// A descriptor of the caller.
    Descriptor(BorrowedFd<'a>),
    /// A buffer of the caller.
    Buffer(&'a mut Vec<u8>),
}

impl Sink<'_> {
    fn again(&mut self) -> Sink<'_> {
        match self {
            Self::Discard => Sink::Discard,
            Self::Descriptor(to) => Sink::Descriptor(*to),
            Self::Buffer(buffer) => Sink::Buffer(buffer),
        }
    }
}

/// Something the face wants done to the run while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Send this signal to the command.
    Signal(i32),
    /// The caller's terminal has a new size.
    Resize(WindowSize),
    /// End the run now; the caller is leaving.
    Stop,
}

/// What the face has to say during a run, as data behind a descriptor that can be waited on.
pub trait Controls {
    /// Readable when [`Controls::next`] has something; nothing if it never will.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
    /// The next control, or nothing for now. Must not block.
    fn next(&mut self) -> Option<Control>;
}

/// A face with nothing to say.
#[derive(Debug, Clone, Copy)]
pub struct NoControls;

impl Controls for NoControls {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn next(&mut self) -> Option<Control> {
        None
    }
}

/// The caller's side of a run.
pub struct Streams<'a> {
    /// Input.
    pub stdin: Source<'a>,
    /// Output. With a terminal, all output comes here.
    pub stdout: Sink<'a>,
    /// Error output.
    pub stderr: Sink<'a>,
    /// Run the command on a terminal of this size. The face puts its own terminal in raw mode.
    pub terminal: Option<WindowSize>,
    /// Signals and sizes while the run goes on.
    pub controls: &'a mut dyn Controls,
}

impl<'a> Streams<'a> {
    /// The same streams for one run after the other.
    pub(crate) fn again(&mut self) -> Streams<'_> {
        Streams {
            stdin: match &self.stdin {
                Source::Empty => Source::Empty,
                Source::Descriptor(from) => Source::Descriptor(*from),
                Source::Bytes(bytes) => Source::Bytes(bytes),
            },
            stdout: self.stdout.again(),
            stderr: self.stderr.again(),
            terminal: self.terminal,
            controls: &mut *self.controls,
        }
    }

    /// Nothing to read, and nobody who hears: the record of the run is all there is.
    pub fn unheard(controls: &'a mut dyn Controls) -> Self {
        Self {
            stdin: Source::Empty,
            stdout: Sink::Discard,
            stderr: Sink::Discard,
            terminal: None,
            controls,
        }
    }
}

impl std::fmt::Debug for Streams<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streams")
            .field("stdin", &self.stdin)
            .field("terminal", &self.terminal)
            .finish_non_exhaustive()
    }
}
