//! From the start of the program to a jail that stands.

use super::Keeper;
use super::jail::{Ahead, Jail};
use crate::client::KeeperConfig;
use crate::mount::{During as _, Failed};
use crate::protocol::{self, Reply};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::path::Path;

/// Waits for a plan, raises it, and keeps what stands.
pub(super) fn keep(client: OwnedFd, ahead: Ahead) -> io::Result<()> {
    let mut buffer = Vec::new();
    // A client that went away before it had a plan wants nothing.
    let Some(given) = protocol::receive_bytes(&client, &mut buffer)? else {
        return Ok(());
    };
    let file = given.into_iter().next().ok_or(rustix::io::Errno::BADF)?;
    let config = read_config(&file)?;
    match stand((&config, &file), &client, ahead) {
        Ok((jail, listener, notes)) => {
            let groups = jail.guard.has_groups();
            let keeper = Keeper::new(&config, jail, listener, client);
            keeper.answer(0, &Reply::Ready { notes, groups });
            keeper.serve()
        }
        Err(failed) => {
            let reply = Reply::Failed {
                step: failed.step,
                errno: failed.errno,
            };
            protocol::send(&client, &reply, &[])
        }
    }
}

/// Raises the jail, and takes its name while the init is at work: whoever hears that the jail stands
/// can find it.
fn stand(
    (config, file): (&KeeperConfig, &OwnedFd),
    client: &OwnedFd,
    ahead: Ahead,
) -> Result<(Jail, OwnedFd, Vec<String>), Failed> {
    let mut jail = Jail::begin((config, file), client, ahead)?;
    let listener = listen(config.socket.as_path()).during(|| "listen".into())?;
    match jail.finish(config.plan.root) {
        Ok(notes) => Ok((jail, listener, notes)),
        Err(failed) => {
            let _ = rustix::fs::unlink(config.socket.as_path());
            Err(failed)
        }
    }
}

/// Reads the configuration from its beginning, whoever else reads the same file.
pub(crate) fn read_config(file: &OwnedFd) -> io::Result<KeeperConfig> {
    let bytes = protocol::read_whole(file, u64::MAX)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// A socket with a name, which only its owner can open.
fn listen(path: &Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    // A name left by a keeper that was killed is in the way; the lock says that it is dead.
    let _ = rustix::fs::unlink(path);
    rustix::net::bind(&socket, &rustix::net::SocketAddrUnix::new(path)?)?;
    rustix::fs::chmod(path, rustix::fs::Mode::from_raw_mode(0o600))?;
    rustix::net::listen(&socket, 16)?;
    Ok(socket)
}
