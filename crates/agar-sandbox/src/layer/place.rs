//! Where an entry really lies, and the only safe ways to read it.

use super::beneath;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, readlinkat};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of a layer: the layer's directory and the path below it.
///
/// The two are kept apart because joining them and opening the result would follow a link that the
/// sandbox put on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    root: Arc<Path>,
    path: PathBuf,
}

impl Place {
    pub(super) fn new(root: Arc<Path>, path: PathBuf) -> Self {
        Self { root, path }
    }

    /// A file of the host, below a directory that the caller trusts.
    pub fn on_host(root: &Path, path: &Path) -> Self {
        Self {
            root: root.into(),
            path: path.into(),
        }
    }

    /// The layer's directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path below it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path on disk, to show. Open it with [`Place::open`], never by this path.
    pub fn real(&self) -> PathBuf {
        self.root.join(&self.path)
    }

    /// Opens a regular file for reading.
    ///
    /// Anything else, also what became something else since it was seen, is an error: a FIFO does
    /// not hang the reader and a device is not touched.
    pub fn open(&self) -> io::Result<File> {
        let root = beneath::open_root(&self.root)?;
        let seen = beneath::open(root.as_fd(), &self.path, OFlags::PATH)?;
        let status = rustix::fs::fstat(&seen)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        // The link in /proc leads to the very file just checked.
        let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&seen));
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(openat(rustix::fs::CWD, link, flags, Mode::empty())?.into())
    }

    /// The whole file, unless it is longer than a limit: then `None`.
    pub fn read(&self, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let file = self.open()?;
        let length = file.metadata()?.len();
        if length > bytes_max {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
        // It may have grown since.
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)?;
        let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= bytes_max);
        Ok(fits.then_some(bytes))
    }

    /// What a symbolic link points to.
    pub fn read_link(&self) -> io::Result<OsString> {
        let link = self.handle()?;
        let target = readlinkat(&link, c"", Vec::with_capacity(256))?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// The state of the entry now, without following it.
    pub fn status(&self) -> io::Result<rustix::fs::Stat> {
        Ok(rustix::fs::statat(
            self.handle()?,
            c"",
            AtFlags::EMPTY_PATH,
        )?)
    }

    fn handle(&self) -> io::Result<OwnedFd> {
        let root = beneath::open_root(&self.root)?;
        Ok(beneath::open(root.as_fd(), &self.path, OFlags::PATH)?)
    }
}
