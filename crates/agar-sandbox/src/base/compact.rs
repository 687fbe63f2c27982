//! Joins many layers into one.
//!
//! The files of layers never change, so the new layer links them instead of copying. Linking moves
//! their change time, for older generations too: git in an old sandbox reads its files once more, and
//! finds them unchanged.

use super::freeze::{Workshop, publish, read_below, write_index};
use super::generations::locate;
use super::index::Moved;
use super::manifest::Manifest;
use super::{Bases, PrepareError, repositories};
use crate::copy::{CopyError, Directory, Entry, Landed, as_path, join};
use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Makes a generation of one layer that shows what `old` shows. The caller holds the build lock.
pub(super) fn compact(bases: &Bases<'_>, old: &Manifest) -> Result<Manifest, PrepareError> {
    let generations = bases.generations();
    let number = generations
        .numbers()
        .unwrap_or_default()
        .last()
        .map_or(0, |number| number + 1);
    let workshop = generations.workshop(number);
    let made = Workshop::new(&workshop)?;
    let layers = generations.open_layers(old)?;
    let mut new = old.clone();
    let joining = Joining {
        layers: &layers,
        target: &made.layer,
        path: &workshop,
    };
    for directory in &mut new.listing.directories {
        let Directory { path, entries } = directory;
        for entry in entries.iter_mut().filter(|entry| entry.is_present()) {
            joining.bring(&join(path, &entry.name), entry)?;
        }
    }
    renew_indexes(bases, &joining, old, &mut new)?;
    joining.finish(&new)?;
    new.facts.number = number;
    new.facts.layers = vec![number];
    publish(bases, &generations, &new)?;
    Ok(new)
}

struct Joining<'a> {
    /// Bottom first.
    layers: &'a [OwnedFd],
    target: &'a OwnedFd,
    path: &'a Path,
}

impl Joining<'_> {
    fn failed(&self, doing: &'static str, path: &[u8], error: Errno) -> PrepareError {
        CopyError::new(doing, &self.path.join(as_path(path)), error).into()
    }

    fn bring(&self, path: &[u8], entry: &mut Entry) -> Result<(), PrepareError> {
        if entry.is_directory() {
            return rustix::fs::mkdirat(self.target, path, Mode::RWXU)
                .map_err(|error| self.failed("make", path, error));
        }
        let layer = locate(self.layers, path, entry)
            .ok_or_else(|| self.failed("find", path, Errno::NOENT))?;
        match rustix::fs::linkat(layer, path, self.target, path, AtFlags::empty()) {
            Ok(()) => {}
            Err(error) => return Err(self.failed("link", path, error)),
        }
        let found = rustix::fs::statat(self.target, path, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| self.failed("look at", path, error))?;
        if let Some(landed) = &mut entry.landed {
            landed.ctime_ns = crate::copy::change_time(&found);
        }
        Ok(())
    }

    /// Mode, owner and time of each directory, as the topmost layer that has it shows them.
    fn finish(&self, new: &Manifest) -> Result<(), PrepareError> {
        for directory in new.listing.directories.iter().rev() {
            let inside = directory
                .entries
                .iter()
                .filter(|entry| entry.is_directory());
            for entry in inside {
                self.finish_directory(&directory.path_of(&entry.name), entry.mode)?;
            }
        }
        let root = self
            .layers
            .last()
            .and_then(|layer| rustix::fs::fstat(layer).ok());
        self.finish_directory(b".", root.map_or(0o755, |root| root.st_mode))
    }

    fn finish_directory(&self, path: &[u8], mode: u32) -> Result<(), PrepareError> {
        let failed = |error| self.failed("finish", path, error);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(self.target, path, flags, Mode::empty()).map_err(failed)?;
        let tops = self.layers.iter().rev();
        let mut tops =
            tops.filter_map(|layer| rustix::fs::statat(layer, path, AtFlags::empty()).ok());
        if let Some(found) = tops.next() {
            let nanoseconds = i64::try_from(found.st_mtime_nsec).unwrap_or(0);
            let times = Timestamps {
                last_access: Timespec {
                    tv_sec: 0,
                    tv_nsec: UTIME_OMIT,
                },
                last_modification: Timespec {
                    tv_sec: found.st_mtime,
                    tv_nsec: nanoseconds,
                },
            };
            rustix::fs::futimens(&dir, &times).map_err(failed)?;
            let owner = (
                rustix::fs::Uid::from_raw(found.st_uid),
                rustix::fs::Gid::from_raw(found.st_gid),
            );
            // Only root can give directories away; others made them as their own.
            let _ = rustix::fs::fchown(&dir, Some(owner.0), Some(owner.1));
        }
        rustix::fs::fchmod(&dir, Mode::from_raw_mode(mode & 0o7777)).map_err(failed)
    }
}

/// Linking moved the change times that the indexes remember.
fn renew_indexes(
    bases: &Bases<'_>,
    joining: &Joining<'_>,
    old: &Manifest,
    new: &mut Manifest,
) -> Result<(), PrepareError> {
    let found = repositories::find(bases.project, &new.listing);
    for repository in &found.inside {
        let path = repository.index();
        let Some(entry) = new
            .listing
            .entry(&path)
            .filter(|entry| entry.is_present())
            .cloned()
        else {
            continue;
        };
        let Ok(bytes) = read_below(joining.target, &path) else {
            continue;
        };
        let config = repository.config(&joining.path.join("layer"));
        let moved = |path: &[u8]| {
            let before = old.listing.entry(path)?.landed?;
            let after = new.listing.entry(path)?;
            Some(renewed(before, after, after.landed?))
        };
        if let Some(fresh) = repository.refreshed(&bytes, &config, &moved) {
            let file = joining.path.join("layer").join(as_path(&path));
            let landed =
                write_index(&file, &fresh, &entry).map_err(|source| PrepareError::Disk {
                    doing: "renew the index",
                    path: file.clone(),
                    source,
                })?;
            if let Some(entry) = new.listing.entry_mut(&path) {
                entry.landed = Some(landed);
            }
        }
    }
    Ok(())
}

fn renewed(before: Landed, entry: &Entry, after: Landed) -> Moved {
    Moved {
        ino: before.ino,
        ctime_ns: before.ctime_ns,
        mtime_ns: entry.mtime_ns,
        size: entry.size,
        new_ino: after.ino,
        new_ctime_ns: after.ctime_ns,
    }
}
