//! Files out of a sandbox, read from its layers as the kernel would merge them.
//!
//! Works whether the jail is up or not. Nothing inside is followed: a symbolic link is copied as a
//! link, and a name is never more than one name.

use super::CopyAnswer;
use crate::blueprint::Blueprint;
use crate::view::shown;
use crate::{Engine, EngineError, changes, find, view, whereabouts};
use agar_sandbox::layer::{Entry, Kind, View};
use agar_sandbox::stack::{Stack, owner};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Copies a file or directory of a sandbox to the machine.
pub(super) fn copy_out(
    engine: &Engine,
    (name, from): (&str, &Path),
    to: &Path,
) -> Result<CopyAnswer, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, Some(name))?;
    let blueprint = changes::kept(&record, "copy files out of")?;
    let blueprint = whereabouts::inside(here, blueprint);
    let from = blueprint.root.join(from);
    let mut copy = Copy {
        reach: Reach::into(&blueprint),
        files: 0,
        bytes: 0,
    };
    let entry = copy
        .reach
        .find(&from)?
        .ok_or_else(|| EngineError::Missing {
            doing: "copy files",
            what: format!("{} in {}", shown(&from), record.alias),
        })?;
    let to = match (to.is_dir(), from.file_name()) {
        (true, Some(name)) => to.join(name),
        (true, None) | (false, _) => to.to_owned(),
    };
    copy.copy(&from, &entry, &to)?;
    Ok(CopyAnswer {
        sandbox: view::sandbox(here, &record)?,
        files: copy.files,
        bytes: copy.bytes,
    })
}

/// The files of a sandbox, as the kernel would merge them.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    blueprint: &'a Blueprint,
}

impl<'a> Reach<'a> {
    /// The files of this sandbox.
    pub(crate) const fn into(blueprint: &'a Blueprint) -> Self {
        Self { blueprint }
    }

    /// The layers that a path inside is read from. What was masked is there only if it was made
    /// inside.
    fn view(&self, path: &Path) -> Result<Option<(&Stack, View)>, EngineError> {
        let Some(stack) = owner(&self.blueprint.stacks, path) else {
            return Ok(None);
        };
        let masked = self
            .blueprint
            .masks
            .iter()
            .any(|mask| path.starts_with(mask));
        let view = if masked {
            View::written(stack)?
        } else {
            View::merged(stack)?
        };
        Ok(Some((stack, view)))
    }

    /// What is at a path, if anything. Nothing is followed.
    pub(crate) fn find(&self, path: &Path) -> Result<Option<Entry>, EngineError> {
        let Some((stack, view)) = self.view(path)? else {
            return Err(EngineError::Invalid(format!(
                "{} is the machine's own and the same outside",
                shown(path)
            )));
        };
        let relative = path.strip_prefix(&stack.target).unwrap_or(path);
        Ok(view.lookup(relative)?)
    }

    /// What is in a directory, sorted by name, without what is masked.
    pub(crate) fn children(&self, path: &Path) -> Result<Vec<(OsString, Entry)>, EngineError> {
        let Some((stack, view)) = self.view(path)? else {
            return Ok(Vec::new());
        };
        let relative = path.strip_prefix(&stack.target).unwrap_or(path);
        let mut children = Vec::new();
        for (name, entry) in view.read_dir(relative)? {
            let child = path.join(&name);
            // Another overlay lies there, or a mask: ask again, of the layers that count.
            let entry = if self.is_apart(&child) {
                self.find(&child)?
            } else {
                Some(entry)
            };
            children.extend(entry.map(|entry| (name, entry)));
        }
        Ok(children)
    }

    /// Whether another overlay lies there, or a mask, so that other layers count.
    fn is_apart(&self, path: &Path) -> bool {
        self.blueprint.masks.iter().any(|mask| mask == path)
            || self.blueprint.stacks.iter().any(|it| it.target == path)
    }
}

struct Copy<'a> {
    reach: Reach<'a>,
    files: u64,
    bytes: u64,
}

impl Copy<'_> {
    fn copy(&mut self, from: &Path, entry: &Entry, to: &Path) -> Result<(), EngineError> {
        let failed = || EngineError::io(format!("write {}", shown(to)));
        match entry.kind {
            Kind::File => {
                self.bytes += copy_file(entry, to).map_err(failed())?;
                self.files += 1;
                Ok(())
            }
            Kind::Symlink => {
                let target = entry.place.read_link().map_err(failed())?;
                replace(to, |to| std::os::unix::fs::symlink(&target, to)).map_err(failed())?;
                self.files += 1;
                Ok(())
            }
            Kind::Directory => {
                make_directory(to, entry.mode).map_err(failed())?;
                for (name, child) in self.reach.children(from)? {
                    let inside = from.join(&name);
                    self.copy(&inside, &child, &to.join(name))?;
                }
                Ok(())
            }
            // Nothing that could be copied.
            Kind::Fifo | Kind::Socket | Kind::Device => Ok(()),
        }
    }
}

/// Copies one file beside its place and moves it there, so that a reader never sees half of it.
fn copy_file(entry: &Entry, to: &Path) -> io::Result<u64> {
    let mut from = entry.place.open()?;
    let mut bytes = 0;
    replace(to, |to| {
        let mut file = fs_err::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(to)?;
        bytes = io::copy(&mut from, &mut file)?;
        let mode = std::fs::Permissions::from_mode(entry.mode & 0o777);
        fs_err::set_permissions(to, mode)
    })?;
    Ok(bytes)
}

/// Makes something under a name of its own, then moves it over what is there.
fn replace(to: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut name = OsString::from(".");
    name.push(to.file_name().unwrap_or_default());
    name.push(format!(".agar-{}", std::process::id()));
    let aside = to.with_file_name(name);
    let made = write(&aside).and_then(|()| fs_err::rename(&aside, to));
    if made.is_err() {
        // What is left of it is of no use to anybody.
        drop(fs_err::remove_file(&aside));
    }
    made
}

/// Makes a directory, or uses one that is there. Never follows a link to one.
fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    match fs_err::create_dir(path) {
        Ok(()) => {
            let mode = std::fs::Permissions::from_mode(mode & 0o777 | 0o700);
            fs_err::set_permissions(path, mode)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if path.symlink_metadata()?.is_dir() {
                Ok(())
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            }
        }
        Err(error) => Err(error),
    }
}
