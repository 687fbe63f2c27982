//! Limits where the kernel counts nothing for us.
//!
//! A control group is the real wall (see `cgroup`). Where there is none, the keeper combines limits
//! that each process carries with a look at all of them now and then: memory and processes in
//! [`Watch`], growth on disk in [`DiskWatch`]. Both are plain functions for a loop that waits for
//! other things too: no threads, and hardly an allocation once they are warm.

mod disk;
mod unseen;
mod watch;

use agar_core::fault::{Fault, Kind};
use agar_core::limits::{Limits, Resource};
use rustix::process::{Resource as Kernel, Rlimit, getrlimit, setrlimit};

pub use disk::DiskWatch;
pub use unseen::{Unseen, unseen};
pub use watch::{Sample, Watch};

/// More descriptors than any build needs, fewer than it takes to hurt the machine.
const DESCRIPTORS_MAX: u64 = 524_288;

/// A file may grow this far past the limit: far enough for a watch to see and name what happened.
const FILE_ROOM_BYTES: u64 = 64 << 20;

/// The init's own threads count too, and a watch sees that a limit is passed only if it can be.
const ROOM: u64 = 16;

/// Who else's processes count against the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody's: the jail has a user namespace of its own.
    Own,
    /// All of the user's, so that a limit on processes would hit the innocent.
    Shared,
}

/// A limit that every process carries could not be set.
#[derive(Debug, thiserror::Error)]
#[error("cannot limit {what} of a process")]
pub struct LimitError {
    what: &'static str,
    #[source]
    source: rustix::io::Errno,
}

impl Fault for LimitError {
    fn kind(&self) -> Kind {
        Kind::Internal
    }
}

/// Sets what the calling process and all it starts carry, and says what is really limited by it.
///
/// The size of one file is limited to little more than the limit of the whole sandbox, so that a
/// very large file, also a preallocated one, fails at once instead of being noticed later.
pub fn carry(limits: &Limits, sharing: Sharing) -> Result<Vec<Resource>, LimitError> {
    let mut limited = Vec::new();
    lower(Kernel::Core, "core dumps", 0)?;
    lower_hard(Kernel::Nofile, "descriptors", DESCRIPTORS_MAX)?;
    if let Some(bytes) = limits.disk_bytes {
        lower(
            Kernel::Fsize,
            "file sizes",
            bytes.0.saturating_add(FILE_ROOM_BYTES),
        )?;
        limited.push(Resource::Disk);
    }
    // The kernel does not count the processes of the machine's root.
    let counted = sharing == Sharing::Own && !rustix::process::getuid().is_root();
    if let Some(processes) = limits.processes.filter(|_| counted) {
        lower(Kernel::Nproc, "processes", u64::from(processes) + ROOM)?;
        limited.push(Resource::Processes);
    }
    Ok(limited)
}

/// Sets both the limit and its ceiling, never above the ceiling there is.
fn lower(resource: Kernel, what: &'static str, value: u64) -> Result<(), LimitError> {
    let ceiling = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let value = Some(value.min(ceiling));
    set(resource, what, value, value)
}

/// Lowers the ceiling, and the limit only if it lies above.
fn lower_hard(resource: Kernel, what: &'static str, value: u64) -> Result<(), LimitError> {
    let now = getrlimit(resource);
    let ceiling = now.maximum.unwrap_or(u64::MAX).min(value);
    let current = now.current.unwrap_or(u64::MAX).min(ceiling);
    set(resource, what, Some(current), Some(ceiling))
}

fn set(
    resource: Kernel,
    what: &'static str,
    current: Option<u64>,
    maximum: Option<u64>,
) -> Result<(), LimitError> {
    let limit = Rlimit { current, maximum };
    setrlimit(resource, limit).map_err(|source| LimitError { what, source })
}
