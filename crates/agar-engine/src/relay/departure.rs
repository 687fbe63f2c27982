//! Waiting for a command that does not run yet, which its caller need not do for ever.

use super::{Control, Controls, WindowSize};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// What a caller said while there was nothing to relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Meanwhile {
    /// The size that its terminal has now.
    pub(crate) window: Option<WindowSize>,
    /// It did not want to wait any longer.
    pub(crate) left: bool,
    /// It leaves as soon as what it typed before is handed over.
    pub(crate) is_leaving: bool,
    /// It has gone, and has nothing more to say.
    heard_out: bool,
}

impl Meanwhile {
    /// Waits until something can be read. True if the caller wants to leave before.
    pub(crate) fn leaves_before(
        &mut self,
        ready: BorrowedFd<'_>,
        controls: &mut dyn Controls,
    ) -> io::Result<bool> {
        loop {
            let events = match wait(ready, controls.descriptor().filter(|_| !self.heard_out))? {
                (true, _) => return Ok(false),
                (false, events) => events,
            };
            if self.hears_goodbye(events, controls) {
                return Ok(true);
            }
        }
    }

    /// Waits so long until something can be read. Whether it can.
    pub(crate) fn is_ready_within(ready: BorrowedFd<'_>, patience: Duration) -> io::Result<bool> {
        let mut fds = [PollFd::from_borrowed_fd(ready, PollFlags::IN)];
        let patience = Timespec::try_from(patience).ok();
        loop {
            match poll(&mut fds, patience.as_ref()) {
                Ok(count) => return Ok(count > 0),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn hears_goodbye(&mut self, events: PollFlags, controls: &mut dyn Controls) -> bool {
        let (mut heard, mut leaves) = (false, false);
        while let Some(control) = controls.next() {
            heard = true;
            match control {
                Control::Resize(size) => self.window = Some(size),
                // There is nobody yet to pass it on to.
                Control::Signal(_) | Control::Stop => leaves = true,
            }
        }
        // A descriptor that is ready for ever and has nothing to say would spin the loop.
        let closed = events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        self.heard_out |= closed && !heard;
        leaves
    }
}

/// Waits for either. Whether the first is ready, and what happened to the other.
fn wait(ready: BorrowedFd<'_>, controls: Option<BorrowedFd<'_>>) -> io::Result<(bool, PollFlags)> {
    let mut fds = vec![PollFd::from_borrowed_fd(ready, PollFlags::IN)];
    fds.extend(controls.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    match poll(&mut fds, None) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(errno.into()),
    }
    let controls = fds.get(1).map_or(PollFlags::empty(), PollFd::revents);
    Ok((!fds[0].revents().is_empty(), controls))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::NoControls;
    use std::os::fd::{AsFd as _, OwnedFd};

    /// Somebody who says this, and whether the other end is there.
    struct Caller(Vec<Control>, OwnedFd);

    impl Controls for Caller {
        fn descriptor(&self) -> Option<BorrowedFd<'_>> {
            Some(self.1.as_fd())
        }

        fn next(&mut self) -> Option<Control> {
            self.0.pop()
        }
    }

    /// Somebody whose other end is closed: their descriptor is ready for ever.
    fn gone(said: Vec<Control>) -> Caller {
        Caller(said, rustix::pipe::pipe().unwrap().0)
    }

    #[test]
    fn whoever_interrupts_or_stops_leaves_and_a_new_size_is_remembered() {
        let (silent, _writer) = rustix::pipe::pipe().unwrap();
        let size = WindowSize {
            rows: 31,
            columns: 97,
        };
        for goodbye in [Control::Stop, Control::Signal(2)] {
            let mut caller = gone(vec![goodbye, Control::Resize(size)]);
            let mut meanwhile = Meanwhile::default();
            let leaves = meanwhile.leaves_before(silent.as_fd(), &mut caller);
            assert!(leaves.unwrap());
            assert_eq!(meanwhile.window, Some(size));
        }
    }

    #[test]
    fn what_is_ready_is_not_left_and_nobody_leaves_who_says_nothing() {
        let (ready, writer) = rustix::pipe::pipe().unwrap();
        let mut meanwhile = Meanwhile::default();
        let mut caller = gone(Vec::new());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| meanwhile.leaves_before(ready.as_fd(), &mut caller));
            rustix::io::write(&writer, b"x").unwrap();
            assert!(!waiting.join().unwrap().unwrap());
        });
        assert!(
            !meanwhile
                .leaves_before(ready.as_fd(), &mut NoControls)
                .unwrap()
        );
    }
}
