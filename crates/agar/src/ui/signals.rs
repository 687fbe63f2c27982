//! Signals, turned into something a loop can wait for.
//!
//! While agar works on its own account, Ctrl-C ends it at once: every step of it is safe to stop
//! at. While a command or a question has the floor the signals are held, and whoever holds them
//! decides.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Signals that arrived since they were last asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrived {
    /// Ctrl-C, or somebody who means the same.
    pub interrupt: bool,
    /// The terminal went away or somebody asked agar to end.
    pub terminate: bool,
    /// The window has another size.
    pub resize: bool,
}

/// Takes the signals of this process and hands them out.
#[derive(Debug)]
pub struct Signals {
    wake: UnixStream,
    notify: UnixStream,
    free: Arc<AtomicBool>,
    interrupt: Arc<AtomicBool>,
    terminate: Arc<AtomicBool>,
    resize: Arc<AtomicBool>,
}

impl Signals {
    /// Takes over the interrupt, hang-up, termination and window signals until the process ends.
    pub fn watch() -> io::Result<Self> {
        let (wake, notify) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        notify.set_nonblocking(true)?;
        let signals = Self {
            wake,
            notify,
            free: Arc::new(AtomicBool::new(true)),
            interrupt: Arc::default(),
            terminate: Arc::default(),
            resize: Arc::default(),
        };
        for (signal, flag) in [
            (SIGINT, &signals.interrupt),
            (SIGTERM, &signals.terminate),
            (SIGHUP, &signals.terminate),
            (SIGWINCH, &signals.resize),
        ] {
            if signal != SIGWINCH {
                let free = Arc::clone(&signals.free);
                signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, free)?;
            }
            // The flag before the wake-up: whoever is woken must find it set.
            signal_hook::flag::register(signal, Arc::clone(flag))?;
            signal_hook::low_level::pipe::register(signal, signals.notify.try_clone()?)?;
        }
        Ok(signals)
    }

    /// Keeps signals from ending the program until the answer is dropped.
    pub fn hold(&self) -> Held<'_> {
        Held {
            was_free: self.free.swap(false, Ordering::SeqCst),
            free: &self.free,
        }
    }

    /// What arrived since the last call.
    pub fn take(&self) -> Arrived {
        let mut bytes = [0; 64];
        while matches!((&self.wake).read(&mut bytes), Ok(count) if count == bytes.len()) {}
        Arrived {
            interrupt: self.interrupt.swap(false, Ordering::SeqCst),
            terminate: self.terminate.swap(false, Ordering::SeqCst),
            resize: self.resize.swap(false, Ordering::SeqCst),
        }
    }

    /// A way for another thread to say what a signal would.
    pub fn nudge(&self) -> io::Result<Nudge> {
        Ok(Nudge {
            notify: self.notify.try_clone()?,
            terminate: Arc::clone(&self.terminate),
        })
    }
}

impl AsFd for Signals {
    /// Readable when something arrived.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// Signals are held while this lives.
#[derive(Debug)]
pub struct Held<'a> {
    free: &'a AtomicBool,
    was_free: bool,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.free.store(self.was_free, Ordering::SeqCst);
    }
}

/// Says from another thread what a signal would.
#[derive(Debug)]
pub struct Nudge {
    notify: UnixStream,
    terminate: Arc<AtomicBool>,
}

impl Nudge {
    /// As if somebody had asked agar to end.
    pub fn terminate(&self) {
        self.terminate.store(true, Ordering::SeqCst);
        // A full pipe means that a wake-up is already on its way.
        drop((&self.notify).write(&[0]));
    }
}
