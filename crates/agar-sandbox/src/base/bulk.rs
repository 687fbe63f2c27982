//! Heavy directories that tools rebuild, and that nobody edits by hand.
//!
//! They stay live below a frozen project: copying `node_modules/` for every first sandbox would cost
//! more than the sandbox. Each is named, because it is the one place where later changes of the host
//! still show. A directory is bulk when its name or its own mark says so, nothing below it is
//! tracked by git, and it is heavy.

use super::index::{ObjectFormat, each_entry};
use crate::copy::{Next, as_path, each_name, join, last, parent};
use crate::project::Project;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::fs::{openat2, statx};
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

/// At most so many directories are left out of a picture.
pub(super) const BULK_MAX: usize = 8;

/// Names that are enough by themselves.
const BY_NAME: [&[u8]; 4] = [b"node_modules", b".venv", b".tox", b"__pypackages__"];

/// Names that many things have: outside git, a mark inside must confirm them.
const BY_MARK: [&[u8]; 12] = [
    b"target",
    b"build",
    b"dist",
    b"out",
    b"venv",
    b"env",
    b".gradle",
    b".next",
    b".nuxt",
    b".mypy_cache",
    b"_build",
    b"vendor",
];

/// Files that say a directory can be made again.
const MARKS: [&str; 3] = ["CACHEDIR.TAG", "pyvenv.cfg", ".rustc_info.json"];

/// More entries, or more bytes, than are copied without a thought.
const ENTRIES_HEAVY: u64 = 1000;
const BYTES_HEAVY: u64 = 64 << 20;

/// Which directories may stay live below a frozen base.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum BulkRule {
    /// Those that tools are known to rebuild, where they are heavy.
    #[default]
    Usual,
    /// Those with these names, and no others; whoever says so knows that they can be made again.
    Named(Vec<String>),
}

impl BulkRule {
    /// Whether a directory might be bulk, by its name alone.
    pub(super) fn is_candidate(&self, name: &[u8]) -> bool {
        match self {
            Self::Usual => BY_NAME.contains(&name) || BY_MARK.contains(&name),
            Self::Named(names) => names.iter().any(|named| named.as_bytes() == name),
        }
    }
}

/// Decides about candidates.
pub(super) struct Judge<'a> {
    rule: &'a BulkRule,
    project: &'a Project,
    root: &'a OwnedFd,
    tracked: OnceLock<Option<BTreeSet<Vec<u8>>>>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(rule: &'a BulkRule, project: &'a Project, root: &'a OwnedFd) -> Self {
        Self {
            rule,
            project,
            root,
            tracked: OnceLock::new(),
        }
    }

    /// Whether a candidate, by its path below the project, is bulk.
    pub(super) fn is_bulk(&self, path: &[u8]) -> bool {
        let name = last(path);
        let marked = || {
            let directory = self.project.root.join(as_path(path));
            MARKS.iter().any(|mark| directory.join(mark).is_file())
        };
        let tracked = self
            .tracked
            .get_or_init(|| tracked_directories(self.project));
        let untracked = tracked.as_ref().map(|tracked| !tracked.contains(path));
        match self.rule {
            BulkRule::Usual => {
                let rebuilt = untracked.unwrap_or_else(|| BY_NAME.contains(&name) || marked());
                rebuilt && self.is_heavy(path)
            }
            BulkRule::Named(_) => untracked.unwrap_or(true),
        }
    }

    /// Counts no further than needed.
    fn is_heavy(&self, path: &[u8]) -> bool {
        let mut waiting = vec![path.to_vec()];
        let mut weight = Weight::default();
        let mut buffer = vec![MaybeUninit::uninit(); 32 * 1024];
        while let Some(path) = waiting.pop() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
            if let Ok(dir) = openat2(self.root, &path, flags, Mode::empty(), resolve) {
                weight.add(&dir, &path, &mut waiting, &mut buffer);
            }
            if weight.is_heavy() {
                return true;
            }
        }
        false
    }
}

/// What was counted so far.
#[derive(Default)]
struct Weight {
    entries: u64,
    bytes: u64,
}

impl Weight {
    fn is_heavy(&self) -> bool {
        self.entries > ENTRIES_HEAVY || self.bytes > BYTES_HEAVY
    }

    /// Adds what a directory holds. What cannot be read is as heavy as what was seen of it.
    fn add(
        &mut self,
        dir: &OwnedFd,
        path: &[u8],
        waiting: &mut Vec<Vec<u8>>,
        buffer: &mut [MaybeUninit<u8>],
    ) {
        let _ = each_name(dir, buffer, &mut |name, kind| {
            self.entries += 1;
            if kind == FileType::Directory {
                waiting.push(join(path, name));
            } else {
                self.bytes += size(dir, name);
            }
            Ok(if self.is_heavy() {
                Next::Stop
            } else {
                Next::Another
            })
        });
    }
}

/// The size of a file; nothing if it is gone.
pub(super) fn size(dir: &OwnedFd, name: &CStr) -> u64 {
    statx(dir, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::SIZE).map_or(0, |found| found.stx_size)
}

/// Every directory of the project that holds a tracked file; nothing without a readable index.
fn tracked_directories(project: &Project) -> Option<BTreeSet<Vec<u8>>> {
    use std::os::unix::ffi::OsStrExt as _;
    let git = project.git.as_ref()?;
    let index = fs_err::read(git.index()).ok()?;
    let config = fs_err::read(git.common_dir.join("config")).unwrap_or_default();
    let prefix = project
        .root
        .strip_prefix(&git.top)
        .ok()?
        .as_os_str()
        .as_bytes();
    let mut tracked = BTreeSet::new();
    let mut latest = Vec::new();
    each_entry(&index, ObjectFormat::of_config(&config), &mut |_, path| {
        let below = if prefix.is_empty() {
            Some(path)
        } else {
            path.strip_prefix(prefix)
                .and_then(|path| path.strip_prefix(b"/"))
        };
        let mut directory = parent(below.unwrap_or_default());
        if directory == latest.as_slice() {
            return;
        }
        latest = directory.to_vec();
        while !directory.is_empty() && tracked.insert(directory.to_vec()) {
            directory = parent(directory);
        }
    })?;
    Some(tracked)
}
