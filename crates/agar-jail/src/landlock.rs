//! The second wall: which trees may be read and written, and who may be signalled, kept by Landlock.
//!
//! The mounts decide what is there; Landlock decides again, by path, for the thread that starts the
//! commands. A descriptor or a mount of the host that leaked in is in no allowed tree, so it stays
//! unreadable and unwritable. It is raised after the mounts, because a thread behind it cannot
//! mount. In the `landlock` tier, where there are no mounts of our own, it is the only wall.

mod siblings;

use crate::wire::Raw;
use agar_core::fault::{Fault, Kind, Remedy};
use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    PathFdError, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

pub use siblings::around;

/// What Landlock has to keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wall {
    /// What else keeps a command in.
    pub role: WallRole,
    /// Trees and files whose contents may be read and executed.
    pub readable: Vec<Raw>,
    /// Trees and files that may be read, executed and changed.
    pub writable: Vec<Raw>,
    /// Trees whose names may be listed, whatever of their contents may be read.
    pub listable: Vec<Raw>,
    /// Use no version above this one, so that a test reaches what older kernels do.
    pub version_max: Option<i32>,
}

/// What else keeps a command in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WallRole {
    /// The mounts keep it in already. Files are guarded where the kernel can (Linux 5.19), and what
    /// is missing is reported.
    Second,
    /// Nothing else does. Without files and truncation (Linux 6.2) it is refused.
    Only,
    /// User namespaces may be made inside, and nobody behind a wall of files can mount; so only
    /// signals and abstract sockets are guarded.
    Nested,
}

/// Trees that are private to each jail, so that everything in them may change.
const PRIVATE: [&str; 12] = [
    "/tmp",
    "/var/tmp",
    "/run",
    "/dev/shm",
    "/dev/pts",
    "/dev/ptmx",
    "/dev/tty",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Of those, what does no harm where it is the host's own.
const HARMLESS: [&str; 8] = [
    "/dev/pts",
    "/dev/ptmx",
    "/dev/tty",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

impl Wall {
    /// The wall of a jail with mounts of its own: everything can be read, and only these trees and
    /// the jail's private ones written. `/proc` is not among them, so `/proc/sys` is closed twice;
    /// except when the whole of `/` is writable, as it is for root, where the read-only mount over
    /// it stands alone (see [`sysctl_is_closed`]).
    pub fn second<'a>(writable: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut writable: Vec<Raw> = writable.into_iter().map(Raw::from).collect();
        // A rule holds for everything below, whatever is mounted there; each takes five calls.
        if !writable.contains(&Path::new("/").into()) {
            writable.extend(PRIVATE.map(Raw::from));
        }
        Self {
            role: WallRole::Second,
            readable: vec![Path::new("/").into()],
            writable,
            listable: Vec::new(),
            version_max: None,
        }
    }

    /// The wall of a jail that has no other: `readable` is what [`around`] left of the machine, and
    /// only the copy and its private directory for temporary files can be written. Names of files
    /// can be listed everywhere; modes, owners, times and extended attributes of files that the
    /// user owns can still be changed, because Landlock does not know of them.
    pub fn only<'a>(
        readable: impl IntoIterator<Item = PathBuf>,
        writable: impl IntoIterator<Item = &'a Path>,
    ) -> Self {
        let harmless = HARMLESS.into_iter().map(Path::new);
        Self {
            role: WallRole::Only,
            readable: readable.into_iter().map(Raw::from).collect(),
            writable: writable
                .into_iter()
                .chain(harmless)
                .map(Raw::from)
                .collect(),
            listable: vec![Path::new("/").into()],
            version_max: None,
        }
    }

    /// The wall of a jail in which user namespaces may be made.
    pub fn nested() -> Self {
        Self {
            role: WallRole::Nested,
            readable: Vec::new(),
            writable: Vec::new(),
            listable: Vec::new(),
            version_max: None,
        }
    }
}

/// Something that Landlock keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// Files are read and written only where allowed.
    Files,
    /// `truncate(2)` counts as writing.
    Truncation,
    /// Devices take commands only where they may be written.
    Devices,
    /// Abstract Unix sockets of processes outside cannot be reached.
    AbstractSockets,
    /// Processes outside cannot be signalled.
    Signals,
}

impl Guard {
    /// Every guard, with the version of Landlock that brought it to us.
    pub const ALL: [(Self, i32); 5] = [
        (Self::Files, 2),
        (Self::Truncation, 3),
        (Self::Devices, 5),
        (Self::AbstractSockets, 6),
        (Self::Signals, 6),
    ];
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "files",
            Self::Truncation => "truncation",
            Self::Devices => "device commands",
            Self::AbstractSockets => "abstract sockets",
            Self::Signals => "signals",
        })
    }
}

/// What is really kept, now that the wall stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Raised {
    /// The version of Landlock that was used; zero means none.
    pub version: i32,
    /// What is guarded.
    pub guards: Vec<Guard>,
}

impl Raised {
    /// What Landlock could keep on a newer kernel, and does not keep here.
    pub fn missing(&self) -> impl Iterator<Item = Guard> {
        Guard::ALL
            .into_iter()
            .map(|(guard, _)| guard)
            .filter(|guard| !self.guards.contains(guard))
    }
}

/// The wall could not be raised as promised.
#[derive(Debug, thiserror::Error)]
pub enum LandlockError {
    /// The kernel's Landlock cannot keep what this wall alone must keep.
    #[error("this kernel has Landlock version {found}, and version {needed} is needed")]
    TooOld {
        /// What the kernel has; zero means none.
        found: i32,
        /// What is needed.
        needed: i32,
    },
    /// A tree that is to be allowed cannot be opened.
    #[error("cannot allow `{}`", path.display())]
    Tree {
        /// The tree.
        path: PathBuf,
        /// Why.
        #[source]
        source: PathFdError,
    },
    /// The kernel refused the rules.
    #[error("cannot raise the Landlock wall")]
    Refused(#[source] Box<RulesetError>),
    /// The rules are in force only in part.
    #[error("the Landlock wall stands only in part")]
    Partial,
}

impl Fault for LandlockError {
    fn kind(&self) -> Kind {
        match self {
            Self::TooOld { .. } => Kind::Unsupported,
            Self::Tree { .. } | Self::Refused(_) | Self::Partial => Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        matches!(self, Self::TooOld { .. }).then_some(Remedy::Diagnose)
    }
}

impl From<RulesetError> for LandlockError {
    fn from(error: RulesetError) -> Self {
        Self::Refused(Box::new(error))
    }
}

/// The version of Landlock that this kernel offers; zero means none.
#[expect(unsafe_code, reason = "the crate keeps this question to itself")]
pub fn version() -> i32 {
    // SAFETY: with a null pointer, size zero and this flag the call reads no memory and only
    // answers with the version.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0,
            1,
        )
    };
    i32::try_from(answer).map_or(0, |version| version.max(0))
}

/// Raises the wall around the calling thread and all that it starts, for good.
pub fn raise(wall: &Wall) -> Result<Raised, LandlockError> {
    let ceiling = wall.version_max.unwrap_or(i32::MAX);
    let version = version().min(ceiling);
    let (files, needed) = match wall.role {
        WallRole::Second => (version >= 2, 0),
        WallRole::Only => (true, 3),
        WallRole::Nested => (false, 0),
    };
    if version < needed {
        return Err(LandlockError::TooOld {
            found: version,
            needed,
        });
    }
    let scopes = version >= 6;
    if !files && !scopes {
        return Ok(Raised {
            version,
            guards: Vec::new(),
        });
    }
    let abi = ABI::from(version);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    if files {
        ruleset = ruleset.handle_access(AccessFs::from_all(abi))?;
    }
    if scopes {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    let mut created = ruleset.create()?;
    if files {
        created = allow_trees(created, wall, abi)?;
    }
    let status = created.restrict_self()?;
    if status.ruleset != RulesetStatus::FullyEnforced {
        return Err(LandlockError::Partial);
    }
    let kept = |guard: Guard, since: i32| match guard {
        Guard::Files | Guard::Truncation | Guard::Devices => files && version >= since,
        Guard::AbstractSockets | Guard::Signals => version >= since,
    };
    let guards = Guard::ALL
        .into_iter()
        .filter(|(guard, since)| kept(*guard, *since))
        .map(|(guard, _)| guard)
        .collect();
    Ok(Raised { version, guards })
}

fn allow_trees(
    mut created: RulesetCreated,
    wall: &Wall,
    abi: ABI,
) -> Result<RulesetCreated, LandlockError> {
    let read = AccessFs::from_read(abi);
    // A device node made inside would be a door to the device.
    let write = AccessFs::from_all(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for (trees, access) in [
        (&wall.readable, read),
        (&wall.writable, write),
        (&wall.listable, AccessFs::ReadDir.into()),
    ] {
        for tree in trees {
            created = allow(created, tree.as_path(), access, abi)?;
        }
    }
    Ok(created)
}

/// Adds one tree. What is not there needs no rule: nothing becomes reachable by leaving it out.
fn allow(
    created: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    abi: ABI,
) -> Result<RulesetCreated, LandlockError> {
    let Ok(metadata) = path.metadata() else {
        return Ok(created);
    };
    let access = if metadata.is_dir() {
        access
    } else {
        access & AccessFs::from_file(abi)
    };
    if access.is_empty() {
        return Ok(created);
    }
    let tree = PathFd::new(path).map_err(|source| LandlockError::Tree {
        path: path.to_owned(),
        source,
    })?;
    Ok(created.add_rule(PathBeneath::new(tree, access))?)
}

/// Whether the kernel's settings cannot be written from here.
///
/// For root without capabilities this is decided by the mount alone, and one of the settings names
/// a program that the host's kernel runs. So it is tried, and a jail whose answer is `false` must
/// not run anything.
pub fn sysctl_is_closed() -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let setting = "/proc/sys/kernel/core_pattern";
    accessat(CWD, setting, Access::WRITE_OK, AtFlags::EACCESS).is_err()
}
