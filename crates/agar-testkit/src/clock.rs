//! Time and randomness that a test decides.

use crate::random::Random;
use agar_core::seam::{Clock, Entropy, Timestamp};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A clock that stands still until it is told to move.
#[derive(Debug)]
pub struct FixedClock(AtomicU64);

impl FixedClock {
    /// A clock that shows this many milliseconds since 1970.
    pub fn at(millis: u64) -> Self {
        Self(AtomicU64::new(millis))
    }

    /// Moves the clock forward.
    pub fn advance(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Default for FixedClock {
    /// Noon on 1 March 2026.
    fn default() -> Self {
        Self::at(1_772_366_400_000)
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// Randomness that is the same every time.
#[derive(Debug)]
pub struct SeededEntropy(Mutex<Random>);

impl SeededEntropy {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(Random::new(seed)))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        self.0
            .lock()
            .expect("no test panics while it draws")
            .fill(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_moves_only_when_told() {
        let clock = FixedClock::at(7);
        assert_eq!(clock.now(), clock.now());
        clock.advance(3);
        assert_eq!(clock.now().millis(), 10);
    }

    #[test]
    fn one_seed_is_one_sequence() {
        let draw = |seed| {
            let mut bytes = [0; 13];
            SeededEntropy::new(seed).fill(&mut bytes);
            bytes
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
