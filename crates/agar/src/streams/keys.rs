//! Keys on their way from the terminal to the command.
//!
//! They pass through a pipe so that Ctrl-C can be counted: a command that ignores it must not be
//! able to hold the terminal for ever. Whoever looks at a terminal that others hold leaves it with a
//! key instead. The thread starts with the command and ends with it, and
//! takes no key that was typed later.

use super::Way;
use crate::ui::signals::{Nudge, Signals};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::stdio;
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const CTRL_B: u8 = 0x02;
const CTRL_C: u8 = 0x03;
/// This many within [`ENOUGH_WITHIN`] end the run.
const ENOUGH: usize = 3;
const ENOUGH_WITHIN: Duration = Duration::from_secs(2);

/// The keys of one run.
#[derive(Debug)]
pub(super) struct Keys {
    near: Option<OwnedFd>,
    waiting: RefCell<Option<Courier>>,
    running: RefCell<Option<JoinHandle<Option<OwnedFd>>>>,
    stop: Option<OwnedFd>,
}

impl Keys {
    /// Prepares the way; nothing is read before [`Keys::start`].
    pub(super) fn watch(signals: &Signals, way: Way) -> io::Result<Self> {
        let (near, far) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        Ok(Self {
            near: Some(near),
            waiting: RefCell::new(Some(Courier {
                to: far,
                stopped,
                nudge: signals.nudge()?,
                way,
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
    way: Way,
}

/// What came of waiting for keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// So many keys.
    Keys(usize),
    /// The command has ended.
    Over,
    /// The terminal is gone.
    Gone,
}

impl Courier {
    /// Passes keys on for as long as there is somebody to take them. What it returns is to be kept: the
    /// end of the keys would be typed into a terminal that goes on without its viewer.
    fn run(self) -> Option<OwnedFd> {
        let mut sieve = Sieve::new(self.way);
        let mut keys = [0; 4096];
        loop {
            let count = match (self.next(&mut keys), self.way) {
                (Heard::Keys(count), _) => count,
                (Heard::Gone, Way::AllKeys | Way::MayLeave) => return Some(self.leave(&[])),
                (Heard::Gone, Way::CtrlCEnds) | (Heard::Over, _) => return None,
            };
            let keys = sieve.sift(&keys[..count]);
            if sieve.leaving.left {
                return Some(self.leave(&keys));
            }
            if sieve.asks_for_the_end() {
                self.nudge.terminate();
            }
            if !self.pass_on(&keys) {
                return None;
            }
        }
    }

    /// Passes the last keys on, unless the command takes none: it keeps nobody from leaving.
    fn leave(self, keys: &[u8]) -> OwnedFd {
        let mut ready = [PollFd::new(&self.to, PollFlags::OUT)];
        let polled = rustix::event::poll(&mut ready, Some(&Timespec::default()));
        if polled.is_ok_and(|count| count > 0) {
            self.pass_on(keys);
        }
        self.nudge.terminate();
        self.to
    }

    /// Waits for keys.
    fn next(&self, keys: &mut [u8]) -> Heard {
        loop {
            let mut ready = [
                PollFd::from_borrowed_fd(stdio::stdin(), PollFlags::IN),
                PollFd::new(&self.stopped, PollFlags::IN),
            ];
            match rustix::event::poll(&mut ready, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(_) => return Heard::Gone,
            }
            if !ready[1].revents().is_empty() {
                return Heard::Over;
            }
            match rustix::io::read(stdio::stdin(), &mut *keys) {
                Ok(0) => return Heard::Gone,
                Ok(count) => return Heard::Keys(count),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return Heard::Gone,
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

/// What is looked for among the keys.
#[derive(Debug)]
struct Sieve {
    way: Way,
    pressed: Vec<Instant>,
    leaving: Leaving,
}

impl Sieve {
    fn new(way: Way) -> Self {
        Self {
            way,
            pressed: Vec::new(),
            leaving: Leaving::default(),
        }
    }

    /// The keys that are the command's.
    fn sift(&mut self, keys: &[u8]) -> Vec<u8> {
        match self.way {
            Way::AllKeys => keys.to_vec(),
            Way::MayLeave => self.leaving.sift(keys),
            Way::CtrlCEnds => {
                let interrupts = keys.iter().filter(|&&key| key == CTRL_C);
                self.pressed.extend(interrupts.map(|_| Instant::now()));
                self.pressed.retain(|at| at.elapsed() < ENOUGH_WITHIN);
                keys.to_vec()
            }
        }
    }

    fn asks_for_the_end(&self) -> bool {
        self.pressed.len() >= ENOUGH
    }
}

/// Looks for the two keys that leave: those of tmux, so that fingers need not know which it is.
#[derive(Debug, Default)]
struct Leaving {
    prefixed: bool,
    left: bool,
}

impl Leaving {
    /// The keys that are the command's. Ctrl-b twice is one Ctrl-b.
    fn sift(&mut self, keys: &[u8]) -> Vec<u8> {
        let mut passed = Vec::with_capacity(keys.len() + 1);
        for &key in keys {
            match (std::mem::take(&mut self.prefixed), key) {
                (true, b'd') => {
                    self.left = true;
                    return passed;
                }
                (true, CTRL_B) => passed.push(CTRL_B),
                (true, key) => passed.extend([CTRL_B, key]),
                (false, CTRL_B) => self.prefixed = true,
                (false, key) => passed.push(key),
            }
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_keys_leave_and_all_others_arrive() {
        let sift = |pieces: &[&[u8]]| {
            let mut leaving = Leaving::default();
            let mut keys = Vec::new();
            for piece in pieces {
                keys.extend(leaving.sift(piece));
            }
            (keys, leaving.left)
        };
        assert_eq!(sift(&[b"ab\x03d"]), (b"ab\x03d".to_vec(), false));
        assert_eq!(sift(&[b"a\x02", b"d"]), (b"a".to_vec(), true));
        assert_eq!(sift(&[b"\x02\x02d"]), (b"\x02d".to_vec(), false));
        assert_eq!(sift(&[b"\x02x"]), (b"\x02x".to_vec(), false));
    }
}
