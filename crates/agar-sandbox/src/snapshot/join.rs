//! Joins a run of layers into one that shows the same.
//!
//! Layers never change, so files are linked and not copied. Linking moves their change time and
//! their number of names: git reads such a file once more, and finds it unchanged. Everything is made
//! and linked in open directories: a tree can be deeper than a path can be long.
//!
//! A whiteout stays one where the directory around it lies below the run as well. Where it does not, there
//! is nothing to hide, and the kernel would show the whiteout's name to whoever lists the directory: it
//! looks for whiteouts only in those that it merges.

use crate::layer::{Entry, Folder, Found, Kind, Upper, View, ViewError};
use agar_core::fault::{self, Fault};
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use rustix::io::Errno;
use std::collections::{HashMap, hash_map};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The longest relative path that is opened in one call: the kernel takes 4096 bytes.
const STRETCH_BYTES_MAX: usize = 4000;

/// Layers could not be joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// A layer could not be read.
    #[error(transparent)]
    Read(#[from] ViewError),
    /// The directory for it could not be made, or is there already: nothing was put into it.
    #[error("cannot make the joined layer {}", path.display())]
    Target {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The disk said no.
    #[error("cannot make {} in the joined layer", path.display())]
    Disk {
        /// The layer that shows it.
        layer: PathBuf,
        /// What was to be made.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl JoinError {
    /// The layer that cannot be joined as it is, if that is the reason: others can be without it. Its
    /// owner locked himself out of something in it, where only who stands in a jail of that layer can
    /// enter; or something in it can have no further name.
    pub fn unjoinable(&self) -> Option<&Path> {
        match self {
            Self::Read(ViewError::Read { root, source, .. }) if is_lasting(source) => Some(root),
            Self::Read(ViewError::Foreign { root, .. }) => Some(root),
            Self::Disk { layer, source, .. } if is_lasting(source) => Some(layer),
            Self::Read(_) | Self::Target { .. } | Self::Disk { .. } => None,
        }
    }
}

/// Whether an error comes of what a layer is like: it would be the same the next time.
fn is_lasting(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::ACCESS | Errno::MLINK | Errno::NAMETOOLONG | Errno::PERM | Errno::XDEV)
    )
}

impl Fault for JoinError {
    fn kind(&self) -> fault::Kind {
        match self {
            Self::Read(error) => error.kind(),
            Self::Target { .. } | Self::Disk { .. } => fault::Kind::Internal,
        }
    }
}

/// Joins layers, topmost first, into a directory that does not exist yet. `below` are the layers that lie
/// below them wherever they are used.
pub fn join(layers: &[PathBuf], below: &[PathBuf], target: &Path) -> Result<(), JoinError> {
    let view = View::open(layers, Upper::Topmost(layers.len()))?;
    let below = Below(View::open(below, Upper::None)?);
    let joining = Joining::begin(layers, target)?;
    let mut waiting = vec![(PathBuf::new(), view.root()?.layers(), below.root())];
    let mut made: Vec<(PathBuf, usize)> = Vec::new();
    while let Some((path, above, around)) = waiting.pop() {
        let Some(folder) = view.enter(&path, &above)? else {
            continue;
        };
        let parts = folder.layers();
        let Some(&top) = parts.first() else {
            continue;
        };
        let merged = if folder.is_opaque() {
            Merged::Nothing
        } else {
            below.enter(&path, &around)
        };
        let mut room = joining.enter(&folder, top)?;
        for name in folder.mentioned()? {
            match folder.inspect(&name)? {
                None => {}
                Some(Found::Whiteout) if merged == Merged::Nothing => {}
                Some(Found::Whiteout) => room.whiteout(&name)?,
                Some(Found::Entry(entry)) if entry.kind == Kind::Directory => {
                    room.directory(&name, &entry)?;
                    waiting.push((path.join(&name), parts.clone(), merged.clone()));
                }
                Some(Found::Entry(entry)) => room.link(&name, &entry)?,
            }
        }
        made.push((path, top));
    }
    // Children before parents: making an entry moves the time of the directory around it.
    for (path, top) in made.iter().rev() {
        joining.finish(path, *top)?;
    }
    Ok(())
}

/// What lies below the run.
struct Below(View);

/// What a directory of the run is merged with.
#[derive(Debug, Clone, PartialEq)]
enum Merged {
    /// A directory of these layers.
    With(Vec<usize>),
    /// It could not be seen. A whiteout too many shows a name; one too few shows a file.
    Unknown,
    Nothing,
}

impl Below {
    fn root(&self) -> Merged {
        self.0
            .root()
            .map_or(Merged::Unknown, |folder| match folder.layers() {
                none if none.is_empty() => Merged::Nothing,
                layers => Merged::With(layers),
            })
    }

    /// The same for a directory in one that is merged with this.
    fn enter(&self, path: &Path, around: &Merged) -> Merged {
        match around {
            Merged::With(layers) => match self.0.enter(path, layers) {
                Ok(Some(folder)) => Merged::With(folder.layers()),
                Ok(None) => Merged::Nothing,
                Err(_) => Merged::Unknown,
            },
            Merged::Unknown | Merged::Nothing => around.clone(),
        }
    }
}

struct Joining<'a> {
    layers: &'a [PathBuf],
    /// The same, open.
    sources: Vec<OwnedFd>,
    target: OwnedFd,
}

/// A directory of the joined layer.
struct Room<'a> {
    joining: &'a Joining<'a>,
    path: &'a Path,
    /// The topmost layer that has it.
    top: usize,
    open: OwnedFd,
    /// Where its files are linked from, by layer.
    sources: HashMap<usize, OwnedFd>,
}

/// Opens a directory below another one.
fn open_below(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let only = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here: Option<OwnedFd> = None;
    let mut stretch = PathBuf::new();
    for name in path {
        if stretch.as_os_str().len() + name.len() >= STRETCH_BYTES_MAX {
            let from = here.as_ref().unwrap_or(root);
            let way = rustix::fs::openat(from, &stretch, only | OFlags::PATH, Mode::empty())?;
            here = Some(way);
            stretch.clear();
        }
        stretch.push(name);
    }
    if stretch.as_os_str().is_empty() {
        stretch.push(".");
    }
    let from = here.as_ref().unwrap_or(root);
    rustix::fs::openat(from, &stretch, only | flags, Mode::empty())
}

impl<'a> Joining<'a> {
    /// Makes the directory of the joined layer. One that is there already is somebody else's.
    fn begin(layers: &'a [PathBuf], target: &Path) -> Result<Self, JoinError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |path: &Path| rustix::fs::open(path, flags, Mode::empty());
        let open_layer = |layer: &PathBuf| {
            open(layer).map_err(|error| ViewError::Layer {
                root: layer.clone(),
                source: error.into(),
            })
        };
        let sources = layers.iter().map(open_layer).collect::<Result<_, _>>()?;
        let made = rustix::fs::mkdirat(CWD, target, Mode::RWXU).and_then(|()| open(target));
        let target = made.map_err(|error| JoinError::Target {
            path: target.to_owned(),
            source: error.into(),
        })?;
        Ok(Self {
            layers,
            sources,
            target,
        })
    }

    /// Goes on in a directory that was made.
    fn enter<'r>(&'r self, folder: &'r Folder<'_>, top: usize) -> Result<Room<'r>, JoinError> {
        let path = folder.path();
        let failed = |error: Errno| self.failed(top, path, error.into());
        let open = open_below(&self.target, path, OFlags::RDONLY).map_err(failed)?;
        if folder.is_opaque() {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::fsetxattr(&open, super::OPAQUE, b"y", flags).map_err(failed)?;
        }
        Ok(Room {
            joining: self,
            path,
            top,
            open,
            sources: HashMap::new(),
        })
    }

    /// Owner, mode, attributes and time of a directory, as the topmost layer that has it shows them.
    fn finish(&self, path: &Path, top: usize) -> Result<(), JoinError> {
        let source = &self.sources[top];
        let done = || -> io::Result<()> {
            let to = open_below(&self.target, path, OFlags::RDONLY)?;
            let like = match open_below(source, path, OFlags::RDONLY) {
                Ok(from) => {
                    crate::copy::project_attributes(&from, &to)?;
                    File::from(from).metadata()?
                }
                // It may be passed but not read.
                Err(_) => File::from(open_below(source, path, OFlags::PATH)?).metadata()?,
            };
            let owner = (Uid::from_raw(like.uid()), Gid::from_raw(like.gid()));
            // Only root can give directories away; others made them as their own.
            let _ = rustix::fs::fchown(&to, Some(owner.0), Some(owner.1));
            rustix::fs::fchmod(&to, Mode::from_raw_mode(like.mode() & 0o7777))?;
            let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
            let times = Timestamps {
                last_access: time(like.atime(), like.atime_nsec()),
                last_modification: time(like.mtime(), like.mtime_nsec()),
            };
            Ok(rustix::fs::futimens(&to, &times)?)
        };
        done().map_err(|error| self.failed(top, path, error))
    }

    fn failed(&self, layer: usize, path: &Path, source: io::Error) -> JoinError {
        JoinError::Disk {
            layer: self.layers[layer].clone(),
            path: path.to_owned(),
            source,
        }
    }
}

impl Room<'_> {
    fn directory(&self, name: &OsStr, entry: &Entry) -> Result<(), JoinError> {
        rustix::fs::mkdirat(&self.open, name, Mode::RWXU)
            .map_err(|error| self.failed(entry.layer, name, error))
    }

    fn whiteout(&self, name: &OsStr) -> Result<(), JoinError> {
        let kind = FileType::CharacterDevice;
        rustix::fs::mknodat(&self.open, name, kind, Mode::empty(), 0)
            .map_err(|error| self.failed(self.top, name, error))
    }

    fn link(&mut self, name: &OsStr, entry: &Entry) -> Result<(), JoinError> {
        let layer = entry.layer;
        let from = match self.sources.entry(layer) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(new) => {
                let root = &self.joining.sources[layer];
                let opened = open_below(root, self.path, OFlags::PATH)
                    .map_err(|error| self.joining.failed(layer, self.path, error.into()))?;
                new.insert(opened)
            }
        };
        rustix::fs::linkat(&*from, name, &self.open, name, AtFlags::empty())
            .map_err(|error| self.failed(layer, name, error))
    }

    fn failed(&self, layer: usize, name: &OsStr, error: Errno) -> JoinError {
        let path = self.path.join(name);
        self.joining.failed(layer, &path, error.into())
    }
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
