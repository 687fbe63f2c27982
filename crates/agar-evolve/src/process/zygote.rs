//! A zygote: one program in one sandbox, which forks an individual whenever one is asked for.
//!
//! An interpreter takes long to start and to import what its individuals need; a fork of one that has
//! done so takes less than a millisecond. All of them talk through the zygote's one stream, in pieces
//! that say whose they are:
//!
//! ```text
//! cell ──▶ switch ──▶ (number, length, bytes) ──▶ zygote ──▶ individual
//! ```
//!
//! They share a sandbox: nothing of them reaches the host, but they are not walled off from each
//! other. When one is ended, so is everything that it started; should the zygote not say so in time,
//! the sandbox goes, with all of them.

mod switch;

use self::switch::{Order, Switch};
use super::{Launcher, Life, Unlaunched};
use std::fmt;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a zygote may take to end an individual.
const END_WAIT: Duration = Duration::from_secs(20);

/// A launcher whose individuals are forks of one program.
pub struct Zygote {
    program: Arc<dyn Launcher>,
    crowd: Mutex<Option<Arc<Crowd>>>,
}

/// A running zygote and everybody that came of it.
struct Crowd {
    orders: Sender<Order>,
    /// A byte here says that there are orders.
    bell: UnixStream,
    alive: Arc<AtomicBool>,
    last: AtomicU32,
    life: Mutex<Box<dyn Life>>,
    switch: Mutex<Option<JoinHandle<()>>>,
}

impl Zygote {
    /// A zygote that this launcher starts, with a command of
    /// [`Language::zygote`](super::Language::zygote). Nothing is started before it is needed.
    pub fn new(program: Arc<dyn Launcher>) -> Self {
        Self {
            program,
            crowd: Mutex::new(None),
        }
    }

    fn crowd(&self) -> Result<Arc<Crowd>, Unlaunched> {
        let mut held = self.crowd.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(crowd) = held.as_ref().filter(|it| it.is_alive()) {
            return Ok(Arc::clone(crowd));
        }
        let crowd = Arc::new(Crowd::start(&*self.program)?);
        *held = Some(Arc::clone(&crowd));
        Ok(crowd)
    }
}

impl Launcher for Zygote {
    fn launch(&self) -> Result<(UnixStream, Box<dyn Life>), Unlaunched> {
        let crowd = self.crowd()?;
        let (ours, theirs) = UnixStream::pair()?;
        let number = 1 + crowd.last.fetch_add(1, Ordering::Relaxed);
        crowd.order(Order::Begin(number, theirs));
        let ended = false;
        let individual = Individual {
            crowd,
            number,
            ended,
        };
        Ok((ours, Box::new(individual)))
    }
}

impl Crowd {
    fn start(program: &dyn Launcher) -> Result<Self, Unlaunched> {
        let (stream, life) = program.launch()?;
        let (bell, rung) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        let (orders, taken) = mpsc::channel();
        let alive = Arc::new(AtomicBool::new(true));
        let mut switch = Switch::new(stream, rung, taken)?;
        let ends = Arc::clone(&alive);
        let named = std::thread::Builder::new().name("agar-zygote".to_owned());
        let thread = named.spawn(move || {
            switch.run();
            // Before anybody sees a stream close, and asks for another.
            ends.store(false, Ordering::Release);
            drop(switch);
        });
        Ok(Self {
            orders,
            bell,
            alive,
            last: AtomicU32::new(0),
            life: Mutex::new(life),
            switch: Mutex::new(Some(thread?)),
        })
    }

    fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Whoever is gone takes no orders; what was asked has then happened.
    fn order(&self, order: Order) {
        drop(self.orders.send(order));
        // A full bell has been rung.
        drop((&self.bell).write(&[1]));
    }

    fn end(&self) {
        let mut life = self.life.lock().unwrap_or_else(PoisonError::into_inner);
        life.end();
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.order(Order::Close);
        self.end();
        let mut switch = self.switch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = switch.take() {
            drop(thread.join());
        }
    }
}

/// One fork.
struct Individual {
    crowd: Arc<Crowd>,
    number: u32,
    ended: bool,
}

impl Life for Individual {
    fn end(&mut self) {
        if std::mem::replace(&mut self.ended, true) || !self.crowd.is_alive() {
            return;
        }
        let (done, told) = mpsc::channel();
        self.crowd.order(Order::End(self.number, done));
        // The other end is dropped with it, or with the switch when everybody is gone.
        if told.recv_timeout(END_WAIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            self.crowd.end();
        }
    }
}

impl Drop for Individual {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Zygote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Zygote").finish_non_exhaustive()
    }
}
