//! The keeper: one small process per sandbox, outside its walls.
//!
//! It raises the jail, passes commands in, watches the limits and writes down how each run ended.
//! It has one thread and one loop; it sleeps in `poll` until something happens. When it dies the
//! kernel ends the init, and with it everything inside.

use crate::client::{AHEAD_WORD, HATCH_WORD, KeeperConfig, Lifetime, Status};
use crate::notify::Recorded;
use crate::policy::Overlay;
use crate::protocol::{self, News, Order, Remounted, Reply, Request};
use crate::wire::Raw;
use crate::{heap, init, probe};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::net::SocketFlags;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

mod begin;
mod ending;
mod hatchery;
mod jail;
mod limits;
mod runs;
mod still;
mod terminal;
mod viewing;
mod waiting;

use begin::keep;
pub(crate) use begin::read_config;
pub(crate) use jail::map_caller;
use jail::{Ahead, Jail};
use runs::Runs;
use still::{Still, micros};
use terminal::{Terminal, Viewer};
use waiting::Asked;

/// The descriptor of the client that started the keeper.
pub(crate) const CLIENT_FD: i32 = 3;
/// The descriptor of a file in memory that holds the configuration.
pub(crate) const CONFIG_FD: i32 = 4;

/// Runs the keeper's program. The exit status is for people who look; clients learn by message.
pub fn main() -> u8 {
    heap::share();
    // SAFETY: whoever starts the keeper puts its socket there and nobody else in this process owns it.
    let client = unsafe { OwnedFd::from_raw_fd(CLIENT_FD) };
    // SAFETY: as above, for the configuration of those that get one.
    let config = || unsafe { OwnedFd::from_raw_fd(CONFIG_FD) };
    let mut words = std::env::args_os().skip(1);
    let done = match words.next() {
        Some(word) if word == INIT_WORD => return init_of_helper(&client, &config()),
        Some(word) if word == probe::WORD => probe::main(&client, config()),
        Some(word) if word == AHEAD_WORD => {
            let staging = words.next().unwrap_or_default();
            let early = jail::ahead(Path::new(&staging));
            let ahead = Ahead {
                early,
                ..Ahead::default()
            };
            keep(client, ahead)
        }
        Some(word) if word == HATCH_WORD => hatchery::hatch(client),
        Some(_) | None => keep(client, Ahead::default()),
    };
    if done.is_ok() { 0 } else { 70 }
}

/// Asks the keeper's program to be the init inside what bubblewrap put together.
const INIT_WORD: &str = "init";

fn init_of_helper(socket: &OwnedFd, config: &OwnedFd) -> u8 {
    match read_config(config) {
        Ok(config) => init::main(&config, socket),
        Err(_) => 70,
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

/// Removes what a keeper that was killed left on the machine for a sandbox: its control groups.
/// Gives those that would not go.
pub fn sweep(sandbox: &Path) -> Vec<PathBuf> {
    limits::remove_noted(sandbox)
}

/// Where the control groups of a sandbox are whose keeper is about to remove them.
pub fn groups_of(sandbox: &Path) -> Vec<PathBuf> {
    limits::noted(sandbox)
}

/// Someone connected to the keeper, and the run they wait for.
struct Client {
    socket: OwnedFd,
    /// The one that started the keeper.
    first: bool,
    /// Whether it looks at the sandbox's terminal.
    viewer: Option<Viewer>,
    /// What it asked for while a snapshot had everything stand still.
    waiting: Option<Asked>,
}

impl Client {
    fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            first: false,
            viewer: None,
            waiting: None,
        }
    }
}

struct Keeper<'a> {
    config: &'a KeeperConfig,
    jail: Jail,
    listener: OwnedFd,
    clients: Vec<Client>,
    runs: Runs,
    terminal: Option<Terminal>,
    /// Each tree with the upper layer that is mounted.
    uppers: BTreeMap<Raw, Raw>,
    /// Processes stand still, and for whom.
    still: Option<Still>,
    /// What the init said about layers.
    remounted: Option<Remounted>,
    /// The one run that there was to be has been reported.
    over: bool,
    /// How long the jail is kept.
    lifetime: Lifetime,
}

/// What the loop does next.
#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    End,
}

impl<'a> Keeper<'a> {
    fn new(config: &'a KeeperConfig, jail: Jail, listener: OwnedFd, client: OwnedFd) -> Self {
        let clients = vec![Client {
            first: true,
            ..Client::new(client)
        }];
        Self {
            config,
            jail,
            listener,
            clients,
            runs: Runs::default(),
            terminal: None,
            uppers: uppers(&config.plan.policy.overlays).collect(),
            still: None,
            remounted: None,
            over: false,
            lifetime: config.lifetime,
        }
    }

    fn serve(mut self) -> io::Result<()> {
        while self.turn()? == Next::GoOn {}
        if self.over {
            self.await_departure();
        }
        self.turn_away();
        // What is frozen does not die everywhere.
        self.thaw();
        self.jail.end(self.config.directory.as_path());
        self.runs.lose_all();
        self.report_ended();
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
        if next == Next::GoOn {
            self.start_waiting()?;
        }
        self.carry();
        self.check_limits()?;
        let is_its_own = self.report_ended();
        if is_its_own && self.lifetime == Lifetime::OneRun {
            self.over = true;
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
        let clients = self.clients.len();
        fds.extend(
            self.clients
                .iter()
                .map(|client| PollFd::new(&client.socket, PollFlags::IN)),
        );
        if let Some(terminal) = &self.terminal {
            self.watch_terminal(terminal, &mut fds);
        }
        let guard = Some(&self.jail.guard).filter(|_| self.still.is_none());
        let patience = guard.and_then(|guard| guard.patience(&self.runs));
        let timeout = patience.map(|patience| Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(patience.subsec_nanos()),
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let clients = fds[3..3 + clients].iter().enumerate();
        let clients = clients.filter(|(_, fd)| is_ready(fd));
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
            News::Started { number, .. } if self.is_terminal(number) => {
                self.terminal_stands(descriptors)?;
            }
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
            News::Remounted(outcome) => self.remounted = Some(outcome),
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
            self.clients.push(Client::new(socket));
        }
    }

    fn hear_client(&mut self, index: usize) -> io::Result<Next> {
        let mut buffer = Vec::new();
        let Some(client) = self.clients.get(index) else {
            return Ok(Next::GoOn);
        };
        match protocol::receive_command::<Request>(&client.socket, &mut buffer) {
            Ok(Some((Request::Run(request), descriptors))) => {
                self.begin(index, Asked::Run(request, descriptors))?;
            }
            Ok(Some((Request::Signal { number, signal }, _))) => {
                self.signal(index, number, signal)?;
            }
            Ok(Some((Request::Status, _))) => {
                let status = self.status();
                self.answer(index, &Reply::Status(status));
            }
            Ok(Some((Request::Terminal(request), _))) => {
                self.begin(index, Asked::Terminal(request))?;
            }
            Ok(Some((Request::Resize(size), _))) => self.resize_viewer(index, size),
            Ok(Some((Request::Leave, _))) => self.farewell(index),
            Ok(Some((Request::Retire, _))) => {
                if self.is_deserted() {
                    return Ok(Next::End);
                }
                let reason = "something runs in it".to_owned();
                self.answer(index, &Reply::Refused { reason });
            }
            Ok(Some((Request::Stay, _))) => {
                self.lifetime = Lifetime::UntilStopped;
                self.answer(index, &Reply::Stays);
            }
            Ok(Some((Request::Remount(order), _))) => return self.remount(index, &order),
            Ok(Some((Request::Freeze { stay }, _))) => self.freeze(index, stay),
            Ok(Some((Request::Thaw, _))) => {
                let micros = micros(self.thaw());
                self.answer(index, &Reply::Thawed { micros });
            }
            Ok(Some((Request::Stop, _))) => return Ok(Next::End),
            Ok(None) | Err(_) => {
                self.client_left(index);
                let first = self.clients.remove(index).first;
                self.runs.forget_client(index);
                self.fit_rest();
                if first && self.lifetime != Lifetime::UntilStopped {
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
        self.jail.guard.run_begins(self.runs.is_empty());
        self.runs.begin(request, Some(client));
        let given: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
        let order = Order::Run {
            request: request.clone(),
            is_the_one: self.lifetime == Lifetime::OneRun && self.is_first(client),
        };
        protocol::send_command(&self.jail.socket, &order, &given)
    }

    /// Looks whether a limit is reached, and ends what went beyond. What stands still reaches none, and
    /// an init that does could not be told.
    fn check_limits(&mut self) -> io::Result<()> {
        if self.still.is_some() {
            return Ok(());
        }
        let init = self.jail.pid.cast_unsigned();
        match self.jail.guard.check(init, &self.runs) {
            Some(stop) => self.stop_for(&stop),
            None => Ok(()),
        }
    }

    fn stop_for(&mut self, stop: &limits::Stop) -> io::Result<()> {
        let order = match stop.run {
            Some(number) => Order::EndRun { number },
            None => Order::EndAll,
        };
        self.runs.breached(stop.run, &stop.breach);
        protocol::send(&self.jail.socket, &order, &[])
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

    /// Whether nothing runs inside, and nobody but the one who asks is here.
    fn is_deserted(&mut self) -> bool {
        let (processes, _) = self.jail.guard.census(self.jail.pid.cast_unsigned());
        self.clients.len() == 1 && self.runs.is_empty() && processes == 0
    }

    fn status(&mut self) -> Status {
        let (processes, memory_bytes) = self.jail.guard.census(self.jail.pid.cast_unsigned());
        Status {
            keeper: std::process::id(),
            init: self.jail.pid.cast_unsigned(),
            runs: self.runs.numbers(),
            terminal: self.terminal.as_ref().map(|terminal| terminal.number),
            viewers: self.viewers(),
            processes,
            memory_bytes,
            enforced: self.jail.guard.notes(),
            uppers: self.uppers.values().cloned().collect(),
            paused: self.still.as_ref().is_some_and(Still::stays),
        }
    }
}

/// The upper layers of trees.
fn uppers(overlays: &[Overlay]) -> impl Iterator<Item = (Raw, Raw)> {
    let uppers = overlays.iter();
    uppers.map(|overlay| (overlay.target.clone(), overlay.upper.clone()))
}

/// What `poll` saw.
struct Ready {
    init_died: bool,
    news: bool,
    caller: bool,
    clients: Vec<usize>,
}
