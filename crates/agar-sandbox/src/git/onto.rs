//! A promotion's change, merged onto what git has.
//!
//! Both sides of the change are written into small work trees of their own and added to indexes of
//! their own, so that git itself turns them into blobs as it would for the person: line endings and
//! filters as their attributes say. Then each path is decided as in any promotion, with git's
//! version as mine.

use super::command::Call;
use super::{Checkout, GitError, Omitted};
use crate::merge::{Choice, Digest, Entry, FileEntry, Pick, Selection, TextMerge, decide, is_text};
use crate::merge::{Clash, Decision, Markers};
use crate::promote::{Item, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// git's word for a submodule's mode.
const GITLINK: &str = "160000";

/// A blob under a name, as an index holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blob {
    pub(super) mode: String,
    pub(super) id: String,
}

/// What becomes of a path in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Edit {
    /// It gets this blob.
    Put(Blob),
    /// It goes.
    Drop,
}

/// The change of a promotion as blobs.
pub(super) struct Sides<'a> {
    checkout: &'a Checkout<'a>,
    /// The paths, as git knows them, each with the project's own name for it.
    pub(super) paths: BTreeMap<PathBuf, PathBuf>,
    base: BTreeMap<PathBuf, Blob>,
    theirs: BTreeMap<PathBuf, Blob>,
    pub(super) left_out: Vec<(PathBuf, Omitted)>,
}

impl<'a> Sides<'a> {
    /// Turns both sides of the items into blobs. `tree` is what the change goes onto: its attributes
    /// count, and its submodules are left alone.
    pub(super) fn new(
        checkout: &'a Checkout<'a>,
        items: &[Item],
        selection: &Selection,
        tree: Option<&str>,
    ) -> Result<Self, GitError> {
        let scratch = tempfile::Builder::new()
            .prefix("agar-git-")
            .tempdir()
            .map_err(|source| failed("make a directory for git", source))?;
        let submodules = submodules(checkout, tree)?;
        let mut sides = Self {
            checkout,
            paths: BTreeMap::new(),
            base: BTreeMap::new(),
            theirs: BTreeMap::new(),
            left_out: Vec::new(),
        };
        for item in items.iter().filter(|item| is_leaf(item)) {
            let path = checkout.path_in_git(&item.path);
            if path.ancestors().any(|above| submodules.contains(above)) {
                sides.left_out.push((item.path.clone(), Omitted::Submodule));
            } else {
                sides.paths.insert(path, item.path.clone());
            }
        }
        sides.leave_out_ignored(&scratch.path().join("tree.index"), tree)?;
        let wanted: Vec<&Item> = items
            .iter()
            .filter(|item| sides.paths.contains_key(&checkout.path_in_git(&item.path)))
            .collect();
        for (name, side) in [("base", Which::Base), ("theirs", Which::Theirs)] {
            let place = scratch.path().join(name);
            write_side(checkout, &place, &wanted, (side, selection))
                .map_err(|source| failed("write files for git", source))?;
            let index = scratch.path().join(format!("{name}.index"));
            let blobs = sides.add(&place, &index, tree)?;
            match side {
                Which::Base => sides.base = blobs,
                Which::Theirs => sides.theirs = blobs,
            }
        }
        Ok(sides)
    }

    /// Adds a small work tree to an index of its own; tells the blobs of the paths.
    fn add(
        &self,
        place: &Path,
        index: &Path,
        tree: Option<&str>,
    ) -> Result<BTreeMap<PathBuf, Blob>, GitError> {
        fill(self.checkout, index, tree)?;
        let names = zero_separated(self.paths.keys());
        self.checkout
            .git("update-index")
            .args(["--add", "--remove", "--replace", "-z", "--stdin"])
            .index(index)
            .env("GIT_DIR", &self.checkout.git.dir)
            .env("GIT_COMMON_DIR", &self.checkout.git.common_dir)
            .env("GIT_WORK_TREE", place)
            .input(names)
            .run()?;
        self.entries(Some(index))
    }

    /// The blobs of the paths in an index; the work tree's own if none is named.
    pub(super) fn entries(
        &self,
        index: Option<&Path>,
    ) -> Result<BTreeMap<PathBuf, Blob>, GitError> {
        let mut call = self
            .checkout
            .git("ls-files")
            .args(["-s", "-z", "--full-name"]);
        if let Some(index) = index {
            call = call.index(index);
        }
        let all = parse_entries(&call.run()?);
        Ok(all
            .into_iter()
            .filter(|(path, _)| self.paths.contains_key(path))
            .collect())
    }

    /// New files that git ignores are not committed, nor even shown to git: they may be secret.
    fn leave_out_ignored(&mut self, index: &Path, tree: Option<&str>) -> Result<(), GitError> {
        fill(self.checkout, index, tree)?;
        let known = self.entries(Some(index))?;
        let new: Vec<PathBuf> = self
            .paths
            .keys()
            .filter(|path| !known.contains_key(*path))
            .cloned()
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        let call = self.checkout.git("check-ignore").args(["-z", "--stdin"]);
        // It fails when nothing is ignored.
        let output = call.input(zero_separated(new.iter())).output()?;
        for name in output
            .stdout
            .split(|&byte| byte == 0)
            .filter(|name| !name.is_empty())
        {
            if let Some(path) = self.paths.remove(Path::new(OsStr::from_bytes(name))) {
                self.left_out.push((path, Omitted::Ignored));
            }
        }
        Ok(())
    }

    /// Merges the change onto the blobs of one tree or index. Paths that do not merge are told apart.
    pub(super) fn onto(
        &self,
        mine: &BTreeMap<PathBuf, Blob>,
        selection: &Selection,
    ) -> Result<(BTreeMap<PathBuf, Edit>, Vec<PathBuf>), GitError> {
        let (mut edits, mut conflicts) = (BTreeMap::new(), Vec::new());
        for (path, own) in &self.paths {
            let (base, theirs) = (self.base.get(path), self.theirs.get(path));
            let blobs = [base, mine.get(path), theirs];
            match self.one(blobs, selection.choice(own))? {
                One::Stays => {}
                One::Becomes(edit) => {
                    edits.insert(path.clone(), edit);
                }
                One::Conflict => conflicts.push(own.clone()),
            }
        }
        Ok((edits, conflicts))
    }

    fn one(&self, blobs: [Option<&Blob>; 3], choice: Option<Choice>) -> Result<One, GitError> {
        let [base, mine, theirs] = blobs;
        if theirs == mine || theirs == base {
            return Ok(One::Stays);
        }
        let take = || One::Becomes(theirs.map_or(Edit::Drop, |blob| Edit::Put(blob.clone())));
        if mine == base {
            return Ok(take());
        }
        let sides = [self.look(base)?, self.look(mine)?, self.look(theirs)?];
        let decision = decide(&sides[0].0, &sides[1].0, &sides[2].0);
        let executable = |mode: u32| {
            if mode & 0o100 == 0 {
                "100644"
            } else {
                "100755"
            }
        };
        let put = |mode: u32, id: String| {
            One::Becomes(Edit::Put(Blob {
                mode: executable(mode).to_owned(),
                id,
            }))
        };
        Ok(match (decision, mine, theirs) {
            (Decision::AlreadyThere, ..) => One::Stays,
            (Decision::Take { mode }, _, Some(blob)) if blob.mode.starts_with("100") => {
                put(mode, blob.id.clone())
            }
            (Decision::Take { .. }, ..) => take(),
            (Decision::Chmod { mode }, Some(blob), _) => put(mode, blob.id.clone()),
            (Decision::Merge { mode }, ..) => {
                let merge = TextMerge::new(&sides[0].1, &sides[1].1, &sides[2].1);
                match (merge.clean(), choice) {
                    (Some(text), _) => put(mode, self.write(text)?),
                    (None, Some(choice)) => put(
                        mode,
                        self.write(merge.resolve(|region| {
                            pick(region.origin == crate::merge::Origin::Conflict, choice)
                        }))?,
                    ),
                    (None, None) => One::Conflict,
                }
            }
            (Decision::Conflict(Clash::Lines), ..) => One::Conflict,
            (Decision::Conflict(_) | Decision::Refuse(_) | Decision::Chmod { .. }, ..) => {
                match choice {
                    Some(Choice::Mine) => One::Stays,
                    Some(Choice::Theirs) => take(),
                    Some(Choice::Markers) | None => One::Conflict,
                }
            }
        })
    }

    /// What merging needs to know of a blob, and its content.
    fn look(&self, blob: Option<&Blob>) -> Result<(Entry, Vec<u8>), GitError> {
        let Some(blob) = blob else {
            return Ok((Entry::Absent, Vec::new()));
        };
        let content = self
            .checkout
            .git("cat-file")
            .args(["blob", &blob.id])
            .run()?;
        let entry = match blob.mode.as_str() {
            "120000" => Entry::Symlink(content.clone()),
            mode => Entry::File(FileEntry {
                digest: Digest::of(&content),
                size: content.len() as u64,
                mode: if mode == "100755" { 0o755 } else { 0o644 },
                text: is_text(&content),
            }),
        };
        Ok((entry, content))
    }

    fn write(&self, content: Vec<u8>) -> Result<String, GitError> {
        let call = self.checkout.git("hash-object").args(["-w", "--stdin"]);
        call.input(content).line()
    }

    /// Makes the edits to an index; the work tree's own if none is named.
    pub(super) fn edit(
        &self,
        index: Option<&Path>,
        edits: &BTreeMap<PathBuf, Edit>,
    ) -> Result<(), GitError> {
        if edits.is_empty() {
            return Ok(());
        }
        let width = edits.values().find_map(|edit| match edit {
            Edit::Put(blob) => Some(blob.id.len()),
            Edit::Drop => None,
        });
        let nothing = "0".repeat(width.unwrap_or(40));
        let mut lines = Vec::new();
        for (path, edit) in edits {
            let (mode, id) = match edit {
                Edit::Put(blob) => (blob.mode.as_str(), blob.id.as_str()),
                Edit::Drop => ("0", nothing.as_str()),
            };
            lines.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            lines.extend_from_slice(path.as_os_str().as_bytes());
            lines.push(0);
        }
        let call = self.checkout.git("update-index");
        let mut call = call.args(["--add", "--replace", "-z", "--index-info"]);
        if let Some(index) = index {
            call = call.index(index);
        }
        call.input(lines).run().map(drop)
    }
}

/// What a path comes to.
enum One {
    Stays,
    Becomes(Edit),
    Conflict,
}

fn pick(is_conflict: bool, choice: Choice) -> Pick {
    match choice {
        Choice::Mine if is_conflict => Pick::Mine,
        Choice::Markers if is_conflict => Pick::Markers(Markers::Sides),
        Choice::Mine | Choice::Markers | Choice::Theirs => Pick::Theirs,
    }
}

/// Reads a tree into an index of its own, or begins an empty one.
pub(super) fn fill(
    checkout: &Checkout<'_>,
    index: &Path,
    tree: Option<&str>,
) -> Result<(), GitError> {
    let call = checkout.git("read-tree").index(index);
    call.arg(tree.unwrap_or("--empty")).run().map(drop)
}

/// The paths of submodules in a tree.
fn submodules(checkout: &Checkout<'_>, tree: Option<&str>) -> Result<BTreeSet<PathBuf>, GitError> {
    let Some(tree) = tree else {
        return Ok(BTreeSet::new());
    };
    let call: Call = checkout
        .git("ls-tree")
        .args(["-r", "-z", "--full-tree", tree]);
    let listing = call.run()?;
    let links = listing.split(|&byte| byte == 0).filter_map(|line| {
        let tab = line.iter().position(|&byte| byte == b'\t')?;
        line.starts_with(GITLINK.as_bytes())
            .then(|| PathBuf::from(OsStr::from_bytes(&line[tab + 1..])))
    });
    Ok(links.collect())
}

/// Reads `<mode> <id> <stage>\t<path>\0`.
fn parse_entries(listing: &[u8]) -> BTreeMap<PathBuf, Blob> {
    let mut entries = BTreeMap::new();
    for line in listing.split(|&byte| byte == 0) {
        let Some(tab) = line.iter().position(|&byte| byte == b'\t') else {
            continue;
        };
        let words = String::from_utf8_lossy(&line[..tab]);
        let mut words = words.split(' ');
        if let (Some(mode), Some(id)) = (words.next(), words.next()) {
            let blob = Blob {
                mode: mode.to_owned(),
                id: id.to_owned(),
            };
            entries.insert(PathBuf::from(OsStr::from_bytes(&line[tab + 1..])), blob);
        }
    }
    entries
}

fn zero_separated<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}

/// Whether git has something to say about it: it does not know directories.
fn is_leaf(item: &Item) -> bool {
    let leaf = |source: &Source| matches!(source, Source::File { .. } | Source::Symlink(_));
    leaf(&item.base) || leaf(&item.theirs)
}

/// Which side of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Base,
    Theirs,
}

/// Writes one side of the items below a directory, as git would find it in a work tree.
fn write_side(
    checkout: &Checkout<'_>,
    place: &Path,
    items: &[&Item],
    (which, selection): (Which, &Selection),
) -> io::Result<()> {
    fs_err::create_dir_all(place)?;
    for item in items {
        let path = place.join(checkout.path_in_git(&item.path));
        let source = match which {
            Which::Base => &item.base,
            Which::Theirs => &item.theirs,
        };
        if let (Source::File { .. } | Source::Symlink(_), Some(parent)) = (source, path.parent()) {
            fs_err::create_dir_all(parent)?;
        }
        match source {
            Source::File { mode, content } => {
                let mut bytes = content.read()?;
                if let (Which::Theirs, Some(picked)) = (which, selection.picked(&item.path)) {
                    bytes = picked_only(&item.base.read()?, &bytes, picked);
                }
                fs_err::write(&path, bytes)?;
                let permissions = std::fs::Permissions::from_mode(0o600 | (mode & 0o100));
                fs_err::set_permissions(&path, permissions)?;
            }
            Source::Symlink(target) => symlink(OsStr::from_bytes(target), &path)?,
            Source::Nothing | Source::Unknown | Source::Directory(_) | Source::Special(_) => {}
        }
    }
    Ok(())
}

/// The base with only the picked hunks of theirs.
fn picked_only(base: &[u8], theirs: &[u8], picked: &[usize]) -> Vec<u8> {
    let mut number = 0;
    TextMerge::new(base, base, theirs).resolve(|_| {
        number += 1;
        if picked.contains(&number) {
            Pick::Theirs
        } else {
            Pick::Mine
        }
    })
}

pub(super) fn failed(doing: &'static str, source: io::Error) -> GitError {
    GitError::Io { doing, source }
}
