//! Control groups: the kernel counts and limits everything in a sandbox together.
//!
//! There are four worlds, and each is found by looking and then by trying: version 2 delegated to
//! the user by systemd, version 2 as root, version 1 (alone, or beside a version 2 that only
//! freezes), and none. A group never fails for want of a limit: it says which of the
//! limits it was given are really kept and which are not, and the keeper watches over the rest.

mod group;
mod hierarchy;
mod text;

use agar_core::fault::{Fault, Kind, Remedy};
use agar_core::limits::Limits;
use hierarchy::{Hierarchy, Membership};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use group::enter;
pub use group::{Group, Refusals, remove_recorded};

/// The directory that holds the groups of all sandboxes, in each hierarchy.
const HOME: &str = "agar";

/// Which world this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Version 2, in a part of the tree that the user was given.
    Delegated,
    /// Version 2, as root.
    Unified,
    /// Limits in version 1; freezing in version 2.
    Hybrid,
    /// Version 1 alone.
    Legacy,
    /// No group can be made here.
    None,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delegated => "v2, delegated",
            Self::Unified => "v2",
            Self::Hybrid => "hybrid: limits v1, freeze v2",
            Self::Legacy => "v1",
            Self::None => "none",
        })
    }
}

/// Something that a hierarchy can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Controller {
    Memory,
    Cpu,
    Pids,
    /// Freezing and killing: version 2 without any controller, or the freezer of version 1.
    Core,
}

impl Controller {
    const ALL: [Self; 4] = [Self::Memory, Self::Cpu, Self::Pids, Self::Core];

    /// Whether a group with these limits has any use for it.
    const fn serves(self, limits: &Limits) -> bool {
        match self {
            Self::Memory => limits.memory_bytes.is_some(),
            Self::Cpu => limits.cpu_percent.is_some(),
            Self::Pids => limits.processes.is_some(),
            Self::Core => true,
        }
    }

    /// What version 1 calls it.
    const fn legacy_name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
            Self::Core => "freezer",
        }
    }
}

/// The groups of this machine, as far as this user may make any.
#[derive(Debug, Clone)]
pub struct Cgroups {
    mode: Mode,
    places: Vec<(Controller, Hierarchy)>,
}

/// A group could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// This machine has no place for one.
    #[error("no control group can be made here")]
    NoPlace,
    /// A step failed.
    #[error("cannot {step} `{}`", path.display())]
    Step {
        /// What was tried.
        step: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Errno,
    },
}

impl Fault for GroupError {
    fn kind(&self) -> Kind {
        match self {
            Self::NoPlace => Kind::Unsupported,
            Self::Step { .. } => Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        matches!(self, Self::NoPlace).then_some(Remedy::Diagnose)
    }
}

fn step(step: &'static str, path: &Path) -> impl FnOnce(Errno) -> GroupError {
    let path = path.to_owned();
    move |source| GroupError::Step { step, path, source }
}

impl Cgroups {
    /// Looks where groups could be made. `root` is `/`, except in tests.
    pub fn detect(root: &Path) -> io::Result<Self> {
        let mounts = text::read(&root.join("proc/self/mountinfo"))?;
        let member = Membership::parse(&text::read(&root.join("proc/self/cgroup"))?);
        let root_user = rustix::process::geteuid().is_root();
        let found = hierarchy::find(root, &mounts, &member, root_user);
        let mut places: Vec<(Controller, Hierarchy)> = Vec::new();
        // A process enters groups of version 1 in microseconds, and one of version 2 after
        // milliseconds. So where version 2 limits nothing it does only what it does better: those
        // that it froze can be killed.
        let by_two = found.iter().any(Hierarchy::limits_in_two);
        for controller in Controller::ALL {
            let two_wins = by_two || controller == Controller::Core;
            let offer = found
                .iter()
                .filter(|hierarchy| hierarchy.offers(controller))
                .max_by_key(|hierarchy| hierarchy.is_unified() == two_wins);
            if let Some(hierarchy) = offer {
                places.push((controller, hierarchy.clone()));
            }
        }
        Ok(Self {
            mode: mode(&places, root_user),
            places,
        })
    }

    /// A machine without any, for tests and for a setting that forbids them.
    pub const fn none() -> Self {
        Self {
            mode: Mode::None,
            places: Vec::new(),
        }
    }

    /// Which world this is, as far as looking tells.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Makes a group with these limits, and says in it which of them hold. The name is one path
    /// component that no other living sandbox has.
    pub fn create(&self, name: &str, limits: &Limits) -> Result<Group, GroupError> {
        if self.mode == Mode::None {
            return Err(GroupError::NoPlace);
        }
        Group::create(&self.places, name, limits)
    }

    /// Where the parts of a group of this name would be, made or not.
    pub fn directories(&self, name: &str) -> Vec<PathBuf> {
        let homes = self.homes().into_iter();
        homes.map(|home| home.join(name)).collect()
    }

    /// Ends and removes the groups whose name starts with `prefix` and whose sandbox is not alive,
    /// and the directory around them once it is empty. Gives the names that were removed.
    pub fn sweep(&self, prefix: &str, is_alive: impl Fn(&str) -> bool) -> Vec<String> {
        let mut removed: Vec<String> = Vec::new();
        for home in self.homes() {
            let dead = text::entries(&home)
                .into_iter()
                .filter(|name| name.starts_with(prefix) && !is_alive(name))
                .filter(|name| remove_recorded(&[home.join(name)]).is_empty());
            removed.extend(dead);
            // Not empty while other sandboxes live.
            let _ = rustix::fs::rmdir(&home);
        }
        removed.sort();
        removed.dedup();
        removed
    }

    fn homes(&self) -> Vec<PathBuf> {
        let mut homes: Vec<PathBuf> = self
            .places
            .iter()
            .map(|(_, hierarchy)| hierarchy.home())
            .collect();
        homes.sort();
        homes.dedup();
        homes
    }
}

fn mode(places: &[(Controller, Hierarchy)], root_user: bool) -> Mode {
    let unified = |wanted: Controller| {
        places
            .iter()
            .find(|(controller, _)| *controller == wanted)
            .map(|(_, hierarchy)| hierarchy.is_unified())
    };
    let limits = [Controller::Memory, Controller::Pids, Controller::Cpu].map(unified);
    match (limits.iter().flatten().next(), unified(Controller::Core)) {
        (None, _) => Mode::None,
        (Some(true), _) if root_user => Mode::Unified,
        (Some(true), _) => Mode::Delegated,
        (Some(false), Some(true)) => Mode::Hybrid,
        (Some(false), Some(false) | None) => Mode::Legacy,
    }
}

#[cfg(test)]
mod tests;
