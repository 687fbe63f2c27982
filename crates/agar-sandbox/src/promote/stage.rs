//! Where new contents wait, on the same mount as the place they are for.
//!
//! A rename cannot cross mounts. agar's state is on the project's filesystem by design, so the
//! promotion's own directory serves almost always. Where it does not (a state directory elsewhere, a
//! mount inside the project) a hidden directory is made as high on that mount as the person may write,
//! inside `.git` if there is one, and removed when the promotion is settled.

use super::faults::{Effects, Halt};
use super::ground::{Ground, Stamp, stamp_at};
use super::item::{Content, Item, Source, copy_and_digest};
use crate::merge::{Digest, FileEntry, is_text};
use agar_core::id::PromotionId;
use rustix::fs::{Access, AtFlags, Gid, Mode, OFlags, StatxFlags, Uid, XattrFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{CStr, OsString};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Extended attributes that never cross from one file to another: overlayfs's own marks, and
/// privileges that were given to other content.
const ATTRIBUTES_LEFT: [&[u8]; 3] = [b"user.overlay.", b"trusted.", b"security."];

/// The stages of a promotion: its own directory, and one on each other mount it writes to.
#[derive(Debug)]
pub(crate) struct Stages {
    /// The extra ones, absolute.
    pub(crate) extra: Vec<PathBuf>,
    by_mount: BTreeMap<u64, usize>,
    id: PromotionId,
}

impl Stages {
    /// Starts with the directory that all promotions of the project live in.
    pub(crate) fn new(promotions: &OwnedFd, id: PromotionId) -> io::Result<Self> {
        Ok(Self {
            extra: Vec::new(),
            by_mount: BTreeMap::from([(mount(promotions)?, 0)]),
            id,
        })
    }

    /// The stage on the mount that a path is on.
    pub(crate) fn for_path(&mut self, ground: &Ground, path: &Path) -> io::Result<usize> {
        let (mut top, handle) = ground.nearest(path)?;
        let here = mount(&handle)?;
        if let Some(&stage) = self.by_mount.get(&here) {
            return Ok(stage);
        }
        while let Some(above) = top.parent() {
            let handle = ground.directory(above)?;
            if mount(&handle)? != here || !is_writable(&handle) {
                break;
            }
            top = above;
        }
        let git = top.join(".git");
        let in_git = ground
            .directory(&git)
            .is_ok_and(|git| mount(&git).ok() == Some(here));
        let stage = if in_git {
            git.join(format!("agar-stage-{}", self.id))
        } else {
            top.join(format!(".agar-stage-{}", self.id))
        };
        self.extra.push(ground.path().join(stage));
        self.by_mount.insert(here, self.extra.len());
        Ok(self.extra.len())
    }
}

/// The mount that an open directory is on.
fn mount(handle: &OwnedFd) -> io::Result<u64> {
    let status = rustix::fs::statx(handle, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    Ok(status.stx_mnt_id)
}

/// Whether entries can be made in an open directory.
fn is_writable(handle: &OwnedFd) -> bool {
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::accessat(handle, c".", wanted, AtFlags::EACCESS).is_ok()
}

/// A new file, waiting in a slot.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) stamp: Stamp,
    pub(crate) file: FileEntry,
    /// To sync it.
    pub(crate) handle: File,
    /// Its content, if it is text.
    pub(crate) text: Option<Vec<u8>>,
}

/// What a new file is to be.
#[derive(Debug)]
pub(crate) struct Recipe<'a> {
    /// Where its bytes come from.
    pub(crate) bytes: Bytes<'a>,
    /// Its permission bits.
    pub(crate) mode: u32,
    /// The file it replaces, whose owner and attributes it inherits.
    pub(crate) replaces: Option<(&'a Path, Stamp)>,
    /// The group of files made in its directory, where the directory decides.
    pub(crate) group: Option<u32>,
}

/// Where the bytes of a new file come from.
#[derive(Debug)]
pub(crate) enum Bytes<'a> {
    /// The sandbox's file; it must still be what was looked at.
    Theirs(&'a Item, Digest),
    /// Made by merging.
    Made(&'a [u8]),
}

/// Why a file could not be staged.
#[derive(Debug)]
pub(crate) enum Unstaged {
    /// The sandbox's file is not what was looked at.
    TheirsMoved,
    /// The file it replaces belongs to somebody else, and agar may not give files away.
    Owner,
    Halt(Halt),
}

impl<E: Into<Halt>> From<E> for Unstaged {
    fn from(error: E) -> Self {
        Self::Halt(error.into())
    }
}

/// Writes a new file into a slot.
pub(crate) fn stage_file(
    ground: &Ground,
    stage: &OwnedFd,
    name: &str,
    recipe: &Recipe<'_>,
    effects: Effects<'_>,
) -> Result<Staged, Unstaged> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let owner_only = Mode::RUSR | Mode::WUSR;
    let mut file: File = effects
        .run("make a slot", || {
            rustix::fs::openat(stage, name, flags, owner_only)
        })?
        .into();
    let Written {
        digest,
        text,
        origin,
    } = write_bytes(&mut file, &recipe.bytes)?;
    if let Some((path, old)) = recipe.replaces {
        inherit(ground, path, &old, &file)?;
    } else {
        adopt(&file, origin.as_ref(), recipe.group)?;
    }
    effects.run("fill a slot", || {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(recipe.mode & 0o777))
    })?;
    let stamp = Stamp::of(&rustix::fs::fstat(&file)?);
    Ok(Staged {
        file: FileEntry {
            digest,
            size: stamp.size,
            mode: recipe.mode & 0o777,
            text: text.is_some(),
        },
        stamp,
        handle: file,
        text,
    })
}

/// What was written.
struct Written {
    digest: Digest,
    /// The content, if it is text.
    text: Option<Vec<u8>>,
    /// The file it came from.
    origin: Option<File>,
}

fn write_bytes(file: &mut File, bytes: &Bytes<'_>) -> Result<Written, Unstaged> {
    let (item, expected) = match bytes {
        Bytes::Made(content) => {
            file.write_all(content)?;
            let text = is_text(content).then(|| content.to_vec());
            return Ok(Written {
                digest: Digest::of(content),
                text,
                origin: None,
            });
        }
        Bytes::Theirs(item, expected) => (item, *expected),
    };
    let Source::File { content, .. } = &item.theirs else {
        return Err(Unstaged::TheirsMoved);
    };
    let mut origin = match content {
        Content::Bytes(bytes) => return write_bytes(file, &Bytes::Made(bytes)),
        Content::Beneath { .. } | Content::Known(_) => {
            content.file()?.ok_or(Unstaged::TheirsMoved)?
        }
    };
    let digest = copy_and_digest(&mut origin, file)?;
    if digest != expected {
        return Err(Unstaged::TheirsMoved);
    }
    file.rewind()?;
    let size = file.metadata()?.len();
    let text = if size <= crate::merge::TEXT_BYTES_MAX {
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        io::Read::read_to_end(file, &mut content)?;
        is_text(&content).then_some(content)
    } else {
        None
    };
    Ok(Written {
        digest,
        text,
        origin: Some(origin),
    })
}

/// Gives a file the owner and the attributes of the one it replaces.
fn inherit(ground: &Ground, path: &Path, old: &Stamp, file: &File) -> Result<(), Unstaged> {
    let now = Stamp::of(&rustix::fs::fstat(file)?);
    if (now.uid, now.gid) != (old.uid, old.gid) {
        let (uid, gid) = (Uid::from_raw(old.uid), Gid::from_raw(old.gid));
        match rustix::fs::fchown(file, Some(uid), Some(gid)) {
            Err(Errno::PERM) => return Err(Unstaged::Owner),
            done => done?,
        }
    }
    match ground.file(path) {
        Ok(old) => Ok(copy_attributes(&old, file)?),
        // A link has none that matter.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Gives a new file the attributes it has in the sandbox, its owner as far as that is ours to give,
/// and the group that its directory asks for.
fn adopt(file: &File, origin: Option<&File>, group: Option<u32>) -> io::Result<()> {
    if let Some(origin) = origin {
        copy_attributes(origin, file)?;
    }
    let is_root = rustix::process::geteuid().is_root();
    let from = match origin {
        Some(origin) if is_root => Some(Stamp::of(&rustix::fs::fstat(origin)?)),
        Some(_) | None => None,
    };
    let uid = from.map(|stamp| Uid::from_raw(stamp.uid));
    let gid = group.or(from.map(|stamp| stamp.gid)).map(Gid::from_raw);
    if uid.is_none() && gid.is_none() {
        return Ok(());
    }
    match rustix::fs::fchown(file, uid, gid) {
        // Not a member of the directory's group: the file keeps the person's own.
        Err(Errno::PERM) => Ok(()),
        done => Ok(done?),
    }
}

/// Copies extended attributes, access lists among them.
fn copy_attributes(from: impl AsFd, to: impl AsFd) -> io::Result<()> {
    let (from, to) = (from.as_fd(), to.as_fd());
    let size = match rustix::fs::flistxattr_query(from) {
        Ok(0) | Err(Errno::NOTSUP) => return Ok(()),
        Ok(size) => size,
        Err(errno) => return Err(errno.into()),
    };
    let mut names = vec![0_u8; size];
    let size = rustix::fs::flistxattr(from, &mut names[..])?;
    for name in names[..size].split_inclusive(|&byte| byte == 0) {
        let left = ATTRIBUTES_LEFT
            .iter()
            .any(|prefix| name.starts_with(prefix));
        let Ok(name) = CStr::from_bytes_with_nul(name) else {
            continue;
        };
        if left {
            continue;
        }
        let size = rustix::fs::fgetxattr_query(from, name)?;
        let mut value = vec![0_u8; size];
        let size = rustix::fs::fgetxattr(from, name, &mut value[..])?;
        match rustix::fs::fsetxattr(to, name, &value[..size], XattrFlags::empty()) {
            Ok(()) | Err(Errno::NOTSUP | Errno::PERM) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// The stamp of a symbolic link made in a slot.
pub(crate) fn stage_link(
    stage: &OwnedFd,
    name: &str,
    target: &[u8],
    effects: Effects<'_>,
) -> Result<Stamp, Halt> {
    effects.run("make a link in a slot", || {
        rustix::fs::symlinkat(target, stage, name)
    })?;
    let name = OsString::from(name);
    stamp_at(stage, &name)?.ok_or_else(|| Halt::Error(io::ErrorKind::NotFound.into()))
}

/// The group of files made in a directory that decides it (set-group-id), if it does.
pub(crate) fn group_of(ground: &Ground, path: &Path) -> io::Result<Option<u32>> {
    let (_, handle) = ground.nearest(path)?;
    let stamp = Stamp::of(&rustix::fs::fstat(&handle)?);
    Ok((stamp.mode & 0o2000 != 0).then_some(stamp.gid))
}

/// Up to this many things are made durable one by one, all at the same time.
const SYNCED_APART_MAX: usize = 128;

/// Threads that wait for the disk at the same time.
const SYNC_THREADS: usize = 32;

/// Things that are to be made durable together.
///
/// A sync mostly waits, and syncs that wait together are served together: fourteen of them one after
/// the other took nine times as long as one, fourteen at once hardly longer than one. Beyond a number the
/// filesystem is asked to write everything it has, which costs less than so many single waits; then
/// one of each filesystem is enough, and the rest need not be kept open.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    apart: Vec<OwnedFd>,
    more: bool,
}

impl Unsynced {
    /// Adds something. Whoever adds many must add a directory of each of their filesystems first.
    pub(crate) fn push(&mut self, handle: impl Into<OwnedFd>) {
        if self.apart.len() < SYNCED_APART_MAX {
            self.apart.push(handle.into());
        } else {
            self.more = true;
        }
    }

    /// Whether more is kept open only to be synced one by one.
    pub(crate) const fn is_full(&self) -> bool {
        self.more
    }

    /// Makes these and those durable.
    pub(crate) fn sync_with(&self, handles: &[BorrowedFd<'_>]) -> io::Result<()> {
        let apart = self.apart.iter().map(AsFd::as_fd);
        let all: Vec<BorrowedFd<'_>> = handles.iter().copied().chain(apart).collect();
        if self.more || all.len() > SYNCED_APART_MAX {
            return sync_filesystems(&all);
        }
        sync_apart(&all)
    }
}

fn sync_apart(all: &[BorrowedFd<'_>]) -> io::Result<()> {
    let share = all.len().div_ceil(SYNC_THREADS).max(1);
    let sync = |chunk: &[BorrowedFd<'_>]| chunk.iter().try_for_each(rustix::fs::fsync);
    std::thread::scope(|scope| {
        let mut chunks = all.chunks(share);
        let own = chunks.next();
        let workers: Vec<_> = chunks
            .map(|chunk| scope.spawn(move || sync(chunk)))
            .collect();
        own.map_or(Ok(()), sync)?;
        for worker in workers {
            let died = |_| io::Error::other("a thread that syncs died");
            worker.join().map_err(died)??;
        }
        Ok(())
    })
}

/// Syncs each filesystem that any of these is on.
fn sync_filesystems(all: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut done = Vec::new();
    for handle in all {
        let device = rustix::fs::fstat(handle)?.st_dev;
        if !done.contains(&device) {
            rustix::fs::syncfs(handle)?;
            done.push(device);
        }
    }
    Ok(())
}
