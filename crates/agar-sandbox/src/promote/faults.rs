//! A place for tests to pull the plug.
//!
//! Every effect that a promotion has on the disk passes through [`Effects`]. In the real program
//! nothing listens. A test passes a [`Faults`] that makes an effect fail after it has landed, or ends
//! the promotion there and then as `kill -9` would, so that each such moment can be visited in turn.

use std::fmt;
use std::io;

/// What becomes of a promotion after an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Go,
    /// The effect landed but reports an error.
    Fail,
    /// The process is gone: nothing more happens, not even tidying up.
    Crash,
}

/// Decides, effect by effect, whether a promotion goes on.
pub trait Faults {
    /// Called after an effect landed, with its name.
    fn after(&self, effect: &'static str) -> Fate;

    /// Whether to use the rename that lets two files change places; some filesystems lack it.
    fn can_exchange(&self) -> bool {
        true
    }
}

/// No faults: every effect goes as it goes.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn after(&self, _effect: &'static str) -> Fate {
        Fate::Go
    }
}

/// Why work on the disk stopped.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The system said no.
    Error(io::Error),
    /// A test ended the process here.
    Crash,
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Self::Error(error)
    }
}

impl From<rustix::io::Errno> for Halt {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Error(errno.into())
    }
}

/// Carries out effects, and asks after each whether to go on.
#[derive(Clone, Copy)]
pub(crate) struct Effects<'a>(pub(crate) &'a dyn Faults);

impl fmt::Debug for Effects<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Effects")
    }
}

impl Effects<'_> {
    /// Carries out one effect.
    pub(crate) fn run<T, E: Into<Halt>>(
        self,
        name: &'static str,
        effect: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, Halt> {
        let done = effect().map_err(Into::into)?;
        match self.0.after(name) {
            Fate::Go => Ok(done),
            Fate::Fail => Err(Halt::Error(io::Error::other(format!("fault after {name}")))),
            Fate::Crash => Err(Halt::Crash),
        }
    }
}
