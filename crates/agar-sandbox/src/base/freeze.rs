//! Makes the next generation of a project.
//!
//! Look, bring over what changed, look again, until two looks agree: everything that was brought was
//! then the same before the second look began as when it was read, so the picture is of one moment.

use super::generations::Generations;
use super::layer::Layer;
use super::manifest::{Facts, Manifest};
use super::repositories::{self, Repository};
use super::survey::Surveyor;
use super::{Bases, PrepareError, Progress};
use crate::copy::{Copier, Entry, Fidelity, Gone, LeftOut, LeftOutReason, Linking, Listing};
use crate::copy::{
    Shape, TICK_NS, Transferred, Trouble, Writers, as_path, open_directory, parent, touched,
};
use rustix::fs::AtFlags;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// How often a project that keeps changing is looked at.
const LOOKS_MAX: u32 = 5;

/// Files beyond this size are not compared byte by byte to save a copy.
const COMPARED_MAX: u64 = 8 << 20;

/// How much work is acceptable now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Whatever it takes.
    Endless,
    /// Only what takes a moment.
    Moment,
}

/// What came of it.
pub(super) enum Frozen {
    /// A generation that shows the project as it is, new or reused.
    Ready(Box<Manifest>),
    /// It would take too long; the entries that have to be brought over.
    TooSlow,
}

/// Freezes the project. The caller holds the build lock.
pub(super) fn freeze(
    bases: &Bases<'_>,
    patience: Patience,
    progress: &dyn Progress,
) -> Result<Frozen, PrepareError> {
    let generations = bases.generations();
    generations.clear_workshops(&bases.trash)?;
    let before = generations.newest().unwrap_or_default();
    let surveyor = Surveyor::new(&bases.rule, bases.project, &before.facts.bulk)?;
    let layers = generations.open_layers(&before)?;
    let highest = generations.numbers().unwrap_or_default().last().copied();
    let number = highest.map_or(0, |number| number + 1);
    let mut freezing = Freezing {
        bases,
        before: &before,
        surveyor,
        number,
    };
    let mut look = freezing.look(&before.listing)?;
    acquit(
        &before.listing,
        &mut look.seen,
        &layers,
        freezing.surveyor.root(),
    );
    acquit_indexes(bases, &before.listing, &mut look.seen, &layers);
    if !before.facts.layers.is_empty() && look.is_settled() {
        return Ok(Frozen::Ready(Box::new(before)));
    }
    if patience == Patience::Moment && !super::estimate::is_quick(&work(&look.seen)) {
        return Ok(Frozen::TooSlow);
    }
    let manifest = freezing.picture(look, progress)?;
    publish(bases, &generations, &manifest)?;
    Ok(Frozen::Ready(Box::new(manifest)))
}

/// One look at the project, compared with what is already in the picture.
struct Look {
    /// What is there now; what did not change has landed.
    seen: Listing,
    /// What is not there any more.
    gone: Gone,
    /// When the look began.
    began_ns: i64,
}

impl Look {
    fn is_settled(&self) -> bool {
        let mut entries = self
            .seen
            .directories
            .iter()
            .flat_map(|directory| &directory.entries);
        self.gone.is_empty() && entries.all(|entry| entry.landed.is_some())
    }

    /// What keeps changing.
    fn unsettled(&self) -> Vec<PathBuf> {
        let gone = self
            .gone
            .entries
            .iter()
            .map(|path| as_path(path).to_owned());
        self.seen.missing().into_iter().chain(gone).collect()
    }
}

struct Freezing<'a> {
    bases: &'a Bases<'a>,
    before: &'a Manifest,
    surveyor: Surveyor<'a>,
    number: u64,
}

impl Freezing<'_> {
    fn look(&mut self, known: &Listing) -> Result<Look, PrepareError> {
        let began_ns = mark(&self.bases.directory)?;
        let mut seen = self.surveyor.look()?;
        let gone = known.carry_into(&mut seen);
        Ok(Look {
            seen,
            gone,
            began_ns,
        })
    }

    /// Brings over what the first look found changed, and looks again until nothing moves.
    fn picture(
        &mut self,
        mut look: Look,
        progress: &dyn Progress,
    ) -> Result<Manifest, PrepareError> {
        let workshop = Workshop::new(&self.bases.generations().workshop(self.number))?;
        let in_layer = |trouble: Trouble| trouble.at(&workshop.path);
        let source = self.surveyor.root().try_clone();
        let source = source.map_err(|error| disk("open", self.bases, error))?;
        let copier = Copier {
            source: &source,
            target: &workshop.layer,
            fidelity: Fidelity::Project,
            linking: Linking::GitObjects,
            writers: Writers::Ignored,
        };
        let mut layer = Layer::new(copier, &self.before.listing);
        let mut transferred = Transferred::default();
        let told = |done: u64, total: u64| progress.advance(done, total);
        for left in (0..LOOKS_MAX).rev() {
            let brought = layer
                .follow(&mut look.seen, &look.gone, &told)
                .map_err(in_layer)?;
            transferred.absorb(brought);
            let again = self.look(&look.seen)?;
            if left == 0 && !again.is_settled() {
                transferred.unstable = again.unsettled();
                break;
            }
            look = again;
            if look.is_settled() {
                break;
            }
        }
        let mut seen = look.seen;
        suspect(&mut seen, look.began_ns);
        let minimal_git_stat = refresh_indexes(self.bases, &mut layer, &workshop, &mut seen)?;
        layer.finish(&seen).map_err(in_layer)?;
        let mut layers = vec![self.number];
        layers.extend(&self.before.facts.layers);
        let facts = Facts {
            number: self.number,
            layers,
            bulk: self.surveyor.left_live(&seen),
            notes: notes(&transferred, &seen),
            boot: self.bases.boot.clone(),
            entries: 0,
            minimal_git_stat,
        };
        Ok(Manifest {
            facts,
            listing: seen,
        })
    }
}

/// Gives a finished workshop its name; from here on the generation exists.
pub(super) fn publish(
    bases: &Bases<'_>,
    generations: &Generations<'_>,
    manifest: &Manifest,
) -> Result<(), PrepareError> {
    let workshop = generations.workshop(manifest.facts.number);
    let place = generations.path(manifest.facts.number);
    let written = manifest
        .write(&workshop.join("manifest"))
        .and_then(|()| fs_err::rename(&workshop, &place));
    written.map_err(|error| disk("write the manifest of", bases, error))
}

fn disk(doing: &'static str, bases: &Bases<'_>, source: std::io::Error) -> PrepareError {
    PrepareError::Disk {
        doing,
        path: bases.project.root.clone(),
        source,
    }
}

/// The directory in which a generation is made.
pub(super) struct Workshop {
    path: PathBuf,
    pub(super) layer: OwnedFd,
}

impl Workshop {
    pub(super) fn new(path: &Path) -> Result<Self, PrepareError> {
        let layer = path.join("layer");
        let mut builder = std::fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(&layer)
            .map_err(|source| PrepareError::Disk {
                doing: "make",
                path: layer.clone(),
                source,
            })?;
        Ok(Self {
            path: path.to_owned(),
            layer: open_directory(&layer)?,
        })
    }
}

/// The time now, by the clock that stamps files. The caller holds the build lock.
fn mark(directory: &Path) -> Result<i64, PrepareError> {
    let path = directory.join("mark");
    let failed = |source| PrepareError::Disk {
        doing: "write",
        path: path.clone(),
        source,
    };
    // The same file each time: a new one would cost more than the look itself.
    let file = fs_err::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(failed)?;
    touched(&file).map_err(|errno| failed(errno.into()))
}

/// What has to be brought over, as an estimate.
fn work(seen: &Listing) -> super::estimate::Estimate {
    let entries = seen
        .directories
        .iter()
        .flat_map(|directory| &directory.entries);
    let open = entries.filter(|entry| entry.landed.is_none());
    let mut estimate = super::estimate::Estimate::default();
    for entry in open {
        estimate.entries += 1;
        if entry.shape() == Shape::File {
            estimate.bytes = estimate.bytes.saturating_add(entry.size);
        }
    }
    estimate
}

/// Marks what changed too recently for its time to prove anything later.
fn suspect(seen: &mut Listing, marked: i64) {
    for entry in seen
        .directories
        .iter_mut()
        .flat_map(|directory| &mut directory.entries)
    {
        let linked = entry.landed.is_some_and(|landed| landed.linked);
        entry.racy =
            !entry.is_directory() && !linked && entry.ctime_ns >= marked.saturating_sub(TICK_NS);
    }
}

/// Suspects whose contents are still those of the copy carry on as unchanged.
fn acquit(before: &Listing, seen: &mut Listing, layers: &[OwnedFd], host: &OwnedFd) {
    for directory in &before.directories {
        for old in directory.entries.iter().filter(|entry| entry.racy) {
            let path = directory.path_of(&old.name);
            let Some(new) = seen.entry_mut(&path) else {
                continue;
            };
            let doubtful = new.landed.is_none() && old.is_same(new);
            if doubtful && has_same_contents(&path, old, layers, host) {
                new.landed = old.landed;
            }
        }
    }
}

/// The same for git indexes, whose copies were made to fit: the host's fits the same way still.
fn acquit_indexes(bases: &Bases<'_>, before: &Listing, seen: &mut Listing, layers: &[OwnedFd]) {
    let doubtful = |path: &[u8], new: &Entry| {
        let old = before.entry(path).filter(|old| old.racy)?;
        (new.landed.is_none() && old.is_same(new)).then_some(old)
    };
    for repository in &repositories::find(bases.project, seen).inside {
        let path = repository.index();
        let Some(new) = seen.entry(&path) else {
            continue;
        };
        let Some(old) = doubtful(&path, new) else {
            continue;
        };
        let copy = super::generations::locate(layers, &path, old)
            .and_then(|layer| read_below(layer, &path).ok());
        let is_same = copy.is_some() && refreshed_index(bases, repository, new, seen) == copy;
        if let Some(new) = seen.entry_mut(&path).filter(|_| is_same) {
            new.landed = old.landed;
        }
    }
}

fn has_same_contents(path: &[u8], old: &Entry, layers: &[OwnedFd], host: &OwnedFd) -> bool {
    let Some(layer) = super::generations::locate(layers, path, old) else {
        return old.landed.is_some_and(|landed| landed.left_out);
    };
    match old.shape() {
        Shape::File if old.size <= COMPARED_MAX => {
            let read = |root: &OwnedFd| read_below(root, path).ok();
            read(host).is_some_and(|bytes| read(layer) == Some(bytes))
        }
        Shape::Symlink => {
            let read = |root: &OwnedFd| rustix::fs::readlinkat(root, path, Vec::new()).ok();
            read(host).is_some_and(|text| read(layer) == Some(text))
        }
        Shape::Fifo => true,
        Shape::File | Shape::Directory | Shape::Socket | Shape::Device => false,
    }
}

pub(super) fn read_below(root: &OwnedFd, path: &[u8]) -> std::io::Result<Vec<u8>> {
    use rustix::fs::{Mode, OFlags, ResolveFlags};
    use std::io::Read as _;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    let file = rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)?;
    let mut bytes = Vec::new();
    std::fs::File::from(file).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Gives every repository in the picture an index that fits the copies. Says whether some index is
/// beyond reach, so that git inside must be told to look less closely.
fn refresh_indexes(
    bases: &Bases<'_>,
    layer: &mut Layer<'_>,
    made: &Workshop,
    seen: &mut Listing,
) -> Result<bool, PrepareError> {
    let found = repositories::find(bases.project, seen);
    let mut beyond = !found.outside.is_empty();
    for repository in &found.inside {
        let path = repository.index();
        let Some(entry) = seen
            .entry(&path)
            .filter(|entry| entry.is_present())
            .cloned()
        else {
            continue;
        };
        let Some(fresh) = refreshed_index(bases, repository, &entry, seen) else {
            beyond = true;
            continue;
        };
        let in_layer = |trouble: Trouble| trouble.at(&made.path);
        layer.open_way(parent(&path)).map_err(in_layer)?;
        let landed = write_index(
            &made.path.join("layer").join(as_path(&path)),
            &fresh,
            &entry,
        )
        .map_err(|source| disk("refresh the git index of", bases, source))?;
        if let Some(entry) = seen.entry_mut(&path) {
            entry.landed = Some(landed);
        }
    }
    Ok(beyond)
}

/// The refreshed index, provided that the host's is still the one in the picture.
fn refreshed_index(
    bases: &Bases<'_>,
    repository: &Repository,
    entry: &Entry,
    seen: &Listing,
) -> Option<Vec<u8>> {
    let file = bases.project.root.join(as_path(&repository.index()));
    let bytes = fs_err::read(&file).ok()?;
    let now = file.symlink_metadata().ok()?;
    let ctime = now
        .ctime()
        .saturating_mul(1_000_000_000)
        .saturating_add(now.ctime_nsec());
    if now.ino() != entry.ino || now.size() != entry.size || ctime != entry.ctime_ns {
        return None;
    }
    let config = repository.config(&bases.project.root);
    repository.refreshed(&bytes, &config, &|path| {
        seen.entry(path).and_then(repositories::moved)
    })
}

/// Replaces the copy of an index, keeping the time that git compares its entries with.
pub(super) fn write_index(
    path: &Path,
    bytes: &[u8],
    entry: &Entry,
) -> std::io::Result<crate::copy::Landed> {
    match fs_err::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    fs_err::write(path, bytes)?;
    let file = fs_err::File::open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(entry.mode & 0o7777))?;
    let since = std::time::Duration::from_nanos(entry.mtime_ns.unsigned_abs());
    file.set_modified(std::time::UNIX_EPOCH + since)?;
    let found = rustix::fs::statat(rustix::fs::CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    let ctime_ns = crate::copy::change_time(&found);
    Ok(crate::copy::Landed {
        ino: found.st_ino,
        ctime_ns,
        linked: false,
        left_out: false,
    })
}

/// What a person should know about a picture.
fn notes(transferred: &Transferred, seen: &Listing) -> Vec<String> {
    let of = |reason: LeftOutReason| {
        let left_out = transferred.left_out.iter();
        let paths = left_out.filter(move |left: &&LeftOut| left.reason == reason);
        paths.map(|left| left.path.clone()).collect::<Vec<_>>()
    };
    let mut unreadable = of(LeftOutReason::Unreadable);
    unreadable.extend(seen.unreadable.iter().cloned());
    [
        (
            "kept changing while it was copied",
            transferred.unstable.clone(),
        ),
        ("not readable, not in the picture", unreadable),
        ("a socket, not in the picture", of(LeftOutReason::Socket)),
        ("a device, not in the picture", of(LeftOutReason::Device)),
    ]
    .into_iter()
    .filter(|(_, paths)| !paths.is_empty())
    .map(|(what, paths)| note(what, &paths))
    .collect()
}

/// Names at most three, and counts the rest.
fn note(what: &str, paths: &[PathBuf]) -> String {
    let named: Vec<String> = paths
        .iter()
        .take(3)
        .map(|path| agar_core::text::printable_bytes(path.as_os_str().as_encoded_bytes()))
        .collect();
    match paths.len().saturating_sub(named.len()) {
        0 => format!("{}: {what}", named.join(", ")),
        more => format!("{} and {more} more: {what}", named.join(", ")),
    }
}
