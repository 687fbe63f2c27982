//! Recalibration: two numbers that correct what earlier predictions got wrong (Platt).
//!
//! Fitted over a sliding window of scored predictions, pulled towards "nothing to correct", so that
//! a handful of outcomes does not swing it. The slope stays positive: recalibration may stretch and
//! shift, it never turns the order of two suggestions round.
//!
//! A correction that would not have helped is not made: the window is replayed in stretches, each
//! corrected by what was known when it was predicted, and only as much of the correction is used as
//! would have paid. Outcomes come in batches, and the batch before says less about the next than its
//! size suggests.

use crate::confidence::logit::{bounded, logistic, logit};
use agar_core::seam::Timestamp;
use serde::{Deserialize, Serialize};

/// How many scored predictions it looks back on.
pub(crate) const WINDOW: u32 = 1000;

/// Fewer than this and there is nothing to learn from.
const LEAST: usize = 20;

/// How hard the slope is held at 1 and the shift at 0.
const HOLD_SLOPE: f64 = 12.0;
const HOLD_SHIFT: f64 = 6.0;

/// The smallest and the largest slope.
const SLOPES: (f64, f64) = (0.2, 3.0);

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

    /// Fits it to a window of scored predictions, and keeps as much of it as would have paid.
    pub(crate) fn learn(window: &[Past]) -> Self {
        let all: Vec<(f64, f64)> = window.iter().map(|it| (it.raw, it.outcome)).collect();
        let share = paid(window);
        let fitted = Self::fit(&all);
        fitted.in_part(share)
    }

    /// This share of the correction.
    fn in_part(self, share: f64) -> Self {
        Self {
            slope: 1.0 + share * (self.slope - 1.0),
            shift: share * self.shift,
            from: self.from,
        }
    }

    /// Fits it to pairs of what was said before recalibration and what came.
    fn fit(scored: &[(f64, f64)]) -> Self {
        if scored.len() < LEAST {
            return Self::default();
        }
        let (mut slope, mut shift) = (1.0_f64, 0.0_f64);
        for _ in 0..30 {
            let step = newton(scored, slope, shift);
            slope = (slope - step.0).clamp(SLOPES.0, SLOPES.1);
            shift = (shift - step.1).clamp(-3.0, 3.0);
            if step.0.abs() + step.1.abs() < 1e-7 {
                break;
            }
        }
        Self {
            slope,
            shift,
            from: scored.len(),
        }
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

/// Shares of the correction that are tried.
const SHARES: [f64; 4] = [0.0, 0.35, 0.7, 1.0];

/// Stretches of the window.
const STRETCHES: usize = 8;

/// The share of the correction that would have paid most.
fn paid(window: &[Past]) -> f64 {
    let mut window: Vec<Past> = window.to_vec();
    window.sort_by_key(|it| it.at);
    let mut losses = [0.0_f64; SHARES.len()];
    for stretch in window.chunks(window.len().div_ceil(STRETCHES).max(1)) {
        let begins = stretch[0].at;
        let known: Vec<(f64, f64)> = window
            .iter()
            .filter(|it| it.scored < begins)
            .map(|it| (it.raw, it.outcome))
            .collect();
        let fitted = Platt::fit(&known);
        for (loss, share) in losses.iter_mut().zip(SHARES) {
            let platt = fitted.in_part(share);
            *loss += stretch
                .iter()
                .map(|it| surprise(platt.apply(it.raw), it.outcome))
                .sum::<f64>();
        }
    }
    let mut best = 0;
    for (index, loss) in losses.iter().enumerate() {
        if *loss < losses[best] - 0.5 {
            best = index;
        }
    }
    SHARES[best]
}

/// The log loss of one prediction.
fn surprise(p: f64, outcome: f64) -> f64 {
    -(outcome * p.ln() + (1.0 - outcome) * (1.0 - p).ln())
}

/// One step of Newton's method on the penalised log loss.
fn newton(scored: &[(f64, f64)], slope: f64, shift: f64) -> (f64, f64) {
    let mut gradient = (HOLD_SLOPE * (slope - 1.0), HOLD_SHIFT * shift);
    let (mut h11, mut h12, mut h22) = (HOLD_SLOPE, 0.0, HOLD_SHIFT);
    for &(raw, outcome) in scored {
        let x = logit(raw);
        let p = logistic(slope * x + shift);
        let v = (p * (1.0 - p)).max(1e-6);
        gradient.0 += (p - outcome) * x;
        gradient.1 += p - outcome;
        h11 += v * x * x;
        h12 += v * x;
        h22 += v;
    }
    let determinant = (h11 * h22 - h12 * h12).max(1e-9);
    (
        (h22 * gradient.0 - h12 * gradient.1) / determinant,
        (h11 * gradient.1 - h12 * gradient.0) / determinant,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_too_bold_is_drawn_in() {
        // Said 0.9, came true in six of ten.
        let scored: Vec<(f64, f64)> = (0..200)
            .map(|n| (0.9, if n % 10 < 6 { 1.0 } else { 0.0 }))
            .collect();
        let said = Platt::fit(&scored).apply(0.9);
        assert!((said - 0.6).abs() < 0.05, "{said}");
    }

    #[test]
    fn a_correction_that_would_not_have_paid_is_not_made() {
        // Batches that are all above or all below what is said, in turns: the one before misleads.
        let past = |n: u64| Past {
            at: Timestamp::from_millis(n / 100 * 1000),
            scored: Timestamp::from_millis(n / 100 * 1000 + 500),
            raw: 0.5,
            outcome: if (n / 100).is_multiple_of(2) ^ n.is_multiple_of(5) {
                1.0
            } else {
                0.0
            },
        };
        let window: Vec<Past> = (0..800).map(past).collect();
        let said = Platt::learn(&window).apply(0.5);
        assert!((said - 0.5).abs() < 0.03, "{said}");
        let steady: Vec<Past> = (0..800)
            .map(|n| Past {
                outcome: if n % 5 == 0 { 0.0 } else { 1.0 },
                ..past(n)
            })
            .collect();
        let said = Platt::learn(&steady).apply(0.5);
        assert!((said - 0.8).abs() < 0.05, "{said}");
    }

    proptest! {
        #[test]
        fn the_slope_stays_positive(scored in proptest::collection::vec((0.0_f64..1.0, 0_u8..2), 0..300)) {
            let scored: Vec<(f64, f64)> = scored.into_iter().map(|(p, y)| (p, f64::from(y))).collect();
            let platt = Platt::fit(&scored);
            prop_assert!(platt.slope > 0.0 && platt.slope.is_finite() && platt.shift.is_finite());
            prop_assert!(platt.apply(0.7) >= platt.apply(0.3));
            prop_assert!((0.0..=1.0).contains(&platt.apply(0.999_999)));
        }
    }
}
