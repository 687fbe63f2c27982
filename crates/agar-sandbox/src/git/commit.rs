//! A commit of exactly what was promoted, on the current branch.

use super::onto::{Edit, Sides, failed, fill};
use super::{Checkout, Committed, GitError, Hooks, Omitted};
use crate::merge::Selection;
use crate::promote::Item;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Files in the git directory that say an operation is half way.
const IN_PROGRESS: [(&str, &str); 5] = [
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
];

/// Commits what a promotion changed. The items are its own: each path as it was before and as it is
/// after, from [`crate::promote::Promotions::changes`].
///
/// Edits of the person's that were not committed stay so, and what they staged stays staged, in the
/// same files too. A path whose change cannot be told apart from such edits is left out and named.
pub fn commit(
    checkout: &Checkout<'_>,
    items: &[Item],
    message: &str,
    hooks: Hooks,
) -> Result<Committed, GitError> {
    for (name, operation) in IN_PROGRESS {
        if checkout.git.dir.join(name).symlink_metadata().is_ok() {
            return Err(GitError::InProgress { operation });
        }
    }
    let everything = Selection::default();
    let head = head(checkout)?;
    let mut sides = Sides::new(checkout, items, &everything, head.as_deref())?;
    let scratch = tempfile::Builder::new()
        .prefix("agar-index-")
        .tempdir()
        .map_err(|source| failed("make a directory for git", source))?;
    let index = scratch.path().join("index");
    fill(checkout, &index, head.as_deref())?;
    let committed = sides.entries(Some(&index))?;
    let staged = sides.entries(None)?;
    let (edits, conflicts) = sides.onto(&committed, &everything)?;
    leave_out(&mut sides, conflicts);
    if edits.is_empty() {
        return Err(GitError::Nothing);
    }
    sides.edit(Some(&index), &edits)?;
    let mut call = checkout
        .git_with("commit", hooks)
        .args(["--quiet", "--cleanup=verbatim", "--file=-"])
        .index(&index)
        .input(message_bytes(message));
    if hooks == Hooks::Off {
        call = call.arg("--no-verify");
    }
    call.run()?;
    restage(&sides, &staged, &committed, &edits)?;
    Ok(Committed {
        id: checkout
            .git("rev-parse")
            .args(["--verify", "HEAD"])
            .line()?,
        branch: checkout
            .git("symbolic-ref")
            .args(["-q", "HEAD"])
            .try_line()?,
        left_out: sides.left_out,
    })
}

/// The commit that the head is at; none before the first.
pub(super) fn head(checkout: &Checkout<'_>) -> Result<Option<String>, GitError> {
    let call = checkout
        .git("rev-parse")
        .args(["--verify", "-q", "HEAD^{commit}"]);
    call.try_line()
}

/// git wants a message to end with a newline.
pub(super) fn message_bytes(message: &str) -> Vec<u8> {
    let mut bytes = message.trim_end().as_bytes().to_vec();
    bytes.push(b'\n');
    bytes
}

fn leave_out(sides: &mut Sides<'_>, conflicts: Vec<PathBuf>) {
    let met = conflicts
        .into_iter()
        .map(|path| (path, Omitted::MeetsYours));
    sides.left_out.extend(met);
}

/// Brings the person's own index along, so that what was just committed does not look as if they had
/// staged its opposite. Where they had staged something in the same file, both are merged.
fn restage(
    sides: &Sides<'_>,
    staged: &BTreeMap<PathBuf, super::onto::Blob>,
    committed: &BTreeMap<PathBuf, super::onto::Blob>,
    edits: &BTreeMap<PathBuf, Edit>,
) -> Result<(), GitError> {
    let (mut merged, _) = sides.onto(staged, &Selection::default())?;
    merged.retain(|path, _| edits.contains_key(path));
    for (path, edit) in edits {
        if staged.get(path) == committed.get(path) {
            merged.insert(path.clone(), edit.clone());
        }
    }
    sides.edit(None, &merged)
}
