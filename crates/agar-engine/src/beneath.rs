//! Files in a layer that hostile code has filled, read without following anything out of it.
//!
//! A name may be a link to a secret of the host, a pipe that blocks whoever opens it, or a file
//! without end.

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// How names are resolved: never out of the directory, never through a link.
const fn beneath() -> ResolveFlags {
    ResolveFlags::BENEATH
        .union(ResolveFlags::NO_SYMLINKS)
        .union(ResolveFlags::NO_MAGICLINKS)
}

/// Opens a directory of a layer.
pub(crate) fn directory(layer: &Path, within: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = rustix::fs::open(layer, flags, Mode::empty())?;
    if within.as_os_str().is_empty() {
        return Ok(top);
    }
    Ok(rustix::fs::openat2(
        &top,
        within,
        flags,
        Mode::empty(),
        beneath(),
    )?)
}

/// Reads a file below a directory, if it is one and no longer than this.
pub(crate) fn read(
    directory: impl AsFd,
    path: impl AsRef<Path>,
    bytes_max: usize,
) -> io::Result<Vec<u8>> {
    // Not to wait for whoever might write to a pipe of that name.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(directory, path.as_ref(), flags, Mode::empty(), beneath())?;
    let status = rustix::fs::fstat(&opened)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is not a file",
        ));
    }
    let mut bytes = Vec::new();
    let mut file = File::from(opened).take(bytes_max as u64 + 1);
    file.read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is too large",
        ));
    }
    Ok(bytes)
}
