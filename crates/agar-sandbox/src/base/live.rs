//! A guard over a live base: which files of the host changed since the sandbox began.

use super::manifest::{Manifest, ManifestError};
use super::survey::Surveyor;
use crate::copy::{CopyError, Landed, as_path};
use crate::project::Project;
use std::io;
use std::path::{Path, PathBuf};

/// What a live project looked like when a sandbox began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftManifest {
    manifest: Manifest,
}

/// What changed on the host since.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drift {
    /// Files and links that are new or not as they were, relative to the project, sorted.
    pub changed: Vec<PathBuf>,
    /// What is gone; of a directory only itself.
    pub removed: Vec<PathBuf>,
}

impl Drift {
    /// Whether the host's project is as it was.
    pub fn is_none(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }

    /// Whether a path, or something above it that is gone, drifted.
    pub fn touches(&self, path: &Path) -> bool {
        self.changed
            .binary_search_by(|changed| changed.as_path().cmp(path))
            .is_ok()
            || self.removed.iter().any(|removed| path.starts_with(removed))
    }
}

impl DriftManifest {
    /// Looks at the project now.
    pub fn take(project: &Project) -> Result<Self, CopyError> {
        let mut surveyor = Surveyor::new(project, &[])?;
        let mut listing = surveyor.look()?;
        // Everything is where it was, which is what a later look inherits.
        for entry in listing
            .directories
            .iter_mut()
            .flat_map(|directory| &mut directory.entries)
        {
            entry.landed = Some(Landed::default());
        }
        let mut manifest = Manifest {
            listing,
            ..Manifest::default()
        };
        manifest.facts.bulk = surveyor.left_live(&manifest.listing);
        Ok(Self { manifest })
    }

    /// Keeps it for a later command.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let fresh = path.with_extension("new");
        self.manifest.write(&fresh)?;
        fs_err::rename(&fresh, path)
    }

    /// Reads it back.
    pub fn load(path: &Path) -> Result<Self, ManifestError> {
        Ok(Self {
            manifest: Manifest::read(path)?,
        })
    }

    /// What changed since.
    pub fn drift(&self, project: &Project) -> Result<Drift, CopyError> {
        let mut surveyor = Surveyor::new(project, &self.manifest.facts.bulk)?;
        let mut now = surveyor.look()?;
        let gone = self.manifest.listing.carry_into(&mut now);
        let mut changed = now.missing();
        changed.sort();
        let removed = gone
            .entries
            .iter()
            .map(|path| as_path(path).to_owned())
            .collect();
        Ok(Drift { changed, removed })
    }
}
