//! How fast requests may come: a bucket that fills at a steady rate and is emptied by requests.
//!
//! There are two buckets. Requests of whoever may ask draw from one; attempts by whoever may not
//! draw from another, so that guessing neither gets far nor stands in anybody's way.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How fast, and how many at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    /// Requests a second, for ever.
    pub(crate) steady: f64,
    /// Requests at once, after a pause.
    pub(crate) burst: f64,
}

/// A bucket.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: Rate,
    level: Mutex<(f64, Instant)>,
}

impl Pace {
    /// A full bucket.
    pub(crate) fn new(rate: Rate, now: Instant) -> Self {
        Self {
            rate,
            level: Mutex::new((rate.burst, now)),
        }
    }

    /// Takes one, or says how many seconds to wait.
    pub(crate) fn take(&self, now: Instant) -> Result<(), u64> {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(level.1).as_secs_f64();
        let filled = (level.0 + passed * self.rate.steady).min(self.rate.burst);
        *level = (filled, now);
        if filled < 1.0 {
            return Err(1);
        }
        level.0 = filled - 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_burst_is_allowed_and_a_flood_is_not() {
        let now = Instant::now();
        let rate = Rate {
            steady: 2.0,
            burst: 3.0,
        };
        let pace = Pace::new(rate, now);
        for _ in 0..3 {
            assert_eq!(pace.take(now), Ok(()));
        }
        assert_eq!(pace.take(now), Err(1));
        let later = now + Duration::from_secs(1);
        assert_eq!(pace.take(later), Ok(()));
        assert_eq!(pace.take(later), Ok(()));
        assert_eq!(pace.take(later), Err(1));
    }
}
