//! Many individuals at once, with a result for each: one that fails stops nobody.

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
        self.batch(wanted, threads, |(id, source, birth)| {
            self.create(id, *source, birth.clone())
        })
    }

    /// Ends many.
    pub fn batch_destroy(&self, ids: &[String], threads: usize) -> Vec<Result<(), DishError>> {
        self.batch(ids, threads, |id| self.destroy(id))
    }

    /// Runs the same on many.
    pub fn batch_run<T: Send + Sync>(
        &self,
        ids: &[String],
        threads: usize,
        act: impl Fn(&mut Cell) -> Result<T, CellError> + Sync,
    ) -> Vec<Result<T, DishError>> {
        self.batch(ids, threads, |id| self.run(id, &act))
    }

    /// Loads code into many.
    pub fn batch_hot_reload(
        &self,
        wanted: &[(String, Source<'_>)],
        threads: usize,
    ) -> Vec<Result<u32, DishError>> {
        self.batch(wanted, threads, |(id, source)| {
            self.hot_reload_source(id, *source)
        })
    }

    fn batch<W: Sync, T: Send + Sync>(
        &self,
        wanted: &[W],
        threads: usize,
        act: impl Fn(&W) -> Result<T, DishError> + Sync,
    ) -> Vec<Result<T, DishError>> {
        let count = wanted.len() as u64;
        self.watch.event(&Event::BatchStart { count });
        let next = AtomicUsize::new(0);
        let slots: Vec<OnceLock<Result<T, DishError>>> =
            wanted.iter().map(|_| OnceLock::new()).collect();
        let work = || {
            while let Some((wanted, slot)) = draw(&next, wanted, &slots) {
                // Each slot is set once, by whoever drew its number.
                drop(slot.set(act(wanted)));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, wanted.len().max(1)) {
                scope.spawn(work);
            }
        });
        self.watch.event(&Event::BatchStop { count });
        slots.into_iter().filter_map(OnceLock::into_inner).collect()
    }
}

fn draw<'a, W, S>(next: &AtomicUsize, wanted: &'a [W], slots: &'a [S]) -> Option<(&'a W, &'a S)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((wanted.get(at)?, slots.get(at)?))
}
