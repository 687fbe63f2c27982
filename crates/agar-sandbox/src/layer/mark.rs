//! The marks an overlay leaves in its layers.
//!
//! | mark | meaning |
//! |---|---|
//! | character device 0/0 | a whiteout: the name is deleted |
//! | empty file with the attribute `whiteout`, in a directory whose `opaque` is `x` | the same |
//! | directory whose attribute `opaque` is `y` | nothing of the directory below shows through |
//!
//! agar's own overlays use `user.overlay.*`; layers from elsewhere may use `trusted.overlay.*`.

use rustix::buffer::spare_capacity;
use rustix::fs::{fgetxattr, flistxattr, lgetxattr};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;

/// The namespaces in which the kernel keeps its marks.
const PREFIXES: [&str; 2] = ["user.overlay.", "trusted.overlay."];

/// The marks of one directory of one layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Nothing below shows through.
    pub(super) opaque: bool,
    /// Some files in it may be whiteouts.
    pub(super) whiteout_files: bool,
    /// A feature that agar's overlays never use, and whose meaning would be lost.
    pub(super) foreign: Option<String>,
}

/// Reads the marks of an open directory.
pub(super) fn read(directory: BorrowedFd<'_>) -> Result<Marks, Errno> {
    let mut marks = Marks::default();
    let names = match list(directory) {
        Ok(names) => names,
        // A filesystem without marks, or a directory that may be passed but not read.
        Err(Errno::NOTSUP | Errno::BADF) => return Ok(marks),
        Err(error) => return Err(error),
    };
    for name in names.split(|byte| *byte == 0) {
        let Some((full, mark)) = overlay_mark(name) else {
            continue;
        };
        match mark {
            "opaque" => match value(directory, full)?.as_slice() {
                b"y" => marks.opaque = true,
                b"x" => marks.whiteout_files = true,
                _ => {}
            },
            "redirect" | "metacopy" => marks.foreign = Some(full.to_owned()),
            _ => {}
        }
    }
    Ok(marks)
}

/// Whether an empty file in a directory with [`Marks::whiteout_files`] is a whiteout.
pub(super) fn is_whiteout_file(directory: BorrowedFd<'_>, name: &OsStr) -> Result<bool, Errno> {
    // There is no `getxattrat` on the kernels we support; the link in /proc leads exactly to the
    // directory we hold, and the last component is not followed.
    let mut path = format!("/proc/self/fd/{}/", directory.as_raw_fd()).into_bytes();
    path.extend_from_slice(name.as_bytes());
    for prefix in PREFIXES {
        let mut buffer = [0_u8; 16];
        match lgetxattr(
            path.as_slice(),
            format!("{prefix}whiteout"),
            &mut buffer[..],
        ) {
            Ok(_) | Err(Errno::RANGE) => return Ok(true),
            Err(Errno::NODATA | Errno::NOTSUP | Errno::NOENT | Errno::PERM) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// The full name of an attribute and its name within the overlay's namespace.
fn overlay_mark(name: &[u8]) -> Option<(&str, &str)> {
    let name = std::str::from_utf8(name).ok()?;
    let mark = PREFIXES
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    Some((name, mark))
}

fn list(directory: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    let mut names = Vec::with_capacity(256);
    loop {
        match flistxattr(directory, spare_capacity(&mut names)) {
            Ok(_) => return Ok(names),
            // The kernel's own ceiling is 64 KiB.
            Err(Errno::RANGE) if names.capacity() < 1 << 17 => {
                names.clear();
                names.reserve(names.capacity() * 2);
            }
            Err(error) => return Err(error),
        }
    }
}

fn value(directory: BorrowedFd<'_>, name: &str) -> Result<Vec<u8>, Errno> {
    let mut value = Vec::with_capacity(16);
    match fgetxattr(directory, name, spare_capacity(&mut value)) {
        Ok(_) => Ok(value),
        Err(Errno::NODATA | Errno::RANGE) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
