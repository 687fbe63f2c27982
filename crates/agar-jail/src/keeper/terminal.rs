//! A terminal that belongs to the sandbox and not to whoever looks at it.
//!
//! Where there is no tmux inside, the keeper itself holds the near end: it lives exactly as long as
//! the sandbox, so a viewer may go, crash or come back without the command noticing. The last output
//! is kept for those who come later. A keeper whose sandbox has no terminal pays nothing for this.

use crate::client::WindowSize;
use rustix::event::PollFlags;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd as _;

/// How much of the last output is kept for those who come later.
const RING_BYTES: usize = 64 << 10;

/// How much is carried at once.
const PORTION: usize = 4 << 10;

/// The terminal of a sandbox, on which one run takes place.
pub(super) struct Terminal {
    /// The run.
    pub(super) number: u32,
    /// The near end; there once the command has started.
    near: Option<OwnedFd>,
    recent: Ring,
    size: WindowSize,
    /// Keys of those who left, that the command has not taken yet.
    keys: Vec<u8>,
}

/// The last bytes of a stream, each known by its place in the whole.
#[derive(Default)]
struct Ring {
    bytes: VecDeque<u8>,
    /// The place after the last byte.
    end: u64,
}

/// Someone who looks at the terminal, as far as the keeper is concerned.
pub(super) struct Viewer {
    stream: OwnedFd,
    /// How large its window is.
    pub(super) window: WindowSize,
    /// The place in the output up to which it has been sent.
    at: u64,
    /// Keys that the command has not taken yet.
    keys: Vec<u8>,
}

impl Ring {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.end += bytes.len() as u64;
        let beyond = self.bytes.len().saturating_sub(RING_BYTES);
        self.bytes.drain(..beyond);
    }

    fn start(&self) -> u64 {
        self.end - self.bytes.len() as u64
    }

    /// Where a newcomer begins: at a line that is there from its first byte.
    fn first_line(&self) -> u64 {
        if self.start() == 0 {
            return 0;
        }
        let newline = self.bytes.iter().position(|&byte| byte == b'\n');
        newline.map_or(self.start(), |at| self.start() + at as u64 + 1)
    }

    /// A piece of what follows a place. Who fell too far behind goes on with what is left.
    fn after(&self, at: u64) -> (u64, &[u8]) {
        let at = at.max(self.start());
        let skip = usize::try_from(at - self.start()).unwrap_or(usize::MAX);
        let (first, second) = self.bytes.as_slices();
        let piece = match first.get(skip..) {
            Some(piece) if !piece.is_empty() => piece,
            Some(_) | None => second
                .get(skip.saturating_sub(first.len())..)
                .unwrap_or(&[]),
        };
        (at, &piece[..piece.len().min(PORTION)])
    }
}

impl Terminal {
    /// A terminal whose command is about to start.
    pub(super) fn new(number: u32, size: WindowSize) -> Self {
        Self {
            number,
            near: None,
            recent: Ring::default(),
            size,
            keys: Vec::new(),
        }
    }

    /// The command has started on it, with the window that was asked for at first. Whoever looked
    /// meanwhile may have another.
    pub(super) fn stands(&mut self, near: OwnedFd) -> io::Result<()> {
        unblock(near.as_fd())?;
        set_window(near.as_fd(), self.size);
        self.near = Some(near);
        Ok(())
    }

    pub(super) fn size(&self) -> WindowSize {
        self.size
    }

    pub(super) fn near(&self) -> Option<BorrowedFd<'_>> {
        self.near.as_ref().map(OwnedFd::as_fd)
    }

    /// Someone new who looks at it, and the end of the stream that is theirs.
    pub(super) fn welcome(&self, window: WindowSize) -> io::Result<(Viewer, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        unblock(ours.as_fd())?;
        let viewer = Viewer {
            stream: ours,
            window,
            at: self.recent.first_line(),
            keys: Vec::new(),
        };
        Ok((viewer, theirs))
    }

    /// Takes what the command printed. Whether there may be more at once.
    pub(super) fn read(&mut self) -> bool {
        let Some(near) = &self.near else {
            return false;
        };
        let mut buffer = [0; PORTION];
        match rustix::io::read(near, &mut buffer) {
            Ok(0) | Err(Errno::IO) => {
                // The last process on the terminal closed it; how the run ended is told apart.
                self.near = None;
                false
            }
            Ok(count) => {
                self.recent.add(&buffer[..count]);
                true
            }
            Err(errno) => errno == Errno::INTR,
        }
    }

    /// Whether the command still has to take keys of somebody who left.
    pub(super) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Hands over as many keys of those who left as the command takes now.
    pub(super) fn press(&mut self) {
        let mut keys = std::mem::take(&mut self.keys);
        self.take(&mut keys);
        self.keys = keys;
    }

    /// Hands over as many keys as the command takes now. One that does not read them may later; one
    /// that is gone is told apart.
    fn take(&self, keys: &mut Vec<u8>) {
        if let (Some(near), false) = (self.near(), keys.is_empty())
            && let Ok(count) = rustix::io::write(near, keys)
        {
            keys.drain(..count);
        }
    }

    /// Gives it another size.
    pub(super) fn resize(&mut self, size: WindowSize) {
        let unchanged = std::mem::replace(&mut self.size, size) == size;
        let Some(near) = &self.near else {
            return;
        };
        set_window(near.as_fd(), size);
        if unchanged && let Ok(front) = rustix::termios::tcgetpgrp(near) {
            // The kernel says nothing of a size that stayed, but a newcomer wants the picture drawn.
            let _ = rustix::process::kill_process_group(front, rustix::process::Signal::WINCH);
        }
    }
}

impl Viewer {
    /// The stream, and what of it is worth waking up for.
    pub(super) fn interest(&self, terminal: &Terminal) -> (BorrowedFd<'_>, PollFlags) {
        let mut events = PollFlags::empty();
        if self.keys.is_empty() {
            events |= PollFlags::IN;
        }
        if self.at < terminal.recent.end {
            events |= PollFlags::OUT;
        }
        (self.stream.as_fd(), events)
    }

    /// Whether the command still has to take keys of this viewer.
    pub(super) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Carries what can be carried without waiting. Whether the viewer is still there.
    pub(super) fn carry(&mut self, terminal: &Terminal) -> bool {
        if !self.show(terminal) || !self.listen() {
            return false;
        }
        terminal.take(&mut self.keys);
        true
    }

    /// Leaves. What it typed before is the command's.
    pub(super) fn leave(mut self, terminal: &mut Terminal) {
        loop {
            terminal.keys.append(&mut self.keys);
            if !self.listen() || !self.has_keys() {
                return terminal.press();
            }
        }
    }

    /// Sends output.
    pub(super) fn show(&mut self, terminal: &Terminal) -> bool {
        loop {
            let (at, piece) = terminal.recent.after(self.at);
            self.at = at;
            if piece.is_empty() {
                return true;
            }
            let flags = rustix::net::SendFlags::NOSIGNAL;
            match rustix::net::send(&self.stream, piece, flags) {
                Ok(count) => self.at += count as u64,
                Err(Errno::AGAIN | Errno::INTR) => return true,
                Err(_) => return false,
            }
        }
    }

    fn listen(&mut self) -> bool {
        if self.has_keys() {
            return true;
        }
        let mut buffer = [0; PORTION];
        match rustix::io::read(&self.stream, &mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.keys.extend_from_slice(&buffer[..count]);
                true
            }
            Err(errno) => matches!(errno, Errno::AGAIN | Errno::INTR),
        }
    }
}

fn set_window(near: BorrowedFd<'_>, size: WindowSize) {
    let wanted = rustix::termios::Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // A terminal that is gone needs no size.
    let _ = rustix::termios::tcsetwinsize(near, wanted);
}

fn unblock(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, openpt};

    #[test]
    fn a_window_that_was_told_before_the_command_started_holds() {
        let size = |rows, columns| WindowSize { rows, columns };
        let mut terminal = Terminal::new(1, size(24, 80));
        terminal.resize(size(31, 97));
        terminal
            .stands(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap())
            .unwrap();
        let now = rustix::termios::tcgetwinsize(terminal.near().unwrap()).unwrap();
        assert_eq!((now.ws_row, now.ws_col), (31, 97));
    }

    #[test]
    fn the_last_output_is_kept_and_a_newcomer_begins_with_a_whole_line() {
        let mut ring = Ring::default();
        ring.add(b"one\n");
        assert_eq!((ring.first_line(), ring.after(0)), (0, (0, &b"one\n"[..])));
        let line = format!("{}\n", "x".repeat(99));
        for _ in 0..1000 {
            ring.add(line.as_bytes());
        }
        assert_eq!(ring.bytes.len(), RING_BYTES);
        let (at, piece) = ring.after(ring.first_line());
        assert!(piece.starts_with(b"xxx") && (at - 4).is_multiple_of(100));
    }

    #[test]
    fn who_fell_behind_goes_on_with_what_is_left() {
        let mut ring = Ring::default();
        ring.add(&vec![b'a'; RING_BYTES]);
        ring.add(&vec![b'b'; RING_BYTES]);
        let (at, piece) = ring.after(0);
        assert_eq!(at, RING_BYTES as u64);
        assert!(piece.iter().all(|&byte| byte == b'b'));
        assert_eq!(ring.after(ring.end).1, b"");
    }

    #[test]
    fn a_stream_is_read_to_its_end_across_the_seam_of_the_ring() {
        let mut ring = Ring::default();
        let mut at = 0;
        let mut seen = Vec::new();
        let mut sent = Vec::new();
        for round in 0_u32..3000 {
            let text = format!("line {round} of many\n");
            ring.add(text.as_bytes());
            sent.extend_from_slice(text.as_bytes());
            while let (from, piece) = ring.after(at)
                && !piece.is_empty()
            {
                seen.extend_from_slice(piece);
                at = from + piece.len() as u64;
            }
        }
        assert_eq!(seen, sent);
    }
}
