//! What a plan is put together from: the machine, what is fresh, what is the jail's own.

use super::{IdMap, Ids, LayerApi, PlanError, Root, Step};
use crate::machine::{FRESH, Machine};
use crate::policy::{Identity, Nested, OldWay, Overlay, Policy};
use crate::wire::Raw;
use std::path::Path;

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
/// What the parts of a plan are decided from.
pub(super) struct Draft<'a> {
    pub(super) policy: &'a Policy,
    pub(super) machine: &'a Machine,
}

impl Draft<'_> {
    pub(super) fn ids(&self) -> Ids {
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

    pub(super) fn capabilities(&self) -> Vec<u32> {
        if self.machine.is_root() || self.policy.identity == Identity::FakeRoot {
            ROOT_CAPABILITIES.to_vec()
        } else {
            Vec::new()
        }
    }

    pub(super) fn layers(&self) -> LayerApi {
        let old =
            self.machine.kernel < (6, 8) || self.policy.old_ways.contains(&OldWay::MountOptions);
        if old {
            LayerApi::Options
        } else {
            LayerApi::Fsconfig
        }
    }

    /// In a user namespace the kernel refuses to lay an overlay over locked mounts.
    pub(super) fn refuse_mounts_below(&self, overlays: &[Overlay]) -> Result<(), PlanError> {
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
    pub(super) fn machine_itself(&self, whole: &Overlay, steps: &mut Vec<Step>) {
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

    pub(super) fn has_no_mounts_below(&self, overlay: &Overlay) -> bool {
        let mut lowers = overlay.lowers.iter();
        lowers.all(|lower| self.machine.mounts_below(lower.as_path()).next().is_none())
    }

    /// The machine, without what can be written.
    pub(super) fn common(&self, own: &[&Overlay], root: Root, steps: &mut Vec<Step>) {
        if root == Root::ReadOnly {
            self.covers(own, steps);
        }
        self.fresh(steps);
    }

    /// What is this jail's own: copy-on-write trees, and what it hides.
    pub(super) fn own(&self, own: &[&Overlay], root: Root, steps: &mut Vec<Step>) {
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

    /// What the filesystem in memory may hold: half of the machine, or the limit if that is less.
    pub(super) fn room_in_memory(&self) -> u64 {
        let half = self.machine.memory_bytes / 2;
        self.policy
            .limits
            .memory_bytes
            .map_or(half, |limit| limit.0.min(half))
    }

    fn fresh(&self, steps: &mut Vec<Step>) {
        let fresh = |target: &str, mode| Step::Fresh {
            target: target.into(),
            mode,
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
    pub(super) fn kernel(&self, steps: &mut Vec<Step>) {
        steps.push(Step::Proc);
        steps.push(Step::EmptySys);
        steps.push(Step::Devices);
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
pub(super) fn writable(own: &[&Overlay], root: Root) -> Vec<Raw> {
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
