//! Keys on their way from the terminal to the command.
//!
//! They pass through a pipe so that Ctrl-C can be counted: a command that ignores it must not be
//! able to hold the terminal for ever. The thread starts with the command and ends with it, and
//! takes no key that was typed later.

use crate::ui::signals::{Nudge, Signals};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::stdio;
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const CTRL_C: u8 = 0x03;
/// This many within [`ENOUGH_WITHIN`] end the run.
const ENOUGH: usize = 3;
const ENOUGH_WITHIN: Duration = Duration::from_secs(2);

/// The keys of one run.
#[derive(Debug)]
pub(super) struct Keys {
    near: Option<OwnedFd>,
    waiting: RefCell<Option<Courier>>,
    running: RefCell<Option<JoinHandle<()>>>,
    stop: Option<OwnedFd>,
}

impl Keys {
    /// Prepares the way; nothing is read before [`Keys::start`].
    pub(super) fn watch(signals: &Signals) -> io::Result<Self> {
        let (near, far) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        Ok(Self {
            near: Some(near),
            waiting: RefCell::new(Some(Courier {
                to: far,
                stopped,
                nudge: signals.nudge()?,
            })),
            running: RefCell::new(None),
            stop: Some(stop),
        })
    }

    /// Starts passing keys on.
    pub(super) fn start(&self) {
        if let Some(courier) = self.waiting.borrow_mut().take() {
            let thread = std::thread::spawn(move || courier.run());
            *self.running.borrow_mut() = Some(thread);
        }
    }
}

impl AsFd for Keys {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.near {
            Some(near) => near.as_fd(),
            None => stdio::stdin(),
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // Closing the near end frees a courier that waits for a command which does not read.
        self.near = None;
        self.stop = None;
        if let Some(thread) = self.running.get_mut().take() {
            drop(thread.join());
        }
    }
}

#[derive(Debug)]
struct Courier {
    to: OwnedFd,
    stopped: OwnedFd,
    nudge: Nudge,
}

impl Courier {
    fn run(self) {
        let mut pressed: Vec<Instant> = Vec::new();
        let mut keys = [0; 4096];
        while let Some(count) = self.next(&mut keys) {
            let keys = &keys[..count];
            for _ in keys.iter().filter(|&&key| key == CTRL_C) {
                pressed.push(Instant::now());
            }
            pressed.retain(|at| at.elapsed() < ENOUGH_WITHIN);
            if pressed.len() >= ENOUGH {
                self.nudge.terminate();
            }
            if !self.pass_on(keys) {
                return;
            }
        }
    }

    /// Waits for keys; nothing when the command has ended or the terminal is gone.
    fn next(&self, keys: &mut [u8]) -> Option<usize> {
        loop {
            let mut ready = [
                PollFd::from_borrowed_fd(stdio::stdin(), PollFlags::IN),
                PollFd::new(&self.stopped, PollFlags::IN),
            ];
            match rustix::event::poll(&mut ready, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(_) => return None,
            }
            if !ready[1].revents().is_empty() {
                return None;
            }
            match rustix::io::read(stdio::stdin(), &mut *keys) {
                Ok(0) => return None,
                Ok(count) => return Some(count),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return None,
            }
        }
    }

    fn pass_on(&self, mut keys: &[u8]) -> bool {
        while !keys.is_empty() {
            match rustix::io::write(&self.to, keys) {
                Ok(count) => keys = &keys[count..],
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }
}
