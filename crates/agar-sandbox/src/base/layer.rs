//! Builds one layer: the first holds everything, a later one only what changed, with whiteouts for
//! what is gone.

use crate::copy::{Copier, Directory, Entry, Gone, Landed, Listing, Made, Trouble, join, parent};
use rustix::fs::{FileType, Mode, XattrFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;

/// A layer under construction.
pub(super) struct Layer<'a> {
    copier: Copier<'a>,
    /// What the layers below show.
    below: &'a Listing,
    /// Directories that exist in this layer.
    made: BTreeSet<Vec<u8>>,
}

impl<'a> Layer<'a> {
    pub(super) fn new(copier: Copier<'a>, below: &'a Listing) -> Self {
        Self {
            copier,
            below,
            made: BTreeSet::from([Vec::new()]),
        }
    }

    /// Makes this layer, over those below, show what `seen` lists.
    pub(super) fn follow(
        &mut self,
        seen: &mut Listing,
        gone: &Gone,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<crate::copy::Transferred, Trouble> {
        for path in &gone.entries {
            self.remove(path)?;
        }
        for Directory { path, entries } in &mut seen.directories {
            for entry in entries.iter_mut().filter(|entry| entry.landed.is_none()) {
                self.prepare(path, entry)?;
            }
        }
        let transferred = self.copier.bring(seen, progress)?;
        // What cannot be read any more is not shown as it was either.
        for left in &transferred.left_out {
            let path = left.path.as_os_str().as_bytes();
            if self.shows_below(path) {
                self.clear(path)?;
                self.whiteout(path)?;
            }
        }
        Ok(transferred)
    }

    /// Makes a directory; makes room for anything else.
    fn prepare(&mut self, directory: &[u8], entry: &mut Entry) -> Result<(), Trouble> {
        let path = join(directory, &entry.name);
        if !entry.is_directory() {
            self.make_way(directory)?;
            return self.cover(&path);
        }
        self.make(&path, entry)?;
        entry.landed = Some(Landed::default());
        Ok(())
    }

    /// Takes a path out of sight.
    fn remove(&mut self, path: &[u8]) -> Result<(), Trouble> {
        if self.made.contains(parent(path)) {
            self.clear(path)?;
        }
        if self.shows_below(path) {
            self.make_way(parent(path))?;
            self.whiteout(path)?;
        }
        Ok(())
    }

    /// Before something is brought: a directory of an earlier round may be in its place.
    fn cover(&mut self, path: &[u8]) -> Result<(), Trouble> {
        if self.made.contains(path) {
            self.clear(path)
        } else {
            Ok(())
        }
    }

    fn clear(&mut self, path: &[u8]) -> Result<(), Trouble> {
        self.copier
            .clear(path)
            .map_err(|error| Trouble::new("clear", path, error))?;
        let mut inside = path.to_vec();
        inside.push(b'/');
        self.made
            .retain(|made| made != path && !made.starts_with(&inside));
        Ok(())
    }

    fn shows_below(&self, path: &[u8]) -> bool {
        self.below.entry(path).is_some_and(Entry::is_present)
    }

    /// Makes the directories on the way to, and including, an unchanged directory.
    fn make_way(&mut self, path: &[u8]) -> Result<(), Trouble> {
        if self.made.contains(path) {
            return Ok(());
        }
        self.make_way(parent(path))?;
        self.copier.make_directory(path)?;
        self.made.insert(path.to_vec());
        Ok(())
    }

    /// Makes a directory that is new, changed or closed now.
    fn make(&mut self, path: &[u8], entry: &Entry) -> Result<(), Trouble> {
        self.make_way(parent(path))?;
        if entry.closed && self.made.contains(path) {
            self.clear(path)?;
        }
        let made = self.copier.make_directory(path)?;
        self.made.insert(path.to_vec());
        let hides = match self.below.entry(path) {
            None => false,
            Some(below) if !below.is_present() => false,
            // A whiteout or a file of an earlier round hid what is below; it must stay hidden.
            Some(below) => !below.is_directory() || made == Made::Replaced || entry.closed,
        };
        if hides {
            self.mark_opaque(path)
        } else {
            Ok(())
        }
    }

    fn mark_opaque(&self, path: &[u8]) -> Result<(), Trouble> {
        self.mark(path, c"user.overlay.opaque", b"y")
    }

    fn mark(&self, path: &[u8], name: &std::ffi::CStr, value: &[u8]) -> Result<(), Trouble> {
        let failed = |error| Trouble::new("mark", path, error);
        let flags =
            rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC;
        let path = if path.is_empty() { b"." } else { path };
        let file = rustix::fs::openat(self.copier.target, path, flags, Mode::empty());
        rustix::fs::fsetxattr(file.map_err(failed)?, name, value, XattrFlags::empty())
            .map_err(failed)
    }

    /// Hides a name of the layers below.
    fn whiteout(&self, path: &[u8]) -> Result<(), Trouble> {
        let failed = |error| Trouble::new("hide", path, error);
        let kind = FileType::CharacterDevice;
        match rustix::fs::mknodat(self.copier.target, path, kind, Mode::empty(), 0) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            // Anybody may make this one device, except where a container forbids the call.
            Err(Errno::PERM | Errno::ACCESS) => {
                let mode = Mode::RUSR | Mode::WUSR;
                rustix::fs::mknodat(self.copier.target, path, FileType::RegularFile, mode, 0)
                    .map_err(failed)?;
                self.mark(path, c"user.overlay.whiteout", b"y")?;
                self.mark(parent(path), c"user.overlay.opaque", b"x")
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Makes sure a directory exists in this layer, for a file that the caller writes itself.
    pub(super) fn open_way(&mut self, path: &[u8]) -> Result<(), Trouble> {
        self.make_way(path)
    }

    /// Gives every directory of the layer its final mode and time. Nothing can be added after it.
    pub(super) fn finish(&self, seen: &Listing) -> Result<(), Trouble> {
        for path in self.made.iter().rev().filter(|path| !path.is_empty()) {
            if let Some(entry) = seen.entry(path).filter(|entry| entry.is_directory()) {
                self.copier.finish_directory(path, entry)?;
            }
        }
        self.copier.finish_root()
    }
}
