//! Kernel calls that no library offers, each with the proof that it is used rightly.

use rustix::fd::{AsRawFd as _, FromRawFd, OwnedFd};
use std::ffi::CStr;
use std::io;

/// Which side of a fork this is.
#[derive(Debug)]
pub(crate) enum Fork {
    /// The new process.
    Child,
    /// The old one, with the new one's id and a descriptor for it.
    Parent { pid: i32, handle: OwnedFd },
}

/// The arguments of `clone3(2)`, in the kernel's layout (its third version).
#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// How much of it every kernel knows that has the call.
const CLONE_ARGS_FIRST: usize = 64;

/// Has the new process be born into the group that `cgroup` is a descriptor of.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Forks into new namespaces, and into a control group of version 2 if one is given.
///
/// Must be called by a process with one thread: the child goes on with a copy of everything, and
/// locks held by other threads would stay locked in it for ever.
pub(crate) fn fork_into(namespaces: i32, group: Option<&OwnedFd>) -> io::Result<Fork> {
    let mut handle: libc::c_int = -1;
    let mut arguments = CloneArgs {
        flags: u64::from(namespaces.cast_unsigned()) | u64::from(libc::CLONE_PIDFD.cast_unsigned()),
        pidfd: (&raw mut handle) as u64,
        exit_signal: libc::SIGCHLD.cast_unsigned().into(),
        ..CloneArgs::default()
    };
    let mut size = CLONE_ARGS_FIRST;
    if let Some(group) = group {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = u64::from(group.as_raw_fd().cast_unsigned());
        size = size_of::<CloneArgs>();
    }
    // SAFETY: without CLONE_VM the child has its own copy of memory and stack, as after fork(2); the
    // structure has the kernel's layout, of which `size` is what is used, and `handle` outlives the
    // call.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size) };
    match i32::try_from(pid).unwrap_or(-1) {
        0 => Ok(Fork::Child),
        -1 => Err(namespace_limit(io::Error::last_os_error())),
        pid => {
            // SAFETY: the kernel stored a new descriptor there, which nobody else owns.
            let handle = unsafe { OwnedFd::from_raw_fd(handle) };
            Ok(Fork::Parent { pid, handle })
        }
    }
}

/// The kernel says "no space left on device" where the number of namespaces is limited, which reads
/// as a full disk. The word that it had for it before is the better one.
fn namespace_limit(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ENOSPC) => io::Error::from_raw_os_error(libc::EUSERS),
        _ => error,
    }
}

/// Sets an interface of this network namespace up.
pub(crate) fn interface_up(name: &CStr) -> io::Result<()> {
    let socket = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: `ifreq` is plain data for which all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(name.to_bytes()) {
        *slot = byte.cast_signed();
    }
    request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(0);
    // SAFETY: SIOCSIFFLAGS reads one `ifreq`, which outlives the call.
    let code = unsafe {
        libc::ioctl(
            std::os::fd::AsRawFd::as_raw_fd(&socket),
            libc::SIOCSIFFLAGS,
            &raw const request,
        )
    };
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether something that was said over a local socket has not been read yet.
pub(crate) fn is_unread(socket: &OwnedFd) -> io::Result<bool> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: TIOCOUTQ, which sockets know by another name, stores one integer, which outlives the
    // call.
    let code = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    match code {
        0 => Ok(bytes > 0),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has the kernel end this process when the thread that made it ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(io::Error::from)
}

/// Takes [`die_with_parent`] back.
pub(crate) fn outlive_parent() -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(None).map_err(io::Error::from)
}

/// Has the kernel bury this process's children by itself, or leave them to be waited for.
pub(crate) fn ignore_children(ignore: bool) -> io::Result<()> {
    let how = if ignore { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: both are valid dispositions of this signal, for which no handler is installed.
    if unsafe { libc::signal(libc::SIGCHLD, how) } == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Keeps other processes of the same user from looking into this one.
pub(crate) fn hide_memory() -> io::Result<()> {
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .map_err(io::Error::from)
}

/// Closes every descriptor from 3 on, but one.
pub(crate) fn close_all_but(kept: i32) -> io::Result<()> {
    let close = |first: u32, last: u32| {
        if first > last {
            return Ok(());
        }
        // SAFETY: the process is about to use none of these: it is single-threaded and never returns
        // to the code that owns them.
        let code = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        if code == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    };
    let kept = kept.cast_unsigned();
    close(3, kept.saturating_sub(1))?;
    close(kept + 1, u32::MAX)
}

fn child_signal_set() -> libc::sigset_t {
    // SAFETY: a signal set is plain data; sigemptyset then gives it its proper value.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is a valid object of this function.
    unsafe { libc::sigemptyset(&raw mut set) };
    // SAFETY: the set is valid and SIGCHLD is a signal.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGCHLD) };
    set
}

/// Blocks SIGCHLD, so that the death of a child waits to be asked about. Before the first child.
pub(crate) fn block_child_signal() -> io::Result<()> {
    let set = child_signal_set();
    // SAFETY: the set is valid and the old mask is not asked for.
    let code = unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// A descriptor that becomes readable when a child may have died. After [`block_child_signal`].
pub(crate) fn child_signals() -> io::Result<OwnedFd> {
    let set = child_signal_set();
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: the set is valid, and -1 asks for a new descriptor.
    let code = unsafe { libc::signalfd(-1, &raw const set, flags) };
    if code < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel made a new descriptor, which nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(code) })
}

/// Buries one dead child: its id, wait status and what it used.
pub(crate) fn wait_any(
    options: rustix::process::WaitOptions,
) -> io::Result<Option<(i32, i32, agar_core::run::Usage)>> {
    wait_for(-1, options)
}

/// Buries a child by id.
pub(crate) fn wait_for(
    pid: i32,
    options: rustix::process::WaitOptions,
) -> io::Result<Option<(i32, i32, agar_core::run::Usage)>> {
    let mut status = 0;
    // SAFETY: `rusage` is plain data for which all zeroes is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let options = options.bits().cast_signed() | libc::__WALL;
    // SAFETY: both pointers are to valid objects of this function.
    let pid = unsafe { libc::wait4(pid, &raw mut status, options, &raw mut usage) };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        pid => Ok(Some((pid, status, crate::init::usage(&usage)))),
    }
}

/// Sends a signal to a process.
pub(crate) fn signal_one(pid: i32, signal: i32) {
    // SAFETY: kill(2) reads only the integers; a process that is gone is not an error here.
    unsafe { libc::kill(pid, signal) };
}

/// Sends a signal to a process group.
pub(crate) fn signal_group(leader: i32, signal: i32) {
    if leader > 1 {
        signal_one(-leader, signal);
    }
}

/// Sends a signal to everything inside but the caller: every process of its namespace if it is the
/// first of one, else every descendant.
pub(crate) fn signal_everyone(signal: i32) {
    if rustix::process::getpid().is_init() {
        signal_one(-1, signal);
        return;
    }
    let mut watch = crate::limit::Watch::default();
    for pid in watch.below(std::process::id()) {
        signal_one(pid.cast_signed(), signal);
    }
}

/// Ends this process, all its threads, at once.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: leaves without running anything else of this process.
    unsafe { libc::_exit(code) }
}

/// Gives this process a mount namespace of its own.
pub(crate) fn unshare_mounts() -> io::Result<()> {
    // SAFETY: unshare(2) reads only the integer; the process has one thread.
    let code = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// What all buried children of this process, and theirs, used.
pub(crate) fn usage_of_children() -> agar_core::run::Usage {
    // SAFETY: `rusage` is plain data for which all zeroes is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: points to a valid object of this function.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    crate::init::usage(&usage)
}

/// How many other processes there are in this process-id namespace.
pub(crate) fn count_others() -> u32 {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let is_process = |name: &std::ffi::OsStr| {
        std::os::unix::ffi::OsStrExt::as_bytes(name)
            .first()
            .is_some_and(u8::is_ascii_digit)
    };
    let all = entries
        .flatten()
        .filter(|entry| is_process(&entry.file_name()))
        .count();
    u32::try_from(all).unwrap_or(u32::MAX).saturating_sub(1)
}
