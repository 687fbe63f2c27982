//! A picture of a directory, to prove that nothing in it changed or to say exactly what did.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash as _, Hasher as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// What one path is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The kind of file, and what it holds.
    pub what: What,
    /// Permission bits.
    pub mode: u32,
    /// Owner and group.
    pub owner: (u32, u32),
    /// The inode; zero when times are left out.
    pub inode: u64,
    /// Modification time in nanoseconds since 1970; zero when times are left out or for a
    /// directory, whose time moves with its content.
    pub modified: i128,
}

/// The kind of file, and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A directory.
    Directory,
    /// A file, by size and a hash of its bytes.
    File(u64, u64),
    /// A symbolic link and where it points.
    Link(PathBuf),
    /// A socket, FIFO or device.
    Special(&'static str, u64),
    /// Something that cannot be read, and why.
    Unreadable(String),
}

/// Every path below a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree(BTreeMap<PathBuf, Entry>);

impl Tree {
    /// The directory as it is now. Does not follow links nor leave the file system.
    pub fn read(root: &Path) -> Self {
        Self::read_without(root, &[])
    }

    /// The same, leaving out the paths (relative to the root) and what is below them.
    pub fn read_without(root: &Path, left_out: &[&Path]) -> Self {
        let mut entries = BTreeMap::new();
        let device = fs_err::symlink_metadata(root).map_or(0, |meta| meta.dev());
        let mut pending = vec![PathBuf::new()];
        while let Some(relative) = pending.pop() {
            let kept = children(root, &relative)
                .into_iter()
                .filter(|(path, _)| !left_out.contains(&path.as_path()));
            for (path, meta) in kept {
                let enter = meta.is_dir() && meta.dev() == device;
                pending.extend(enter.then(|| path.clone()));
                entries.insert(path.clone(), entry(&root.join(&path), &meta));
            }
        }
        Self(entries)
    }

    /// The tree with inodes and times left out, to compare copies.
    #[must_use]
    pub fn without_times(mut self) -> Self {
        for entry in self.0.values_mut() {
            entry.inode = 0;
            entry.modified = 0;
        }
        self
    }

    /// The tree with everything but kinds and contents left out.
    #[must_use]
    pub fn contents(mut self) -> Self {
        for entry in self.0.values_mut() {
            entry.inode = 0;
            entry.modified = 0;
            entry.mode = 0;
            entry.owner = (0, 0);
        }
        self
    }

    /// How many paths it holds.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }

    /// What is at the path.
    pub fn get(&self, path: &Path) -> Option<&Entry> {
        self.0.get(path)
    }

    /// Each difference on a line; empty when the trees are equal.
    pub fn difference(&self, later: &Self) -> String {
        let mut lines = String::new();
        for (path, before) in &self.0 {
            match later.0.get(path) {
                None => {
                    let _ = writeln!(lines, "gone: {}", path.display());
                }
                Some(after) if after != before => {
                    let _ = writeln!(
                        lines,
                        "changed: {}: {before:?} -> {after:?}",
                        path.display()
                    );
                }
                Some(_) => {}
            }
        }
        for path in later.0.keys().filter(|path| !self.0.contains_key(*path)) {
            let _ = writeln!(lines, "new: {}", path.display());
        }
        lines
    }

    /// Panics with the differences unless the directory is still as in this picture.
    #[track_caller]
    pub fn assert_unchanged(&self, root: &Path, after_what: &str) {
        let difference = self.difference(&Self::read(root));
        assert!(
            difference.is_empty(),
            "{} changed after {after_what}:\n{difference}",
            root.display()
        );
    }
}

/// What lies directly in a directory, by path relative to the root.
fn children(root: &Path, relative: &Path) -> Vec<(PathBuf, std::fs::Metadata)> {
    let list = fs_err::read_dir(root.join(relative)).into_iter().flatten();
    list.filter_map(Result::ok)
        .map(|child| relative.join(child.file_name()))
        .filter_map(|path| {
            Some((
                path.clone(),
                fs_err::symlink_metadata(root.join(path)).ok()?,
            ))
        })
        .collect()
}

fn entry(path: &Path, meta: &std::fs::Metadata) -> Entry {
    let kind = meta.file_type();
    let what = if kind.is_dir() {
        What::Directory
    } else if kind.is_symlink() {
        fs_err::read_link(path).map_or_else(|error| What::Unreadable(error.to_string()), What::Link)
    } else if kind.is_file() {
        match fs_err::read(path) {
            Ok(bytes) => {
                let mut hasher = DefaultHasher::new();
                bytes.hash(&mut hasher);
                What::File(meta.size(), hasher.finish())
            }
            Err(error) => What::Unreadable(error.kind().to_string()),
        }
    } else if kind.is_socket() {
        What::Special("socket", 0)
    } else if kind.is_fifo() {
        What::Special("fifo", 0)
    } else {
        What::Special("device", meta.rdev())
    };
    let is_directory = kind.is_dir();
    Entry {
        what,
        mode: meta.mode() & 0o7777,
        owner: (meta.uid(), meta.gid()),
        inode: meta.ino(),
        modified: if is_directory {
            0
        } else {
            i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sort_of_change_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs_err::write(root.join("a"), "1").unwrap();
        fs_err::write(root.join("b"), "1").unwrap();
        let before = Tree::read(root);
        before.assert_unchanged(root, "nothing");
        fs_err::write(root.join("a"), "2").unwrap();
        fs_err::remove_file(root.join("b")).unwrap();
        fs_err::create_dir(root.join("c")).unwrap();
        let difference = before.difference(&Tree::read(root));
        assert!(difference.contains("changed: a"));
        assert!(difference.contains("gone: b"));
        assert!(difference.contains("new: c"));
    }
}
