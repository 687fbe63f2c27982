//! From evidence to a probability: pure arithmetic, no store.
//!
//! First the levels: everybody, this agent, this agent's changes of this sort, this project, this
//! agent in this project (see [`crate::rates`]). Each is a Beta posterior whose prior is the level before, so a level
//! without evidence says what the one before it says. Then the neighbours: past experiments that
//! are alike. Each had its own expectation from the levels when it ran; how far they came out above
//! or below it, taken together, shifts the log odds. That shift is the one that makes them most
//! likely, held at zero by a prior, so that an easy task that a weak agent solved counts for more
//! than one that a strong agent solved.
//!
//! Age lowers the weight of evidence and with it pulls towards the level before; it never touches
//! the probability itself.

use crate::confidence::logit::{bounded, logistic, logit};

/// Prior successes and failures of the first level: one of each.
const FIRST_PRIOR: f64 = 2.0;

/// How much evidence each level after the first needs to outweigh the one before it.
const STIFFNESS: [f64; 4] = [8.0, 6.0, 4.0, 3.0];

/// How hard the neighbours' shift is held at zero.
const HOLD: f64 = 1.0;

/// How much of the weight of the levels the neighbours' interval may borrow.
const BORROWED: f64 = 12.0;

/// What a unit of evidence narrows the interval by: experiments that are alike are not the same.
const NARROWS: f64 = 0.4;

/// However much evidence there is, it is about other experiments: the interval is never narrower
/// than that of so many tries of the very same.
const NARROWEST: f64 = 20.0;

/// Weighed evidence of one level.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Sums {
    /// All of it.
    pub(crate) weight: f64,
    /// What worked.
    pub(crate) success: f64,
}

/// A past experiment that is alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weighed {
    /// Similarity, age and surroundings together.
    pub(crate) weight: f64,
    /// 1 for success, 0 for failure.
    pub(crate) success: f64,
    /// What the levels expected of it.
    pub(crate) expected: f64,
}

/// What the evidence says, before recalibration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    /// What the levels alone say.
    pub(crate) expected: f64,
    /// What levels and neighbours say.
    pub(crate) raw: f64,
    /// How many experiments' worth of evidence it rests on.
    pub(crate) strength: f64,
}

/// What the levels say, and on how much evidence.
pub(crate) fn levels(sums: &[Sums]) -> (f64, f64) {
    let mut p = 0.5;
    let mut strength = 0.0_f64;
    for (index, level) in sums.iter().enumerate() {
        let stiffness = match index {
            0 => FIRST_PRIOR,
            later => STIFFNESS[(later - 1).min(STIFFNESS.len() - 1)],
        };
        let weight = level.weight.max(0.0);
        let success = level.success.clamp(0.0, weight);
        p = (success + stiffness * p) / (weight + stiffness);
        // A level is as sure as its own evidence, plus what its prior lends: never more than the
        // prior has.
        strength = weight + strength.min(stiffness);
    }
    (p, strength)
}

/// The whole estimate.
pub(crate) fn estimate(sums: &[Sums], neighbours: &[Weighed]) -> Estimate {
    let (expected, strength) = levels(sums);
    let shift = shift(neighbours);
    let near: f64 = neighbours.iter().map(|it| it.weight.max(0.0)).sum();
    Estimate {
        expected,
        raw: bounded(logistic(logit(expected) + shift)),
        strength: near + strength.min(BORROWED),
    }
}

/// The shift of the log odds that makes the neighbours' outcomes most likely.
///
/// The slope of the penalised log likelihood falls everywhere, so the root is found by bisection;
/// one more success raises the slope everywhere, so it can only raise the root.
fn shift(neighbours: &[Weighed]) -> f64 {
    let prepared: Vec<(f64, f64, f64)> = neighbours
        .iter()
        .filter(|it| it.weight > 0.0 && it.weight.is_finite())
        .map(|it| (it.weight, it.success, logit(it.expected)))
        .collect();
    if prepared.is_empty() {
        return 0.0;
    }
    let slope = |shift: f64| -> f64 {
        let pull: f64 = prepared
            .iter()
            .map(|&(weight, success, log_odds)| weight * (success - logistic(log_odds + shift)))
            .sum();
        pull - HOLD * shift
    };
    let (mut low, mut high) = (-12.0_f64, 12.0_f64);
    for _ in 0..36 {
        let middle = f64::midpoint(low, high);
        if slope(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Where the probability lies with 90 %: chosen on made-up streams, of which the chance of each line
/// is known, so that the interval held it in nine lines of ten.
pub(crate) fn interval(p: f64, strength: f64) -> (f64, f64) {
    use crate::confidence::beta::quantile;
    let counts = 1.0 / (1.0 / (NARROWS * strength.max(0.0) + FIRST_PRIOR / 2.0) + 1.0 / NARROWEST);
    let (a, b) = ((p * counts).max(0.05), ((1.0 - p) * counts).max(0.05));
    let (low, high) = (quantile(a, b, 0.05), quantile(a, b, 0.95));
    (low.min(p), high.max(p))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sums() -> impl Strategy<Value = Sums> {
        (0.0_f64..200.0, 0.0_f64..=1.0).prop_map(|(weight, rate)| Sums {
            weight,
            success: weight * rate,
        })
    }

    fn weighed() -> impl Strategy<Value = Weighed> {
        (0.0_f64..5.0, 0_u8..2, 0.01_f64..0.99).prop_map(|(weight, success, expected)| Weighed {
            weight,
            success: f64::from(success),
            expected,
        })
    }

    #[test]
    fn no_evidence_gives_the_prior_and_no_strength() {
        let said = estimate(&[Sums::default(); 5], &[]);
        assert!((said.raw - 0.5).abs() < 1e-9 && said.strength == 0.0);
    }

    proptest! {
        #[test]
        fn one_more_success_never_lowers_it(
            levels in proptest::collection::vec(sums(), 5),
            near in proptest::collection::vec(weighed(), 0..30),
            added in weighed(),
            which in 0_usize..6,
        ) {
            let before = estimate(&levels, &near).raw;
            let (mut levels, mut near) = (levels, near);
            // The new success counts in the levels it belongs to, always the outermost ones.
            for level in levels.iter_mut().take(which) {
                level.weight += 1.0;
                level.success += 1.0;
            }
            near.push(Weighed { success: 1.0, ..added });
            prop_assert!(estimate(&levels, &near).raw >= before - 1e-9);
        }

        #[test]
        fn bounds_hold(
            levels in proptest::collection::vec(sums(), 5),
            near in proptest::collection::vec(weighed(), 0..30),
        ) {
            let said = estimate(&levels, &near);
            prop_assert!(said.raw > 0.0 && said.raw < 1.0 && said.strength >= 0.0);
            let (low, high) = interval(said.raw, said.strength);
            prop_assert!(0.0 <= low && low <= said.raw && said.raw <= high && high <= 1.0);
        }

        #[test]
        fn the_same_evidence_older_moves_it_towards_the_prior(
            rate in 0.0_f64..=1.0,
            weight in 0.1_f64..100.0,
            age in 0.0_f64..=1.0,
        ) {
            let at = |weight: f64| levels(&[
                Sums { weight: 50.0, success: 20.0 },
                Sums { weight, success: weight * rate },
            ]).0;
            let prior = at(0.0);
            let (fresh, old) = (at(weight), at(weight * age));
            prop_assert!((old - prior).abs() <= (fresh - prior).abs() + 1e-9);
            prop_assert!((old - prior) * (fresh - prior) >= -1e-9, "it passed the prior");
        }

        #[test]
        fn neighbours_that_are_older_move_it_less(
            near in proptest::collection::vec(weighed(), 1..20),
            age in 0.0_f64..=1.0,
        ) {
            let base = [Sums { weight: 50.0, success: 20.0 }];
            let prior = estimate(&base, &[]).raw;
            let older: Vec<Weighed> = near.iter().map(|it| Weighed { weight: it.weight * age, ..*it }).collect();
            let (fresh, old) = (estimate(&base, &near).raw, estimate(&base, &older).raw);
            prop_assert!((old - prior).abs() <= (fresh - prior).abs() + 1e-6);
        }

        #[test]
        fn more_evidence_narrows_the_interval(p in 0.05_f64..0.95, few in 0.0_f64..50.0, more in 1.0_f64..200.0) {
            let (a, b) = (interval(p, few), interval(p, few + more));
            prop_assert!(b.1 - b.0 <= a.1 - a.0 + 1e-6);
        }
    }
}
