//! One parent, one child: something of it is different.

use super::cross::place;
use super::{Soil, grow};
use crate::chance::Chance;
use crate::tree::{Node, Operator, Tree};
use serde::{Deserialize, Serialize};

/// What was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A subtree was grown anew.
    Subtree,
    /// One node became another of the same kind.
    Point,
    /// A number moved a little.
    Number,
    /// A subtree took the place of the whole.
    Hoist,
    /// A subtree became a leaf.
    Shrink,
}

impl Change {
    const ALL: [Self; 5] = [
        Self::Subtree,
        Self::Point,
        Self::Number,
        Self::Hoist,
        Self::Shrink,
    ];

    /// How often each is used.
    const WEIGHTS: [f64; 5] = [4.0, 2.0, 3.0, 1.0, 1.0];

    /// The stable word for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Subtree => "subtree",
            Self::Point => "point",
            Self::Number => "number",
            Self::Hoist => "hoist",
            Self::Shrink => "shrink",
        }
    }
}

/// A child that differs in one way, and in which. Where a change cannot be made, a point is.
pub fn vary(soil: &Soil, parent: &Tree, chance: &mut Chance) -> (Tree, Change) {
    let which = chance.weighted(&Change::WEIGHTS).unwrap_or(0);
    let wanted = Change::ALL.get(which).copied().unwrap_or(Change::Point);
    let child = match wanted {
        Change::Subtree => subtree(soil, parent, chance),
        Change::Point => Some(point(soil, parent, chance)),
        Change::Number => number(soil, parent, chance),
        Change::Hoist => hoist(parent, chance),
        Change::Shrink => shrink(soil, parent, chance),
    };
    match child.filter(|child| soil.holds(child) && child != parent) {
        Some(child) => (child, wanted),
        None => (point(soil, parent, chance), Change::Point),
    }
}

fn subtree(soil: &Soil, parent: &Tree, chance: &mut Chance) -> Option<Tree> {
    let at = place(parent, chance);
    let depth = 1 + chance.below(4);
    let fresh = grow(soil, depth, chance);
    let root = fresh.nodes().len() - 1;
    parent.grafted(at, &fresh, root).ok()
}

fn hoist(parent: &Tree, chance: &mut Chance) -> Option<Tree> {
    let at = place(parent, chance);
    let start = parent.start_of(at);
    let piece = parent.nodes().get(start..=at)?;
    Tree::new(parent.arguments(), piece.to_vec()).ok()
}

fn shrink(soil: &Soil, parent: &Tree, chance: &mut Chance) -> Option<Tree> {
    let at = place(parent, chance);
    let leaf = Tree::new(soil.arguments, vec![soil.leaf(chance)]).ok()?;
    parent.grafted(at, &leaf, 0).ok()
}

fn point(soil: &Soil, parent: &Tree, chance: &mut Chance) -> Tree {
    let mut nodes = parent.nodes().to_vec();
    let at = chance.below(nodes.len());
    if let Some(node) = nodes.get_mut(at) {
        *node = match *node {
            Node::Number(_) | Node::Argument(_) => soil.leaf(chance),
            Node::Apply(operator) => Node::Apply(sibling(soil, operator, chance)),
        };
    }
    Tree::new(parent.arguments(), nodes).unwrap_or_else(|_| parent.clone())
}

/// Another operator of the soil with as many operands, if there is one.
fn sibling(soil: &Soil, operator: Operator, chance: &mut Chance) -> Operator {
    let alike: Vec<Operator> = soil
        .operators
        .iter()
        .copied()
        .filter(|other| other.arity() == operator.arity() && *other != operator)
        .collect();
    chance.pick(&alike).copied().unwrap_or(operator)
}

fn number(soil: &Soil, parent: &Tree, chance: &mut Chance) -> Option<Tree> {
    let mut nodes = parent.nodes().to_vec();
    let numbers: Vec<usize> = (0..nodes.len())
        .filter(|at| matches!(nodes.get(*at), Some(Node::Number(_))))
        .collect();
    let at = *chance.pick(&numbers)?;
    let Some(Node::Number(value)) = nodes.get_mut(at) else {
        return None;
    };
    let step = match chance.below(3) {
        0 => soil.numbers * 0.2,
        1 => value.abs().max(0.01) * 0.1,
        _ => value.abs().max(0.001) * 0.01,
    };
    let moved = *value + step * chance.normal();
    *value = if chance.happens(0.2) {
        moved.round()
    } else {
        moved
    };
    Tree::new(parent.arguments(), nodes).ok()
}
