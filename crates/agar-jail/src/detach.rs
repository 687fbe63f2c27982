//! Starting the keeper: a process that outlives whoever started it.

use crate::wire::Raw;
use rustix::fd::OwnedFd;
use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Starts a program in a session of its own, with nothing open but these descriptors, which it
/// finds under the given numbers. Its three streams lead nowhere.
///
/// `posix_spawn` does not copy this process's memory, however much that is, and is safe whatever
/// other threads do.
pub(crate) fn spawn(file: &Path, argv: &[Raw], given: &[(&OwnedFd, i32)]) -> io::Result<i32> {
    let name = CString::new(file.as_os_str().as_bytes())?;
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
    let text = |word: &Raw| CString::new(word.as_os_str().as_bytes());
    let argv = argv.iter().map(text).collect::<Result<Vec<CString>, _>>()?;
    for _ in 0..BUSY_TRIES {
        match spawn.start(&name, &argv) {
            // The program was written just now, and a process that another thread is starting still
            // has it open for writing until its own `execve`.
            Err(error) if error.raw_os_error() == Some(libc::ETXTBSY) => wait_a_little(),
            started => return started,
        }
    }
    spawn.start(&name, &argv)
}

/// How often a program that is still being written is tried again.
const BUSY_TRIES: u32 = 200;

/// Waits a millisecond, for something of which nobody tells when it is over.
pub(crate) fn wait_a_little() {
    let moment = rustix::thread::Timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    // Woken early or not, the next try tells.
    let _ = rustix::thread::nanosleep(&moment);
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
        // SAFETY: plain data, given its proper value by the call below.
        let actions = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let attributes = unsafe { std::mem::zeroed() };
        let plan = Self {
            actions,
            attributes,
        };
        // SAFETY: points to an object that is not yet initialised, as the call wants.
        spawned(unsafe { libc::posix_spawn_file_actions_init(plan.actions.get()) })?;
        // SAFETY: as above.
        spawned(unsafe { libc::posix_spawnattr_init(plan.attributes.get()) })?;
        let flags = libc::POSIX_SPAWN_SETSID;
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

    fn start(&self, file: &CStr, argv: &[CString]) -> io::Result<i32> {
        let mut pid = 0;
        let argv: Vec<*mut libc::c_char> = argv
            .iter()
            .map(|word| word.as_ptr().cast_mut())
            .chain([std::ptr::null_mut()])
            .collect();
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
