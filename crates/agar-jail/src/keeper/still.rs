//! Standing still, and new layers for a jail that does.

use super::{Keeper, Next, uppers};
use crate::client::Remount;
use crate::limit::Watch;
use crate::protocol::{self, Order, Remounted, Reply};
use crate::syscall;
use rustix::event::{PollFd, Timespec, poll};
use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

/// How long processes may take to stand still. A process that waits for a disk cannot stop before
/// the disk answers.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the first attempt to freeze a group waits; each further one waits twice as long.
const FIRST_ATTEMPT: Duration = Duration::from_millis(4);

/// Processes that stand still, and how they are let go.
pub(super) struct Still {
    since: Instant,
    /// The client they do it for, by its place in the list; none if they do it until told.
    client: Option<usize>,
    /// Those that were stopped by a signal, parents first; none where the kernel froze them all.
    stopped: Vec<u32>,
    /// Signals for runs, which get them when they go on: an init that stands still takes none.
    signals: Vec<(u32, i32)>,
}

impl Still {
    /// Whether it outlasts the client that asked for it.
    pub(super) const fn stays(&self) -> bool {
        self.client.is_none()
    }
}

impl Keeper<'_> {
    /// Stops every process inside, and answers when the last one stands still.
    pub(super) fn freeze(&mut self, client: usize, stay: bool) {
        // Whoever is yet to be put where it can be frozen goes on meanwhile; who cannot be is
        // stopped in another way.
        let gathered = self.still.is_some() || self.gather();
        let began = Instant::now();
        if let Some(still) = &mut self.still {
            // Already so; who asks for it to last has it last.
            if stay {
                still.client = None;
            }
        } else {
            match self.stop_everyone(gathered) {
                Ok(stopped) => {
                    self.still = Some(Still {
                        since: began,
                        client: (!stay).then_some(client),
                        stopped,
                        signals: Vec::new(),
                    });
                }
                Err(reason) => return self.answer(client, &Reply::Refused { reason }),
            }
        }
        let micros = micros(began.elapsed());
        self.answer(client, &Reply::Frozen { micros });
    }

    /// Puts everybody where the kernel can freeze them; false where it cannot.
    fn gather(&self) -> bool {
        let group = self.jail.guard.group();
        group.is_some_and(|group| group.gather().is_ok())
    }

    fn stop_everyone(&mut self, gathered: bool) -> Result<Vec<u32>, String> {
        let init = self.jail.pid.cast_unsigned();
        let Some(group) = self.jail.guard.group().filter(|_| gathered) else {
            return stop(init);
        };
        // The init is in the group. If its handler stands still before it has answered a process,
        // that process waits for the answer and never stands still: both get time to finish.
        let (began, mut attempt) = (Instant::now(), FIRST_ATTEMPT);
        while began.elapsed() < PATIENCE {
            if group.freeze().is_err() {
                return stop(init);
            }
            if settle(attempt, || group.is_frozen()) {
                return Ok(Vec::new());
            }
            drop(group.thaw());
            settle(attempt, || false);
            attempt *= 2;
        }
        Err(late())
    }

    /// Lets everybody go on, and says for how long they stood still.
    pub(super) fn thaw(&mut self) -> Duration {
        let Some(still) = self.still.take() else {
            return Duration::ZERO;
        };
        if let Some(group) = self.jail.guard.group() {
            drop(group.thaw());
        }
        resume(&still.stopped);
        let stood = still.since.elapsed();
        self.runs.stood_still(stood);
        for (number, signal) in still.signals {
            // An init that is gone is noticed elsewhere.
            drop(self.send_signal(number, signal));
        }
        stood
    }

    /// Passes a client's signal on to a run. Whoever wants a run ended that is stopped until somebody
    /// says otherwise need not wait for that.
    pub(super) fn signal(&mut self, client: usize, number: u32, signal: i32) -> io::Result<()> {
        if signal == libc::SIGKILL && self.take_back(client) {
            return Ok(());
        }
        let Some(still) = &mut self.still else {
            return self.send_signal(number, signal);
        };
        if !still.signals.contains(&(number, signal)) {
            still.signals.push((number, signal));
        }
        if signal == libc::SIGKILL && still.stays() {
            self.answer(client, &Reply::Paused);
        }
        Ok(())
    }

    fn send_signal(&self, number: u32, signal: i32) -> io::Result<()> {
        protocol::send(&self.jail.socket, &Order::Signal { number, signal }, &[])
    }

    /// A client is gone: nobody stands still for it any more.
    pub(super) fn client_left(&mut self, index: usize) {
        let Some(still) = &mut self.still else {
            return;
        };
        match still.client {
            Some(client) if client == index => {
                self.thaw();
            }
            Some(client) if client > index => still.client = Some(client - 1),
            Some(_) | None => {}
        }
    }

    /// Has the init lay layers anew, and waits for it: nothing else may be started meanwhile.
    pub(super) fn remount(&mut self, client: usize, order: &Remount) -> io::Result<Next> {
        if order.evict {
            // They are ended, and what is frozen does not die everywhere.
            self.thaw();
        }
        let busy = !order.evict && !self.runs.is_empty();
        if busy || self.still.is_some() {
            let processes = 1;
            self.answer(client, &Reply::Remounted(Remounted::Busy { processes }));
            return Ok(Next::GoOn);
        }
        protocol::send(&self.jail.socket, &Order::Remount(order.clone()), &[])?;
        let outcome = loop {
            if self.hear_init()? == Next::End {
                return Ok(Next::End);
            }
            if let Some(outcome) = self.remounted.take() {
                break outcome;
            }
        };
        let mut next = Next::GoOn;
        match &outcome {
            Remounted::Laid { .. } => {
                self.uppers.extend(uppers(&order.overlays));
                self.jail.guard.watch_layers(&order.layers);
            }
            Remounted::Failed { lost: true, .. } => next = Next::End,
            Remounted::Busy { .. } | Remounted::Failed { lost: false, .. } => {}
        }
        self.answer(client, &Reply::Remounted(outcome));
        Ok(next)
    }
}

/// As it is said to a client.
pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn late() -> String {
    "some of its processes do not stop: they wait for a disk".to_owned()
}

/// Waits until something holds, but no longer than it may take.
fn settle(patience: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > patience {
            return false;
        }
        moment();
    }
    true
}

/// A tenth of a millisecond.
fn moment() {
    let none: &mut [PollFd<'_>] = &mut [];
    let moment = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000,
    };
    let _ = poll(none, Some(&moment));
}

/// Stops everything below the init by signal, until `/proc` shows that it stands still and that
/// nothing new came. Gives those that it stopped, parents first; what had stopped by itself is left
/// as it was.
fn stop(init: u32) -> Result<Vec<u32>, String> {
    let mut watch = Watch::default();
    let mut ours: Vec<u32> = Vec::new();
    let mut last = BTreeSet::new();
    let is_still = settle(PATIENCE, || {
        let all = watch.below(init);
        let mut moving = 0;
        for &pid in &all {
            if stands(pid, &all) {
                continue;
            }
            moving += 1;
            if !ours.contains(&pid) {
                ours.push(pid);
            }
            syscall::signal_one(pid.cast_signed(), libc::SIGSTOP);
        }
        let now: BTreeSet<u32> = all.into_iter().collect();
        let same = now == last;
        last = now;
        moving == 0 && same
    });
    if is_still {
        Ok(ours)
    } else {
        resume(&ours);
        Err(late())
    }
}

/// Lets stopped processes go on, children first: a shell that waits for one never sees it stopped.
fn resume(stopped: &[u32]) {
    for pid in stopped.iter().rev() {
        syscall::signal_one(pid.cast_signed(), libc::SIGCONT);
    }
}

/// Whether no thread of a process can run before it is let go on. One that is gone cannot.
fn stands(pid: u32, all: &[u32]) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return true;
    };
    tasks.flatten().all(|task| match state(&task.path()) {
        Some(b'T' | b't' | b'Z' | b'X') | None => true,
        // A parent that waits for a child made by `vfork` to go on.
        Some(b'D') => all.iter().any(|child| {
            let child = std::path::PathBuf::from(format!("/proc/{child}"));
            parent(&child) == Some(pid) && state(&child) == Some(b'T')
        }),
        Some(_) => false,
    })
}

/// The third and fourth fields of `stat`, behind a name that may hold anything.
fn fields(task: &std::path::Path) -> Option<Vec<u8>> {
    let text = crate::machine::fs_err_read(&task.join("stat")).ok()?;
    let end = text.iter().rposition(|byte| *byte == b')')?;
    text.get(end + 2..).map(<[u8]>::to_vec)
}

fn state(task: &std::path::Path) -> Option<u8> {
    fields(task)?.first().copied()
}

fn parent(task: &std::path::Path) -> Option<u32> {
    let fields = fields(task)?;
    let text = std::str::from_utf8(&fields).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}
