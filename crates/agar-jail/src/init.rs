//! The first process inside: it raises the walls, starts commands and buries the dead.
//!
//! It is three threads with different rights. The first keeps the few capabilities it takes to
//! remount layers, and reaps. The second has none, wears the filter, and starts every command, so
//! that each is born with both. The third, without capabilities or filter, answers the filter's
//! questions. Commands cannot reach any of them: the process is not dumpable, and a process id of 1
//! is deaf to signals from its children.

use crate::client::KeeperConfig;
use crate::held::Held;
use crate::mount::{During, Failed};
use crate::notify::{Recorded, Recorder};
use crate::plan::{Plan, Root};
use crate::protocol::{self, News};
use crate::{keeper, raise, syscall};
use agar_core::run::Usage;
use remount::Desk;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::process::WaitOptions;
use shared::Shared;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod remount;
mod shared;
mod spawn;
mod walls;

/// The runs under way, by the process id of their command.
///
/// The lock is held from before a command is forked until its id is noted, so that its end is never
/// seen before its beginning.
#[derive(Debug, Clone, Default)]
pub(crate) struct Runs(Arc<Mutex<BTreeMap<i32, Started>>>);

/// A command that was started.
#[derive(Debug, Clone, Copy)]
struct Started {
    number: u32,
    /// Whether everyone ends with it.
    is_the_one: bool,
}

impl Runs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, Started>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// The process id of a run's command.
    fn pid_of(&self, number: u32) -> Option<i32> {
        self.lock()
            .iter()
            .find(|(_, run)| run.number == number)
            .map(|(pid, _)| *pid)
    }
}

/// Becomes the init. Never returns.
pub(crate) fn main(config: &KeeperConfig, socket: &OwnedFd) -> ! {
    let raised = begin(socket.as_fd())
        .and_then(|()| await_go(socket))
        .and_then(|told| {
            outlive_keeper(&config.plan, told.word)?;
            enter_groups(told.given.get(1..).unwrap_or_default())
        })
        .and_then(|()| raise::Tree::begin(&config.plan))
        .and_then(|tree| prepare(&config.plan, tree));
    go_on(&config.plan, socket, raised)
}

/// Becomes an init that hears of its plan only when it is told to go, and until then raises what
/// most plans begin with. Never returns.
pub(crate) fn early(usual: &Plan, socket: &OwnedFd) -> ! {
    let tree = begin(socket.as_fd())
        .and_then(|()| await_go(socket))
        .and_then(|_| raise::Tree::begin(usual));
    // A failure is told to whoever wants this jail, if anybody does.
    let told = await_go(socket).and_then(|told| {
        let (file, doors) = told.given.split_first().ok_or_else(|| Failed {
            step: "hear of a plan".into(),
            errno: libc::EBADF,
        })?;
        enter_groups(doors)?;
        keeper::read_config(file).during(|| "read the plan".into())
    });
    match told {
        Ok(config) => {
            let raised = tree.and_then(|tree| prepare(&config.plan, tree));
            go_on(&config.plan, socket, raised)
        }
        Err(failed) => give_up(socket, failed),
    }
}

fn go_on(plan: &Plan, socket: &OwnedFd, raised: Result<Held, Failed>) -> ! {
    match raised {
        Ok(held) => reap_for_ever(plan, socket, &held),
        Err(failed) => give_up(socket, failed),
    }
}

fn give_up(socket: &OwnedFd, failed: Failed) -> ! {
    let news = News::Failed {
        step: failed.step,
        errno: failed.errno,
    };
    // The keeper sees the process end if it does not get the message.
    drop(protocol::send(socket, &news, &[]));
    syscall::exit(1)
}

/// Ties this process to its keeper, and to nothing else of it: a copy of the keeper's end would keep
/// the init waiting for a keeper that died before it could be tied to it, and the lock with it.
fn begin(socket: BorrowedFd<'_>) -> Result<(), Failed> {
    syscall::die_with_parent().during(|| "tie the init to its keeper".into())?;
    syscall::close_all_but(socket.as_raw_fd()).during(|| "close what is not ours".into())
}

/// Where neither a namespace nor a control group ends with the init, what it started would outlive it.
/// There it sees by its socket that the keeper is gone, ends everyone, and then itself. It is never the
/// one that stands still: without a group that is done by signals, to those below it.
fn outlive_keeper(plan: &Plan, word: Option<u8>) -> Result<(), Failed> {
    if plan.root == Root::Host && word == Some(protocol::ALONE) {
        syscall::outlive_parent().during(|| "be there when the keeper is not".into())?;
    }
    Ok(())
}

/// Puts this process, while it has one thread, under the limits that all it starts will inherit.
fn enter_groups(doors: &[OwnedFd]) -> Result<(), Failed> {
    let step = || "enter the control group".into();
    doors
        .iter()
        .try_for_each(|door| crate::cgroup::enter(door).during(step))
}

/// A word of the keeper's, with what came with it.
struct Told {
    word: Option<u8>,
    given: Vec<OwnedFd>,
}

/// Waits for a word of the keeper's: the ids are mapped, or there is a plan, which comes with it, and
/// the doors of its groups.
fn await_go(socket: &OwnedFd) -> Result<Told, Failed> {
    let step = || "wait for the keeper".into();
    let mut buffer = Vec::new();
    let given = protocol::receive_bytes(socket, &mut buffer).during(step)?;
    let given = given.ok_or(rustix::io::Errno::PIPE).during(step)?;
    let word = buffer.first().copied();
    Ok(Told { word, given })
}

fn prepare(plan: &Plan, tree: Option<raise::Tree>) -> Result<Held, Failed> {
    let held = match tree {
        Some(tree) => tree.finish(plan)?,
        None => Held::default(),
    };
    if plan.root == Root::Host {
        // Not the first process of a namespace, so orphans must be asked for.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .during(|| "take in orphans".into())?;
    }
    syscall::hide_memory().during(|| "hide the init's memory".into())?;
    rustix::thread::set_no_new_privs(true).during(|| "give up new privileges".into())?;
    syscall::block_child_signal().during(|| "block SIGCHLD".into())?;
    Ok(held)
}

/// The first thread: starts the others, then reaps and lays layers until the keeper goes away.
fn reap_for_ever(plan: &Plan, socket: &OwnedFd, held: &Held) -> ! {
    let (runs, recorder) = (Runs::default(), Arc::new(Recorder::new()));
    let started = Desk::new().and_then(|desk| {
        let desk = Arc::new(desk);
        walls::start(plan, (socket, &desk), &runs, &recorder).map(|()| desk)
    });
    let desk = match started {
        Ok(desk) => desk,
        Err(failed) => give_up(socket, failed),
    };
    let mut shared = Shared::of(plan);
    let mut bury = || reap(socket, &runs, &recorder);
    loop {
        if desk.wait(shared.patience(&runs)).is_err() {
            syscall::exit(1)
        }
        // First, so that the keeper knows what a run used when it hears that it ended.
        shared.tell(socket);
        bury();
        while let Some(order) = desk.take() {
            let outcome = remount::lay(plan, held, &order, &mut bury);
            drop(protocol::send(socket, &News::Remounted(outcome), &[]));
        }
    }
}

/// Buries everyone who died, and reports those who were commands.
fn reap(socket: &OwnedFd, runs: &Runs, recorder: &Recorder) {
    while let Ok(Some((pid, status, usage))) = syscall::wait_any(WaitOptions::NOHANG) {
        let run = runs.lock().remove(&pid);
        if let Some(Started { number, is_the_one }) = run {
            let left = syscall::count_others();
            let usage = if is_the_one { end_everyone() } else { usage };
            let news = News::Exited {
                number,
                status,
                usage,
                left,
            };
            let record = in_memory(&recorder.take()).ok();
            let attached: Vec<BorrowedFd<'_>> = record.iter().map(AsFd::as_fd).collect();
            // Without a keeper the kernel ends this process.
            drop(protocol::send(socket, &news, &attached));
        }
    }
}

/// What was recorded can be larger than a message, so it travels as a file.
fn in_memory(recorded: &Recorded) -> io::Result<OwnedFd> {
    let memory = rustix::fs::memfd_create(c"agar-recorded", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(memory);
    io::Write::write_all(&mut file, &serde_json::to_vec(recorded)?)?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

/// Ends whatever a run left behind and buries it: when its end is reported, nothing of it is alive.
/// What all of it used is what this process's children used.
pub(crate) fn end_everyone() -> Usage {
    loop {
        syscall::signal_everyone(libc::SIGKILL);
        if syscall::wait_any(WaitOptions::empty()).is_err() {
            return syscall::usage_of_children();
        }
    }
}

/// What a process and its waited-for children used.
pub(crate) fn usage(raw: &libc::rusage) -> Usage {
    let millis =
        |time: libc::timeval| u64::try_from(time.tv_sec * 1000 + time.tv_usec / 1000).unwrap_or(0);
    Usage {
        wall_ms: 0,
        user_ms: millis(raw.ru_utime),
        system_ms: millis(raw.ru_stime),
        memory_peak_bytes: u64::try_from(raw.ru_maxrss).unwrap_or(0) * 1024,
    }
}
