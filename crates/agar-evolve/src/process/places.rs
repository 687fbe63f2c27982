//! So many programs at once and no more.
//!
//! A process costs the machine far more than a cell does, and nobody who breeds individuals counts
//! them. Whoever launches through a place list is refused when all places are taken, before anything
//! is started; a program that ends, however it does, gives its place back.

use super::{Launcher, Life, Unlaunched};
use crate::failure::{NoRoom, Room};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Places for programs.
#[derive(Debug)]
pub(crate) struct Places {
    taken: AtomicU32,
    limit: u32,
}

impl Places {
    pub(crate) fn new(limit: u32) -> Arc<Self> {
        let taken = AtomicU32::new(0);
        Arc::new(Self { taken, limit })
    }

    pub(crate) fn taken(&self) -> u32 {
        self.taken.load(Ordering::Relaxed)
    }

    fn take(self: &Arc<Self>) -> Result<Place, NoRoom> {
        let more = |taken: u32| taken.checked_add(1).filter(|sum| *sum <= self.limit);
        let taken = self
            .taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        match taken {
            Ok(_) => Ok(Place(Arc::clone(self))),
            Err(_) => Err(NoRoom {
                room: Room::Processes,
                limit: u64::from(self.limit),
            }),
        }
    }
}

/// One of them, given back when it is dropped.
struct Place(Arc<Places>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A launcher whose programs take a place each.
pub(crate) struct Counted {
    pub(crate) launcher: Arc<dyn Launcher>,
    pub(crate) places: Arc<Places>,
}

impl Launcher for Counted {
    fn launch(&self) -> Result<(UnixStream, Box<dyn Life>), Unlaunched> {
        let place = self.places.take()?;
        let (stream, life) = self.launcher.launch()?;
        let placed = Placed {
            life,
            place: Some(place),
        };
        Ok((stream, Box::new(placed)))
    }
}

struct Placed {
    life: Box<dyn Life>,
    place: Option<Place>,
}

impl Life for Placed {
    fn end(&mut self) {
        self.life.end();
        // The place is free once the program is gone, not before.
        self.place = None;
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        self.end();
    }
}
