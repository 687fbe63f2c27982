//! Children of genomes that are plain numbers: parameters of a program that stays the same.

use crate::chance::Chance;

/// The parent with some numbers moved within bounds: all of them a little, or a few blocks of them
/// anywhere.
pub fn jolt(
    parent: &[f64],
    ((low, high), block): ((f64, f64), usize),
    chance: &mut Chance,
) -> Vec<f64> {
    let width = high - low;
    let mut child = parent.to_vec();
    if chance.happens(0.5) {
        let step = width * [0.1, 0.03, 0.01][chance.below(3)];
        for number in &mut child {
            *number += step * chance.normal();
        }
    } else {
        for _ in 0..=chance.below(3) {
            let block = block.max(1);
            let at = chance.below(child.len().div_ceil(block)) * block;
            for number in child.iter_mut().skip(at).take(block) {
                *number = chance.between(low, high);
            }
        }
    }
    for number in &mut child {
        *number = number.clamp(low, high);
    }
    child
}

/// Between two parents, number by number.
pub fn blend(mother: &[f64], father: &[f64], chance: &mut Chance) -> Vec<f64> {
    let cut = chance.below(mother.len() + 1);
    let tail = father.iter().skip(cut);
    mother.iter().take(cut).chain(tail).copied().collect()
}
