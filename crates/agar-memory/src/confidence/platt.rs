//! Recalibration: two numbers that correct what earlier predictions got wrong (Platt).
//!
//! Fitted over a sliding window of scored predictions, pulled towards "nothing to correct", so that
//! a handful of outcomes does not swing it. The slope stays positive: recalibration may stretch and
//! shift, it never turns the order of two suggestions round.
//!
//! How fast what has to be corrected changes is not known beforehand: tools break in a day, agents
//! improve over months. So several followers go through the window, each with its own pace, one of
//! them correcting nothing, and each is believed as far as it would have been right: by what it
//! would have said when the prediction was made, never by what it knew later. Outcomes come in
//! batches, and the batch before says less about the next than its size suggests.

use crate::confidence::logit::{bounded, logistic, logit};
use agar_core::seam::Timestamp;
use serde::{Deserialize, Serialize};

/// How many scored predictions it looks back on.
pub(crate) const WINDOW: u32 = 1000;

/// Fewer than this and there is nothing to learn from.
const LEAST: usize = 20;

/// How far slope and shift may be from 1 and 0 before anything is known: variances.
const APART: (f64, f64) = (0.04, 0.3);

/// How fast the slope wanders: the variance that one outcome adds.
const SLOPE_PACE: f64 = 1e-5;

/// How fast the shift wanders, for each follower; the one that is `None` stays where it is.
const SHIFT_PACES: [Option<f64>; 3] = [None, Some(1e-4), Some(5e-4)];

/// What remains of a follower's record after one more outcome.
const RECORD: f64 = 0.998;

/// The smallest and the largest slope, and how far the shift may go.
const SLOPES: (f64, f64) = (0.2, 3.0);
const SHIFTS: f64 = 3.0;

/// What recalibration does: `logistic(slope · logit(p) + shift)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Platt {
    /// Stretches. Always positive.
    pub slope: f64,
    /// Shifts.
    pub shift: f64,
    /// How many scored predictions it comes from.
    pub from: usize,
}

impl Default for Platt {
    fn default() -> Self {
        Self {
            slope: 1.0,
            shift: 0.0,
            from: 0,
        }
    }
}

impl Platt {
    /// Corrects a probability.
    pub fn apply(&self, raw: f64) -> f64 {
        bounded(logistic(self.slope * logit(raw) + self.shift))
    }

    /// Fits it to a window of scored predictions.
    pub(crate) fn learn(window: &[Past]) -> Self {
        if window.len() < LEAST {
            return Self::default();
        }
        let mut followers = SHIFT_PACES.map(Follower::new);
        let mut said = vec![[0.0; SHIFT_PACES.len()]; window.len()];
        for event in events(window) {
            match event {
                Event::Predicted(which) => {
                    said[which] = std::array::from_fn(|at| followers[at].says(window[which].raw));
                }
                Event::Scored(which) => {
                    let answers = followers.iter_mut().zip(said[which]);
                    answers.for_each(|(follower, said)| follower.hear(&window[which], said));
                }
            }
        }
        together(&followers, window.len())
    }
}

/// A prediction of the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Past {
    /// When it was made.
    pub(crate) at: Timestamp,
    /// When its outcome was known.
    pub(crate) scored: Timestamp,
    /// What was said before recalibration.
    pub(crate) raw: f64,
    /// What came.
    pub(crate) outcome: f64,
}

/// What happened to a prediction of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Predicted(usize),
    Scored(usize),
}

/// Predictions and their outcomes in order of time. What was predicted at the moment an outcome
/// came did not know it.
fn events(window: &[Past]) -> Vec<Event> {
    let mut events = Vec::with_capacity(window.len() * 2);
    for (which, past) in window.iter().enumerate() {
        events.push((past.at, 0, Event::Predicted(which)));
        events.push((past.scored.max(past.at), 1, Event::Scored(which)));
    }
    events.sort_by_key(|&(at, order, _)| (at, order));
    events.into_iter().map(|(_, _, event)| event).collect()
}

/// One that follows what has to be corrected at a pace of its own: a Kalman filter over slope and
/// shift, which both wander.
#[derive(Debug, Clone, Copy)]
struct Follower {
    pace: Option<f64>,
    slope: f64,
    shift: f64,
    /// Variance of the slope, of both together, of the shift.
    spread: [f64; 3],
    /// How likely it held what came, lately: a sum of logarithms.
    record: f64,
}

impl Follower {
    fn new(pace: Option<f64>) -> Self {
        Self {
            pace,
            slope: 1.0,
            shift: 0.0,
            spread: [APART.0, 0.0, APART.1],
            record: 0.0,
        }
    }

    fn says(&self, raw: f64) -> f64 {
        bounded(logistic(self.slope * logit(raw) + self.shift))
    }

    /// Takes note of what came: of its own record by what it said then, and of the rest.
    fn hear(&mut self, past: &Past, said: f64) {
        let held = past.outcome * said.ln() + (1.0 - past.outcome) * (1.0 - said).ln();
        self.record = self.record * RECORD + held;
        let Some(pace) = self.pace else {
            return;
        };
        self.spread[0] += SLOPE_PACE;
        self.spread[2] += pace;
        let x = logit(past.raw);
        let p = self.says(past.raw);
        let chance = p * (1.0 - p);
        let [slope, both, shift] = self.spread;
        let (along_slope, along_shift) = (slope * x + both, both * x + shift);
        let gain = 1.0 / (1.0 / chance + x * along_slope + along_shift);
        let surprise = (past.outcome - p) / chance;
        self.slope = (self.slope + along_slope * gain * surprise).clamp(SLOPES.0, SLOPES.1);
        self.shift = (self.shift + along_shift * gain * surprise).clamp(-SHIFTS, SHIFTS);
        self.spread = [
            slope - gain * along_slope * along_slope,
            both - gain * along_slope * along_shift,
            shift - gain * along_shift * along_shift,
        ];
    }
}

/// What the followers say together, each as far as its record goes.
fn together(followers: &[Follower], from: usize) -> Platt {
    let best = followers
        .iter()
        .map(|it| it.record)
        .fold(f64::NEG_INFINITY, f64::max);
    let belief = |it: &Follower| (it.record - best).exp();
    let whole: f64 = followers.iter().map(belief).sum();
    let mean = |of: fn(&Follower) -> f64| {
        followers.iter().map(|it| belief(it) * of(it)).sum::<f64>() / whole
    };
    Platt {
        slope: mean(|it| it.slope),
        shift: mean(|it| it.shift),
        from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Predictions of one raw probability, each scored before the next is made.
    fn one_by_one(raw: f64, came: impl Fn(u64) -> bool, count: u64) -> Vec<Past> {
        (0..count)
            .map(|n| Past {
                at: Timestamp::from_millis(n * 1000),
                scored: Timestamp::from_millis(n * 1000 + 500),
                raw,
                outcome: f64::from(u8::from(came(n))),
            })
            .collect()
    }

    #[test]
    fn what_was_too_bold_is_drawn_in() {
        // Said 0.9, came true in six of ten.
        let window = one_by_one(0.9, |n| n % 10 < 6, 200);
        let said = Platt::learn(&window).apply(0.9);
        assert!((said - 0.6).abs() < 0.06, "{said}");
    }

    #[test]
    fn a_correction_that_would_not_have_paid_is_not_made() {
        // Batches that are all above or all below what is said, in turns: the one before misleads.
        let window: Vec<Past> = (0..800_u64)
            .map(|n| Past {
                at: Timestamp::from_millis(n / 100 * 1000),
                scored: Timestamp::from_millis(n / 100 * 1000 + 500),
                raw: 0.5,
                outcome: f64::from(u8::from((n / 100).is_multiple_of(2) ^ n.is_multiple_of(5))),
            })
            .collect();
        let said = Platt::learn(&window).apply(0.5);
        assert!((said - 0.5).abs() < 0.03, "{said}");
        let steady = one_by_one(0.5, |n| n % 5 != 0, 800);
        let said = Platt::learn(&steady).apply(0.5);
        assert!((said - 0.8).abs() < 0.06, "{said}");
    }

    #[test]
    fn a_change_for_the_worse_is_followed_within_a_hundred_outcomes() {
        let window = one_by_one(0.7, |n| n % 10 < if n < 700 { 7 } else { 3 }, 800);
        let said = Platt::learn(&window).apply(0.7);
        assert!((0.25..0.5).contains(&said), "{said}");
    }

    proptest! {
        #[test]
        fn the_slope_stays_positive(
            scored in proptest::collection::vec((0.0_f64..1.0, 0_u8..2, 0_u64..500, 0_u64..500), 0..300),
        ) {
            let window: Vec<Past> = scored
                .into_iter()
                .map(|(raw, came, at, later)| Past {
                    at: Timestamp::from_millis(at),
                    scored: Timestamp::from_millis(at + later),
                    raw,
                    outcome: f64::from(came),
                })
                .collect();
            let platt = Platt::learn(&window);
            prop_assert!(platt.slope > 0.0 && platt.slope.is_finite() && platt.shift.is_finite());
            prop_assert!(platt.apply(0.7) >= platt.apply(0.3));
            prop_assert!((0.0..=1.0).contains(&platt.apply(0.999_999)));
        }
    }
}
