//! Looks at a project as it is now: every entry, except what lies in bulk or behind a mount.

use super::bulk::{BULK_MAX, BulkRule, Judge};
use super::{Bulk, BulkReason};
use crate::copy::{CopyError, Descent, Entry, Listing, as_path, last, open_directory, walk_from};
use crate::project::Project;
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Mutex, PoisonError};

/// Surveys one project, remembering what it decided about bulk, so that two looks agree.
pub(super) struct Surveyor<'a> {
    rule: &'a BulkRule,
    project: &'a Project,
    root: OwnedFd,
    bulk: BTreeSet<Vec<u8>>,
    plain: BTreeSet<Vec<u8>>,
}

impl<'a> Surveyor<'a> {
    /// Starts from the bulk that an earlier generation left out, as far as the rule still allows it.
    pub(super) fn new(
        rule: &'a BulkRule,
        project: &'a Project,
        known: &[Bulk],
    ) -> Result<Self, CopyError> {
        let caches = known.iter().filter(|bulk| bulk.reason == BulkReason::Cache);
        let bulk = caches
            .map(|bulk| bulk.path.as_os_str().as_bytes().to_vec())
            .filter(|path| rule.is_candidate(last(path)))
            .collect();
        let root = open_directory(&project.root)?;
        Ok(Self {
            rule,
            project,
            root,
            bulk,
            plain: BTreeSet::new(),
        })
    }

    /// The project's root, opened.
    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// Lists the project.
    pub(super) fn look(&mut self) -> Result<Listing, CopyError> {
        let mut whole = Listing::default();
        let mut starts = vec![Vec::new()];
        while !starts.is_empty() {
            let doubtful = Mutex::new(Vec::new());
            let decide = |path: &[u8], entry: &Entry| self.decide(path, entry, &doubtful);
            let part = walk_from(&self.root, &self.project.root, starts, &decide)?;
            whole.directories.extend(part.directories);
            whole.unreadable.extend(part.unreadable);
            whole.mounts.extend(part.mounts);
            starts = self.judge(
                doubtful
                    .into_inner()
                    .unwrap_or_else(PoisonError::into_inner),
            );
        }
        whole
            .directories
            .sort_unstable_by(|a, b| a.path.cmp(&b.path));
        // Those that were entered in the end were listed as closed at first.
        for path in &self.plain {
            if let Some(entry) = whole.entry_mut(path) {
                entry.closed = false;
            }
        }
        // A mount is closed whatever its name.
        for mount in whole.mounts.clone() {
            if let Some(entry) = whole.entry_mut(mount.as_os_str().as_bytes()) {
                entry.closed = true;
            }
        }
        Ok(whole)
    }

    /// Known bulk stays out, and what might be bulk is put off.
    fn decide(&self, path: &[u8], entry: &Entry, doubtful: &Mutex<Vec<Vec<u8>>>) -> Descent {
        if self.bulk.contains(path) {
            return Descent::StayOut;
        }
        if !self.rule.is_candidate(entry.name.to_bytes()) || self.plain.contains(path) {
            return Descent::Enter;
        }
        doubtful
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(path.to_vec());
        Descent::StayOut
    }

    /// Decides about candidates; the shallowest get the few places there are. Answers those that are
    /// to be entered after all.
    fn judge(&mut self, mut doubtful: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let depth = |path: &Vec<u8>| as_path(path).components().count();
        doubtful.sort_by(|a, b| depth(a).cmp(&depth(b)).then_with(|| a.cmp(b)));
        let judge = Judge::new(self.rule, self.project, &self.root);
        let mut plain = Vec::new();
        for path in doubtful {
            if self.bulk.len() < BULK_MAX && judge.is_bulk(&path) {
                self.bulk.insert(path);
            } else {
                plain.push(path);
            }
        }
        self.plain.extend(plain.iter().cloned());
        plain
    }

    /// What a listing leaves out, named.
    pub(super) fn left_live(&self, listing: &Listing) -> Vec<Bulk> {
        let is_there = |path: &&Vec<u8>| listing.entry(path).is_some_and(|entry| entry.closed);
        let caches = self.bulk.iter().filter(is_there);
        let caches = caches.map(|path| Bulk {
            path: as_path(path).to_owned(),
            reason: BulkReason::Cache,
        });
        let mounts = listing.mounts.iter();
        let mounts = mounts.map(|path| Bulk {
            path: path.clone(),
            reason: BulkReason::Mount,
        });
        let mut live: Vec<Bulk> = caches.chain(mounts).collect();
        live.sort_by(|a, b| a.path.cmp(&b.path));
        live.dedup_by(|a, b| a.path == b.path);
        live
    }
}
