//! Chance that can be repeated.
//!
//! Every draw comes from a stream that is named by numbers: the seed of the search, the generation,
//! the island, the place of the child. A stream depends on nothing but its name, so neither the
//! number of threads nor the moment at which a search was broken off and taken up again can change
//! what is drawn, and there is no state of a generator to keep.

/// A named stream of numbers.
#[derive(Debug, Clone)]
pub struct Chance(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Stafford's thirteenth mixer, as in splitmix64.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Chance {
    /// The stream of this name.
    pub fn of(name: &[u64]) -> Self {
        let start = mix(name.len() as u64 ^ GOLDEN);
        Self(name.iter().fold(start, |state, part| {
            mix(state.wrapping_mul(GOLDEN) ^ mix(part.wrapping_add(GOLDEN)))
        }))
    }

    /// 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number from zero up to, not including, one.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits are what a 64-bit floating-point number holds"
    )]
    pub const fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number from one bound up to the other.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// An index below `count`; zero if there is none.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the upper half of a product with a count is below the count"
    )]
    pub const fn below(&mut self, count: usize) -> usize {
        ((self.bits() as u128 * count as u128) >> 64) as usize
    }

    /// Whether something of this probability happens.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        among.get(self.below(among.len()))
    }

    /// About normally distributed, with mean zero and deviation one: twelve draws added up, because
    /// a logarithm differs between mathematical libraries and a sum does not.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// The index of one of these weights, each as likely as it is heavy.
    pub fn weighted(&mut self, weights: &[f64]) -> Option<usize> {
        let total: f64 = weights.iter().sum();
        let mut left = self.unit() * total;
        for (index, weight) in weights.iter().enumerate() {
            if left < *weight {
                return Some(index);
            }
            left -= weight;
        }
        weights.iter().rposition(|weight| *weight > 0.0)
    }

    /// Puts them in any order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// A count as a number to reckon with.
pub(crate) fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_its_name_alone() {
        let draw = |name: &[u64]| {
            let mut chance = Chance::of(name);
            [chance.bits(), chance.bits()]
        };
        assert_eq!(draw(&[1, 2, 3]), draw(&[1, 2, 3]));
        for other in [&[1, 2][..], &[1, 2, 4], &[3, 2, 1], &[1, 2, 3, 0], &[]] {
            assert_ne!(draw(&[1, 2, 3]), draw(other), "{other:?}");
        }
    }

    #[test]
    fn draws_are_where_they_should_be() {
        let mut chance = Chance::of(&[7]);
        let mut seen = [0_u32; 5];
        let mut sum = 0.0;
        for _ in 0..10_000 {
            seen[chance.below(5)] += 1;
            let unit = chance.unit();
            assert!((0.0..1.0).contains(&unit));
            sum += chance.normal();
            assert_eq!(chance.weighted(&[0.0, 1.0, 0.0]), Some(1));
        }
        assert!(seen.iter().all(|count| (1_800..2_200).contains(count)));
        assert!((sum / 10_000.0).abs() < 0.05);
        assert_eq!(chance.below(0), 0);
        assert_eq!(chance.pick::<u8>(&[]), None);
    }
}
