//! Two parents, one child: a piece of the one where a piece of the other was.

use super::Soil;
use crate::chance::Chance;
use crate::tree::Tree;

/// How often a place is drawn anew when the child came out too large.
const ATTEMPTS: usize = 6;

/// The mother with one subtree replaced by one of the father's.
pub fn cross(soil: &Soil, mother: &Tree, father: &Tree, chance: &mut Chance) -> Tree {
    for _ in 0..ATTEMPTS {
        let at = place(mother, chance);
        let from = place(father, chance);
        match mother.grafted(at, father, from) {
            Ok(child) if soil.holds(&child) => return child,
            Ok(_) | Err(_) => {}
        }
    }
    mother.clone()
}

/// The root of a subtree: an operator's nine times out of ten, since most nodes are leaves.
pub(super) fn place(tree: &Tree, chance: &mut Chance) -> usize {
    let inner: Vec<usize> = tree
        .nodes()
        .iter()
        .enumerate()
        .filter(|(_, node)| node.arity() > 0)
        .map(|(index, _)| index)
        .collect();
    match chance.pick(&inner) {
        Some(index) if chance.happens(0.9) => *index,
        Some(_) | None => chance.below(tree.nodes().len()),
    }
}
