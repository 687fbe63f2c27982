//! A jail as plain data: what will be mounted, dropped and filtered, in which order.
//!
//! A plan is made by a pure function from what is wanted ([`Policy`]) and what is there
//! ([`Machine`]). It can be printed, compared and tested without a kernel; raising it is then a
//! walk down the list that decides nothing.

use crate::machine::{FRESH, Machine};
use crate::policy::{Identity, Monitor, Nested, OldWay, Overlay, Policy};
use crate::seccomp::{FilterOptions, Sockets};
use crate::wire::Raw;
use agar_core::fault::{Fault, Kind};
use agar_core::walls::{Network, Tier};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

mod show;
#[cfg(test)]
mod tests;
mod weaker;

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
    /// A fresh filesystem in memory.
    Fresh {
        /// Where.
        target: Raw,
        /// Permission bits of its root.
        mode: u32,
        /// The most it may hold.
        size_bytes: u64,
    },
    /// A fresh `/proc`.
    Proc,
    /// A fresh, minimal `/dev`.
    Devices {
        /// The most that `/dev/shm` may hold.
        shared_memory_bytes: u64,
    },
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

/// Linux numbers of the capabilities that root keeps inside: to own, to read and to become other
/// users of its own namespace, which package managers need, and nothing that reaches the kernel.
const ROOT_CAPABILITIES: [u32; 11] = [
    0,  // chown
    1,  // dac_override
    2,  // dac_read_search
    3,  // fowner
    4,  // fsetid
    5,  // kill
    6,  // setgid
    7,  // setuid
    8,  // setpcap
    10, // net_bind_service
    31, // setfcap
];

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

/// What the parts of a plan are decided from.
struct Draft<'a> {
    policy: &'a Policy,
    machine: &'a Machine,
}

impl Draft<'_> {
    fn ids(&self) -> Ids {
        let map = match (self.machine.is_root(), self.policy.identity) {
            (true, _) => IdMap::Everyone,
            (false, Identity::Caller) => IdMap::Same,
            (false, Identity::FakeRoot) => IdMap::Root,
        };
        Ids {
            uid: self.machine.uid,
            gid: self.machine.gid,
            map,
        }
    }

    fn capabilities(&self) -> Vec<u32> {
        if self.machine.is_root() || self.policy.identity == Identity::FakeRoot {
            ROOT_CAPABILITIES.to_vec()
        } else {
            Vec::new()
        }
    }

    fn layers(&self) -> LayerApi {
        let old =
            self.machine.kernel < (6, 8) || self.policy.old_ways.contains(&OldWay::MountOptions);
        if old {
            LayerApi::Options
        } else {
            LayerApi::Fsconfig
        }
    }

    /// In a user namespace the kernel refuses to lay an overlay over locked mounts.
    fn refuse_mounts_below(&self, overlays: &[Overlay]) -> Result<(), PlanError> {
        if self.machine.is_root() {
            return Ok(());
        }
        for lower in overlays.iter().flat_map(|overlay| &overlay.lowers) {
            if let Some(mount) = self.machine.mounts_below(lower.as_path()).next() {
                let mount = mount.target.clone();
                return Err(PlanError::MountBelow {
                    target: lower.clone(),
                    mount,
                });
            }
        }
        Ok(())
    }

    /// As root: the machine itself copy-on-write, other filesystems read-only beside it.
    fn machine_itself(&self, whole: &Overlay, steps: &mut Vec<Step>) {
        steps.push(self.overlay(whole));
        let mut seen = Vec::new();
        for mount in &self.machine.mounts {
            let shown = mount.holds_files() && mount.target.as_path() != Path::new("/");
            if shown && !is_fresh(&mount.target) && !seen.contains(&&mount.target) {
                seen.push(&mount.target);
                steps.push(Step::Tree {
                    target: mount.target.clone(),
                });
            }
        }
    }

    fn has_no_mounts_below(&self, overlay: &Overlay) -> bool {
        let mut lowers = overlay.lowers.iter();
        lowers.all(|lower| self.machine.mounts_below(lower.as_path()).next().is_none())
    }

    /// The machine, without what can be written.
    fn common(&self, own: &[&Overlay], root: Root, steps: &mut Vec<Step>) {
        if root == Root::ReadOnly {
            self.covers(own, steps);
        }
        self.fresh(steps);
    }

    /// What is this jail's own: copy-on-write trees, and what it hides.
    fn own(&self, own: &[&Overlay], root: Root, steps: &mut Vec<Step>) {
        for overlay in own {
            if is_fresh(&overlay.target) && !own.iter().any(|other| is_inside(overlay, other)) {
                steps.push(Step::Directory {
                    target: overlay.target.clone(),
                });
            }
            steps.push(self.overlay(overlay));
        }
        steps.extend(
            self.unlayered_masks(own, root)
                .map(|target| Step::Hide { target }),
        );
    }

    fn covers(&self, own: &[&Overlay], steps: &mut Vec<Step>) {
        let covers = self.machine.covers.iter();
        let covers = covers.filter(|cover| !own.iter().any(|overlay| overlay.target == **cover));
        steps.extend(covers.map(|cover| Step::Overlay {
            target: cover.clone(),
            upper: None,
            lowers: vec![cover.clone()],
            masks: self.masks_of(cover),
        }));
        steps.extend(
            self.machine
                .loose
                .iter()
                .cloned()
                .map(|target| Step::Hide { target }),
        );
    }

    /// What a filesystem in memory may hold: half of the machine, or the limit if that is less.
    fn room_in_memory(&self) -> u64 {
        let half = self.machine.memory_bytes / 2;
        self.policy
            .limits
            .memory_bytes
            .map_or(half, |limit| limit.0.min(half))
    }

    fn fresh(&self, steps: &mut Vec<Step>) {
        let half = self.room_in_memory();
        let fresh = |target: &str, mode| Step::Fresh {
            target: target.into(),
            mode,
            size_bytes: half,
        };
        steps.push(fresh("/tmp", 0o1777));
        steps.push(fresh("/run", 0o755));
        steps.push(fresh("/var/tmp", 0o1777));
        if let (true, Some(resolver)) = (self.policy.network.is_open(), &self.machine.resolver) {
            steps.push(Step::CopyFile {
                target: resolver.clone(),
            });
        }
    }

    /// Everything through which the kernel itself shows.
    fn kernel(&self, steps: &mut Vec<Step>) {
        steps.push(Step::Proc);
        steps.push(Step::EmptySys);
        steps.push(Step::Devices {
            shared_memory_bytes: self.room_in_memory(),
        });
        if self.policy.nested == Nested::Refused {
            steps.push(Step::ForbidNamespaces);
        }
        self.guard_proc(steps);
    }

    /// The kernel lets the machine's root write many of its knobs whatever namespace it is in.
    fn guard_proc(&self, steps: &mut Vec<Step>) {
        steps.push(Step::ReadOnly {
            target: "/proc/sys".into(),
        });
        if self.machine.is_root() {
            let guarded = ["/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];
            steps.extend(guarded.map(|path| Step::ReadOnly {
                target: path.into(),
            }));
            let hidden = [
                "/proc/kcore",
                "/proc/keys",
                "/proc/timer_list",
                "/proc/acpi",
                "/proc/scsi",
            ];
            steps.extend(hidden.map(|path| Step::Hide {
                target: path.into(),
            }));
        }
    }

    fn overlay(&self, overlay: &Overlay) -> Step {
        Step::Overlay {
            target: overlay.target.clone(),
            upper: Some((overlay.upper.clone(), overlay.work.clone())),
            lowers: overlay.lowers.clone(),
            masks: self.masks_of(&overlay.target),
        }
    }

    /// The masks whose nearest overlay this is, relative to it.
    fn masks_of(&self, target: &Raw) -> Vec<Raw> {
        let masks = self
            .policy
            .masks
            .iter()
            .filter(|mask| self.nearest(mask) == Some(target));
        let relative = masks.filter_map(|mask| mask.as_path().strip_prefix(target.as_path()).ok());
        relative.map(|path| path.to_path_buf().into()).collect()
    }

    /// The deepest overlay or cover that a path lies strictly below.
    fn nearest(&self, path: &Raw) -> Option<&Raw> {
        let overlays = self.policy.overlays.iter().map(|overlay| &overlay.target);
        let whole = self
            .policy
            .overlays
            .iter()
            .any(|o| o.target.as_path() == Path::new("/"));
        let covers = self.machine.covers.iter().filter(|_| !whole);
        overlays
            .chain(covers)
            .filter(|target| {
                path.as_path() != target.as_path() && path.as_path().starts_with(target.as_path())
            })
            .max_by_key(|target| target.as_path().components().count())
    }

    fn unlayered_masks<'b>(
        &'b self,
        own: &'b [&Overlay],
        root: Root,
    ) -> impl Iterator<Item = Raw> + 'b {
        let masks = self.policy.masks.iter();
        masks
            .filter(move |mask| {
                root == Root::ReadOnly
                    && self.nearest(mask).is_none()
                    && !is_fresh(mask)
                    && !own.iter().any(|overlay| overlay.target == **mask)
            })
            .cloned()
    }
}

/// The trees that commands may write.
fn writable(own: &[&Overlay], root: Root) -> Vec<Raw> {
    if root == Root::Staged {
        return vec!["/".into()];
    }
    let own = own.iter().map(|overlay| overlay.target.clone());
    // Threads are named by writing to `/proc`; its knobs are read-only.
    own.chain(["/proc".into()]).collect()
}

/// Whether a path lies in a tree that is fresh inside.
fn is_fresh(path: &Raw) -> bool {
    FRESH.iter().any(|fresh| path.as_path().starts_with(fresh))
}

fn is_inside(overlay: &Overlay, other: &Overlay) -> bool {
    overlay.target != other.target && overlay.target.as_path().starts_with(other.target.as_path())
}

impl Plan {
    /// Whether a jail that was begun with another plan can be finished with this one.
    pub(crate) fn continues(&self, begun: &Self) -> bool {
        self.root == begun.root
            && self.ids == begun.ids
            && self.layers == begun.layers
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

    /// Where a path of the new tree is while it is being put together.
    pub fn staged(&self, target: &Raw) -> PathBuf {
        let relative = target
            .as_path()
            .strip_prefix("/")
            .unwrap_or(target.as_path());
        self.policy.staging.as_path().join(relative)
    }
}
