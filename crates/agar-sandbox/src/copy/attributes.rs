//! Extended attributes that are part of a file: the user's own, and lists of who may do what.

use super::transfer::Fidelity;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

/// Overlay's own marks. A project that happens to hold some must not have them obeyed.
const OVERLAY: &[u8] = b"user.overlay.";

/// Lists of who may do what, which the owner of a file can set.
const ACCESS_LISTS: &[u8] = b"system.posix_acl_";

/// What a program may do beyond its user. It makes a program dangerous, so it is part of a layer,
/// which stays inside, and not of a project.
const CAPABILITIES: &[u8] = b"security.capability";

/// The kernel gives no longer list of names, and no longer value.
const LENGTH_MAX: usize = 65536;

/// Copies the attributes of an open file. Filesystems without any are no failure.
pub(super) fn copy(from: &OwnedFd, to: &OwnedFd, fidelity: Fidelity) -> Result<(), Errno> {
    let mut value = Vec::new();
    for name in names(from, fidelity)? {
        if value.is_empty() {
            value = vec![0_u8; LENGTH_MAX];
        }
        copy_one(from, to, &name, &mut value)?;
    }
    Ok(())
}

/// Whether an open file has no attributes that a layer would have.
pub(super) fn is_bare(file: &OwnedFd) -> Result<bool, Errno> {
    Ok(names(file, Fidelity::Layer)?.is_empty())
}

/// The attributes of an open file with their values.
pub(super) fn list(
    from: &OwnedFd,
    fidelity: Fidelity,
) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, Errno> {
    let mut all = BTreeMap::new();
    for name in names(from, fidelity)? {
        let mut value = vec![0_u8; LENGTH_MAX];
        let length = fgetxattr(from, name.as_slice(), &mut value)?;
        value.truncate(length);
        all.insert(name, value);
    }
    Ok(all)
}

fn names(from: &OwnedFd, fidelity: Fidelity) -> Result<Vec<Vec<u8>>, Errno> {
    let mut few = [0_u8; 1024];
    let mut many = Vec::new();
    let listed = match flistxattr(from, &mut few) {
        Ok(length) => &few[..length],
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
        Err(Errno::RANGE) => {
            many.resize(LENGTH_MAX, 0_u8);
            let length = flistxattr(from, &mut many)?;
            &many[..length]
        }
        Err(error) => return Err(error),
    };
    let wanted = |name: &&[u8]| match fidelity {
        Fidelity::Project => {
            name.starts_with(ACCESS_LISTS)
                || (name.starts_with(b"user.") && !name.starts_with(OVERLAY))
        }
        Fidelity::Layer => {
            name.starts_with(ACCESS_LISTS) || name.starts_with(b"user.") || *name == CAPABILITIES
        }
    };
    let listed = listed.split(|&byte| byte == 0);
    Ok(listed.filter(wanted).map(<[u8]>::to_vec).collect())
}

fn copy_one(from: &OwnedFd, to: &OwnedFd, name: &[u8], value: &mut [u8]) -> Result<(), Errno> {
    match fgetxattr(from, name, &mut *value) {
        Ok(length) => match fsetxattr(to, name, &value[..length], XattrFlags::empty()) {
            // The target's filesystem may hold fewer or smaller ones: the data matters more.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSPC | Errno::TOOBIG) => Ok(()),
            Err(error) => Err(error),
        },
        Err(Errno::NODATA) => Ok(()),
        Err(error) => Err(error),
    }
}
