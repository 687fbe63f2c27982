//! Starting a command from a process with several threads.
//!
//! Between `fork` and `execve` the child may only make system calls, since another thread may have
//! held a lock when the copy was made. So everything is laid out before.

use std::ffi::{CStr, CString};
use std::io;

/// Everything a new command needs, laid out before the fork.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) candidates: Vec<CString>,
    pub(crate) argv: Vec<CString>,
    pub(crate) env: Vec<CString>,
    pub(crate) cwd: CString,
    pub(crate) streams: [i32; 3],
    pub(crate) terminal: bool,
}

fn pointers(words: &[CString]) -> Vec<*const libc::c_char> {
    words
        .iter()
        .map(|word| word.as_ptr())
        .chain(std::iter::once(std::ptr::null()))
        .collect()
}

/// Starts a command. The id is that of the new process; the outcome says whether it became the
/// command.
pub(crate) fn launch(launch: &Launch) -> io::Result<(i32, io::Result<()>)> {
    let (argv, env) = (pointers(&launch.argv), pointers(&launch.env));
    let mut shell = shell_pointers(&argv);
    let (trouble, report) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let report_fd = std::os::fd::AsRawFd::as_raw_fd(&report);
    // SAFETY: between here and execve the child calls only async-signal-safe functions on data laid
    // out above.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: this is the child of a fork; the tables end in null and outlive the call.
        unsafe { become_command(launch, &argv, &env, &mut shell, report_fd) }
    }
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    drop(report);
    let mut errno = [0_u8; 4];
    let outcome = match rustix::io::retry_on_intr(|| rustix::io::read(&trouble, &mut errno)) {
        Ok(4) => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(errno))),
        Ok(_) => Ok(()),
        Err(errno) => Err(errno.into()),
    };
    Ok((pid, outcome))
}

/// Arguments for running a script without an interpreter line: the shell, the file, the rest. The
/// file's place is filled in by the child.
fn shell_pointers(argv: &[*const libc::c_char]) -> Vec<*const libc::c_char> {
    let rest = argv.iter().skip(1).copied();
    [c"/bin/sh".as_ptr(), std::ptr::null()]
        .into_iter()
        .chain(rest)
        .collect()
}

/// Becomes the command, or reports why not and exits.
///
/// # Safety
///
/// Must be called in the child of a fork, with tables that end in null.
unsafe fn become_command(
    launch: &Launch,
    argv: &[*const libc::c_char],
    env: &[*const libc::c_char],
    shell: &mut [*const libc::c_char],
    report: i32,
) -> ! {
    let errno = match prepare_child(launch, report) {
        Ok(()) => execute(launch, argv, env, shell),
        Err(errno) => errno,
    };
    let bytes = errno.to_ne_bytes();
    // SAFETY: four valid bytes are written; nothing can be done if the parent is gone.
    unsafe { libc::write(report, bytes.as_ptr().cast(), bytes.len()) };
    // SAFETY: leaves without running anything of the parent's.
    unsafe { libc::_exit(127) }
}

fn last_errno() -> i32 {
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}

fn check(code: i32) -> Result<(), i32> {
    if code < 0 { Err(last_errno()) } else { Ok(()) }
}

/// Session, streams, directory and signals of the new process. System calls only.
fn prepare_child(launch: &Launch, report: i32) -> Result<(), i32> {
    // SAFETY: setsid takes nothing and touches only this process.
    check(unsafe { libc::setsid() })?;
    for (target, &source) in (0..).zip(&launch.streams) {
        // SAFETY: dup2 on integers; a bad source is an error, not a fault.
        check(unsafe { libc::dup2(source, target) })?;
    }
    if launch.terminal {
        // SAFETY: TIOCSCTTY takes an integer; descriptor 0 is the terminal just put there.
        check(unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) })?;
    }
    close_but(report)?;
    // SAFETY: the path ends in a zero byte.
    check(unsafe { libc::chdir(launch.cwd.as_ptr()) })?;
    default_signals();
    Ok(())
}

/// Closes everything but the streams and the report, which goes by itself when the command starts.
///
/// Closed, and not marked to be: `execve` asks whoever listens to the filter, and a process that
/// still had a listener of its own would wait for an answer for ever where the init was killed.
fn close_but(report: i32) -> Result<(), i32> {
    let report = u32::try_from(report).map_err(|_| libc::EBADF)?;
    for (first, last) in [(3, report.saturating_sub(1)), (report + 1, u32::MAX)] {
        if first <= last {
            // SAFETY: closes descriptors of this process only, none of which the command may have.
            let code = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
            check(i32::try_from(code).unwrap_or(-1))?;
        }
    }
    Ok(())
}

/// The kernel has no more signals than this.
const LAST_SIGNAL: i32 = 64;

/// A new program expects every signal to be deliverable and to do what it does by default. This process
/// ignores what whoever made the sandbox ignored, such as interrupts if that was done in the background.
fn default_signals() {
    for signal in 1..=LAST_SIGNAL {
        // SAFETY: SIG_DFL is a valid disposition for every signal; those that nobody may set are refused.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: a signal set is plain data; sigemptyset then gives it its proper value.
    let mut none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is a valid object of this function.
    unsafe { libc::sigemptyset(&raw mut none) };
    // SAFETY: the set is valid and the old mask is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) };
}

/// Tries each file the name may mean. Returns only on failure, with the most telling reason.
fn execute(
    launch: &Launch,
    argv: &[*const libc::c_char],
    env: &[*const libc::c_char],
    shell: &mut [*const libc::c_char],
) -> i32 {
    let mut telling = libc::ENOENT;
    for file in &launch.candidates {
        // SAFETY: the file name ends in a zero byte and both tables in a null pointer.
        unsafe { libc::execve(file.as_ptr(), argv.as_ptr(), env.as_ptr()) };
        let errno = last_errno();
        match errno {
            // SAFETY: the file name ends in a zero byte.
            libc::EACCES if unsafe { libc::access(file.as_ptr(), libc::F_OK) } == 0 => {
                telling = errno;
            }
            // A directory of the search path that may not be entered holds no answer.
            libc::ENOENT | libc::ENOTDIR | libc::EACCES => {}
            libc::ENOEXEC => return execute_by_shell(file, env, shell),
            _ => return errno,
        }
    }
    telling
}

fn execute_by_shell(
    file: &CStr,
    env: &[*const libc::c_char],
    shell: &mut [*const libc::c_char],
) -> i32 {
    shell[1] = file.as_ptr();
    // SAFETY: the table starts with the shell's name and ends in a null pointer.
    unsafe { libc::execve(shell[0], shell.as_ptr(), env.as_ptr()) };
    last_errno()
}
