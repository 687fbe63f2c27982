//! Raising a jail and taking it down, seen from outside.

use super::limits::Guard;
use super::{CLIENT_FD, CONFIG_FD, INIT_WORD};
use crate::cgroup::{Cgroups, Group, GroupError};
use crate::client::{self, KeeperConfig};
use crate::machine::Machine;
use crate::mount::{During, Failed};
use crate::plan::{self, IdMap, Ids, Plan, Root};
use crate::policy::Policy;
use crate::protocol::{self, News};
use crate::syscall::{self, Fork};
use crate::wire::Raw;
use crate::{detach, init, raise};
use agar_core::walls::{Network, Tier};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::path::Path;

/// A jail that stands.
pub(super) struct Jail {
    pub(super) pid: i32,
    pub(super) handle: OwnedFd,
    pub(super) socket: OwnedFd,
    pub(super) guard: Guard,
    notes: Vec<String>,
    /// Whether what the init started would outlive it, and comes to this process instead.
    adopts: bool,
    /// Held for as long as the keeper lives: whoever can take it knows that the keeper is gone.
    _lock: OwnedFd,
    _mark: Option<OwnedFd>,
}

/// What was done before there was a plan.
#[derive(Default)]
pub(super) struct Ahead {
    pub(super) early: Option<Early>,
    /// Where groups can be made here, as somebody found who makes many keepers.
    pub(super) groups: Option<Cgroups>,
}

/// An init that has begun with what most plans have in common, and does not know its own yet.
pub(super) struct Early {
    plan: Plan,
    pid: i32,
    handle: OwnedFd,
    near: OwnedFd,
}

/// The namespaces of every full jail.
const ALWAYS: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Starts an init before its plan is there. If that does not work, the plan is raised as if nobody
/// had tried, and whoever wanted it hears why not.
pub(super) fn ahead(staging: &Path) -> Option<Early> {
    let plan = plan::ahead(&Machine::read().ok()?, staging).ok()?;
    let (near, far) = socket_pair().ok()?;
    match syscall::fork_into(namespaces(&plan.policy), None).ok()? {
        Fork::Child => init::early(&plan, &far),
        Fork::Parent { pid, handle } => {
            map_ids(pid, plan.ids).ok()?;
            rustix::io::write(&near, b"m").ok()?;
            Some(Early {
                plan,
                pid,
                handle,
                near,
            })
        }
    }
}

impl Jail {
    /// Starts the init and lets it go to work. `file` holds the configuration.
    pub(super) fn begin(
        (config, file): (&KeeperConfig, &OwnedFd),
        client: &OwnedFd,
        ahead: Ahead,
    ) -> Result<Self, Failed> {
        // Nobody shall take a keeper that is about to go for one that stays.
        refuse_if_hung_up(client)?;
        let lock = take_lock(config.directory.as_path())?;
        // From here on whoever looks sees that the sandbox has a keeper. If the client died before,
        // somebody may have looked already, and cleared the sandbox away.
        refuse_if_hung_up(client)?;
        let (guard, notes) = Guard::new(config, ahead.groups.as_ref())?;
        raise::before(&config.plan)?;
        let adopts = config.plan.root == Root::Host;
        if adopts {
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
                .during(|| "take in what outlives the init".into())?;
        }
        // Bubblewrap is moved, with all it started, when it has done its work.
        let group = guard.group().filter(|_| config.plan.root != Root::Helper);
        let cradle = group.and_then(Group::cradle);
        let (pid, handle, socket) = start_init(config, ahead.early, (group, cradle.as_ref()))?;
        // With its plan the init gets what it enters its other groups by, before anything else.
        let doors = group.map_or(Ok(Vec::new()), Group::doors);
        let doors = doors.map_err(|error| group_failed(&error))?;
        let given: Vec<BorrowedFd<'_>> = std::iter::once(file)
            .chain(&doors)
            .map(AsFd::as_fd)
            .collect();
        let word = match group {
            Some(_) => protocol::TOGETHER,
            None => protocol::ALONE,
        };
        protocol::send_bytes(&socket, &[word], &given).during(|| "let the init go on".into())?;
        Ok(Self {
            pid,
            handle,
            socket,
            guard,
            notes,
            adopts,
            _lock: lock,
            _mark: config.mark.as_ref().and_then(|mark| hold(mark.as_path())),
        })
    }

    /// Waits until the init has done its work. Gives what is to be known about the walls.
    pub(super) fn finish(&mut self, root: Root) -> Result<Vec<String>, Failed> {
        let mut buffer = Vec::new();
        let heard = protocol::receive::<News>(&self.socket, &mut buffer);
        let mut notes = std::mem::take(&mut self.notes);
        match heard.during(|| "hear from the init".into())? {
            Some((News::Ready { notes: more }, _)) => notes.extend(more),
            Some((News::Failed { step, errno }, _)) => return Err(Failed { step, errno }),
            Some(_) | None => {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof))
                    .during(|| "hear from the init, which ended".into());
            }
        }
        if root == Root::Helper {
            self.guard.take_in_all(self.pid)?;
        }
        Ok(notes)
    }

    /// Ends everything inside and waits until it is gone.
    pub(super) fn end(&mut self, sandbox: &Path) {
        syscall::signal_one(self.pid, libc::SIGKILL);
        // Nobody else waits for it, and it cannot refuse to die.
        drop(syscall::wait_for(
            self.pid,
            rustix::process::WaitOptions::empty(),
        ));
        if self.adopts {
            init::end_everyone();
        }
        self.guard.let_go(sandbox);
    }
}

pub(super) fn group_failed(error: &GroupError) -> Failed {
    Failed {
        step: error.to_string(),
        errno: libc::EACCES,
    }
}

fn namespaces(policy: &Policy) -> i32 {
    if policy.tier != Tier::Full {
        return 0;
    }
    match policy.network {
        Network::Host => ALWAYS,
        Network::None | Network::Allow { .. } => ALWAYS | libc::CLONE_NEWNET,
    }
}

/// The init of a plan, with its ids mapped: the early one if it will do.
fn start_init(
    config: &KeeperConfig,
    early: Option<Early>,
    (group, cradle): (Option<&Group>, Option<&OwnedFd>),
) -> Result<(i32, OwnedFd, OwnedFd), Failed> {
    let wanted = namespaces(&config.plan.policy);
    match early {
        // To be born in a group is quicker than to be moved there, by more than was done early.
        Some(early)
            if cradle.is_none()
                && wanted == namespaces(&early.plan.policy)
                && config.plan.continues(&early.plan) =>
        {
            return Ok((early.pid, early.handle, early.near));
        }
        // It is not what is wanted. The kernel buries it with this process.
        Some(early) => syscall::signal_one(early.pid, libc::SIGKILL),
        None => {}
    }
    let (near, far) = socket_pair()?;
    let (pid, handle) = match config.plan.root {
        Root::Helper => start_helper(config, &far)?,
        Root::ReadOnly | Root::Staged | Root::Host => {
            let (fork, placed) = fork_into(wanted, cradle)?;
            match fork {
                Fork::Child => init::main(config, &far),
                Fork::Parent { pid, handle } => {
                    if let (Some(group), false) = (group, placed) {
                        let moved = group.attach(pid.cast_unsigned());
                        moved.map_err(|error| group_failed(&error))?;
                    }
                    (pid, handle)
                }
            }
        }
    };
    if config.plan.policy.tier == Tier::Full {
        map_ids(pid, config.plan.ids)?;
    }
    Ok((pid, handle, near))
}

/// Forks, into the group's directory in version 2 where that can be done; says whether nothing is
/// left to do about it.
fn fork_into(namespaces: i32, cradle: Option<&OwnedFd>) -> Result<(Fork, bool), Failed> {
    if cradle.is_some()
        && let Ok(fork) = syscall::fork_into(namespaces, cradle)
    {
        return Ok((fork, true));
    }
    // Linux before 5.7 knows nothing of it.
    let fork = syscall::fork_into(namespaces, None).during(|| "make new namespaces".into())?;
    Ok((fork, cradle.is_none()))
}

/// Has bubblewrap put the tree together and start this program in it as the init.
fn start_helper(config: &KeeperConfig, far: &OwnedFd) -> Result<(i32, OwnedFd), Failed> {
    let step = || "start bubblewrap".to_owned();
    let own = std::fs::read_link("/proc/self/exe").during(step)?;
    let inside = "/run/agar-init";
    let mut words = config.plan.helper.clone();
    words.extend(["--ro-bind".into(), own.into(), inside.into()]);
    words.extend([inside, INIT_WORD].map(Raw::from));
    let plan = client::config_file(config).during(step)?;
    let given = [(far, CLIENT_FD), (&plan, CONFIG_FD)];
    let pid = detach::spawn(Path::new("/usr/bin/bwrap"), &words, &given).during(step)?;
    let handle = rustix::process::Pid::from_raw(pid).ok_or(rustix::io::Errno::SRCH);
    let handle = handle
        .and_then(|pid| rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()))
        .during(step)?;
    Ok((pid, handle))
}

fn socket_pair() -> Result<(OwnedFd, OwnedFd), Failed> {
    rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .during(|| "make a pair of sockets".into())
}

/// An error if the other end of the socket is closed.
fn refuse_if_hung_up(client: &OwnedFd) -> Result<(), Failed> {
    let mut fds = [PollFd::new(client, PollFlags::empty())];
    let at_once = Timespec::default();
    if poll(&mut fds, Some(&at_once)).is_ok() && fds[0].revents().contains(PollFlags::HUP) {
        return Err(rustix::io::Errno::PIPE).during(|| "answer the command".into());
    }
    Ok(())
}

fn take_lock(directory: &Path) -> Result<OwnedFd, Failed> {
    let step = || "lock the sandbox".into();
    let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let lock = rustix::fs::open(directory.join("lock"), flags, mode).during(step)?;
    // The keeper before this one reported the end of its last run and may still be taking its jail
    // down.
    let operation = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    for _ in 0..LOCK_TRIES {
        match rustix::fs::flock(&lock, operation) {
            Err(rustix::io::Errno::WOULDBLOCK) => detach::wait_a_little(),
            other => return other.map(|()| lock).during(step),
        }
    }
    rustix::fs::flock(&lock, operation)
        .map(|()| lock)
        .during(step)
}

/// Holds a file for those who look at many. Those who miss it there try the sandbox's own lock.
fn hold(mark: &Path) -> Option<OwnedFd> {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    let flags = flags | rustix::fs::OFlags::NOFOLLOW;
    let file = rustix::fs::open(mark, flags, rustix::fs::Mode::empty()).ok()?;
    let operation = rustix::fs::FlockOperation::NonBlockingLockShared;
    rustix::fs::flock(&file, operation).ok().map(|()| file)
}

/// How often a lock that is held is tried again, a millisecond apart: for longer than a keeper whose
/// run is over waits for its client to leave.
const LOCK_TRIES: u32 = 20_000;

/// Tells the kernel which ids exist inside.
fn map_ids(pid: i32, ids: Ids) -> Result<(), Failed> {
    let (users, groups) = match ids.map {
        IdMap::Same => (format!("{0} {0} 1", ids.uid), format!("{0} {0} 1", ids.gid)),
        IdMap::Root => (format!("0 {} 1", ids.uid), format!("0 {} 1", ids.gid)),
        IdMap::Everyone => ("0 0 4294967295".into(), "0 0 4294967295".into()),
    };
    if ids.map != IdMap::Everyone {
        write_proc(pid, "setgroups", "deny")?;
    }
    write_proc(pid, "uid_map", &users)?;
    write_proc(pid, "gid_map", &groups)
}

/// Maps the caller alone, under its own numbers.
pub(crate) fn map_caller(pid: i32) -> Result<(), Failed> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    map_ids(
        pid,
        Ids {
            uid: uid.as_raw(),
            gid: gid.as_raw(),
            map: IdMap::Same,
        },
    )
}

fn write_proc(pid: i32, name: &str, text: &str) -> Result<(), Failed> {
    let path = format!("/proc/{pid}/{name}");
    let file = rustix::fs::open(&path, rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty());
    file.and_then(|file| rustix::io::write(&file, text.as_bytes()).map(drop))
        .during(|| format!("map the ids of the sandbox ({name})"))
}
