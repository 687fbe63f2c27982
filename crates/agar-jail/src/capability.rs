//! Giving up capabilities, for good.
//!
//! What a command inside inherits is nothing: no permitted, inheritable, ambient or bounding
//! capability. The init keeps the few it needs to remount layers, in its own user namespace.
//! Capabilities belong to a thread; each function acts on the one that calls it.

use agar_core::fault::{Fault, Kind};
use rustix::thread::{CapabilitySet, CapabilitySets};

/// A set of capabilities, by their kernel names.
pub use rustix::thread::CapabilitySet as Set;

/// A step of giving up capabilities failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step}")]
pub struct CapabilityError {
    step: &'static str,
    #[source]
    source: rustix::io::Errno,
}

impl Fault for CapabilityError {
    fn kind(&self) -> Kind {
        Kind::Internal
    }
}

fn step(step: &'static str) -> impl FnOnce(rustix::io::Errno) -> CapabilityError {
    move |source| CapabilityError { step, source }
}

/// Gives up every capability of this thread. The bounding set is not touched: it takes a capability
/// to change it, so [`clear_bounding`] comes first.
pub fn drop_all() -> Result<(), CapabilityError> {
    keep_only(Set::empty())
}

/// Gives up every capability but these. Nothing is inheritable or ambient afterwards, so that no
/// program started later gets any of them.
pub fn keep_only(keep: Set) -> Result<(), CapabilityError> {
    rustix::thread::clear_ambient_capability_set().map_err(step("clear ambient capabilities"))?;
    let sets = CapabilitySets {
        effective: keep,
        permitted: keep,
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, sets).map_err(step("give up capabilities"))
}

/// Empties the bounding set, so that no program started from here on can gain a capability by a
/// file attribute or by running as root. Needs `CAP_SETPCAP` in the user namespace.
pub fn clear_bounding() -> Result<(), CapabilityError> {
    keep_in_bounding(Set::empty())
}

/// Takes everything but these out of the bounding set. Needs `CAP_SETPCAP` in the user namespace.
pub fn keep_in_bounding(keep: Set) -> Result<(), CapabilityError> {
    for capability in (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit)) {
        if keep.contains(capability) {
            continue;
        }
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // Past the last capability that this kernel knows.
            Err(rustix::io::Errno::INVAL) => break,
            Err(errno) => return Err(step("narrow the bounding set")(errno)),
        }
    }
    Ok(())
}

/// What this thread could do now.
pub fn permitted() -> Result<Set, CapabilityError> {
    rustix::thread::capabilities(None)
        .map(|sets| sets.permitted)
        .map_err(step("read capabilities"))
}
