//! A jail as plain data: what will be mounted, dropped and filtered, in which order.
//!
//! A plan is made by a pure function from what is wanted ([`Policy`]) and what is there
//! ([`Machine`]). It can be printed, compared and tested without a kernel; raising it is then a
//! walk down the list that decides nothing.

use crate::machine::Machine;
use crate::policy::{Identity, Monitor, Nested, Overlay, Policy};
use crate::seccomp::{FilterOptions, Sockets};
use crate::wire::Raw;
use agar_core::fault::{Fault, Kind};
use agar_core::walls::{Network, Tier};
use serde::{Deserialize, Serialize};
use std::path::Path;

mod draft;
mod show;
#[cfg(test)]
mod tests;
mod weaker;

use draft::{Draft, writable};

/// A complete description of a jail.
///
/// # Invariants
///
/// - Steps apply in order: a child is mounted after its parent, so it overrides it.
/// - Nothing of the host can be written through any step: a tree is read-only, copy-on-write or
///   fresh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What it was made from.
    pub policy: Policy,
    /// Who the commands are, inside and outside.
    pub ids: Ids,
    /// Raised by the caller before the user namespace exists; empty for an ordinary user.
    pub before: Vec<Step>,
    /// What the new root is.
    pub root: Root,
    /// Raised inside, in order.
    pub steps: Vec<Step>,
    /// The most that all that is fresh and in memory may hold together.
    pub room_bytes: u64,
    /// How layers are handed to the kernel.
    pub layers: LayerApi,
    /// Trees that commands may write, for Landlock.
    pub writable: Vec<Raw>,
    /// The command line of bubblewrap, up to the program that it is to start; empty without it.
    pub helper: Vec<Raw>,
    /// Capabilities that commands hold within their own user namespace, by number.
    pub capabilities: Vec<u32>,
}

/// Who the commands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ids {
    /// The user outside.
    pub uid: u32,
    /// The group outside.
    pub gid: u32,
    /// Which ids exist inside.
    pub map: IdMap,
}

/// Which ids exist inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdMap {
    /// The caller's own, under their own numbers.
    Same,
    /// The caller's own, called root.
    Root,
    /// All of them, under their own numbers.
    Everyone,
}

/// What the new root is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Root {
    /// A read-only clone of the machine's mounts.
    ReadOnly,
    /// What the steps before the user namespace put together.
    Staged,
    /// What bubblewrap puts together.
    Helper,
    /// The host's own: this tier has no mounts.
    Host,
}

/// How layers are handed to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerApi {
    /// One by one, through `fsconfig(2)`: Linux 6.8 and later.
    Fsconfig,
    /// As one option string, through `mount(2)`.
    Options,
}

/// One thing that is done to the new tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
pub enum Step {
    /// Layers, the upper one writable if there is one.
    Overlay {
        /// Where it is mounted.
        target: Raw,
        /// Upper layer and work directory.
        upper: Option<(Raw, Raw)>,
        /// Lower layers, topmost first, without the mask.
        lowers: Vec<Raw>,
        /// Paths relative to the target that a layer of whiteouts hides.
        masks: Vec<Raw>,
    },
    /// A read-only clone of a tree of the host.
    Tree {
        /// Where it lies, outside and inside.
        target: Raw,
    },
    /// An empty directory in a fresh tree, to mount something on.
    Directory {
        /// Which one.
        target: Raw,
    },
    /// An empty directory in memory.
    Fresh {
        /// Where.
        target: Raw,
        /// Its permission bits.
        mode: u32,
    },
    /// A fresh `/proc`.
    Proc,
    /// A fresh, minimal `/dev`.
    Devices,
    /// An empty, read-only `/sys`.
    EmptySys,
    /// No user namespace can be made inside.
    ForbidNamespaces,
    /// A path that becomes read-only where it is.
    ReadOnly {
        /// Which one.
        target: Raw,
    },
    /// A path that becomes empty.
    Hide {
        /// Which one.
        target: Raw,
    },
    /// A file of the host copied into a fresh tree.
    CopyFile {
        /// Which one.
        target: Raw,
    },
}

/// The policy cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The network mode is not there yet.
    #[error("an allow-list of network names is not available yet")]
    NoAllowList,
    /// An overlay cannot be laid over a directory that has mounts below it.
    #[error("cannot make {target} copy-on-write: {mount} is mounted below it")]
    MountBelow {
        /// The directory.
        target: Raw,
        /// What is mounted below it.
        mount: Raw,
    },
    /// The kernel is older than any that works.
    #[error("Linux {0}.{1} is older than 5.15, the oldest that works")]
    OldKernel(u32, u32),
}

impl Fault for PlanError {
    fn kind(&self) -> Kind {
        Kind::Unsupported
    }
}

/// Decides the jail.
pub fn plan(policy: &Policy, machine: &Machine) -> Result<Plan, PlanError> {
    if machine.kernel < (5, 15) {
        return Err(PlanError::OldKernel(machine.kernel.0, machine.kernel.1));
    }
    if matches!(policy.network, Network::Allow { .. }) {
        return Err(PlanError::NoAllowList);
    }
    let draft = Draft { policy, machine };
    match policy.tier {
        Tier::Full => {}
        Tier::Helper | Tier::Landlock | Tier::None => return Ok(draft.without_layers()),
    }
    let mut overlays = policy.overlays.clone();
    overlays.sort_by_key(|overlay| overlay.target.as_path().components().count());
    draft.refuse_mounts_below(&overlays)?;
    let (whole, own): (Vec<&Overlay>, Vec<&Overlay>) = overlays
        .iter()
        .partition(|overlay| overlay.target.as_path() == Path::new("/"));
    let root = if whole.is_empty() {
        Root::ReadOnly
    } else {
        Root::Staged
    };
    let (mut before, mut steps) = (Vec::new(), Vec::new());
    let early = if root == Root::Staged {
        &mut before
    } else {
        &mut steps
    };
    for whole in whole {
        draft.machine_itself(whole, early);
    }
    // What all jails of a machine have in common comes first: it can be raised before the rest is
    // known.
    draft.common(&own, root, early);
    // Inside, they can be laid anew; what has mounts below it can only be laid by the machine's root.
    let plain = own.iter().all(|overlay| draft.has_no_mounts_below(overlay));
    if root == Root::ReadOnly {
        draft.kernel(&mut steps);
        draft.own(&own, root, &mut steps);
    } else {
        let place = if plain { &mut steps } else { &mut before };
        draft.own(&own, root, place);
        draft.kernel(&mut steps);
    }
    Ok(Plan {
        policy: policy.clone(),
        ids: draft.ids(),
        steps,
        before,
        root,
        room_bytes: draft.room_in_memory(),
        layers: draft.layers(),
        writable: writable(&own, root),
        helper: Vec::new(),
        capabilities: draft.capabilities(),
    })
}

/// The part that most plans of an ordinary user begin with, as a plan: nothing of it depends on the
/// project or on what is wanted of the jail.
pub(crate) fn ahead(machine: &Machine, staging: &Path) -> Result<Plan, PlanError> {
    let policy = Policy {
        tier: Tier::Full,
        network: Network::None,
        identity: Identity::Caller,
        nested: Nested::Refused,
        monitor: Monitor::Off,
        overlays: Vec::new(),
        copies: Vec::new(),
        masks: Vec::new(),
        home: "/".into(),
        layer_homes: Vec::new(),
        staging: staging.into(),
        limits: agar_core::limits::Limits::person(),
        old_ways: Vec::new(),
    };
    plan(&policy, machine)
}

impl Plan {
    /// Whether a jail that was begun with another plan can be finished with this one.
    pub(crate) fn continues(&self, begun: &Self) -> bool {
        self.root == begun.root
            && self.ids == begun.ids
            && self.layers == begun.layers
            && self.room_bytes == begun.room_bytes
            && self.policy.staging == begun.policy.staging
            && self.before.is_empty()
            && self.steps.starts_with(&begun.steps)
    }

    /// The filter that commands wear.
    pub fn filter(&self) -> FilterOptions {
        FilterOptions {
            nested: self.policy.nested == Nested::Allowed,
            monitor: self.policy.monitor,
            rename_shim: self.policy.tier == Tier::Full,
            record_denied: self.policy.monitor != Monitor::Off,
            sockets: match (self.root, &self.policy.network) {
                (Root::Host, Network::None) => Sockets::UnixOnly,
                (Root::Host | Root::Helper | Root::ReadOnly | Root::Staged, _) => Sockets::Internet,
            },
            ..FilterOptions::default()
        }
    }
}
