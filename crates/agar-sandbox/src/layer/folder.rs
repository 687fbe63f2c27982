//! One directory of a view: which layers take part in it, and what each name in it means.

use super::{Place, View, ViewError, beneath, mark};
use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// What sort of thing an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
}

/// Something that a view shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Its permission bits, set-user-id and the like included.
    pub mode: u32,
    /// Its length in bytes, for a file or a link.
    pub size: u64,
    /// Which device, for one.
    pub device: u64,
    /// The layer that shows it, counted from the topmost.
    pub layer: usize,
    /// Whether that layer is the sandbox's upper.
    pub is_upper: bool,
    /// Where it lies on disk.
    pub place: Place,
}

/// What one layer alone says about a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It is deleted.
    Whiteout,
    /// It is this.
    Entry(Entry),
}

/// A merged directory, open.
#[derive(Debug)]
pub struct Folder<'view> {
    pub(super) view: &'view View,
    pub(super) path: PathBuf,
    pub(super) parts: Vec<Part>,
    /// Whether nothing of a layer below the view would show through.
    pub(super) closed: bool,
}

/// The part of a merged directory that one layer contributes.
#[derive(Debug)]
pub(super) struct Part {
    layer: usize,
    directory: OwnedFd,
    marks: mark::Marks,
}

impl Kind {
    fn of(status: &Stat) -> Self {
        match FileType::from_raw_mode(status.st_mode) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => Self::Device,
        }
    }

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::Fifo => "fifo",
            Self::Socket => "socket",
            Self::Device => "device",
        }
    }
}

impl<'view> Folder<'view> {
    /// Opens the directory in each layer that takes part, from the topmost down to the first that
    /// hides the rest. `None` when the topmost entry is no directory.
    pub(super) fn open(
        view: &'view View,
        path: &Path,
        parent_layers: &[usize],
    ) -> Result<Option<Self>, ViewError> {
        let mut parts = Vec::new();
        let mut closed = false;
        for &index in parent_layers {
            let Some(layer) = view.layers.get(index) else {
                break;
            };
            let open = |flags| beneath::open(layer.directory.as_fd(), path, flags);
            let opened = match open(OFlags::RDONLY | OFlags::DIRECTORY) {
                // Names in it may be found although they may not be listed.
                Err(Errno::ACCESS) => open(OFlags::PATH | OFlags::DIRECTORY),
                opened => opened,
            };
            let directory = match opened {
                Ok(directory) => directory,
                Err(Errno::NOENT) => continue,
                // A whiteout, a file or a link: it hides what lies below.
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    closed = true;
                    break;
                }
                Err(error) => return Err(layer.failed(path, error.into())),
            };
            let marks =
                mark::read(directory.as_fd()).map_err(|error| layer.failed(path, error.into()))?;
            // Below the lowest layer nothing can be hidden or led to; what a host keeps there (the
            // layers of a container engine, say) is data.
            let lowest = index + 1 == view.layers.len() && !view.is_upper(index);
            if let (Some(feature), false) = (marks.foreign.clone(), lowest) {
                return Err(ViewError::Foreign {
                    root: layer.root.to_path_buf(),
                    path: path.into(),
                    feature,
                });
            }
            let opaque = marks.opaque;
            parts.push(Part {
                layer: index,
                directory,
                marks,
            });
            if opaque {
                closed = true;
                break;
            }
        }
        let folder = Self {
            view,
            path: path.into(),
            parts,
            closed,
        };
        Ok((!folder.parts.is_empty()).then_some(folder))
    }

    /// The path of the directory, relative to the view.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The layers that take part, topmost first.
    pub fn layers(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.layer).collect()
    }

    /// Whether it hides every directory below the layers of the view.
    pub fn is_opaque(&self) -> bool {
        self.closed
    }

    /// The directory as an entry of its own.
    pub fn itself(&self) -> Result<Option<Entry>, ViewError> {
        let Some(part) = self.parts.first() else {
            return Ok(None);
        };
        let status = statat(&part.directory, c"", AtFlags::EMPTY_PATH)
            .map_err(|error| self.failed(part, &self.path, error))?;
        Ok(Some(self.entry(part, self.path.clone(), &status)))
    }

    /// What the merged directory shows under a name.
    pub fn find(&self, name: &OsStr) -> Result<Option<Entry>, ViewError> {
        match self.inspect(name)? {
            Some(Found::Entry(entry)) => Ok(Some(entry)),
            Some(Found::Whiteout) | None => Ok(None),
        }
    }

    /// What the topmost layer that knows the name says about it.
    pub fn inspect(&self, name: &OsStr) -> Result<Option<Found>, ViewError> {
        for part in &self.parts {
            if let Some(found) = self.inspect_part(part, name)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Every name that any layer mentions, whiteouts included, sorted.
    pub fn mentioned(&self) -> Result<Vec<OsString>, ViewError> {
        Ok(self.list()?.into_keys().collect())
    }

    /// The names and entries that the merged directory shows, sorted.
    pub fn entries(&self) -> Result<Vec<(OsString, Entry)>, ViewError> {
        let mut entries = Vec::new();
        for (name, at) in self.list()? {
            let Some(part) = self.parts.get(at) else {
                continue;
            };
            if let Some(Found::Entry(entry)) = self.inspect_part(part, &name)? {
                entries.push((name, entry));
            }
        }
        Ok(entries)
    }

    /// Each name with the position of the topmost part that mentions it.
    fn list(&self) -> Result<BTreeMap<OsString, usize>, ViewError> {
        let mut names = BTreeMap::new();
        for (at, part) in self.parts.iter().enumerate() {
            let failed = |error| self.failed(part, &self.path, error);
            for item in Dir::read_from(&part.directory).map_err(failed)? {
                let item = item.map_err(failed)?;
                names
                    .entry(OsString::from_vec(item.file_name().to_bytes().to_vec()))
                    .or_insert(at);
            }
        }
        names.remove(OsStr::new("."));
        names.remove(OsStr::new(".."));
        Ok(names)
    }

    fn inspect_part(&self, part: &Part, name: &OsStr) -> Result<Option<Found>, ViewError> {
        let failed = |error| self.failed(part, &self.path.join(name), error);
        let status = match statat(&part.directory, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(status) => status,
            Err(Errno::NOENT | Errno::NAMETOOLONG) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let entry = self.entry(part, self.path.join(name), &status);
        let character = FileType::from_raw_mode(status.st_mode) == FileType::CharacterDevice;
        if character && entry.device == 0 {
            return Ok(Some(Found::Whiteout));
        }
        if part.marks.whiteout_files
            && entry.kind == Kind::File
            && entry.size == 0
            && mark::is_whiteout_file(part.directory.as_fd(), name).map_err(failed)?
        {
            return Ok(Some(Found::Whiteout));
        }
        Ok(Some(Found::Entry(entry)))
    }

    fn entry(&self, part: &Part, path: PathBuf, status: &Stat) -> Entry {
        let root = self.view.layers[part.layer].root.clone();
        Entry {
            kind: Kind::of(status),
            mode: status.st_mode & 0o7777,
            size: u64::try_from(status.st_size).unwrap_or(0),
            device: status.st_rdev,
            layer: part.layer,
            is_upper: self.view.is_upper(part.layer),
            place: Place::new(root, path),
        }
    }

    fn failed(&self, part: &Part, path: &Path, error: Errno) -> ViewError {
        self.view.layers[part.layer].failed(path, error.into())
    }
}
