//! What this machine is, read once, as data.

use crate::wire::Raw;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

mod cover;
pub(crate) use cover::FRESH;
mod mounts;

pub use mounts::{MountPoint, parse as parse_mounts};

/// What a plan needs to know about the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The caller's user id.
    pub uid: u32,
    /// The caller's group id.
    pub gid: u32,
    /// The kernel's version, `(6, 18)`.
    pub kernel: (u32, u32),
    /// What is mounted, in mount order.
    pub mounts: Vec<MountPoint>,
    /// Directories that hold no mount below them: each can be covered by an overlay without an upper
    /// layer, through which no socket, lock or watch of the host can be reached.
    pub covers: Vec<Raw>,
    /// Sockets and FIFOs that lie where no cover can.
    pub loose: Vec<Raw>,
    /// Where `/etc/resolv.conf` really is, if that is below `/run`.
    pub resolver: Option<Raw>,
    /// Memory of the machine in bytes.
    pub memory_bytes: u64,
}

impl Machine {
    /// Reads this machine.
    pub fn read() -> io::Result<Self> {
        let mounts = parse_mounts(&read("/proc/self/mountinfo")?);
        let (covers, loose) = cover::find(&mounts)?;
        Ok(Self {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            kernel: kernel_version(),
            covers,
            loose,
            resolver: resolver(),
            memory_bytes: memory_total(),
            mounts,
        })
    }

    /// Whether the caller is the machine's root.
    pub const fn is_root(&self) -> bool {
        self.uid == 0
    }

    /// The mounts strictly below a directory.
    pub fn mounts_below<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = &'a MountPoint> {
        let mounts = self.mounts.iter();
        mounts.filter(move |mount| mount.is_below(directory))
    }
}

/// The directories that take the place of one that has mounts below it, which no overlay can be laid
/// over; nothing if there are no such mounts.
pub fn parts_around_mounts(directory: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    let mounts = parse_mounts(&read("/proc/self/mountinfo")?);
    let any = mounts.iter().any(|mount| mount.is_below(directory));
    Ok(any.then(|| cover::parts(directory, &mounts)))
}

fn read(path: &str) -> io::Result<Vec<u8>> {
    fs_err_read(Path::new(path))
}

/// The keeper's program carries no error-decorating library; the caller names the path.
#[expect(
    clippy::disallowed_methods,
    reason = "the message names the path itself"
)]
pub(crate) fn fs_err_read(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn kernel_version() -> (u32, u32) {
    let name = rustix::system::uname();
    let mut parts = name
        .release()
        .to_bytes()
        .split(|byte| !byte.is_ascii_digit());
    let mut next = || {
        parts
            .next()
            .and_then(|part| std::str::from_utf8(part).ok())
            .and_then(|part| part.parse().ok())
    };
    (next().unwrap_or(0), next().unwrap_or(0))
}

fn memory_total() -> u64 {
    let info = rustix::system::sysinfo();
    u64::from(info.mem_unit).saturating_mul(info.totalram)
}

/// `/etc/resolv.conf` is often a link into `/run`, which is fresh inside.
fn resolver() -> Option<Raw> {
    let real = std::fs::canonicalize("/etc/resolv.conf").ok()?;
    real.starts_with("/run")
        .then(|| real.into_os_string().into())
}

/// Undoes the octal escapes of `/proc/self/mountinfo`.
pub(crate) fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        let digits = tail
            .get(..3)
            .filter(|digits| digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        if let (b'\\', Some(&[a, b, c])) = (byte, digits) {
            bytes.push(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'));
            rest = &tail[3..];
        } else {
            bytes.push(byte);
            rest = tail;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}
