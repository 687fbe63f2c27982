//! Kernel calls that no library offers, each with the proof that it is used rightly.

use rustix::fd::{FromRawFd, OwnedFd};
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

/// The arguments of `clone3(2)`, in the kernel's layout (its first version).
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
}

/// Forks into new namespaces.
///
/// Must be called by a process with one thread: the child goes on with a copy of everything, and
/// locks held by other threads would stay locked in it for ever.
pub(crate) fn fork_into(namespaces: i32) -> io::Result<Fork> {
    let mut handle: libc::c_int = -1;
    let arguments = CloneArgs {
        flags: u64::from(namespaces.cast_unsigned()) | libc::CLONE_PIDFD.cast_unsigned() as u64,
        pidfd: (&raw mut handle) as u64,
        exit_signal: libc::SIGCHLD.cast_unsigned().into(),
        ..CloneArgs::default()
    };
    // SAFETY: without CLONE_VM the child has its own copy of memory and stack, as after fork(2); the
    // structure has the kernel's layout and size, and `handle` outlives the call.
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            &raw const arguments,
            size_of::<CloneArgs>(),
        )
    };
    match i32::try_from(pid).unwrap_or(-1) {
        0 => Ok(Fork::Child),
        -1 => Err(io::Error::last_os_error()),
        pid => {
            // SAFETY: the kernel stored a new descriptor there, which nobody else owns.
            let handle = unsafe { OwnedFd::from_raw_fd(handle) };
            Ok(Fork::Parent { pid, handle })
        }
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
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
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

/// Has the kernel end this process when the thread that made it ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(io::Error::from)
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

/// Waits until a child may have died.
pub(crate) fn wait_for_child_signal() -> io::Result<()> {
    let set = child_signal_set();
    let mut signal = 0;
    // SAFETY: both point to valid objects of this function.
    match unsafe { libc::sigwait(&raw const set, &raw mut signal) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
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

/// Sends a signal to every process of this process-id namespace but the caller.
pub(crate) fn signal_everyone(signal: i32) {
    if rustix::process::getpid().is_init() {
        signal_one(-1, signal);
    }
}

/// Everything a new command needs, laid out before the fork.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) candidates: Vec<std::ffi::CString>,
    pub(crate) argv: Vec<std::ffi::CString>,
    pub(crate) env: Vec<std::ffi::CString>,
    pub(crate) cwd: std::ffi::CString,
    pub(crate) streams: [i32; 3],
    pub(crate) terminal: bool,
}

fn pointers(words: &[std::ffi::CString]) -> Vec<*const libc::c_char> {
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
    let errno = match prepare_child(launch) {
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
fn prepare_child(launch: &Launch) -> Result<(), i32> {
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
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: marks descriptors of this process only, none of which the command may have.
    let code = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, flags) };
    check(i32::try_from(code).unwrap_or(-1))?;
    // SAFETY: the path ends in a zero byte.
    check(unsafe { libc::chdir(launch.cwd.as_ptr()) })?;
    default_signals();
    Ok(())
}

/// A new program expects every signal to be deliverable and to do what it does by default.
fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: SIG_DFL is a valid disposition; signals that cannot be set fail harmlessly.
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
            libc::ENOENT | libc::ENOTDIR => {}
            libc::EACCES => telling = errno,
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

/// Starts a program in a session of its own, with nothing open but these descriptors, which it
/// finds under the given numbers. Its three streams lead nowhere.
///
/// `posix_spawn` does not copy this process's memory, however much that is, and is safe whatever
/// other threads do.
pub(crate) fn spawn_detached(file: &std::path::Path, given: &[(&OwnedFd, i32)]) -> io::Result<i32> {
    let name = std::ffi::CString::new(std::os::unix::ffi::OsStrExt::as_bytes(file.as_os_str()))?;
    let spawn = SpawnPlan::new()?;
    for stream in 0..3 {
        spawn.open(stream, c"/dev/null", libc::O_RDWR)?;
    }
    // Out of the way first: a source may sit where another descriptor is wanted.
    let moved = given
        .iter()
        .map(|(fd, number)| rustix::io::fcntl_dupfd_cloexec(fd, 100).map(|high| (high, *number)))
        .collect::<Result<Vec<(OwnedFd, i32)>, rustix::io::Errno>>()?;
    for (fd, number) in &moved {
        spawn.duplicate(std::os::fd::AsRawFd::as_raw_fd(fd), *number)?;
    }
    spawn.start(&name)
}

/// What `posix_spawn` is to do, freed when it is no longer needed.
struct SpawnPlan {
    actions: std::cell::UnsafeCell<libc::posix_spawn_file_actions_t>,
    attributes: std::cell::UnsafeCell<libc::posix_spawnattr_t>,
}

fn spawned(code: i32) -> io::Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(code))
    }
}

impl SpawnPlan {
    fn new() -> io::Result<Self> {
        // SAFETY: both are plain data, given their proper values by the init calls below.
        let plan = Self {
            actions: unsafe { std::mem::zeroed() },
            attributes: unsafe { std::mem::zeroed() },
        };
        // SAFETY: points to an object that is not yet initialised, as the call wants.
        spawned(unsafe { libc::posix_spawn_file_actions_init(plan.actions.get()) })?;
        // SAFETY: as above.
        spawned(unsafe { libc::posix_spawnattr_init(plan.attributes.get()) })?;
        let flags = libc::POSIX_SPAWN_SETSID as i16;
        // SAFETY: the attributes were initialised just now.
        spawned(unsafe { libc::posix_spawnattr_setflags(plan.attributes.get(), flags) })?;
        Ok(plan)
    }

    fn open(&self, number: i32, path: &CStr, flags: i32) -> io::Result<()> {
        // SAFETY: the actions are initialised and the path ends in a zero byte; it is copied.
        spawned(unsafe {
            libc::posix_spawn_file_actions_addopen(
                self.actions.get(),
                number,
                path.as_ptr(),
                flags,
                0,
            )
        })
    }

    fn duplicate(&self, source: i32, number: i32) -> io::Result<()> {
        // SAFETY: the actions are initialised; the rest are integers.
        spawned(unsafe {
            libc::posix_spawn_file_actions_adddup2(self.actions.get(), source, number)
        })
    }

    fn start(&self, file: &CStr) -> io::Result<i32> {
        let mut pid = 0;
        let argv = [c"agar-keeper".as_ptr().cast_mut(), std::ptr::null_mut()];
        let env = [std::ptr::null_mut()];
        // SAFETY: actions and attributes are initialised; both tables end in null and outlive the call.
        spawned(unsafe {
            libc::posix_spawn(
                &raw mut pid,
                file.as_ptr(),
                self.actions.get(),
                self.attributes.get(),
                argv.as_ptr(),
                env.as_ptr(),
            )
        })?;
        Ok(pid)
    }
}

impl Drop for SpawnPlan {
    fn drop(&mut self) {
        // SAFETY: initialised in `new` and not used after.
        unsafe { libc::posix_spawn_file_actions_destroy(self.actions.get()) };
        // SAFETY: as above.
        unsafe { libc::posix_spawnattr_destroy(self.attributes.get()) };
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
