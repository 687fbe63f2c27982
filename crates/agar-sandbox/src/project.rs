//! Which directory a person works in, and what must be known of it before a sandbox can be made.
//!
//! Everything that comes from the caller's surroundings (home, state directory, user, mounts) is
//! handed in as [`Surroundings`]; nothing here reads the environment.

pub mod git;
pub mod mounts;
pub mod refusal;
pub mod state;

pub use git::{Git, GitKind};
pub use mounts::{Mount, MountTable};
pub use refusal::Refusal;
pub use state::{NoState, StateDir};

use agar_core::fault::{Fault, Kind, Remedy};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What the caller knows about the person, the machine and the moment.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The user's home directory, where there is one.
    pub home: Option<PathBuf>,
    /// `$XDG_STATE_HOME`, where it is set to an absolute path.
    pub state_home: Option<PathBuf>,
    /// A state directory that the person named; used as it is, wherever it lies.
    pub state_named: Option<PathBuf>,
    /// The user.
    pub uid: u32,
    /// The mounts of the machine, from `/proc/self/mountinfo`.
    pub mounts: MountTable,
}

/// What made a directory the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// The nearest `agar.toml` upwards.
    Settings,
    /// The top level of a git work tree.
    Git,
    /// Nothing better: it is where the person stood.
    Directory,
}

/// Where the project lies with respect to the user's home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeRelation {
    /// Below the home directory.
    Inside,
    /// Elsewhere, or the user has no home.
    Outside,
}

/// A directory a person works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its absolute path without symbolic links.
    pub root: PathBuf,
    /// What made it the project.
    pub found_by: FoundBy,
    /// Its repository, where it is (in) a git work tree.
    pub git: Option<Git>,
    /// The device number of the root.
    pub device: u64,
    /// The inode number of the root: with the device, it follows a renamed directory.
    pub inode: u64,
    /// The mount that the root lies on, where the mount table knows one.
    pub mount: Option<Mount>,
    /// Mounts strictly below the root, outermost first. An overlay does not follow them.
    pub nested_mounts: Vec<Mount>,
    /// Whether it lies below `/tmp`, which is private inside a sandbox.
    pub under_tmp: bool,
    /// Where it lies with respect to the user's home.
    pub home: HomeRelation,
}

/// No project could be made of the place where the person stands.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// The directory cannot be reached.
    #[error("cannot look at {}", path.display())]
    Unreachable {
        /// The directory as it was given.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is there, and is not a directory.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// What was given.
        path: PathBuf,
    },
    /// A directory that agar never takes as a project.
    #[error("cannot take {} as a project: {refusal}", path.display())]
    Refused {
        /// The directory.
        path: PathBuf,
        /// Why not.
        refusal: Refusal,
    },
}

impl Fault for DiscoverError {
    fn kind(&self) -> Kind {
        match self {
            Self::Unreachable { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Kind::NotFound
            }
            Self::Unreachable { .. } | Self::NotADirectory { .. } => Kind::Invalid,
            Self::Refused { .. } => Kind::Refused,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Refused { .. } => Some(Remedy::Command {
                line: "cd <a directory of your own, such as one below your home>".to_owned(),
            }),
            Self::Unreachable { .. } | Self::NotADirectory { .. } => None,
        }
    }
}

/// Finds the project around `start`: the nearest `agar.toml` upwards, else the git top level, else
/// `start` itself.
///
/// The search never leaves the filesystem it starts on, never enters a directory of another person
/// (root's excepted), and never takes a marker in a home directory, in `/tmp` or in a system
/// directory: a stray `~/agar.toml` or a repository of dotfiles does not make a project of the
/// whole home.
pub fn discover(start: &Path, around: &Surroundings) -> Result<Project, DiscoverError> {
    let (start, metadata) = resolve(start)?;
    let allowed_owners = [around.uid, 0, metadata.uid()];
    let mut settings = None;
    let mut git = None;
    for directory in start.ancestors() {
        if refusal::check(directory, around).is_some() {
            break;
        }
        let Ok(here) = directory.metadata() else {
            break;
        };
        if here.dev() != metadata.dev() || !allowed_owners.contains(&here.uid()) {
            break;
        }
        if settings.is_none() && directory.join("agar.toml").is_file() {
            settings = Some(directory);
        }
        if git.is_none() && git::marks(directory) {
            git = Some(directory);
        }
    }
    let (root, found_by) = match (settings, git) {
        (Some(root), _) => (root, FoundBy::Settings),
        (None, Some(root)) => (root, FoundBy::Git),
        (None, None) => (start.as_path(), FoundBy::Directory),
    };
    // The settings file may sit below the repository (one part of a monorepo) or above it.
    let top = git
        .filter(|top| root.starts_with(top))
        .or_else(|| git::marks(root).then_some(root));
    describe(root, found_by, top, around)
}

/// Takes exactly this directory as the project, without looking upwards for markers.
pub fn at(root: &Path, around: &Surroundings) -> Result<Project, DiscoverError> {
    let (root, _) = resolve(root)?;
    let found_by = if root.join("agar.toml").is_file() {
        FoundBy::Settings
    } else if git::marks(&root) {
        FoundBy::Git
    } else {
        FoundBy::Directory
    };
    let top = root.ancestors().find(|directory| git::marks(directory));
    describe(&root, found_by, top, around)
}

fn resolve(path: &Path) -> Result<(PathBuf, std::fs::Metadata), DiscoverError> {
    let unreachable = |source| DiscoverError::Unreachable {
        path: path.to_owned(),
        source,
    };
    let resolved = path.canonicalize().map_err(unreachable)?;
    let metadata = resolved.metadata().map_err(unreachable)?;
    if metadata.is_dir() {
        Ok((resolved, metadata))
    } else {
        Err(DiscoverError::NotADirectory {
            path: path.to_owned(),
        })
    }
}

fn describe(
    root: &Path,
    found_by: FoundBy,
    top: Option<&Path>,
    around: &Surroundings,
) -> Result<Project, DiscoverError> {
    if let Some(refusal) = refusal::check(root, around) {
        return Err(DiscoverError::Refused {
            path: root.to_owned(),
            refusal,
        });
    }
    let metadata = root
        .metadata()
        .map_err(|source| DiscoverError::Unreachable {
            path: root.to_owned(),
            source,
        })?;
    let home = match home(around) {
        Some(home) if root.starts_with(&home) => HomeRelation::Inside,
        Some(_) | None => HomeRelation::Outside,
    };
    Ok(Project {
        root: root.to_owned(),
        found_by,
        git: top.and_then(git::open),
        device: metadata.dev(),
        inode: metadata.ino(),
        mount: around.mounts.covering(root).cloned(),
        nested_mounts: around.mounts.below(root),
        under_tmp: root.starts_with("/tmp"),
        home,
    })
}

/// The home directory without symbolic links, as the kernel sees it.
fn home(around: &Surroundings) -> Option<PathBuf> {
    let home = around.home.as_deref()?;
    Some(home.canonicalize().unwrap_or_else(|_| home.to_owned()))
}

impl Project {
    /// The name of the filesystem that the project lies on, `unknown` where no table says.
    pub fn filesystem(&self) -> &str {
        self.mount
            .as_ref()
            .map_or("unknown", |mount| mount.filesystem.as_str())
    }

    /// The key under which what belongs to this directory, and to no other worktree of the same
    /// repository, is kept. It survives a rename of the directory.
    pub fn key(&self) -> String {
        key(self.device, self.inode)
    }
}

pub(crate) fn key(device: u64, inode: u64) -> String {
    format!("{device:x}-{inode:x}")
}

#[cfg(test)]
mod tests;
