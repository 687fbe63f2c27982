//! Joins a run of layers into one that shows the same.
//!
//! Layers never change, so files are linked and not copied. Linking moves their change time and
//! their number of names: git reads such a file once more, and finds it unchanged.
//!
//! A whiteout stays one where the directory around it lies below the run as well. Where it does not, there
//! is nothing to hide, and the kernel would show the whiteout's name to whoever lists the directory: it
//! looks for whiteouts only in those that it merges.

use super::{make_private, mark_opaque};
use crate::layer::{Entry, Folder, Found, Kind, Upper, View, ViewError};
use agar_core::fault::{self, Fault};
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Layers could not be joined.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// A layer could not be read.
    #[error(transparent)]
    Read(#[from] ViewError),
    /// The disk said no.
    #[error("cannot make {} in the joined layer", path.display())]
    Disk {
        /// What was to be made.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl JoinError {
    /// The layer whose owner locked himself out of something in it, if that is the reason. Only who
    /// stands in a jail of that layer can enter there.
    pub fn locked(&self) -> Option<&Path> {
        match self {
            Self::Read(ViewError::Read { root, source, .. })
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                Some(root)
            }
            Self::Read(_) | Self::Disk { .. } => None,
        }
    }
}

impl Fault for JoinError {
    fn kind(&self) -> fault::Kind {
        match self {
            Self::Read(error) => error.kind(),
            Self::Disk { .. } => fault::Kind::Internal,
        }
    }
}

/// Joins layers, topmost first, into a directory that does not exist yet. `below` are the layers that lie
/// below them wherever they are used.
pub fn join(layers: &[PathBuf], below: &[PathBuf], target: &Path) -> Result<(), JoinError> {
    let view = View::open(layers, Upper::Topmost(layers.len()))?;
    let below = Below(View::open(below, Upper::None)?);
    let joining = Joining { target };
    joining
        .directory(&view.root()?, Path::new(""))
        .map_err(Failed::into_error)?;
    // Children before parents: making an entry moves the time of the directory around it.
    let mut waiting = vec![(PathBuf::new(), view.root()?.layers(), below.root())];
    let mut made: Vec<(PathBuf, PathBuf)> = Vec::new();
    while let Some((path, above, around)) = waiting.pop() {
        let Some(folder) = view.enter(&path, &above)? else {
            continue;
        };
        let merged = if folder.is_opaque() {
            Merged::Nothing
        } else {
            below.enter(&path, &around)
        };
        made.push((path.clone(), top(&view, &folder)));
        for name in folder.mentioned()? {
            let at = path.join(&name);
            let Some(found) = folder.inspect(&name)? else {
                continue;
            };
            let outcome = match &found {
                Found::Whiteout if merged == Merged::Nothing => Ok(()),
                Found::Whiteout => joining.whiteout(&at),
                Found::Entry(entry) if entry.kind == Kind::Directory => {
                    let below = view.enter(&at, &folder.layers())?;
                    waiting.push((at.clone(), folder.layers(), merged.clone()));
                    below.map_or(Ok(()), |below| joining.directory(&below, &at))
                }
                Found::Entry(entry) => joining.link(entry, &at),
            };
            outcome.map_err(Failed::into_error)?;
        }
    }
    for (path, model) in made.iter().rev() {
        joining.finish(path, model).map_err(Failed::into_error)?;
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

/// The topmost directory that a merged one is made of.
fn top(view: &View, folder: &Folder<'_>) -> PathBuf {
    let root = folder
        .layers()
        .first()
        .and_then(|layer| view.layer_root(*layer))
        .unwrap_or(Path::new(""));
    root.join(folder.path())
}

struct Joining<'a> {
    target: &'a Path,
}

struct Failed(PathBuf, io::Error);

impl Failed {
    fn into_error(self) -> JoinError {
        JoinError::Disk {
            path: self.0,
            source: self.1,
        }
    }
}

impl Joining<'_> {
    fn directory(&self, folder: &Folder<'_>, path: &Path) -> Result<(), Failed> {
        let directory = self.target.join(path);
        make_private(&directory)
            .and_then(|()| {
                if folder.is_opaque() {
                    mark_opaque(&directory)
                } else {
                    Ok(())
                }
            })
            .map_err(|error| Failed(path.to_owned(), error))
    }

    fn whiteout(&self, path: &Path) -> Result<(), Failed> {
        let node = self.target.join(path);
        rustix::fs::mknodat(CWD, &node, FileType::CharacterDevice, Mode::empty(), 0)
            .map_err(|error| Failed(path.to_owned(), error.into()))
    }

    fn link(&self, entry: &Entry, path: &Path) -> Result<(), Failed> {
        let source = entry.place.real();
        rustix::fs::linkat(CWD, &source, CWD, self.target.join(path), AtFlags::empty())
            .map_err(|error| Failed(path.to_owned(), error.into()))
    }

    /// Owner, mode, attributes and time of a directory, as the topmost layer that has it shows them.
    fn finish(&self, path: &Path, model: &Path) -> Result<(), Failed> {
        let failed = |error| Failed(path.to_owned(), error);
        let like = model.symlink_metadata().map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |path: &Path| rustix::fs::open(path, flags, Mode::empty());
        let ours = self.target.join(path);
        let done = || -> Result<(), rustix::io::Errno> {
            let to = open(&ours)?;
            if let Ok(from) = open(model) {
                crate::copy::project_attributes(&from, &to)?;
            }
            let owner = (Uid::from_raw(like.uid()), Gid::from_raw(like.gid()));
            // Only root can give directories away; others made them as their own.
            let _ = rustix::fs::fchown(&to, Some(owner.0), Some(owner.1));
            rustix::fs::fchmod(&to, Mode::from_raw_mode(like.mode() & 0o7777))?;
            let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
            let times = Timestamps {
                last_access: time(like.atime(), like.atime_nsec()),
                last_modification: time(like.mtime(), like.mtime_nsec()),
            };
            rustix::fs::futimens(&to, &times)
        };
        done().map_err(|error| failed(error.into()))
    }
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
