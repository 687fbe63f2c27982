//! Handing a filter to the kernel. There is no way back.

#![expect(unsafe_code, reason = "seccomp(2) has no safe wrapper")]

use agar_core::fault::{Fault, Kind, Remedy};
use libc::{sock_filter, sock_fprog};
use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

/// The filter could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The thread could not give up new privileges, which an unprivileged filter needs.
    #[error("cannot give up new privileges before filtering system calls")]
    Privileges(#[source] io::Error),
    /// Another filter of this thread has a listener already; the kernel allows one.
    #[error("system calls are already watched from outside; a second watcher is not possible")]
    AlreadyWatched,
    /// The kernel refused the filter.
    #[error("cannot install the system call filter")]
    Refused(#[source] io::Error),
}

impl Fault for InstallError {
    fn kind(&self) -> Kind {
        match self {
            Self::AlreadyWatched => Kind::Unsupported,
            Self::Privileges(source) | Self::Refused(source) => match source.raw_os_error() {
                Some(libc::ENOSYS | libc::EINVAL) => Kind::Unsupported,
                _ => Kind::Internal,
            },
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        (self.kind() == Kind::Unsupported).then_some(Remedy::Diagnose)
    }
}

/// Puts the filter on the calling thread and on all that it starts, for good.
///
/// Other threads of the process are not touched: the handler must stay free of the filter that it
/// answers for. With `listener`, the descriptor on which the kernel asks is returned; a filter that
/// asks and has no listener makes those calls fail with `ENOSYS`.
pub fn install(program: &[sock_filter], listener: bool) -> Result<Option<OwnedFd>, InstallError> {
    rustix::thread::set_no_new_privs(true)
        .map_err(|errno| InstallError::Privileges(errno.into()))?;
    if !listener {
        set_filter(program, 0).map_err(InstallError::Refused)?;
        return Ok(None);
    }
    let listening = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // From 5.19 on, a signal that does not kill leaves a call alone once the handler has it, so
    // that a rename is not begun twice.
    let killable = listening | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let raw = match set_filter(program, killable) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set_filter(program, listening),
        other => other,
    }
    .map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => InstallError::AlreadyWatched,
        _ => InstallError::Refused(error),
    })?;
    // SAFETY: with the listener flag, seccomp(2) returns a new descriptor that nobody else owns.
    Ok(Some(unsafe { OwnedFd::from_raw_fd(raw) }))
}

/// Whether this kernel can ask a handler about calls.
pub fn listener_is_supported() -> bool {
    let action = libc::SECCOMP_RET_USER_NOTIF;
    // SAFETY: the operation reads one 32-bit integer, which outlives the call.
    let code = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            &raw const action,
        )
    };
    code == 0
}

fn set_filter(program: &[sock_filter], flags: libc::c_ulong) -> io::Result<RawFd> {
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let description = sock_fprog {
        len: length,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel copies `len` instructions from `filter`, which borrows from `program`, and
    // writes nothing.
    let code = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const description,
        )
    };
    if code < 0 {
        return Err(io::Error::last_os_error());
    }
    RawFd::try_from(code).map_err(io::Error::other)
}
