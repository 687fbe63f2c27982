//! Making children: expressions grown, crossed and changed, each by a named stream of chance.
//!
//! Nothing here looks at a score. An operator takes parents and chance and answers a child that is
//! an expression within the [`Soil`]'s bounds; whether it is any good is for others to find out.

mod cross;
mod module;
mod neutral;
mod numbers;
mod script;
mod vary;

pub use self::cross::cross;
pub use self::module::{cross_modules, mutate_module, reword_module};
pub use self::neutral::reword;
pub use self::numbers::{blend, jolt};
pub use self::script::{cross_scripts, mutate_script};
pub use self::vary::{Change, vary};

use crate::chance::Chance;
use crate::tree::{Node, Operator, Tree};
use serde::{Deserialize, Serialize};

/// What expressions may be made of, and how large they may become.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Soil {
    /// Arguments of every expression. A task knows its own number, which wins.
    pub arguments: u16,
    /// The operators.
    pub operators: Vec<Operator>,
    /// Numbers begin between minus and plus this.
    pub numbers: f64,
    /// The most nodes.
    pub nodes_max: usize,
    /// The longest way from the root to a leaf.
    pub depth_max: usize,
}

impl Default for Soil {
    fn default() -> Self {
        Self {
            arguments: 1,
            operators: vec![Operator::Add, Operator::Sub, Operator::Mul, Operator::Div],
            numbers: 5.0,
            nodes_max: 63,
            depth_max: 10,
        }
    }
}

impl Soil {
    /// Soil with every operator for expressions of so many arguments.
    pub fn of(arguments: u16) -> Self {
        Self {
            arguments,
            operators: Operator::ALL.to_vec(),
            ..Self::default()
        }
    }

    /// Whether an expression is within the bounds.
    pub fn holds(&self, tree: &Tree) -> bool {
        tree.nodes().len() <= self.nodes_max && tree.depth() <= self.depth_max
    }

    /// A leaf: an argument or a number.
    fn leaf(&self, chance: &mut Chance) -> Node {
        if self.arguments > 0 && chance.happens(0.6) {
            let index = chance.below(usize::from(self.arguments));
            return Node::Argument(u16::try_from(index).unwrap_or(0));
        }
        // Whole numbers are what formulas of people mostly have.
        let number = chance.between(-self.numbers, self.numbers);
        Node::Number(if chance.happens(0.5) {
            number.round()
        } else {
            number
        })
    }
}

/// Grows an expression of at most this depth.
pub fn grow(soil: &Soil, depth: usize, chance: &mut Chance) -> Tree {
    let mut nodes = Vec::new();
    let full = chance.happens(0.5);
    sprout(soil, (depth.max(1), full), chance, &mut nodes);
    tree_or_leaf(soil, nodes)
}

/// Grows one subtree onto `nodes`. A full one has all its leaves as deep as may be.
fn sprout(soil: &Soil, (depth, full): (usize, bool), chance: &mut Chance, nodes: &mut Vec<Node>) {
    let stop = depth <= 1 || nodes.len() >= soil.nodes_max || (!full && chance.happens(0.3));
    let operator = if stop {
        None
    } else {
        chance.pick(&soil.operators).copied()
    };
    match operator {
        None => nodes.push(soil.leaf(chance)),
        Some(operator) => {
            for _ in 0..operator.arity() {
                sprout(soil, (depth - 1, full), chance, nodes);
            }
            nodes.push(Node::Apply(operator));
        }
    }
}

/// The nodes as a tree. They always are one; a leaf stands in should that ever be wrong.
fn tree_or_leaf(soil: &Soil, nodes: Vec<Node>) -> Tree {
    Tree::new(soil.arguments, nodes).unwrap_or_else(|_| Tree::number(soil.arguments, 0.0))
}

/// Grows the first generation: depths from two upwards in turn, half of them full.
pub fn ramped(soil: &Soil, place: usize, chance: &mut Chance) -> Tree {
    let deepest = soil.depth_max.clamp(2, 6);
    let depth = 2 + place % (deepest - 1);
    for _ in 0..8 {
        let tree = grow(soil, depth, chance);
        if soil.holds(&tree) {
            return tree;
        }
    }
    grow(soil, 2, chance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn children_keep_within_the_soil(seed: u64, arguments in 1_u16..4) {
            let soil = Soil { nodes_max: 31, depth_max: 7, ..Soil::of(arguments) };
            let mut chance = Chance::of(&[seed]);
            let mut mother = ramped(&soil, 1, &mut chance);
            let father = ramped(&soil, 2, &mut chance);
            for _ in 0..40 {
                mother = cross(&soil, &mother, &father, &mut chance);
                prop_assert!(soil.holds(&mother));
                mother = vary(&soil, &mother, &mut chance).0;
                prop_assert!(soil.holds(&mother));
                prop_assert_eq!(mother.arguments(), arguments);
            }
        }

        #[test]
        fn rewording_an_expression_keeps_every_bit_of_its_value(seed: u64) {
            let soil = Soil { nodes_max: 400, depth_max: 60, ..Soil::of(2) };
            let mut chance = Chance::of(&[seed]);
            let first = grow(&soil, 6, &mut chance);
            let mut tree = first.clone();
            for _ in 0..30 {
                tree = reword(&soil, &tree, &mut chance);
            }
            for at in [[0.0, 1.0], [-3.5, 1e9], [1e300, -1e300], [0.1, 0.7]] {
                let (was, is) = (first.value(&at), tree.value(&at));
                prop_assert!(was.to_bits() == is.to_bits() || (was.is_nan() && is.is_nan()));
            }
        }
    }
}
