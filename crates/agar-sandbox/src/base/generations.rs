//! The generations of one project on disk: finding, checking, and collecting them.

use super::manifest::{Manifest, ManifestError};
use crate::copy::{Entry, Shape, open_directory};
use crate::trash::{Trash, TrashError};
use rustix::fs::AtFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The directory that holds a project's generations.
#[derive(Debug)]
pub(super) struct Generations<'a> {
    pub(super) directory: &'a Path,
    pub(super) boot: &'a str,
}

/// What is needed of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// All of it.
    Whole,
    /// Its layer, below a later one.
    Layer,
}

impl Generations<'_> {
    /// The numbers on disk, oldest first. Some may be only a layer that later ones still need.
    pub(super) fn numbers(&self) -> io::Result<Vec<u64>> {
        let mut numbers: Vec<u64> = Vec::new();
        for entry in self.directory.read_dir()? {
            numbers.extend(
                entry?
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse::<u64>().ok()),
            );
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    pub(super) fn path(&self, number: u64) -> PathBuf {
        self.directory.join(number.to_string())
    }

    pub(super) fn layer(&self, number: u64) -> PathBuf {
        self.path(number).join("layer")
    }

    pub(super) fn manifest(&self, number: u64) -> PathBuf {
        self.path(number).join("manifest")
    }

    /// The directory in which a generation is built, before it has its name.
    pub(super) fn workshop(&self, number: u64) -> PathBuf {
        self.directory.join(format!("tmp-{number}"))
    }

    /// The layers of a generation, topmost first.
    pub(super) fn lowers(&self, manifest: &Manifest) -> Vec<PathBuf> {
        manifest
            .facts
            .layers
            .iter()
            .map(|&number| self.layer(number))
            .collect()
    }

    /// The newest generation that can be believed.
    ///
    /// One that cannot loses its manifest and keeps its layer: a sandbox may still be made of it.
    /// Collecting removes the layer once nobody uses it.
    pub(super) fn newest(&self) -> Option<Manifest> {
        for number in self.numbers().unwrap_or_default().into_iter().rev() {
            match self.load(number) {
                Ok(manifest) => return Some(manifest),
                // Only a layer, kept for later generations.
                Err(ManifestError::Disk(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(ManifestError::Disk(_) | ManifestError::Damaged) => {
                    let _gone = fs_err::remove_file(self.manifest(number));
                }
            }
        }
        None
    }

    /// Reads one generation and makes sure that its layers are what it says.
    fn load(&self, number: u64) -> Result<Manifest, ManifestError> {
        let mut manifest = Manifest::read(&self.manifest(number))?;
        let layers = self.lowers(&manifest);
        let sound = manifest.facts.number == number
            && !layers.is_empty()
            && layers.iter().all(|layer| layer.is_dir());
        if !sound {
            return Err(ManifestError::Damaged);
        }
        if manifest.facts.boot != self.boot {
            // The machine went down since. What had not reached the disk is missing or short.
            if !self.layers_agree(&manifest) {
                return Err(ManifestError::Damaged);
            }
            self.boot.clone_into(&mut manifest.facts.boot);
            let fresh = self.path(number).join("manifest.new");
            manifest.write(&fresh)?;
            fs_err::rename(&fresh, self.manifest(number))?;
        }
        Ok(manifest)
    }

    fn layers_agree(&self, manifest: &Manifest) -> bool {
        let Ok(layers) = self.open_layers(manifest) else {
            return false;
        };
        manifest.listing.directories.iter().all(|directory| {
            directory
                .entries
                .iter()
                .filter(|entry| entry.is_present())
                .all(|entry| {
                    entry.is_directory()
                        || locate(&layers, &directory.path_of(&entry.name), entry).is_some()
                })
        })
    }

    /// The layers of a generation, opened, bottom first: most files are at the bottom.
    pub(super) fn open_layers(
        &self,
        manifest: &Manifest,
    ) -> Result<Vec<OwnedFd>, crate::copy::CopyError> {
        self.lowers(manifest)
            .iter()
            .rev()
            .map(|layer| open_directory(layer))
            .collect()
    }

    /// Removes every generation that is not to be kept, except the newest.
    pub(super) fn collect(&self, keep: &BTreeSet<u64>, trash: &Trash) -> Result<u64, TrashError> {
        let needed = self.needed(keep);
        let mut removed = 0;
        for number in self.numbers().unwrap_or_default() {
            match needed.get(&number) {
                None => {
                    trash.discard(&self.path(number))?;
                    removed += 1;
                }
                Some(Need::Whole) => {}
                Some(Need::Layer) => {
                    let _gone = fs_err::remove_file(self.manifest(number));
                }
            }
        }
        Ok(removed)
    }

    /// How many generations are not to be kept.
    pub(super) fn count_unneeded(&self, keep: &BTreeSet<u64>) -> u64 {
        let needed = self.needed(keep);
        let numbers = self.numbers().unwrap_or_default();
        let unneeded = numbers.iter().filter(|number| !needed.contains_key(number));
        unneeded.count() as u64
    }

    /// What is needed of each generation that stays.
    fn needed(&self, keep: &BTreeSet<u64>) -> BTreeMap<u64, Need> {
        let newest = self.newest().map(|manifest| manifest.facts.number);
        let mut needed = BTreeMap::new();
        let numbers = self.numbers().unwrap_or_default();
        let is_kept = |number: &u64| keep.contains(number) || newest == Some(*number);
        for number in numbers.iter().filter(|number| is_kept(number)) {
            // In doubt a layer stays.
            let layers = match Manifest::read(&self.manifest(*number)) {
                Ok(manifest) => manifest.facts.layers,
                Err(_) => numbers
                    .iter()
                    .filter(|older| *older < number)
                    .copied()
                    .collect(),
            };
            for layer in layers {
                needed.entry(layer).or_insert(Need::Layer);
            }
            needed.insert(*number, Need::Whole);
        }
        needed
    }

    /// Moves what a crash left half built to the trash. The caller holds the build lock.
    pub(super) fn clear_workshops(&self, trash: &Trash) -> Result<(), TrashError> {
        let Ok(entries) = self.directory.read_dir() else {
            return Ok(());
        };
        for entry in entries.flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b"tmp-") {
                trash.discard(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// The layer that holds an entry's copy, known by its inode; layers are given bottom first.
pub(super) fn locate<'l>(layers: &'l [OwnedFd], path: &[u8], entry: &Entry) -> Option<&'l OwnedFd> {
    let landed = entry.landed?;
    layers.iter().find(|layer| {
        rustix::fs::statat(layer, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
            let size = u64::try_from(found.st_size).unwrap_or(0);
            found.st_ino == landed.ino && (entry.shape() != Shape::File || size == entry.size)
        })
    })
}
