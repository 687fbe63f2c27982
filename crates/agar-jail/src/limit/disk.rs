//! Growth on disk, where the filesystem has no quota for us.
//!
//! Asking how much room is left costs microseconds and sees everybody's writes; counting the files
//! of a layer is exact and slow. So the first decides when the second is worth it. What is written
//! between two looks is the overshoot: the rate of writing times the time between them.

use agar_core::limits::{Breach, Resource};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, StatxFlags};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// How many files one look counts at most.
const ENTRIES_MAX: u32 = 100_000;
/// How deep one look goes; each level holds a descriptor.
const DEPTH_MAX: u32 = 128;
/// A look at the files is due after this many cheap ones, in case others freed what was written.
const CHEAP_MAX: u32 = 64;

/// Watches the layers of one sandbox.
#[derive(Debug)]
pub struct DiskWatch {
    layers: Vec<PathBuf>,
    limit: u64,
    free_at_start: u64,
    free_at_count: u64,
    counted: u64,
    cheap: u32,
}

impl DiskWatch {
    /// Starts to watch the upper directories, which lie on one filesystem.
    pub fn new(layers: Vec<PathBuf>, limit_bytes: u64) -> io::Result<Self> {
        let mut watch = Self {
            layers,
            limit: limit_bytes,
            free_at_start: 0,
            free_at_count: 0,
            counted: 0,
            cheap: 0,
        };
        watch.free_at_start = watch.free()?;
        watch.count()?;
        Ok(watch)
    }

    /// Watches other directories from now on, on the same filesystem.
    pub fn follow(&mut self, layers: Vec<PathBuf>) {
        self.layers = layers;
        self.cheap = CHEAP_MAX;
    }

    /// Looks, and names the breach if the layers hold more than the limit.
    ///
    /// `unseen_bytes` is what deleted files that are still open take.
    pub fn sample(&mut self, unseen_bytes: u64) -> io::Result<Option<Breach>> {
        let dropped = self.free_at_count.saturating_sub(self.free()?);
        let room = self.limit.saturating_sub(self.counted);
        // Close to the limit every write would ask for a count; a thirty-second is let go.
        let due = dropped > room.max(self.limit / 32);
        self.cheap += 1;
        if due || self.cheap >= CHEAP_MAX {
            self.count()?;
        }
        let seen = self.counted.saturating_add(unseen_bytes);
        Ok((seen > self.limit).then_some(Breach {
            resource: Resource::Disk,
            limit: self.limit,
            seen,
            culprit: None,
        }))
    }

    /// Counts now, whatever it costs: the last look at a run that ended.
    pub fn settle(&mut self) -> io::Result<Option<Breach>> {
        self.cheap = CHEAP_MAX;
        self.sample(0)
    }

    /// How much the layers held when they were last counted.
    pub fn counted_bytes(&self) -> u64 {
        self.counted
    }

    fn free(&self) -> io::Result<u64> {
        let Some(layer) = self.layers.first() else {
            return Ok(0);
        };
        let room = rustix::fs::statfs(layer)?;
        Ok(room.f_bfree.saturating_mul(room.f_bsize.unsigned_abs()))
    }

    fn count(&mut self) -> io::Result<()> {
        let free = self.free()?;
        let mut count = Count::default();
        for layer in &self.layers {
            match open(CWD, layer.as_path()) {
                Ok(directory) => count.add(&directory, 0),
                Err(_) => count.whole = Whole::No,
            }
        }
        // A layer that hides from the count (too deep, too many, unreadable) is measured by the
        // room that went since the start, which can only be too much.
        self.counted = match count.whole {
            Whole::Yes => count.bytes,
            Whole::No => count.bytes.max(self.free_at_start.saturating_sub(free)),
        };
        self.free_at_count = free;
        self.cheap = 0;
        Ok(())
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Whole {
    #[default]
    Yes,
    No,
}

#[derive(Debug, Default)]
struct Count {
    bytes: u64,
    entries: u32,
    whole: Whole,
}

impl Count {
    fn add(&mut self, directory: &OwnedFd, depth: u32) {
        // On the heap: the stack of an idle keeper should not remember how deep the tree was.
        let mut buffer = Vec::with_capacity(2048);
        let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let Ok(entry) = entry else {
                self.whole = Whole::No;
                return;
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > ENTRIES_MAX {
                self.whole = Whole::No;
                return;
            }
            self.add_entry(directory.as_fd(), name, depth);
        }
    }

    fn add_entry(&mut self, parent: BorrowedFd<'_>, name: &std::ffi::CStr, depth: u32) {
        // One that is gone by now takes no room.
        let wanted = StatxFlags::TYPE | StatxFlags::NLINK | StatxFlags::BLOCKS;
        let Ok(stat) = rustix::fs::statx(parent, name, AtFlags::SYMLINK_NOFOLLOW, wanted) else {
            return;
        };
        let bytes = stat.stx_blocks.saturating_mul(512);
        if FileType::from_raw_mode(stat.stx_mode.into()) != FileType::Directory {
            // Each name of a file with several carries its part.
            let part = bytes / u64::from(stat.stx_nlink.max(1));
            self.bytes = self.bytes.saturating_add(part);
            return;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        match open(parent, name) {
            Ok(directory) if depth < DEPTH_MAX => self.add(&directory, depth + 1),
            Ok(_) | Err(_) => self.whole = Whole::No,
        }
    }
}

fn open(parent: BorrowedFd<'_>, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = 1 << 16;

    #[test]
    fn a_layer_within_its_limit_is_left_alone() {
        let layer = tempfile::tempdir().unwrap();
        fs_err::write(layer.path().join("a"), vec![1; BLOCK]).unwrap();
        let mut watch = DiskWatch::new(vec![layer.path().to_owned()], 1 << 20).unwrap();
        assert_eq!(watch.sample(0).unwrap(), None);
        assert!(watch.counted_bytes() >= BLOCK as u64);
    }

    #[test]
    fn a_layer_over_its_limit_is_noticed_however_it_is_nested() {
        let layer = tempfile::tempdir().unwrap();
        let deep = layer.path().join("a/b/c");
        fs_err::create_dir_all(&deep).unwrap();
        let mut watch = DiskWatch::new(vec![layer.path().to_owned()], BLOCK as u64).unwrap();
        fs_err::write(deep.join("big"), vec![1; 3 * BLOCK]).unwrap();
        // Cheap looks may miss it on a busy filesystem; one of them is followed by a count.
        let breach = (0..=CHEAP_MAX).find_map(|_| watch.sample(0).unwrap());
        let breach = breach.unwrap();
        assert_eq!(breach.resource, Resource::Disk);
        assert!(breach.seen >= 3 * BLOCK as u64 && breach.limit == BLOCK as u64);
    }

    #[test]
    fn two_names_of_one_file_count_once() {
        let layer = tempfile::tempdir().unwrap();
        let file = layer.path().join("a");
        fs_err::write(&file, vec![1; 4 * BLOCK]).unwrap();
        let before = DiskWatch::new(vec![layer.path().to_owned()], 1).unwrap();
        std::fs::hard_link(&file, layer.path().join("b")).unwrap();
        let after = DiskWatch::new(vec![layer.path().to_owned()], 1).unwrap();
        assert_eq!(before.counted_bytes(), after.counted_bytes());
    }

    #[test]
    fn a_link_out_of_the_layer_is_not_followed() {
        let layer = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/usr", layer.path().join("out")).unwrap();
        let watch = DiskWatch::new(vec![layer.path().to_owned()], 1).unwrap();
        assert!(watch.counted_bytes() < BLOCK as u64);
    }
}
