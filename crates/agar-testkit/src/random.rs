//! Seeded randomness, random trees and random edits of them.
//!
//! The same seed gives the same tree on every machine; a failing test prints its seed.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// A small generator (`SplitMix64`): good enough to vary tests, the same everywhere.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which must not be zero.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % end as u64).unwrap_or(0)
    }

    /// One of the choices, of which there must be one.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// True once in `of` times.
    pub fn once_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    /// Fills the buffer.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let next = self.number().to_le_bytes();
            chunk.copy_from_slice(&next[..chunk.len()]);
        }
    }

    /// A few lines of text.
    pub fn text(&mut self, lines_max: usize) -> String {
        let words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"];
        let mut text = String::new();
        for _ in 0..self.below(lines_max + 1) {
            for _ in 0..=self.below(4) {
                let word = *self.pick(&words);
                text.push_str(word);
                text.push(' ');
            }
            text.push('\n');
        }
        text
    }

    /// A file name; now and then one that careless code trips over.
    pub fn name(&mut self) -> String {
        const AWKWARD: [&str; 8] = [
            "with space",
            "new\nline",
            "-dash",
            ".hidden",
            "größe",
            "\u{1b}[31mred",
            "quote'\"",
            "a\\b",
        ];
        if self.once_in(6) {
            return format!("{}{}", self.pick(&AWKWARD), self.below(9));
        }
        format!("f{}", self.below(1000))
    }
}

/// One change of a tree, as data, so that a failing sequence can be printed and replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Writes a file, making its directories.
    Write {
        /// Relative to the tree's root.
        path: PathBuf,
        /// What it will hold.
        content: Vec<u8>,
    },
    /// Adds to the end of a file.
    Append {
        /// Relative to the tree's root.
        path: PathBuf,
        /// What is added.
        content: Vec<u8>,
    },
    /// Removes whatever is there.
    Remove {
        /// Relative to the tree's root.
        path: PathBuf,
    },
    /// Renames, replacing a file that is in the way.
    Rename {
        /// Relative to the tree's root.
        from: PathBuf,
        /// Relative to the tree's root.
        to: PathBuf,
    },
    /// Changes permission bits.
    Mode {
        /// Relative to the tree's root.
        path: PathBuf,
        /// The new bits.
        mode: u32,
    },
    /// Makes a symbolic link in place of what is there.
    Symlink {
        /// Relative to the tree's root.
        path: PathBuf,
        /// Where it points.
        target: PathBuf,
    },
    /// Makes a directory.
    Directory {
        /// Relative to the tree's root.
        path: PathBuf,
    },
}

impl Operation {
    /// Does it, below `root`. What cannot be done (a file in the way of a directory) is left out:
    /// the same operations on equal trees give equal trees.
    pub fn apply(&self, root: &Path) {
        let outcome = match self {
            Self::Write { path, content } => write(&root.join(path), content),
            Self::Append { path, content } => append(&root.join(path), content),
            Self::Remove { path } => remove(&root.join(path)),
            Self::Rename { from, to } => fs_err::rename(root.join(from), root.join(to)),
            Self::Mode { path, mode } => set_mode(&root.join(path), *mode),
            Self::Symlink { path, target } => {
                let path = root.join(path);
                drop(remove(&path));
                symlink(target, path)
            }
            Self::Directory { path } => fs_err::create_dir_all(root.join(path)),
        };
        drop(outcome);
    }
}

fn write(path: &Path, content: &[u8]) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        fs_err::create_dir_all(parent)?;
    }
    if path.is_symlink() {
        fs_err::remove_file(path)?;
    }
    fs_err::write(path, content)
}

fn append(path: &Path, content: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    if path.is_symlink() {
        return Ok(());
    }
    fs_err::OpenOptions::new()
        .append(true)
        .open(path)?
        .write_all(content)
}

fn remove(path: &Path) -> std::io::Result<()> {
    if fs_err::symlink_metadata(path)?.is_dir() {
        fs_err::remove_dir_all(path)
    } else {
        fs_err::remove_file(path)
    }
}

fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    if path.is_symlink() {
        return Ok(());
    }
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// Fills the directory with a random tree of about this many files and says which it made.
pub fn tree(random: &mut Random, root: &Path, files: usize) -> Vec<PathBuf> {
    let mut directories = vec![PathBuf::new()];
    for _ in 0..files / 6 {
        let parent = random.pick(&directories).clone();
        if parent.components().count() < 5 {
            directories.push(parent.join(format!("d{}", random.below(100))));
        }
    }
    let mut made = Vec::new();
    for _ in 0..files {
        let path = random.pick(&directories).join(random.name());
        let content = if random.once_in(8) {
            let mut bytes = vec![0; random.below(300)];
            random.fill(&mut bytes);
            bytes
        } else {
            random.text(12).into_bytes()
        };
        Operation::Write {
            path: path.clone(),
            content,
        }
        .apply(root);
        if random.once_in(10) {
            Operation::Mode {
                path: path.clone(),
                mode: 0o755,
            }
            .apply(root);
        }
        made.push(path);
    }
    made.sort();
    made.dedup();
    made.retain(|path| root.join(path).is_file());
    made
}

/// A random sequence of operations on a tree that holds these paths.
pub fn operations(random: &mut Random, paths: &[PathBuf], count: usize) -> Vec<Operation> {
    let mut known: Vec<PathBuf> = paths.to_vec();
    known.push(PathBuf::from("seed"));
    let mut operations = Vec::with_capacity(count);
    for _ in 0..count {
        let path = random.pick(&known).clone();
        let beside = path.parent().unwrap_or(Path::new("")).join(random.name());
        let operation = match random.below(10) {
            0 | 1 => Operation::Append {
                path,
                content: random.text(3).into_bytes(),
            },
            2 => Operation::Write {
                path,
                content: random.text(9).into_bytes(),
            },
            3 | 4 => Operation::Write {
                path: beside.clone(),
                content: random.text(9).into_bytes(),
            },
            5 => Operation::Remove { path },
            6 => Operation::Rename {
                from: path,
                to: beside.clone(),
            },
            7 => Operation::Mode {
                path,
                mode: *random.pick(&[0o644, 0o755, 0o600]),
            },
            8 => Operation::Symlink {
                path: beside.clone(),
                target: PathBuf::from("../elsewhere"),
            },
            _ => Operation::Directory {
                path: beside.clone(),
            },
        };
        known.push(beside);
        operations.push(operation);
    }
    operations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn one_seed_makes_one_tree() {
        let make = || {
            let directory = tempfile::tempdir().unwrap();
            let mut random = Random::new(11);
            let paths = tree(&mut random, directory.path(), 60);
            for operation in operations(&mut random, &paths, 80) {
                operation.apply(directory.path());
            }
            Tree::read(directory.path()).without_times()
        };
        let tree = make();
        assert!(tree.len() > 20);
        assert_eq!(tree, make());
    }
}
