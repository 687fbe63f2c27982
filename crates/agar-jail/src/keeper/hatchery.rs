//! The keeper's program as a source of keepers: each is a copy of it.

use super::begin::keep;
use super::jail::{self, Ahead};
use crate::cgroup::Cgroups;
use crate::client::USUAL;
use crate::protocol::{self, Reply};
use crate::syscall::{self, Fork};
use rustix::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Makes a keeper for each client that is handed over, until nobody can hand over any more.
pub(super) fn hatch(source: OwnedFd) -> io::Result<()> {
    // The kernel buries them; nobody here asks how they ended.
    syscall::ignore_children(true)?;
    // Found out once for all of them.
    let groups = Cgroups::detect(Path::new("/")).ok();
    let mut order = Vec::new();
    while let Some(given) = protocol::receive_bytes(&source, &mut order)? {
        let Some(client) = given.into_iter().next() else {
            continue;
        };
        match syscall::fork_into(0, None) {
            Ok(Fork::Child) => {
                // Closed below, with everything else that is not this keeper's.
                std::mem::forget(source);
                return live(client, &order, groups);
            }
            Ok(Fork::Parent { .. }) => {}
            Err(error) => {
                let step = "start the keeper".to_owned();
                let errno = error.raw_os_error().unwrap_or(libc::EAGAIN);
                // A client that is gone wants no keeper.
                drop(protocol::send(&client, &Reply::Failed { step, errno }, &[]));
            }
        }
    }
    Ok(())
}

/// Lives as a keeper that was started by itself would.
fn live(client: OwnedFd, order: &[u8], groups: Option<Cgroups>) -> io::Result<()> {
    syscall::close_all_but(client.as_raw_fd())?;
    syscall::ignore_children(false)?;
    rustix::process::setsid()?;
    let own = rustix::process::getpid();
    let handle = rustix::process::pidfd_open(own, rustix::process::PidfdFlags::empty())?;
    // Its client is not its parent, and could not wait for its end otherwise.
    protocol::send_bytes(&client, b"b", &[handle.as_fd()])?;
    drop(handle);
    let early = match order.split_first() {
        Some((&USUAL, staging)) => jail::ahead(Path::new(OsStr::from_bytes(staging))),
        Some(_) | None => None,
    };
    keep(client, Ahead { early, groups })
}
