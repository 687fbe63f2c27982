//! What a client says about its terminal while it looks: a new size, or that it leaves.

use agar_engine::{Control, Controls, WindowSize};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The client's end.
#[derive(Debug)]
pub(super) struct Handset(Arc<Shared>);

/// The viewer's end.
#[derive(Debug)]
pub(super) struct Remote(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Readable while something was said.
    wake: OwnedFd,
    said: Mutex<Said>,
}

/// Only the last size counts, so nothing can pile up.
#[derive(Debug, Default)]
struct Said {
    size: Option<WindowSize>,
    stop: bool,
}

/// Both ends.
pub(super) fn pair() -> io::Result<(Handset, Remote)> {
    let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let shared = Arc::new(Shared {
        wake,
        said: Mutex::default(),
    });
    Ok((Handset(Arc::clone(&shared)), Remote(shared)))
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handset {
    /// The client's window has another size.
    pub(super) fn resize(&self, size: WindowSize) {
        self.say(|said| said.size = Some(size));
    }

    /// The client leaves.
    pub(super) fn stop(&self) {
        self.say(|said| said.stop = true);
    }

    fn say(&self, what: impl FnOnce(&mut Said)) {
        let mut said = self.0.lock();
        what(&mut said);
        // A counter that is full is readable.
        let _ = rustix::io::write(&self.0.wake, &1_u64.to_ne_bytes());
    }
}

impl Controls for Remote {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.wake.as_fd())
    }

    fn next(&mut self) -> Option<Control> {
        let mut said = self.0.lock();
        if std::mem::take(&mut said.stop) {
            return Some(Control::Stop);
        }
        if let Some(size) = said.size.take() {
            return Some(Control::Resize(size));
        }
        // Heard out; under the lock, so that nothing is said in between.
        let _ = rustix::io::read(&self.0.wake, &mut [0_u8; 8][..]);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_ready(remote: &Remote) -> bool {
        let mut ready = [PollFd::new(&remote.0.wake, PollFlags::IN)];
        poll(&mut ready, Some(&Timespec::default())).unwrap() > 0
    }

    #[test]
    fn only_the_last_size_is_heard_and_what_was_heard_is_not_said_again() {
        let (handset, mut remote) = pair().unwrap();
        assert!(!is_ready(&remote) && remote.next().is_none());
        for rows in [10, 20] {
            handset.resize(WindowSize { rows, columns: 80 });
        }
        assert!(is_ready(&remote));
        let size = WindowSize {
            rows: 20,
            columns: 80,
        };
        assert_eq!(remote.next(), Some(Control::Resize(size)));
        assert_eq!(remote.next(), None);
        assert!(!is_ready(&remote));
        handset.stop();
        assert_eq!(remote.next(), Some(Control::Stop));
    }
}
