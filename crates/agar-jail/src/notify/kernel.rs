//! The conversation with the kernel: receive a notice, ask whether it still stands, answer it.

#![expect(unsafe_code, reason = "the listener speaks ioctl(2)")]

use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

/// A call that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notice {
    id: u64,
    /// The thread that asks, as numbered where the handler runs.
    pub(super) pid: u32,
    /// The call's number.
    pub(super) number: i32,
    /// The call's arguments.
    pub(super) arguments: [u64; 6],
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The kernel does it, as if nobody had been asked.
    Continue,
    /// It was done here.
    Done,
    /// It fails.
    Fail(Errno),
}

/// The descriptor on which the kernel asks.
#[derive(Debug)]
pub(super) struct Listener {
    descriptor: OwnedFd,
}

/// What the kernel writes: `seccomp_notif`, and room for what later kernels add to it.
#[repr(C)]
struct Received {
    notice: libc::seccomp_notif,
    room: [u64; 32],
}

/// Wake the asking process on the processor where the answer is written (Linux 6.6).
const SYNC_WAKE_UP: libc::c_ulong = 1;

impl Listener {
    pub(super) fn new(descriptor: OwnedFd) -> Self {
        // SAFETY: the request takes a number, not a pointer. Kernels without it answer `EINVAL`,
        // and waking is then a little slower.
        unsafe {
            libc::ioctl(
                descriptor.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS,
                SYNC_WAKE_UP,
            );
        }
        Self { descriptor }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// The next notice; `None` when the one that was announced has been withdrawn.
    pub(super) fn receive(&self) -> io::Result<Option<Notice>> {
        // SAFETY: the type holds only integers, for which zero is a value; the kernel requires it.
        let mut received: Received = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes its own `seccomp_notif`, which is no larger than `Received`
        // (224 bytes would have to be added), into memory that outlives the call.
        let code = unsafe {
            libc::ioctl(
                self.descriptor.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_RECV,
                &raw mut received,
            )
        };
        if code < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::ENOENT | libc::EINTR | libc::EAGAIN) => Ok(None),
                _ => Err(error),
            };
        }
        let notice = received.notice;
        Ok(Some(Notice {
            id: notice.id,
            pid: notice.pid,
            number: notice.data.nr,
            arguments: notice.data.args,
        }))
    }

    /// Whether the asking process is alive and still waits for this answer.
    pub(super) fn is_alive(&self, notice: &Notice) -> bool {
        let id = notice.id;
        // SAFETY: the kernel reads one 64-bit integer that outlives the call.
        let code = unsafe {
            libc::ioctl(
                self.descriptor.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_ID_VALID,
                &raw const id,
            )
        };
        code == 0
    }

    pub(super) fn answer(&self, notice: &Notice, answer: Answer) -> io::Result<()> {
        let (error, flags) = match answer {
            Answer::Continue => (0, 1),
            Answer::Done => (0, 0),
            Answer::Fail(errno) => (-errno.raw_os_error(), 0),
        };
        let mut response = libc::seccomp_notif_resp {
            id: notice.id,
            val: 0,
            error,
            flags,
        };
        // SAFETY: the kernel reads one `seccomp_notif_resp`, which outlives the call.
        let code = unsafe {
            libc::ioctl(
                self.descriptor.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_SEND,
                &raw mut response,
            )
        };
        if code == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // It died, or a signal made it stop waiting.
            Some(libc::ENOENT | libc::EINTR) => Ok(()),
            _ => Err(error),
        }
    }
}
