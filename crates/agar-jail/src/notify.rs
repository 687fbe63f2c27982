//! The handler that the filter asks: it records executions, files and refusals, and completes
//! renames of base directories.
//!
//! It runs as a thread of the init: inside the jail, without capabilities, and free of the filter
//! that it answers for. Whoever asks is hostile until shown otherwise: every length is bounded,
//! every pointer may be rubbish, and the process may die or be another one at any moment. Nothing
//! that keeps a command in depends on what is read here.

mod kernel;
mod memory;
mod record;
mod rename;
mod target;
mod tree;

use crate::seccomp::{NoticedCall, noticed};
use crate::wire::Raw;
use kernel::{Answer, Listener, Notice};
use memory::Memory;
use rustix::event::{PollFd, PollFlags, poll};
use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;

pub use record::{Recorded, Recorder};

/// The longest path that the kernel takes.
const PATH_MAX: usize = 4096;
/// How many arguments of an execution are recorded.
const ARGUMENTS_MAX: usize = 32;
/// How much of each argument is recorded.
const ARGUMENT_BYTES_MAX: usize = 512;

/// Something that a process inside did or tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A process is about to execute a program that exists.
    Executed(Attempt),
    /// A call was denied.
    Denied {
        /// The call's name.
        call: &'static str,
    },
    /// A file was opened, or tried to be.
    FileAccess {
        /// The path, absolute unless the process hid where it was.
        path: Raw,
        /// Whether it was for writing.
        write: bool,
    },
}

/// An execution, before it is known whether it worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The process as numbered inside.
    pub pid: u32,
    /// The program, as given.
    pub program: Raw,
    /// The first arguments, cut to a bounded length.
    pub arguments: Vec<Raw>,
    /// Device and inode of the program, to recognise it later.
    pub(crate) file: Option<(u64, u64)>,
}

/// Answers for one filter.
#[derive(Debug)]
pub struct Handler {
    listener: Listener,
    text: Vec<u8>,
}

impl Handler {
    /// Takes the listener that [`install`](crate::seccomp::install) returned.
    pub fn new(listener: OwnedFd) -> Self {
        Self {
            listener: Listener::new(listener),
            text: Vec::new(),
        }
    }

    /// Answers until `wake` becomes readable, or no process with the filter is left.
    ///
    /// An error means that the kernel no longer talks to us; every process that asks would then
    /// fail, so the jail has to end.
    pub fn serve(&mut self, wake: BorrowedFd<'_>, mut tell: impl FnMut(Event)) -> io::Result<()> {
        loop {
            let mut waiting = [
                PollFd::from_borrowed_fd(self.listener.descriptor(), PollFlags::IN),
                PollFd::from_borrowed_fd(wake, PollFlags::IN),
            ];
            match poll(&mut waiting, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let [asked, woken] = waiting.map(|one| one.revents());
            if !woken.is_empty() {
                return Ok(());
            }
            if asked.contains(PollFlags::IN) {
                self.serve_one(&mut tell)?;
            } else if !asked.is_empty() {
                return Ok(());
            }
        }
    }

    fn serve_one(&mut self, tell: &mut impl FnMut(Event)) -> io::Result<()> {
        let Some(notice) = self.listener.receive()? else {
            return Ok(());
        };
        let answer = self.decide(&notice, tell);
        self.listener.answer(&notice, answer)
    }

    fn decide(&mut self, notice: &Notice, tell: &mut impl FnMut(Event)) -> Answer {
        match noticed(notice.number) {
            NoticedCall::Denied(call) => {
                tell(Event::Denied { call });
                Answer::Fail(rustix::io::Errno::PERM)
            }
            NoticedCall::Execution => {
                if let Some(attempt) = self.execution(notice) {
                    tell(Event::Executed(attempt));
                }
                Answer::Continue
            }
            NoticedCall::Open => {
                if let Some((path, write)) = self.file_access(notice) {
                    tell(Event::FileAccess { path, write });
                }
                Answer::Continue
            }
            NoticedCall::Rename => rename::complete(&self.listener, notice, &mut self.text),
        }
    }

    /// What is executed, if it exists: looking for a program along `PATH` is a row of failures that
    /// nobody wants to read.
    fn execution(&mut self, notice: &Notice) -> Option<Attempt> {
        let [first, second, third, ..] = notice.arguments;
        let (directory, path, arguments) = if i64::from(notice.number) == libc::SYS_execveat {
            (target::Directory::argument(first), second, third)
        } else {
            (target::Directory::Current, first, second)
        };
        let memory = Memory::of(notice.pid);
        memory.string(path, PATH_MAX, &mut self.text)?;
        let file = target::identity(notice.pid, directory, &self.text)?;
        let program = if self.text.is_empty() {
            target::link(notice.pid, directory)?
        } else {
            raw(&self.text)
        };
        let mut recorded = Vec::new();
        for index in 0..ARGUMENTS_MAX as u64 {
            let place = arguments.wrapping_add(index * 8);
            let Some(pointer) = memory.word(place).filter(|pointer| *pointer != 0) else {
                break;
            };
            if memory
                .string_cut(pointer, ARGUMENT_BYTES_MAX, &mut self.text)
                .is_none()
            {
                break;
            }
            recorded.push(raw(&self.text));
        }
        // What was read is worth something only if the process is still the one that asked.
        self.listener.is_alive(notice).then_some(Attempt {
            pid: notice.pid,
            program,
            arguments: recorded,
            file: Some(file),
        })
    }

    fn file_access(&mut self, notice: &Notice) -> Option<(Raw, bool)> {
        let [first, second, third, ..] = notice.arguments;
        let number = i64::from(notice.number);
        let memory = Memory::of(notice.pid);
        let (directory, path, flags) = match number {
            libc::SYS_openat => (target::Directory::argument(first), second, third),
            libc::SYS_openat2 => {
                let flags = memory.word(third)?;
                (target::Directory::argument(first), second, flags)
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat => {
                let flags = u64::from((libc::O_WRONLY | libc::O_CREAT).unsigned_abs());
                (target::Directory::Current, first, flags)
            }
            _ => (target::Directory::Current, first, second),
        };
        memory.string(path, PATH_MAX, &mut self.text)?;
        let path = if self.text.starts_with(b"/") {
            raw(&self.text)
        } else {
            target::join(notice.pid, directory, &self.text)
        };
        self.listener
            .is_alive(notice)
            .then_some((path, writes(flags)))
    }
}

/// Whether these flags of `open` are for changing the file.
fn writes(flags: u64) -> bool {
    let flag = |flag: i32| u64::from(flag.unsigned_abs());
    if flags & flag(libc::O_PATH) != 0 {
        return false;
    }
    let for_reading = flags & flag(libc::O_ACCMODE) == flag(libc::O_RDONLY);
    !for_reading || flags & flag(libc::O_CREAT | libc::O_TRUNC) != 0
}

fn raw(bytes: &[u8]) -> Raw {
    Raw::from(OsString::from_vec(bytes.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_change_a_file_is_writing() {
        let flags = |flags: i32| u64::from(flags.unsigned_abs());
        assert!(!writes(flags(libc::O_RDONLY | libc::O_CLOEXEC)));
        assert!(!writes(flags(libc::O_PATH | libc::O_RDWR)));
        assert!(writes(flags(libc::O_WRONLY)));
        assert!(writes(flags(libc::O_RDWR)));
        assert!(writes(flags(libc::O_RDONLY | libc::O_CREAT)));
        assert!(writes(flags(libc::O_RDONLY | libc::O_TRUNC)));
    }
}
