//! Where agar keeps its state for a project.
//!
//! Layers must lie on the project's own filesystem: renames and reflinks stop at its border, and an
//! overlay keeps inode numbers only within one. So the state is not always below the home.

mod reserve;
mod spread;

use super::{Project, Surroundings};
use agar_core::fault::{Fault, Kind, Remedy};
use agar_core::id::{ProjectId, SandboxId};
use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, StatxFlags};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The file that says a directory is agar's. Deleting anything asks for it first.
const MARKER: &str = ".agar-state";
const MARKER_TEXT: &[u8] =
    b"This directory belongs to agar. Remove it with `agar prune`, never by hand while agar runs.\n";

/// A directory that agar owns, checked and marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    path: PathBuf,
}

/// No place for agar's state.
#[derive(Debug, thiserror::Error)]
pub enum NoState {
    /// Nothing suitable on the project's filesystem.
    #[error("found no place for agar's state on the filesystem of {}", project.display())]
    NoPlace {
        /// The project.
        project: PathBuf,
        /// The directory that a person could make.
        wanted: PathBuf,
        /// The user it must belong to.
        uid: u32,
    },
    /// The directory exists and is not agar's, or not the user's.
    #[error("cannot use {} for agar's state: {reason}", path.display())]
    NotOurs {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The disk said no.
    #[error("cannot prepare agar's state in {}", path.display())]
    Disk {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Fault for NoState {
    fn kind(&self) -> Kind {
        match self {
            Self::NoPlace { .. } => Kind::Unsupported,
            Self::NotOurs { .. } => Kind::Refused,
            Self::Disk { .. } => Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::NoPlace { wanted, uid, .. } => Some(Remedy::Command {
                line: format!("sudo install -d -m 700 -o {uid} '{}'", wanted.display()),
            }),
            Self::NotOurs { path, .. } => Some(Remedy::Command {
                line: format!("ls -ld '{}'", path.display()),
            }),
            Self::Disk { .. } => None,
        }
    }
}

/// Filesystems that cannot hold the upper layer of an overlay.
const UNFIT: [&str; 14] = [
    "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "vfat", "msdos", "exfat", "ntfs", "ntfs3",
    "overlay", "squashfs", "iso9660",
];

fn is_fit(filesystem: &str) -> bool {
    !UNFIT.contains(&filesystem) && !filesystem.starts_with("fuse")
}

/// Where the state goes unless the project's filesystem says otherwise.
pub(super) fn preferred(around: &Surroundings) -> Option<PathBuf> {
    if let Some(named) = &around.state_named {
        return Some(named.clone());
    }
    let absolute = around.state_home.as_ref().filter(|path| path.is_absolute());
    let base = absolute
        .cloned()
        .or_else(|| around.home.as_ref().map(|home| home.join(".local/state")))?;
    Some(base.join("agar"))
}

impl StateDir {
    /// Chooses and prepares the state directory of a project.
    pub fn place(project: &Project, around: &Surroundings) -> Result<Self, NoState> {
        if let Some(named) = &around.state_named {
            return Self::open(named, around.uid);
        }
        let preferred = preferred(around);
        let fit = is_fit(project.filesystem());
        if let Some(preferred) = preferred.filter(|path| !overlaps(path, &project.root)) {
            // Where the project's filesystem cannot hold layers, any that can is better.
            if shares_filesystem(&preferred, project, around) || !fit {
                return Self::open(&preferred, around.uid);
            }
        }
        candidates(project, around.uid)
            .into_iter()
            .filter(|path| !overlaps(path, &project.root))
            .find(|path| can_hold(path, around.uid))
            .map_or_else(
                || {
                    Err(NoState::NoPlace {
                        project: project.root.clone(),
                        wanted: mount_point(project).join(name(around.uid)),
                        uid: around.uid,
                    })
                },
                |path| Self::open(&path, around.uid),
            )
    }

    /// Opens a directory as agar's state, making and marking it where it is not there yet.
    ///
    /// Refuses a symbolic link, a directory of another user, and one that holds something and does
    /// not carry agar's mark.
    pub fn open(path: &Path, uid: u32) -> Result<Self, NoState> {
        let disk = |source| NoState::Disk {
            path: path.to_owned(),
            source,
        };
        if let Some(parent) = path.parent() {
            private_directories(parent).map_err(disk)?;
        }
        match std::fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(disk(error)),
        }
        let metadata = path.symlink_metadata().map_err(disk)?;
        let not_ours = |reason| {
            Err(NoState::NotOurs {
                path: path.to_owned(),
                reason,
            })
        };
        if !metadata.is_dir() {
            return not_ours("it is not a directory");
        }
        if metadata.uid() != uid {
            return not_ours("it belongs to another user");
        }
        if metadata.mode() & 0o077 != 0 {
            let private = Mode::from_raw_mode(0o700);
            rustix::fs::chmod(path, private).map_err(|error| disk(error.into()))?;
        }
        let is_new = !path.join(MARKER).is_file();
        if is_new {
            if path.read_dir().map_err(disk)?.next().is_some() && !path.join(MARKER).is_file() {
                return not_ours("it holds something that agar did not make");
            }
            fs_err::write(path.join(MARKER), MARKER_TEXT).map_err(disk)?;
            spread::spread(path);
        }
        let state = Self {
            path: path.canonicalize().map_err(disk)?,
        };
        for part in [state.projects(), state.sandboxes(), state.trash()] {
            private_directories(&part).map_err(disk)?;
        }
        if is_new {
            spread::spread(&state.sandboxes());
            state.keep_reserve();
        }
        Ok(state)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the store's database is.
    pub fn store(&self) -> PathBuf {
        self.path.join("store.db")
    }

    /// The directory of all projects.
    pub fn projects(&self) -> PathBuf {
        self.path.join("projects")
    }

    /// The directory of one project.
    pub fn project(&self, id: ProjectId) -> PathBuf {
        self.projects().join(id.to_string())
    }

    /// The directory of all sandboxes.
    pub fn sandboxes(&self) -> PathBuf {
        self.path.join("sandboxes")
    }

    /// The directory of one sandbox.
    pub fn sandbox(&self, id: SandboxId) -> PathBuf {
        self.sandboxes().join(id.to_string())
    }

    /// Where things wait to be deleted.
    pub fn trash(&self) -> PathBuf {
        self.path.join("trash")
    }

    /// Whether the directory still carries agar's mark.
    pub fn is_marked(&self) -> bool {
        self.path.join(MARKER).is_file()
    }
}

/// Makes a directory and its missing parents, each for the user alone.
fn private_directories(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

fn name(uid: u32) -> String {
    format!(".agar-{uid}")
}

fn mount_point(project: &Project) -> PathBuf {
    project
        .mount
        .as_ref()
        .map_or_else(|| PathBuf::from("/"), |mount| mount.point.clone())
}

fn overlaps(state: &Path, root: &Path) -> bool {
    let state = resolve_existing(state);
    state.starts_with(root) || root.starts_with(&state)
}

/// The path with its longest existing part resolved.
fn resolve_existing(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return real.join(rest);
        }
    }
    path.to_owned()
}

/// Whether a directory, existing or to be made, is or would be on the project's filesystem.
fn shares_filesystem(path: &Path, project: &Project, around: &Surroundings) -> bool {
    let Some((existing, metadata)) = path
        .ancestors()
        .find_map(|path| Some((path, path.metadata().ok()?)))
    else {
        return false;
    };
    if metadata.dev() == project.device {
        return true;
    }
    // The subvolumes of one btrfs have different device numbers and still share extents.
    let Ok(existing) = existing.canonicalize() else {
        return false;
    };
    let (here, there) = (around.mounts.covering(&existing), project.mount.as_ref());
    here.zip(there).is_some_and(|(here, there)| {
        here.filesystem == "btrfs" && there.filesystem == "btrfs" && here.device == there.device
    })
}

/// Places on the project's filesystem, best first: the mount point, then the topmost directories
/// above the project, and never inside the repository around it.
fn candidates(project: &Project, uid: u32) -> Vec<PathBuf> {
    let point = mount_point(project);
    let mut above: Vec<&Path> = project
        .root
        .ancestors()
        .skip(1)
        .filter(|path| path.starts_with(&point))
        .filter(|path| {
            project
                .git
                .as_ref()
                .is_none_or(|git| !path.starts_with(&git.top))
        })
        .filter(|path| {
            path.metadata()
                .is_ok_and(|metadata| metadata.dev() == project.device)
        })
        .collect();
    above.reverse();
    above.into_iter().map(|path| path.join(name(uid))).collect()
}

/// Whether a candidate is usable: ours already, or its parent lets us make it.
fn can_hold(path: &Path, uid: u32) -> bool {
    if let Ok(metadata) = path.symlink_metadata() {
        return metadata.is_dir() && metadata.uid() == uid;
    }
    let Some(parent) = path.parent() else {
        return false;
    };
    let is_directory = rustix::fs::statx(CWD, parent, AtFlags::empty(), StatxFlags::TYPE)
        .is_ok_and(|found| FileType::from_raw_mode(found.stx_mode.into()) == FileType::Directory);
    let writable = Access::WRITE_OK | Access::EXEC_OK;
    is_directory && rustix::fs::accessat(CWD, parent, writable, AtFlags::EACCESS).is_ok()
}

#[cfg(test)]
mod tests;
