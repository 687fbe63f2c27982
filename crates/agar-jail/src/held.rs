//! What the init keeps of the host's tree so that layers can be laid anew after it let go of it.
//!
//! After `pivot_root` no path leads to a layer any more. A clone of a directory, taken before and
//! attached nowhere, still does, and only for whoever holds its descriptor: the init, which nothing
//! inside can look into.

use crate::mount::{self, During, Failed};
use crate::place::Place;
use crate::plan::{Plan, Step};
use crate::raise::Masks;
use crate::wire::Raw;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Directories of the host, each under the path that it had there.
#[derive(Default)]
pub(crate) struct Held {
    trees: Vec<(PathBuf, OwnedFd)>,
    /// Targets with the layer of whiteouts that hides something below them.
    masks: Vec<(Raw, PathBuf)>,
}

impl Held {
    /// Takes what a later remount may need. What cannot be had makes that remount impossible, not
    /// this jail.
    pub(crate) fn take(plan: &Plan, masks: Masks) -> Self {
        let homes = &plan.policy.layer_homes;
        if homes.is_empty() {
            return Self::default();
        }
        let is_home = |path: &&Raw| {
            let path = path.as_path();
            !homes.iter().any(|home| path.starts_with(home.as_path()))
        };
        let bases = plan.steps.iter().flat_map(|step| {
            if let Step::Overlay {
                upper: Some(_),
                lowers,
                ..
            } = step
            {
                lowers.as_slice()
            } else {
                &[]
            }
        });
        let mut paths: Vec<PathBuf> = homes.iter().map(|home| home.as_path().into()).collect();
        paths.extend(bases.filter(is_home).map(|path| path.as_path().to_owned()));
        if !masks.made.is_empty() {
            paths.push(masks.space);
        }
        let clone = |path: PathBuf| {
            let place = Place::at(&path).ok()?;
            Some((mount::clone_one(&place).ok()?, path))
        };
        let trees = paths.into_iter().filter_map(clone);
        Self {
            trees: trees.map(|(tree, path)| (path, tree)).collect(),
            masks: masks.made,
        }
    }

    /// The layer that hides something below a target.
    pub(crate) fn mask(&self, target: &Raw) -> Option<&Path> {
        let found = self.masks.iter().find(|(masked, _)| masked == target);
        found.map(|(_, layer)| layer.as_path())
    }

    /// Opens a directory of the host by the path that it has there.
    pub(crate) fn open(&self, path: &Path) -> Result<OwnedFd, Failed> {
        let within = |(home, tree): &'_ (PathBuf, OwnedFd)| {
            let relative = path.strip_prefix(home).ok()?;
            let relative = if relative.as_os_str().is_empty() {
                Path::new(".")
            } else {
                relative
            };
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            Some(openat2(tree, relative, flags, Mode::empty(), resolve))
        };
        self.trees
            .iter()
            .find_map(within)
            .unwrap_or(Err(Errno::XDEV))
            .during(|| format!("open the layer {}", path.display()))
    }
}
