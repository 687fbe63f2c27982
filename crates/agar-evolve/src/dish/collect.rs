//! Cleaning up: the crashed, the abandoned and the old.

use super::seat::Seat;
use super::{Dish, held};
use crate::cell::Condition;
use crate::event::Event;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Who was collected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// Crashed, with nobody who restarted them since.
    pub crashed: Vec<String>,
    /// Of a generation that is too old to be kept, in no population.
    pub outdated: Vec<String>,
}

/// Collects in the background for as long as it is held.
#[derive(Debug)]
pub struct Tending {
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Tending {
    fn drop(&mut self) {
        *held(&self.over.0) = true;
        self.over.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has ended too.
            drop(thread.join());
        }
    }
}

/// Whether it is over, once it is or the time has passed.
fn is_over((over, changed): &(Mutex<bool>, Condvar), within: Duration) -> bool {
    let waited = changed.wait_timeout_while(held(over), within, |over| !*over);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

impl Dish {
    /// Has the dish collected every `gc_interval_ms`, by a thread of its own, until the answer is
    /// dropped.
    pub fn tend(self: &Arc<Self>) -> std::io::Result<Tending> {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let (dish, seen) = (Arc::clone(self), Arc::clone(&over));
        let interval = Duration::from_millis(self.settings.gc_interval_ms.max(1));
        let thread = std::thread::Builder::new().name("agar-collector".to_owned());
        let thread = thread.spawn(move || {
            while !is_over(&seen, interval) {
                dish.collect();
            }
        })?;
        Ok(Tending {
            over,
            thread: Some(thread),
        })
    }

    /// Collects if the last time lies long enough back.
    pub fn collect_when_due(&self) -> Option<Collected> {
        let now = self.incubator.now();
        {
            let mut last = held(&self.collected_at);
            let recent = last.is_some_and(|last| now.since(last) < self.settings.gc_interval_ms);
            if recent {
                return None;
            }
            *last = Some(now);
        }
        Some(self.collect())
    }

    /// Ends those who crashed, and those of old generations whom no population names. Who is being
    /// run at this moment is left alone.
    pub fn collect(&self) -> Collected {
        let newest = held(&self.populations)
            .values()
            .map(|population| population.generation)
            .max()
            .unwrap_or(0);
        let oldest = newest.saturating_sub(self.settings.gc_retain_generations);
        let mut collected = Collected::default();
        for (id, seat) in self.everybody() {
            let Some(mut member) = seat.try_held() else {
                continue;
            };
            let crashed = member.cell.condition() == Condition::Crashed;
            let outdated = member.birth.generation < oldest && !self.is_in_a_population(&id);
            if !crashed && !outdated {
                continue;
            }
            member.is_gone = true;
            drop(member);
            self.take_out(&id, &seat);
            let list = if crashed {
                &mut collected.crashed
            } else {
                &mut collected.outdated
            };
            list.push(id);
        }
        let count = (collected.crashed.len() + collected.outdated.len()) as u64;
        if count > 0 {
            self.watch.event(&Event::Collected { count });
        }
        collected
    }

    /// Everybody, in the order of their names.
    fn everybody(&self) -> Vec<(String, Seat)> {
        let members = self.members();
        let all = members.iter();
        let mut all: Vec<_> = all
            .map(|(name, seat)| (name.as_str().to_owned(), seat.clone()))
            .collect();
        drop(members);
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// Removes whoever sits there, and nobody else who has come to the name since.
    fn take_out(&self, id: &str, seat: &Seat) {
        let mut members = self.members_mut();
        if members.get(id).is_some_and(|it| it.is(seat)) {
            members.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::dish::{Birth, Dish, DishSettings, Source};
    use crate::{Incubator, Settings, Tree, Unwatched};
    use agar_testkit::clock::FixedClock;
    use std::sync::Arc;

    #[test]
    fn a_newcomer_to_a_name_is_not_taken_out_for_the_one_before() {
        let incubator = Incubator::new(&Settings::default(), Arc::new(FixedClock::default()));
        let dish = Dish::new(incubator, DishSettings::default(), Arc::new(Unwatched));
        let tree = Tree::formula("x").unwrap();
        let create = || dish.create("a", Source::Tree(&tree), Birth::default());
        create().unwrap();
        let before = dish.seat("a").unwrap();
        dish.destroy("a").unwrap();
        create().unwrap();
        dish.take_out("a", &before);
        assert_eq!(dish.list(), ["a"]);
        let now = dish.seat("a").unwrap();
        dish.take_out("a", &now);
        assert!(dish.is_empty());
    }
}
