//! Starting commands.
//!
//! The process has several threads, so between `fork` and `execve` the child may only make system
//! calls: every string, table and descriptor it needs is laid out before.

use super::remount::Desk;
use super::{Runs, Started};
use crate::client::{RunRequest, WindowSize};
use crate::launch::{self, Launch};
use crate::protocol::{self, News, Order};
use crate::syscall;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Where programs are looked for when the environment does not say.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// Takes orders until the keeper goes away.
pub(super) fn serve(socket: &OwnedFd, runs: &Runs, desk: &Desk) {
    let mut buffer = Vec::new();
    while let Ok(Some((order, descriptors))) =
        protocol::receive_command::<Order>(socket, &mut buffer)
    {
        buffer = Vec::new();
        match order {
            Order::Run {
                request,
                is_the_one,
            } => run(socket, runs, (&request, is_the_one), descriptors),
            Order::Signal { number, signal } => {
                if let Some(pid) = runs.pid_of(number) {
                    syscall::signal_group(pid, signal);
                }
            }
            Order::EndRun { number } => {
                if let Some(pid) = runs.pid_of(number) {
                    end_session(pid);
                }
            }
            Order::Remount(order) => desk.put(order),
            Order::EndAll => syscall::signal_everyone(libc::SIGKILL),
        }
    }
}

/// Ends every process of a session: a run and what it started, unless it went to lengths to leave.
fn end_session(leader: i32) {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return;
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for pid in pids.filter(|pid| *pid != 1) {
        let session = rustix::process::Pid::from_raw(pid)
            .and_then(|pid| rustix::process::getsid(Some(pid)).ok());
        if session.is_some_and(|session| session.as_raw_nonzero().get() == leader) {
            syscall::signal_one(pid, libc::SIGKILL);
        }
    }
}

fn run(
    socket: &OwnedFd,
    runs: &Runs,
    (request, is_the_one): (&RunRequest, bool),
    given: Vec<OwnedFd>,
) {
    let number = request.number;
    let started = streams(request, given).and_then(|(streams, near)| {
        let launch = launch(request, &streams)?;
        // Held until the id is noted: see `Runs`.
        let mut table = runs.lock();
        let (pid, outcome) = launch::launch(&launch)?;
        if outcome.is_ok() {
            table.insert(pid, Started { number, is_the_one });
            let near: Vec<BorrowedFd<'_>> = near.iter().map(AsFd::as_fd).collect();
            let news = News::Started {
                number,
                pid: pid.cast_unsigned(),
            };
            protocol::send(socket, &news, &near)?;
        }
        outcome
    });
    if let Err(error) = started {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        // Without a keeper the kernel ends this process.
        drop(protocol::send(
            socket,
            &News::NotStarted { number, errno },
            &[],
        ));
    }
}

/// The three streams a command gets, and what the client gets of its terminal.
fn streams(
    request: &RunRequest,
    given: Vec<OwnedFd>,
) -> io::Result<(Vec<OwnedFd>, Option<OwnedFd>)> {
    let Some(window) = request.terminal else {
        return if given.len() == 3 {
            Ok((given, None))
        } else {
            Err(Errno::BADF.into())
        };
    };
    let (near, far) = terminal(window)?;
    let copies = [far.try_clone()?, far.try_clone()?];
    Ok((std::iter::once(far).chain(copies).collect(), Some(near)))
}

/// A new terminal of the jail's own, so that programs inside find it under its name.
fn terminal(window: WindowSize) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let near = rustix::fs::open("/dev/ptmx", flags, Mode::empty())?;
    rustix::pty::unlockpt(&near)?;
    let far = rustix::pty::ioctl_tiocgptpeer(
        &near,
        rustix::pty::OpenptFlags::RDWR
            | rustix::pty::OpenptFlags::NOCTTY
            | rustix::pty::OpenptFlags::CLOEXEC,
    )?;
    let size = rustix::termios::Winsize {
        ws_row: window.rows,
        ws_col: window.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&far, size)?;
    Ok((near, far))
}

/// Lays out everything the child needs.
fn launch(request: &RunRequest, streams: &[OwnedFd]) -> io::Result<Launch> {
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| io::Error::from(Errno::INVAL));
    let argv = request
        .argv
        .iter()
        .map(|word| text(word.as_os_str().as_bytes()));
    let argv = argv.collect::<io::Result<Vec<CString>>>()?;
    let program = request
        .argv
        .first()
        .ok_or(Errno::INVAL)?
        .as_os_str()
        .as_bytes();
    let env = request.env.iter().map(|(name, value)| {
        let mut pair = name.as_os_str().to_os_string().into_vec();
        pair.push(b'=');
        pair.extend_from_slice(value.as_os_str().as_bytes());
        text(&pair)
    });
    let path = request
        .env
        .iter()
        .find(|(name, _)| name.as_os_str() == "PATH");
    let path = path.map_or(DEFAULT_PATH, |(_, value)| value.as_os_str().as_bytes());
    let fd = |index: usize| streams.get(index).map_or(-1, AsRawFd::as_raw_fd);
    Ok(Launch {
        candidates: candidates(program, path)
            .iter()
            .map(|path| text(path))
            .collect::<io::Result<_>>()?,
        argv,
        env: env.collect::<io::Result<_>>()?,
        cwd: text(request.cwd.as_os_str().as_bytes())?,
        streams: [fd(0), fd(1), fd(2)],
        terminal: request.terminal.is_some(),
    })
}

/// The files a program's name may mean, in the order a shell would try them.
fn candidates(program: &[u8], path: &[u8]) -> Vec<Vec<u8>> {
    if program.contains(&b'/') || program.is_empty() {
        return vec![program.to_vec()];
    }
    let directories = path.split(|&byte| byte == b':');
    directories
        .map(|directory| {
            let mut file = if directory.is_empty() {
                b".".to_vec()
            } else {
                directory.to_vec()
            };
            file.push(b'/');
            file.extend_from_slice(program);
            file
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_as_a_shell_would() {
        assert_eq!(
            candidates(b"ls", b"/a::/b"),
            [&b"/a/ls"[..], b"./ls", b"/b/ls"]
        );
        assert_eq!(candidates(b"./ls", b"/a"), [b"./ls"]);
    }
}
