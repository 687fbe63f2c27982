//! Many individuals at once, with a result for each: one that fails stops nobody.

use super::seat::{Reserved, Seat};
use super::{Birth, Dish, DishError, Source};
use crate::cell::Cell;
use crate::event::Event;
use crate::failure::CellError;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

impl Dish {
    /// Makes many.
    pub fn batch_create(
        &self,
        wanted: &[(String, Source<'_>, Birth)],
        threads: usize,
    ) -> Vec<Result<(), DishError>> {
        self.batch(wanted, threads, |_, (id, source, birth)| {
            self.create(id, *source, birth.clone())
        })
    }

    /// Ends many.
    pub fn batch_destroy(&self, ids: &[String], threads: usize) -> Vec<Result<(), DishError>> {
        self.batch(ids, threads, |_, id| self.destroy(id))
    }

    /// Runs the same on many: on those who are there when it begins, unless they are destroyed
    /// before their turn comes.
    ///
    /// Among very many nothing of one is in the processor's caches when its turn comes. So whoever
    /// has his turn sees to it that the record of the one after next is fetched meanwhile, and what
    /// the record of the next one, asked for a turn ago, leads to.
    pub fn batch_run<T: Send + Sync>(
        &self,
        ids: &[String],
        threads: usize,
        act: impl Fn(&mut Cell) -> Result<T, CellError> + Sync,
    ) -> Vec<Result<T, DishError>> {
        let seats = self.seats(ids);
        let seat = |at: usize| seats.get(at).and_then(Option::as_ref);
        // Turns come by: with two threads, the next but one is the next of this one, mostly.
        let step = threads_for(ids, threads);
        self.batch(ids, threads, |at, id| {
            if let Some(after_next) = seat(at + 2 * step) {
                after_next.fetch();
            }
            if let Some(next) = seat(at + step) {
                next.fetch_rest();
            }
            match seat(at).and_then(Reserved::seat) {
                Some(seat) => self.run_at(id, &seat, &act),
                None => Err(DishError::SandboxNotFound(id.clone())),
            }
        })
    }

    /// Where these sit, looked up at once.
    fn seats(&self, ids: &[String]) -> Vec<Option<Reserved>> {
        let members = self.members();
        let seats = ids.iter().map(|id| members.get(id.as_str()));
        seats.map(|seat| seat.map(Seat::reserved)).collect()
    }

    /// Loads code into many.
    pub fn batch_hot_reload(
        &self,
        wanted: &[(String, Source<'_>)],
        threads: usize,
    ) -> Vec<Result<u32, DishError>> {
        self.batch(wanted, threads, |_, (id, source)| {
            self.hot_reload_source(id, *source)
        })
    }

    fn batch<W: Sync, T: Send + Sync>(
        &self,
        wanted: &[W],
        threads: usize,
        act: impl Fn(usize, &W) -> Result<T, DishError> + Sync,
    ) -> Vec<Result<T, DishError>> {
        let count = wanted.len() as u64;
        self.watch.event(&Event::BatchStart { count });
        let next = AtomicUsize::new(0);
        let slots: Vec<OnceLock<Result<T, DishError>>> =
            wanted.iter().map(|_| OnceLock::new()).collect();
        let work = || {
            while let Some((at, wanted, slot)) = draw(&next, wanted, &slots) {
                // Each slot is set once, by whoever drew its number.
                drop(slot.set(act(at, wanted)));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..threads_for(wanted, threads) {
                scope.spawn(work);
            }
        });
        self.watch.event(&Event::BatchStop { count });
        slots.into_iter().filter_map(OnceLock::into_inner).collect()
    }
}

/// No more threads than there is work for.
fn threads_for<W>(wanted: &[W], threads: usize) -> usize {
    threads.clamp(1, wanted.len().max(1))
}

fn draw<'a, W, S>(
    next: &AtomicUsize,
    wanted: &'a [W],
    slots: &'a [S],
) -> Option<(usize, &'a W, &'a S)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, wanted.get(at)?, slots.get(at)?))
}
