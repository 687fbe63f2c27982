//! Commits made inside, brought over as objects and refs of their own.
//!
//! The sandbox's repository is never opened as one: its configuration and hooks were in the hands of
//! whatever ran there. A scratch repository borrows the objects of its layers and packs what is new;
//! the person's repository takes the pack in after checking every object of it. Index, hooks and
//! configuration never cross.

use super::command::{Call, search_path};
use super::onto::failed;
use super::{Checkout, GitError};
use crate::change::git::Repository;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// A ref that holds commits made inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The full name: `refs/agar/<alias>/heads/main`.
    pub name: String,
    /// The ref inside that it stands for.
    pub from: String,
    /// The object it points to.
    pub id: String,
}

/// Carries the commits of a sandbox's repository into the person's, under `refs/agar/<alias>/`.
pub fn carry(
    checkout: &Checkout<'_>,
    made: &Repository,
    alias: &str,
) -> Result<Vec<Carried>, GitError> {
    if let Some(reason) = &made.incomplete {
        return Err(GitError::Uncarried {
            reason: reason.clone(),
        });
    }
    let mut carried = Vec::new();
    for change in &made.refs {
        let Some(id) = change.after.clone().filter(|id| is_object_id(id)) else {
            continue;
        };
        let short = change.name.strip_prefix("refs/").unwrap_or(&change.name);
        let name = format!("refs/agar/{alias}/{short}");
        let valid = checkout.git("check-ref-format").arg(&name).output()?;
        if valid.status.success() {
            carried.push(Carried {
                name,
                from: change.name.clone(),
                id,
            });
        }
    }
    if carried.is_empty() {
        return Ok(carried);
    }
    take_in(checkout, made, &carried)?;
    for reference in &carried {
        let call = checkout.git("update-ref");
        call.args(["-m", "agar: carry", &reference.name, &reference.id])
            .run()?;
    }
    Ok(carried)
}

fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Packs what the person's repository does not have, and unpacks it there.
fn take_in(
    checkout: &Checkout<'_>,
    made: &Repository,
    carried: &[Carried],
) -> Result<(), GitError> {
    let wide = carried.iter().any(|reference| reference.id.len() == 64);
    let scratch = scratch(wide).map_err(|source| failed("make a repository for git", source))?;
    let mut wanted = String::new();
    for reference in carried {
        wanted.extend([&reference.id, "\n"]);
    }
    let call = checkout
        .git("for-each-ref")
        .args(["--format=%(objectname)"]);
    let had = call.run()?;
    for id in String::from_utf8_lossy(&had).lines() {
        wanted.extend(["^", id, "\n"]);
    }
    let mut objects = made.objects.clone();
    objects.push(checkout.git.common_dir.join("objects"));
    let path = search_path(checkout.environment);
    let pack = Call::bare(scratch.path(), "pack-objects", path)
        .args(["--revs", "--stdout", "-q", "--delta-base-offset"])
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates(&objects))
        .input(wanted.into_bytes())
        .run()?;
    let call = checkout
        .git("index-pack")
        .args(["--stdin", "--fix-thin", "--strict"]);
    call.input(pack).run()?;
    // Every object that the commits need must have arrived.
    let mut call = checkout.git("rev-list").args(["--objects", "--quiet"]);
    for reference in carried {
        call = call.arg(&reference.id);
    }
    call.args(["--not", "--all"]).run().map(drop)
}

/// An empty repository of our own.
fn scratch(wide: bool) -> std::io::Result<tempfile::TempDir> {
    let directory = tempfile::Builder::new().prefix("agar-git-").tempdir()?;
    let path: &Path = directory.path();
    fs_err::create_dir(path.join("objects"))?;
    fs_err::create_dir(path.join("refs"))?;
    fs_err::write(path.join("HEAD"), "ref: refs/heads/none\n")?;
    let (version, format) = if wide {
        (1, "[extensions]\n\tobjectFormat = sha256\n")
    } else {
        (0, "")
    };
    let config = format!("[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n{format}");
    fs_err::write(path.join("config"), config)?;
    Ok(directory)
}

/// The directories as git's variable wants them: between colons, odd names quoted.
fn alternates(objects: &[PathBuf]) -> OsString {
    let quoted = |path: &PathBuf| {
        let path: &OsStr = path.as_os_str();
        let bytes = path.as_bytes();
        if !bytes.iter().any(|byte| matches!(byte, b':' | b'"')) {
            return bytes.to_vec();
        }
        let escaped = bytes.iter().flat_map(|byte| match byte {
            b'"' | b'\\' => vec![b'\\', *byte],
            byte => vec![*byte],
        });
        [vec![b'"'], escaped.collect(), vec![b'"']].concat()
    };
    let list: Vec<Vec<u8>> = objects.iter().map(quoted).collect();
    OsString::from_vec(list.join(&b':'))
}
