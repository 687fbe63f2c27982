//! How long a freeze would take, found out without taking long.

use super::bulk::{BulkRule, size};
use super::index::entry_count;
use crate::copy::{Next, each_name, join};
use crate::project::Project;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, openat2};
use std::io::Read as _;
use std::mem::MaybeUninit;

/// What a freeze would have to bring over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    /// Files, directories, links.
    pub entries: u64,
    /// Bytes in files.
    pub bytes: u64,
}

/// A copy of a small file takes about this long on two slow cores, without reflinks.
const ENTRY_MICROSECONDS: u64 = 35;
const BYTES_PER_MICROSECOND: u64 = 500;

/// What counts as quick: 0.3 s.
const QUICK_MICROSECONDS: u64 = 300_000;

/// Whether that much work is done before anybody notices.
pub fn is_quick(estimate: &Estimate) -> bool {
    let time = estimate.entries.saturating_mul(ENTRY_MICROSECONDS)
        + estimate.bytes / BYTES_PER_MICROSECOND;
    time <= QUICK_MICROSECONDS
}

/// Whether a first freeze of a project would be quick. Stops counting as soon as it is not.
pub fn first_is_quick(project: &Project, rule: &BulkRule) -> bool {
    let tracked = u64::from(tracked(project).unwrap_or(0));
    is_quick(&Estimate {
        entries: tracked,
        bytes: 0,
    }) && count(project, rule).is_some()
}

/// The number of tracked files, from twelve bytes of the index.
fn tracked(project: &Project) -> Option<u32> {
    let git = project.git.as_ref().filter(|git| git.top == project.root)?;
    let mut header = [0; 12];
    fs_err::File::open(git.index())
        .ok()?
        .read_exact(&mut header)
        .ok()?;
    entry_count(&header)
}

/// Counts the project, unless it turns out too big. Candidates for bulk are passed over: where they
/// are heavy they are left live, and where they are not they do not matter. So are git's objects,
/// which are linked.
fn count(project: &Project, rule: &BulkRule) -> Option<Estimate> {
    let root = crate::copy::open_directory(&project.root).ok()?;
    let mut estimate = Estimate::default();
    let mut waiting = vec![b".".to_vec()];
    let mut buffer = vec![MaybeUninit::uninit(); 32 * 1024];
    while let Some(path) = waiting.pop() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH | ResolveFlags::NO_XDEV;
        let Ok(dir) = openat2(&root, &path, flags, Mode::empty(), resolve) else {
            continue;
        };
        let objects = path.ends_with(b"/.git");
        let read = each_name(&dir, &mut buffer, &mut |name, kind| {
            estimate.entries += 1;
            let passed_over = rule.is_candidate(name.to_bytes()) || (objects && name == c"objects");
            if kind != FileType::Directory {
                estimate.bytes += size(&dir, name);
            } else if !passed_over {
                waiting.push(join(&path, name));
            }
            Ok(if is_quick(&estimate) {
                Next::Another
            } else {
                Next::Stop
            })
        });
        if read.is_err() || !is_quick(&estimate) {
            return None;
        }
    }
    Some(estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_thousand_small_files_are_quick_and_ten_thousand_are_not() {
        assert!(is_quick(&Estimate {
            entries: 5000,
            bytes: 20 << 20
        }));
        assert!(!is_quick(&Estimate {
            entries: 10_000,
            bytes: 0
        }));
        assert!(!is_quick(&Estimate {
            entries: 1,
            bytes: 1 << 30
        }));
    }
}
