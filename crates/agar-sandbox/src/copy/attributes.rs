//! Extended attributes of the user's own kind, which are part of a file.

use super::transfer::Fidelity;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// Overlay's own marks. A project that happens to hold some must not have them obeyed.
const OVERLAY: &[u8] = b"user.overlay.";

/// Copies the `user.*` attributes of an open file. Filesystems without any are no failure.
pub(super) fn copy(from: &OwnedFd, to: &OwnedFd, fidelity: Fidelity) -> Result<(), Errno> {
    let mut names = [0_u8; 4096];
    let length = match flistxattr(from, &mut names) {
        Ok(0) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        Ok(length) => length,
        Err(error) => return Err(error),
    };
    for name in names[..length].split(|&byte| byte == 0) {
        let wanted = match fidelity {
            Fidelity::Project => name.starts_with(b"user.") && !name.starts_with(OVERLAY),
            Fidelity::Layer => name.starts_with(b"user."),
        };
        if wanted {
            copy_one(from, to, name)?;
        }
    }
    Ok(())
}

fn copy_one(from: &OwnedFd, to: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    let mut value = vec![0_u8; 65536];
    match fgetxattr(from, name, &mut value) {
        Ok(length) => match fsetxattr(to, name, &value[..length], XattrFlags::empty()) {
            // The target's filesystem may hold fewer or smaller ones: the data matters more.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSPC | Errno::TOOBIG) => Ok(()),
            Err(error) => Err(error),
        },
        Err(Errno::NODATA) => Ok(()),
        Err(error) => Err(error),
    }
}
