//! The keeper: one small process per sandbox, outside its walls.
//!
//! It raises the jail, passes commands in, watches the limits and writes down how each run ended.
//! It has one thread and one loop; it sleeps in `poll` until something happens. When it dies the
//! kernel ends the init, and with it everything inside.

use crate::client::{KeeperConfig, Lifetime, Status};
use crate::mount::{During, Failed};
use crate::notify::Recorded;
use crate::plan::{IdMap, Ids, Root};
use crate::policy::Policy;
use crate::protocol::{self, News, Order, Reply, Request};
use crate::syscall::{self, Fork};
use crate::wire::Raw;
use crate::{init, probe, raise};
use agar_core::walls::{Network, Tier};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::path::{Path, PathBuf};

mod limits;
mod runs;

use limits::Guard;
use runs::Runs;

/// The descriptor of the client that started the keeper.
pub(crate) const CLIENT_FD: i32 = 3;
/// The descriptor of a file in memory that holds the configuration.
pub(crate) const CONFIG_FD: i32 = 4;

/// Runs the keeper's program. The exit status is for people who look; clients learn by message.
pub fn main() -> u8 {
    // SAFETY: whoever starts the keeper puts its socket there and nobody else in this process owns it.
    let client = unsafe { OwnedFd::from_raw_fd(CLIENT_FD) };
    // SAFETY: as above, for the configuration.
    let config = unsafe { OwnedFd::from_raw_fd(CONFIG_FD) };
    match std::env::args_os().nth(1) {
        Some(word) if word == INIT_WORD => return init_of_helper(&client, config),
        Some(word) if word == probe::WORD => {
            return if probe::main(&client, config).is_ok() {
                0
            } else {
                70
            };
        }
        Some(_) | None => {}
    }
    match keep(client, config) {
        Ok(()) => 0,
        Err(_) => 70,
    }
}

/// Asks the keeper's program to be the init inside what bubblewrap put together.
const INIT_WORD: &str = "init";

fn init_of_helper(socket: &OwnedFd, config: OwnedFd) -> u8 {
    match read_config(config) {
        Ok(config) => init::main(&config.plan, config.lifetime, socket),
        Err(_) => 70,
    }
}

fn keep(client: OwnedFd, config: OwnedFd) -> io::Result<()> {
    let config = read_config(config)?;
    match Jail::raise(&config) {
        Ok((jail, notes)) => {
            // The name first: whoever hears that the jail stands can find it.
            let keeper = Keeper::new(&config, jail, client)?;
            keeper.answer(0, &Reply::Ready { notes });
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

/// The init bounds what it records; the keeper does not rely on it.
fn read_recorded(file: OwnedFd) -> Option<Recorded> {
    const BYTES_MAX: u64 = 16 << 20;
    let mut bytes = Vec::new();
    let mut file = io::Read::take(std::fs::File::from(file), BYTES_MAX);
    io::Read::read_to_end(&mut file, &mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn read_config(file: OwnedFd) -> io::Result<KeeperConfig> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut std::fs::File::from(file), &mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Removes what a keeper that was killed left on the machine for a sandbox: its control groups.
/// Gives those that would not go.
pub fn sweep(sandbox: &Path) -> Vec<PathBuf> {
    limits::remove_noted(sandbox)
}

/// A jail that stands.
struct Jail {
    pid: i32,
    handle: OwnedFd,
    socket: OwnedFd,
    guard: Guard,
    /// Held for as long as the keeper lives: whoever can take it knows that the keeper is gone.
    _lock: OwnedFd,
}

impl Jail {
    fn raise(config: &KeeperConfig) -> Result<(Self, Vec<String>), Failed> {
        let lock = take_lock(config.directory.as_path())?;
        let (mut guard, mut notes) = Guard::new(config)?;
        raise::before(&config.plan)?;
        let (near, far) = socket_pair()?;
        let (pid, handle) = match config.plan.root {
            Root::Helper => start_helper(config, &far)?,
            Root::ReadOnly | Root::Staged | Root::Host => {
                let forked = syscall::fork_into(namespaces(&config.plan.policy))
                    .during(|| "make new namespaces".into())?;
                match forked {
                    Fork::Child => init::main(&config.plan, config.lifetime, &far),
                    Fork::Parent { pid, handle } => (pid, handle),
                }
            }
        };
        drop(far);
        if config.plan.policy.tier == Tier::Full {
            map_ids(pid, config.plan.ids)?;
        }
        rustix::io::write(&near, b"g")
            .map(drop)
            .during(|| "let the init go on".into())?;
        // While it mounts: a group takes a process in only after the kernel's readers moved on,
        // which can be milliseconds, and no command is started before both are done.
        guard.take_in(pid)?;
        let mut buffer = Vec::new();
        match protocol::receive::<News>(&near, &mut buffer)
            .during(|| "hear from the init".into())?
        {
            Some((News::Ready { notes: more }, _)) => notes.extend(more),
            Some((News::Failed { step, errno }, _)) => return Err(Failed { step, errno }),
            Some(_) | None => {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof))
                    .during(|| "hear from the init, which ended".into());
            }
        }
        Ok((
            Self {
                pid,
                handle,
                socket: near,
                guard,
                _lock: lock,
            },
            notes,
        ))
    }

    /// Ends everything inside and waits until it is gone.
    fn end(&mut self) {
        syscall::signal_one(self.pid, libc::SIGKILL);
        // Nobody else waits for it, and it cannot refuse to die.
        drop(syscall::wait_for(
            self.pid,
            rustix::process::WaitOptions::empty(),
        ));
        self.guard.let_go();
    }
}

fn namespaces(policy: &Policy) -> i32 {
    if policy.tier != Tier::Full {
        return 0;
    }
    let always = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    match policy.network {
        Network::Host => always,
        Network::None | Network::Allow { .. } => always | libc::CLONE_NEWNET,
    }
}

/// Has bubblewrap put the tree together and start this program in it as the init.
fn start_helper(config: &KeeperConfig, far: &OwnedFd) -> Result<(i32, OwnedFd), Failed> {
    let step = || "start bubblewrap".to_owned();
    let own = std::fs::read_link("/proc/self/exe").during(step)?;
    let inside = "/run/agar-init";
    let mut words = config.plan.helper.clone();
    words.extend(["--ro-bind".into(), own.into(), inside.into()]);
    words.extend([inside, INIT_WORD].map(Raw::from));
    let plan = crate::client::config_file(config).during(step)?;
    let given = [(far, CLIENT_FD), (&plan, CONFIG_FD)];
    let pid = crate::detach::spawn(Path::new("/usr/bin/bwrap"), &words, &given).during(step)?;
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

fn take_lock(directory: &Path) -> Result<OwnedFd, Failed> {
    let step = || "lock the sandbox".into();
    let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let lock = rustix::fs::open(directory.join("lock"), flags, mode).during(step)?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).during(step)?;
    Ok(lock)
}

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

/// Someone connected to the keeper, and the run they wait for.
struct Client {
    socket: OwnedFd,
    /// The one that started the keeper.
    first: bool,
}

struct Keeper<'a> {
    config: &'a KeeperConfig,
    jail: Jail,
    listener: OwnedFd,
    clients: Vec<Client>,
    runs: Runs,
}

/// What the loop does next.
#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    End,
}

impl<'a> Keeper<'a> {
    fn new(config: &'a KeeperConfig, jail: Jail, client: OwnedFd) -> io::Result<Self> {
        let listener = listen(config.socket.as_path())?;
        let clients = vec![Client {
            socket: client,
            first: true,
        }];
        Ok(Self {
            config,
            jail,
            listener,
            clients,
            runs: Runs::default(),
        })
    }

    fn serve(mut self) -> io::Result<()> {
        while self.turn()? == Next::GoOn {}
        self.jail.end();
        self.runs.lose_all();
        self.report_ended()?;
        // The socket's name goes last: whoever still finds it is told by the broken connection.
        let _ = rustix::fs::unlink(self.config.socket.as_path());
        Ok(())
    }

    /// Waits for something to happen, and deals with it.
    fn turn(&mut self) -> io::Result<Next> {
        let ready = self.wait()?;
        let mut next = Next::GoOn;
        if ready.init_died {
            return Ok(Next::End);
        }
        if ready.news && self.hear_init()? == Next::End {
            next = Next::End;
        }
        if ready.caller {
            self.welcome();
        }
        for index in ready.clients.into_iter().rev() {
            if self.hear_client(index)? == Next::End {
                next = Next::End;
            }
        }
        if let Some(breach) = self
            .jail
            .guard
            .check(self.jail.pid.cast_unsigned(), &self.runs)
        {
            self.stop_for(&breach)?;
        }
        if self.report_ended()? && self.config.lifetime == Lifetime::OneRun {
            next = Next::End;
        }
        Ok(next)
    }

    fn wait(&self) -> io::Result<Ready> {
        let mut fds = vec![
            PollFd::new(&self.jail.handle, PollFlags::IN),
            PollFd::new(&self.jail.socket, PollFlags::IN),
            PollFd::new(&self.listener, PollFlags::IN),
        ];
        fds.extend(
            self.clients
                .iter()
                .map(|client| PollFd::new(&client.socket, PollFlags::IN)),
        );
        let timeout = self
            .jail
            .guard
            .patience(&self.runs)
            .map(|patience| Timespec {
                tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(patience.subsec_nanos()),
            });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let clients = fds[3..].iter().enumerate().filter(|(_, fd)| is_ready(fd));
        Ok(Ready {
            init_died: is_ready(&fds[0]) && !is_ready(&fds[1]),
            news: is_ready(&fds[1]),
            caller: is_ready(&fds[2]),
            clients: clients.map(|(index, _)| index).collect(),
        })
    }

    fn hear_init(&mut self) -> io::Result<Next> {
        let mut buffer = Vec::new();
        let Some((news, descriptors)) = protocol::receive::<News>(&self.jail.socket, &mut buffer)?
        else {
            return Ok(Next::End);
        };
        match news {
            News::Started { number, .. } => {
                let near: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
                self.tell(number, &Reply::Started { number }, &near);
            }
            News::NotStarted { number, errno } => {
                self.tell(number, &Reply::Started { number }, &[]);
                self.runs.not_started(number, errno);
            }
            News::Exited {
                number,
                status,
                usage,
                left,
            } => {
                let recorded = descriptors.into_iter().next().and_then(read_recorded);
                let init = self.jail.pid.cast_unsigned();
                if let Some(breach) = self.jail.guard.last_words(init, left) {
                    self.runs.breached(Some(number), &breach);
                }
                self.runs
                    .exited(number, status, usage, recorded.unwrap_or_default());
            }
            News::Detached { bytes } => self.jail.guard.detached(bytes),
            News::Ready { .. } | News::Failed { .. } => {}
        }
        Ok(Next::GoOn)
    }

    /// Lets in a caller of the same user, and nobody else.
    fn welcome(&mut self) {
        let Ok(socket) = rustix::net::accept_with(&self.listener, SocketFlags::CLOEXEC) else {
            return;
        };
        let known = rustix::net::sockopt::socket_peercred(&socket)
            .is_ok_and(|peer| peer.uid == rustix::process::getuid());
        if known {
            self.clients.push(Client {
                socket,
                first: false,
            });
        }
    }

    fn hear_client(&mut self, index: usize) -> io::Result<Next> {
        let mut buffer = Vec::new();
        let Some(client) = self.clients.get(index) else {
            return Ok(Next::GoOn);
        };
        match protocol::receive::<Request>(&client.socket, &mut buffer) {
            Ok(Some((Request::Run(request), descriptors))) => {
                self.start(index, &request, &descriptors)?;
            }
            Ok(Some((Request::Signal { number, signal }, _))) => {
                protocol::send(&self.jail.socket, &Order::Signal { number, signal }, &[])?;
            }
            Ok(Some((Request::Status, _))) => {
                let status = self.status();
                self.answer(index, &Reply::Status(status));
            }
            Ok(Some((Request::Stop, _))) => return Ok(Next::End),
            Ok(None) | Err(_) => {
                let first = self.clients.remove(index).first;
                self.runs.forget_client(index);
                if first && self.config.lifetime == Lifetime::OneRun {
                    return Ok(Next::End);
                }
            }
        }
        Ok(Next::GoOn)
    }

    fn start(
        &mut self,
        client: usize,
        request: &crate::client::RunRequest,
        descriptors: &[OwnedFd],
    ) -> io::Result<()> {
        if self.runs.contains(request.number) {
            let reason = format!("run {} is under way", request.number);
            self.answer(client, &Reply::Refused { reason });
            return Ok(());
        }
        self.jail.guard.run_begins();
        self.runs.begin(request, client);
        let given: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
        protocol::send(&self.jail.socket, &Order::Run(request.clone()), &given)
    }

    fn stop_for(&mut self, stop: &limits::Stop) -> io::Result<()> {
        let order = match stop.run {
            Some(number) => Order::EndRun { number },
            None => Order::EndAll,
        };
        self.runs.breached(stop.run, &stop.breach);
        protocol::send(&self.jail.socket, &order, &[])
    }

    /// Writes and announces the reports of runs that ended. Whether there were any.
    fn report_ended(&mut self) -> io::Result<bool> {
        let ended = self.runs.take_ended();
        for run in &ended {
            let notes = self.jail.guard.notes();
            let peak = self.jail.guard.memory_peak();
            run.write(self.config.directory.as_path(), notes, peak)?;
            let number = run.number();
            if let Some(client) = run.client() {
                self.answer(client, &Reply::Ended { number });
            }
        }
        Ok(!ended.is_empty())
    }

    fn tell(&self, number: u32, reply: &Reply, descriptors: &[BorrowedFd<'_>]) {
        if let Some(client) = self
            .runs
            .client_of(number)
            .and_then(|index| self.clients.get(index))
        {
            // A client that went away is noticed when its socket is polled.
            drop(protocol::send(&client.socket, reply, descriptors));
        }
    }

    fn answer(&self, index: usize, reply: &Reply) {
        if let Some(client) = self.clients.get(index) {
            drop(protocol::send(&client.socket, reply, &[]));
        }
    }

    fn status(&mut self) -> Status {
        let (processes, memory_bytes) = self.jail.guard.census(self.jail.pid.cast_unsigned());
        Status {
            keeper: std::process::id(),
            init: self.jail.pid.cast_unsigned(),
            runs: self.runs.numbers(),
            processes,
            memory_bytes,
            enforced: self.jail.guard.notes(),
        }
    }
}

/// What `poll` saw.
struct Ready {
    init_died: bool,
    news: bool,
    caller: bool,
    clients: Vec<usize>,
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
