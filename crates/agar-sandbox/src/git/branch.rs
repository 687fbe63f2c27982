//! The change of a sandbox on a branch, without touching work tree or index.

use super::commit::{head, message_bytes};
use super::onto::{Sides, failed, fill};
use super::{Checkout, Committed, GitError};
use crate::merge::Selection;
use crate::promote::Item;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// Commits the items on a branch: on its tip if it exists, else on the current commit.
pub fn branch(
    checkout: &Checkout<'_>,
    name: &str,
    items: &[Item],
    message: &str,
    selection: &Selection,
) -> Result<Committed, GitError> {
    let reference = full_name(checkout, name)?;
    let tip = checkout
        .git("rev-parse")
        .args(["--verify", "-q", &format!("{reference}^{{commit}}")])
        .try_line()?;
    let parent = match &tip {
        Some(tip) => Some(tip.clone()),
        None => head(checkout)?,
    };
    let wanted: Vec<Item> = items
        .iter()
        .filter(|item| selection.includes(&item.path))
        .filter(|item| !item.masked || selection.names(&item.path))
        .filter(|item| !crate::promote::is_git(&item.path))
        .cloned()
        .collect();
    let sides = Sides::new(checkout, &wanted, selection, parent.as_deref())?;
    let scratch = tempfile::Builder::new()
        .prefix("agar-index-")
        .tempdir()
        .map_err(|source| failed("make a directory for git", source))?;
    let index = scratch.path().join("index");
    fill(checkout, &index, parent.as_deref())?;
    let (edits, conflicts) = sides.onto(&sides.entries(Some(&index))?, selection)?;
    if !conflicts.is_empty() {
        return Err(GitError::Conflicts {
            name: name.to_owned(),
            paths: conflicts,
        });
    }
    if edits.is_empty() {
        return Err(GitError::Nothing);
    }
    sides.edit(Some(&index), &edits)?;
    let tree = checkout.git("write-tree").index(&index).line()?;
    let mut call = checkout.git("commit-tree");
    if let Some(parent) = &parent {
        call = call.args(["-p", parent]);
    }
    let id = call.arg(&tree).input(message_bytes(message)).line()?;
    let zero = "0".repeat(id.len());
    let before = tip.as_deref().unwrap_or(&zero);
    checkout
        .git("update-ref")
        .args(["-m", "agar: apply", &reference, &id, before])
        .run()?;
    Ok(Committed {
        id,
        branch: Some(reference),
        left_out: sides.left_out,
    })
}

/// The full name of a branch that is checked out nowhere.
fn full_name(checkout: &Checkout<'_>, name: &str) -> Result<String, GitError> {
    let bad = || GitError::BadName {
        name: agar_core::text::printable(name).into_owned(),
    };
    if name.starts_with('-') {
        return Err(bad());
    }
    let call = checkout.git("check-ref-format").args(["--branch", name]);
    let short = call.try_line()?.ok_or_else(bad)?;
    let reference = format!("refs/heads/{short}");
    let listing = checkout
        .git("worktree")
        .args(["list", "--porcelain", "-z"])
        .run()?;
    let mut at = PathBuf::new();
    for line in listing.split(|&byte| byte == 0) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            at = OsStr::from_bytes(path).into();
        }
        if line.strip_prefix(b"branch ") == Some(reference.as_bytes()) {
            return Err(GitError::CheckedOut { name: short, at });
        }
    }
    Ok(reference)
}
