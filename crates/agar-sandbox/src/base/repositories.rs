//! The git repositories inside a frozen project: each gets an index that fits the copies.

use super::index::{Moved, ObjectFormat, refresh};
use crate::copy::{Entry, Listing, Shape, as_path, join};
use crate::project::Project;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// Repositories beyond this number keep their index as it is.
const REPOSITORIES_MAX: usize = 32;

/// A work tree whose git directory is inside the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The top of the work tree, relative to the project.
    top: Vec<u8>,
    /// Its git directory, relative to the project.
    dir: Vec<u8>,
}

/// The repositories of a project, and whether some index is out of reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Repositories {
    pub(super) inside: Vec<Repository>,
    /// Git directories outside the project: of a linked worktree, a monorepo around the project, a
    /// submodule opened on its own.
    pub(super) outside: Vec<PathBuf>,
}

/// Finds every `.git` of a listing: a directory, or a file that points to one.
pub(super) fn find(project: &Project, listing: &Listing) -> Repositories {
    let mut found = Repositories::default();
    if let Some(git) = &project.git
        && !git.is_within(&project.root)
    {
        found.outside.push(git.dir.clone());
    }
    for directory in &listing.directories {
        let at = directory
            .entries
            .binary_search_by(|entry| entry.name.to_bytes().cmp(b".git"));
        let Some(entry) = at.ok().and_then(|at| directory.entries.get(at)) else {
            continue;
        };
        let top = directory.path.clone();
        let pointed = match entry.shape() {
            Shape::Directory => Some(join(&top, c".git")),
            Shape::File => pointed_to(project, &top),
            Shape::Symlink | Shape::Fifo | Shape::Socket | Shape::Device => None,
        };
        let Some(dir) = pointed else { continue };
        if listing.directory(&dir).is_some() && found.inside.len() < REPOSITORIES_MAX {
            found.inside.push(Repository { top, dir });
        }
    }
    found
}

/// Where a `.git` file points, if that is inside the project.
fn pointed_to(project: &Project, top: &[u8]) -> Option<Vec<u8>> {
    let directory = project.root.join(as_path(top));
    let text = fs_err::read(directory.join(".git")).ok()?;
    let path = as_path(text.strip_prefix(b"gitdir:")?.trim_ascii());
    let full = normalise(&directory.join(path));
    Some(
        full.strip_prefix(&project.root)
            .ok()?
            .as_os_str()
            .as_bytes()
            .to_vec(),
    )
}

/// Resolves `..` by spelling alone: the picture has the same shape as the host.
fn normalise(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

impl Repository {
    /// The path of its index, relative to the project.
    pub(super) fn index(&self) -> Vec<u8> {
        join(&self.dir, c"index")
    }

    /// The index as it must be over the copies, made from the bytes of one that knows the
    /// originals. `original` says which file an entry's copy was made from.
    pub(super) fn refreshed(
        &self,
        index: &[u8],
        config: &[u8],
        moved: &dyn Fn(&[u8]) -> Option<Moved>,
    ) -> Option<Vec<u8>> {
        let mut full = self.top.clone();
        if !full.is_empty() {
            full.push(b'/');
        }
        let length = full.len();
        refresh(index, ObjectFormat::of_config(config), &mut |path| {
            full.truncate(length);
            full.extend_from_slice(path);
            moved(&full)
        })
    }

    /// The configuration of the repository, read from a tree.
    pub(super) fn config(&self, root: &Path) -> Vec<u8> {
        fs_err::read(root.join(as_path(&self.dir)).join("config")).unwrap_or_default()
    }
}

/// The host's file and its copy, as an index needs to know them.
pub(super) fn moved(entry: &Entry) -> Option<Moved> {
    let landed = entry.landed.filter(|landed| !landed.left_out)?;
    Some(Moved {
        ino: entry.ino,
        ctime_ns: entry.ctime_ns,
        mtime_ns: entry.mtime_ns,
        size: entry.size,
        new_ino: landed.ino,
        new_ctime_ns: landed.ctime_ns,
    })
}
