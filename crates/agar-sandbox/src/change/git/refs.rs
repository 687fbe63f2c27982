//! Refs, read from a view: loose files over `packed-refs`.

use super::{RefChange, SMALL_BYTES_MAX};
use crate::layer::{Entry, Kind, View, ViewError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The longest `packed-refs` that is read.
const PACKED_BYTES_MAX: u64 = 64 << 20;

/// How many loose refs are read.
const LOOSE_MAX: usize = 100_000;

/// Refs by name; the value is an object id or `ref: …`.
pub(super) type Refs = BTreeMap<String, String>;

/// Every ref of a git directory.
pub(super) fn read(view: &View, directory: &Path) -> Result<Refs, ViewError> {
    let mut refs = Refs::new();
    if let Some(packed) = view.lookup(&directory.join("packed-refs"))? {
        let text = packed.place.read(PACKED_BYTES_MAX).ok().flatten();
        refs.extend(unpack(&text.unwrap_or_default()));
    }
    let mut folders = vec![directory.join("refs")];
    let mut left = LOOSE_MAX;
    while let Some(folder) = folders.pop() {
        for (name, entry) in view.read_dir(&folder)? {
            let path = folder.join(name);
            if entry.kind == Kind::Directory {
                folders.push(path);
            } else if left > 0 {
                left -= 1;
                refs.extend(loose(directory, &path, &entry));
            }
        }
    }
    for path in heads(view, directory)? {
        if let Some(entry) = view.lookup(&path)? {
            refs.extend(loose(directory, &path, &entry));
        }
    }
    Ok(refs)
}

/// `HEAD`, and that of each linked worktree.
fn heads(view: &View, directory: &Path) -> Result<Vec<PathBuf>, ViewError> {
    let worktrees = directory.join("worktrees");
    let mut heads = vec![directory.join("HEAD")];
    for (name, _) in view.read_dir(&worktrees)? {
        heads.push(worktrees.join(name).join("HEAD"));
    }
    Ok(heads)
}

/// A loose ref: its name and its value, if that is what the file holds.
fn loose(directory: &Path, path: &Path, entry: &Entry) -> Option<(String, String)> {
    let name = path.strip_prefix(directory).ok()?.to_string_lossy();
    if name.ends_with(".lock") {
        return None;
    }
    let text = entry.place.read(SMALL_BYTES_MAX).ok()??;
    let value = String::from_utf8(text).ok()?.trim_end().to_owned();
    (is_id(&value) || value.starts_with("ref: ")).then(|| (name.into_owned(), value))
}

/// The refs of a `packed-refs` file. Peeled tags and comments are passed over.
fn unpack(text: &[u8]) -> Refs {
    let line = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let (id, name) = line.trim_end().split_once(' ')?;
        is_id(id).then(|| (name.to_owned(), id.to_owned()))
    };
    text.split(|byte| *byte == b'\n').filter_map(line).collect()
}

/// Whether text is an object id, of either hash.
pub(super) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The refs that differ, by name.
pub(super) fn differences(before: &Refs, after: &Refs) -> Vec<RefChange> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| RefChange {
            name: name.clone(),
            before: before.get(name).cloned(),
            after: after.get(name).cloned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_peeled_tags_and_nonsense_are_passed_over() {
        let id = "a".repeat(40);
        let text = format!("# pack-refs with: peeled\n{id} refs/tags/v1\n^{id}\nnonsense\n\n");
        assert_eq!(
            unpack(text.as_bytes()),
            Refs::from([("refs/tags/v1".to_owned(), id)])
        );
    }
}
