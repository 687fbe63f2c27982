//! Memory and disk that no layer and no resident set shows: files in memory that nobody maps, and
//! files that were deleted while they are open. Only their descriptors give them away.

use rustix::fs::{AtFlags, Mode, OFlags, RawDir, StatxFlags};
use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};

/// A look that costs more than this many descriptors is cut short; the next one starts over.
const DESCRIPTORS_MAX: usize = 65_536;

/// What hides behind descriptors, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unseen {
    /// Files in memory.
    pub memory_bytes: u64,
    /// Deleted files.
    pub disk_bytes: u64,
}

/// Looks through the descriptors of these processes. Files that several hold count once.
pub fn unseen(processes: &[u32]) -> Unseen {
    let mut total = Unseen::default();
    let mut met = BTreeSet::new();
    let mut left = DESCRIPTORS_MAX;
    for pid in processes {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // One that ended, or that does not let itself be looked at, adds nothing.
        if let Ok(directory) = rustix::fs::open(format!("/proc/{pid}/fd"), flags, Mode::empty()) {
            look(&directory, &mut met, &mut total, &mut left);
        }
    }
    total
}

fn look(
    directory: &OwnedFd,
    met: &mut BTreeSet<(u32, u32, u64)>,
    total: &mut Unseen,
    left: &mut usize,
) {
    let mut buffer = [MaybeUninit::uninit(); 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let Ok(link) = rustix::fs::readlinkat(directory, entry.file_name(), Vec::new()) else {
            continue;
        };
        let in_memory = link.as_bytes().starts_with(b"/memfd:");
        if !in_memory && !link.as_bytes().ends_with(b" (deleted)") {
            continue;
        }
        let wanted = StatxFlags::BLOCKS | StatxFlags::INO;
        let stat = rustix::fs::statx(
            directory.as_fd(),
            entry.file_name(),
            AtFlags::empty(),
            wanted,
        );
        let Ok(stat) = stat else { continue };
        if !met.insert((stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino)) {
            continue;
        }
        let bytes = stat.stx_blocks.saturating_mul(512);
        let sum = if in_memory {
            &mut total.memory_bytes
        } else {
            &mut total.disk_bytes
        };
        *sum = sum.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn files_behind_descriptors_are_seen_once() {
        let content = vec![7_u8; 256 * 1024];
        let memory = rustix::fs::memfd_create("unseen", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut memory = std::fs::File::from(memory);
        memory.write_all(&content).unwrap();
        let mut deleted = tempfile::tempfile().unwrap();
        deleted.write_all(&content).unwrap();
        deleted.sync_all().unwrap();
        let twin = deleted.try_clone().unwrap();
        let seen = unseen(&[std::process::id()]);
        assert!(seen.memory_bytes >= 256 * 1024, "{seen:?}");
        assert!(
            (256 * 1024..16 << 20).contains(&seen.disk_bytes),
            "{seen:?}"
        );
        drop((memory, deleted, twin));
    }
}
