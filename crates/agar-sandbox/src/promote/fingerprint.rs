//! One digest of everything that a plan is made of.
//!
//! Hunks go by number, and the numbers follow from the three sides of each path. Whoever names some
//! says with this which sides they were numbered for.

use super::ground::Ground;
use super::item::Item;
use super::proposal::{PrepareError, read_error};
use crate::merge::{Digest, Entry};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The digest of what the items are in the base, in the sandbox and in the directory that they go to.
pub fn fingerprint(root: &Path, items: &[Item]) -> Result<Digest, PrepareError> {
    let ground = Ground::open(root).map_err(|source| read_error("the project's", root, source))?;
    let mut items: Vec<&Item> = items.iter().collect();
    items.sort_by(|a, b| a.path.cmp(&b.path));
    let mut hasher = blake3::Hasher::new();
    for item in items {
        put(&mut hasher, item.path.as_os_str().as_bytes());
        let from = item.from.as_deref().unwrap_or(Path::new(""));
        put(&mut hasher, from.as_os_str().as_bytes());
        put(&mut hasher, &[u8::from(item.masked)]);
        let base = item.base.entry();
        side(
            &mut hasher,
            &base.map_err(|source| read_error("the base's", &item.path, source))?,
        );
        let theirs = item.theirs.entry();
        let failed = |source| read_error("the sandbox's", &item.path, source);
        side(&mut hasher, &theirs.map_err(failed)?);
        let mine = ground.look(&item.path);
        side(
            &mut hasher,
            &mine
                .map_err(|source| read_error("your", &item.path, source))?
                .entry,
        );
    }
    Ok(Digest::from(hasher.finalize()))
}

/// With its length: two short ones are not one long one.
fn put(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn side(hasher: &mut blake3::Hasher, entry: &Entry) {
    match entry {
        Entry::Absent => put(hasher, b"absent"),
        Entry::File(file) => {
            put(hasher, b"file");
            put(hasher, &file.mode.to_le_bytes());
            put(hasher, file.digest.to_string().as_bytes());
        }
        Entry::Symlink(target) => {
            put(hasher, b"symlink");
            put(hasher, target);
        }
        Entry::Directory(mode) => {
            put(hasher, b"directory");
            put(hasher, &mode.to_le_bytes());
        }
        Entry::Special(special) => {
            put(hasher, b"special");
            put(hasher, special.to_string().as_bytes());
        }
        Entry::Blocked => put(hasher, b"blocked"),
        Entry::Unknown => put(hasher, b"unknown"),
    }
}
