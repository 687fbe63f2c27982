//! One thread of a copy: takes portions of entries and brings each over by its kind.

use super::attributes;
use super::data::{BUFFER, Means};
use super::entry::{Directory, Entry, Landed, Listing, Shape, as_path, join};
use super::landing::{change_time, landed, settle, times};
use super::transfer::{
    Copier, Fidelity, LeftOut, LeftOutReason, Linking, Transferred, Trouble, Writers,
};
use super::walk::BENEATH;
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid, linkat, openat, openat2};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

/// Files handled by a thread before it asks for more.
const CHUNK: usize = 128;

/// A part of one directory.
pub(super) type Task<'t> = (&'t [u8], &'t mut [Entry]);

/// What there is to do, in portions, and how many entries that is.
pub(super) fn tasks(listing: &mut Listing) -> (Vec<Task<'_>>, u64) {
    let mut tasks: Vec<Task<'_>> = Vec::new();
    let mut total = 0;
    for directory in &mut listing.directories {
        let Directory { path, entries } = directory;
        for chunk in entries.chunks_mut(CHUNK) {
            let open = chunk.iter().filter(|entry| is_open(entry)).count();
            if open > 0 {
                total += open as u64;
                tasks.push((path, chunk));
            }
        }
    }
    // Taken from the end: in order, so that neighbours are made together.
    tasks.reverse();
    (tasks, total)
}

fn is_open(entry: &Entry) -> bool {
    entry.landed.is_none() && !entry.is_directory() && !entry.follower
}

/// One thread of a copy.
pub(super) struct Worker<'a> {
    copier: &'a Copier<'a>,
    means: &'a Means,
    buffer: Vec<u8>,
    pub(super) transferred: Transferred,
}

impl<'a> Worker<'a> {
    pub(super) fn new(copier: &'a Copier<'a>, means: &'a Means) -> Self {
        let transferred = Transferred::default();
        Self {
            copier,
            means,
            buffer: vec![0; BUFFER],
            transferred,
        }
    }

    /// Works until there is nothing left, or something failed.
    pub(super) fn run(
        &mut self,
        tasks: &Mutex<Vec<Task<'_>>>,
        count: &dyn Fn(u64),
    ) -> Result<(), Trouble> {
        loop {
            let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some((directory, entries)) = task else {
                return Ok(());
            };
            let before = self.transferred.entries;
            if let Err(trouble) = self.bring_chunk(directory, entries) {
                tasks.lock().unwrap_or_else(PoisonError::into_inner).clear();
                return Err(trouble);
            }
            count(self.transferred.entries - before);
        }
    }

    fn bring_chunk(&mut self, directory: &[u8], entries: &mut [Entry]) -> Result<(), Trouble> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let relative = if directory.is_empty() {
            b"."
        } else {
            directory
        };
        let from = match openat2(self.copier.source, relative, flags, Mode::empty(), BENEATH) {
            Ok(from) => from,
            // Gone or closed meanwhile: nothing lands, and the next walk says so.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(()),
            Err(error) => return Err(Trouble::new("open", directory, error)),
        };
        let to = openat2(self.copier.target, relative, flags, Mode::empty(), BENEATH)
            .map_err(|error| Trouble::new("open", directory, error))?;
        let place = Place { from, to };
        for entry in entries.iter_mut().filter(|entry| is_open(entry)) {
            self.bring_entry(directory, &place, entry)?;
        }
        Ok(())
    }

    fn bring_entry(
        &mut self,
        directory: &[u8],
        place: &Place,
        entry: &mut Entry,
    ) -> Result<(), Trouble> {
        let outcome = match entry.shape() {
            Shape::File if self.copier.is_linkable(directory, entry) => self.link(place, entry),
            Shape::File => {
                let copied = self.copy_file(place, entry);
                copied.map(|(landed, open)| {
                    entry.racy |= open;
                    landed
                })
            }
            Shape::Symlink => place.copy_symlink(entry),
            Shape::Fifo => place.make_node(entry, rustix::fs::FileType::Fifo),
            Shape::Device if self.is_whiteout(place, entry) => {
                place.make_node(entry, rustix::fs::FileType::CharacterDevice)
            }
            // Nobody listens on the copy, as nobody does on a socket whose program is gone.
            Shape::Socket if self.copier.fidelity == Fidelity::Layer => {
                place.make_node(entry, rustix::fs::FileType::Socket)
            }
            Shape::Socket => Ok(self.leave_out(directory, entry, LeftOutReason::Socket)),
            Shape::Device => Ok(self.leave_out(directory, entry, LeftOutReason::Device)),
            Shape::Directory => return Ok(()),
        };
        match outcome {
            Ok(landed) => entry.landed = Some(landed),
            // It went away or turned into something else; the next walk will say so.
            Err(Step {
                side: Side::Source,
                error: Errno::NOENT | Errno::LOOP | Errno::NXIO,
            }) => {}
            Err(Step {
                side: Side::Source,
                error: Errno::ACCESS | Errno::PERM,
            }) => {
                entry.landed = Some(self.leave_out(directory, entry, LeftOutReason::Unreadable));
            }
            Err(step) => {
                return Err(Trouble::new(
                    "copy",
                    &join(directory, &entry.name),
                    step.error,
                ));
            }
        }
        self.transferred.entries += 1;
        Ok(())
    }

    fn leave_out(&mut self, directory: &[u8], entry: &Entry, reason: LeftOutReason) -> Landed {
        let path = as_path(&join(directory, &entry.name)).to_owned();
        self.transferred.left_out.push(LeftOut { path, reason });
        Landed {
            left_out: true,
            ..Landed::default()
        }
    }

    fn is_whiteout(&self, place: &Place, entry: &Entry) -> bool {
        self.copier.fidelity == Fidelity::Layer
            && rustix::fs::statat(&place.from, &entry.name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|found| found.st_rdev == 0)
    }

    fn link(&mut self, place: &Place, entry: &Entry) -> Result<Landed, Step> {
        let link = || {
            linkat(
                &place.from,
                &entry.name,
                &place.to,
                &entry.name,
                AtFlags::empty(),
            )
        };
        let linked = match link() {
            Err(Errno::EXIST) => {
                place.make_room(entry)?;
                link()
            }
            other => other,
        };
        if linked.is_err() {
            return self.copy_file(place, entry).map(|(landed, _)| landed);
        }
        let found = rustix::fs::statat(&place.to, &entry.name, AtFlags::SYMLINK_NOFOLLOW);
        let found = found.map_err(Step::target)?;
        // Another file may have taken the name since the walk; then the next walk says so.
        let linked = found.st_ino == entry.ino;
        Ok(Landed {
            ino: found.st_ino,
            ctime_ns: change_time(&found),
            linked,
            left_out: false,
        })
    }

    /// Copies a file. Whether somebody may have it open for writing, where that matters.
    fn copy_file(&mut self, place: &Place, entry: &Entry) -> Result<(Landed, bool), Step> {
        // Without blocking: the name may have become a pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let from = openat(
            &place.from,
            &entry.name,
            flags | OFlags::NOCTTY,
            Mode::empty(),
        );
        let from = from.map_err(Step::source)?;
        // Before the first byte is read: who opens it later cannot hide what it writes.
        let open = match self.copier.writers {
            Writers::Ignored => false,
            Writers::Suspected => agar_jail::writers::may_be_written(&from),
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(entry.mode & 0o777);
        let create = || openat(&place.to, &entry.name, flags | OFlags::NOFOLLOW, mode);
        let to = match create() {
            Err(Errno::EXIST) => {
                place.make_room(entry)?;
                create()
            }
            other => other,
        };
        let to = to.map_err(Step::target)?;
        match self.means.copy(&from, &to, entry, &mut self.buffer) {
            Ok(()) => {}
            // The name is a directory's by now.
            Err(Errno::ISDIR) => return Err(Step::source(Errno::NOENT)),
            Err(error) => return Err(Step::target(error)),
        }
        attributes::copy(&from, &to, self.copier.fidelity).map_err(Step::target)?;
        let found = settle(&to, entry).map_err(Step::target)?;
        Ok((landed(&found), open))
    }
}

/// A directory of the source and its counterpart.
struct Place {
    from: OwnedFd,
    to: OwnedFd,
}

impl Place {
    /// Clears the name in the target: an earlier round left something there.
    fn make_room(&self, entry: &Entry) -> Result<(), Step> {
        let copier = Copier {
            source: &self.from,
            target: &self.to,
            fidelity: Fidelity::Layer,
            linking: Linking::Never,
            writers: Writers::Ignored,
        };
        copier.clear(entry.name.to_bytes()).map_err(Step::target)
    }

    fn copy_symlink(&self, entry: &Entry) -> Result<Landed, Step> {
        let text = match rustix::fs::readlinkat(&self.from, &entry.name, Vec::new()) {
            Ok(text) => text,
            // No link any more.
            Err(Errno::INVAL) => return Err(Step::source(Errno::NOENT)),
            Err(error) => return Err(Step::source(error)),
        };
        let make = || rustix::fs::symlinkat(&text, &self.to, &entry.name);
        match make() {
            Err(Errno::EXIST) => {
                self.make_room(entry)?;
                make()
            }
            other => other,
        }
        .map_err(Step::target)?;
        self.settle_name(entry)
    }

    fn make_node(&self, entry: &Entry, kind: rustix::fs::FileType) -> Result<Landed, Step> {
        let mode = Mode::from_raw_mode(entry.mode & 0o7777);
        let make = || rustix::fs::mknodat(&self.to, &entry.name, kind, mode, 0);
        match make() {
            Err(Errno::EXIST) => {
                self.make_room(entry)?;
                make()
            }
            other => other,
        }
        .map_err(Step::target)?;
        if kind == rustix::fs::FileType::Fifo {
            let chmod = rustix::fs::chmodat(&self.to, &entry.name, mode, AtFlags::empty());
            chmod.map_err(Step::target)?;
        }
        self.settle_name(entry)
    }

    /// Owner and time of something that is not opened.
    fn settle_name(&self, entry: &Entry) -> Result<Landed, Step> {
        let look = || rustix::fs::statat(&self.to, &entry.name, AtFlags::SYMLINK_NOFOLLOW);
        let found = look().map_err(Step::target)?;
        if (found.st_uid, found.st_gid) != (entry.uid, entry.gid) {
            let (uid, gid) = (Uid::from_raw(entry.uid), Gid::from_raw(entry.gid));
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            // Only root can give files away; others keep what they made.
            let _ = rustix::fs::chownat(&self.to, &entry.name, Some(uid), Some(gid), flags);
        }
        rustix::fs::utimensat(
            &self.to,
            &entry.name,
            &times(entry),
            AtFlags::SYMLINK_NOFOLLOW,
        )
        .map_err(Step::target)?;
        look().map(|found| landed(&found)).map_err(Step::target)
    }
}

/// Which side of a copy refused.
enum Side {
    Source,
    Target,
}

struct Step {
    side: Side,
    error: Errno,
}

impl Step {
    fn source(error: Errno) -> Self {
        Self {
            side: Side::Source,
            error,
        }
    }

    fn target(error: Errno) -> Self {
        Self {
            side: Side::Target,
            error,
        }
    }
}
