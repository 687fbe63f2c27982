//! A disk that is soon full. Root only.

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::ffi::CStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A small disk, gone when dropped.
#[derive(Debug)]
pub struct SmallDisk {
    path: PathBuf,
    /// Removed with it, once nothing is mounted there.
    own: Option<tempfile::TempDir>,
}

impl SmallDisk {
    /// A disk in a directory of its own. The options are those of a `tmpfs`: `size=1m,mode=0700`.
    pub fn new(options: &CStr) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut disk = Self::over(directory.path(), options);
        disk.own = Some(directory);
        disk
    }

    /// A disk over a directory that is there.
    pub fn over(directory: &Path, options: &CStr) -> Self {
        let flags = MountFlags::empty();
        mount("agar-test", directory, "tmpfs", flags, options).expect("a small disk");
        Self {
            path: directory.to_owned(),
            own: None,
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes all the room that is left, and says what to delete to have it again.
    pub fn fill(&self) -> PathBuf {
        let path = self.path.join("filler");
        let mut filler = fs_err::File::create(&path).expect("a file");
        while filler.write_all(&[0; 4096]).is_ok() {}
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Detached: gone from the tree at once, whatever still holds it.
        let _ = unmount(&self.path, UnmountFlags::DETACH);
    }
}
