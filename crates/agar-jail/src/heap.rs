//! How the programs take memory from the system.
//!
//! Both numbers and effects are those of the GNU C library; another one is left as it is.

/// How much more is taken than is needed, when something is taken at all.
#[cfg(target_env = "gnu")]
const AHEAD_BYTES: libc::c_int = 256 << 10;

/// How much that is not used any more is kept rather than given back.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: libc::c_int = 2 << 20;

/// What is larger than this comes and goes by itself.
#[cfg(target_env = "gnu")]
const ALONE_BYTES: libc::c_int = 4 << 20;

/// Has this process take memory in larger pieces and keep it. A command lives for milliseconds; by
/// default it gives back the buffer of every directory that it reads and takes it again for the next,
/// which is a tenth of all the time that it takes.
pub fn hold_on() {
    #[cfg(target_env = "gnu")]
    for (what, bytes) in [
        (libc::M_TOP_PAD, AHEAD_BYTES),
        (libc::M_TRIM_THRESHOLD, KEPT_BYTES),
        (libc::M_MMAP_THRESHOLD, ALONE_BYTES),
    ] {
        // SAFETY: takes two numbers, and changes only what later calls of the allocator do. Where it
        // fails, memory comes and goes as before.
        let _ = unsafe { libc::mallopt(what, bytes) };
    }
}

/// Has all threads of this process take their memory from one place. Each would else have one of its
/// own, with page tables of its own: 13 KiB more for every sandbox, and nobody waits for the lock of a
/// heap that is hardly used.
pub(crate) fn share() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes two numbers, and changes only what later calls of the allocator do. Where it fails,
    // there is more than one place, as before.
    let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}
