//! Changes that change nothing: the same value, to the last bit, said in other words.
//!
//! They let a search drift without losing what it has, and they are a test of everything below:
//! whatever encodes, loads, runs and scores a genome must not notice a chain of them.

use super::Soil;
use crate::chance::Chance;
use crate::tree::{Node, Operator, Tree};

/// Says one subtree in other words. NaN may become another NaN; a genome's are made canonical.
pub fn reword(soil: &Soil, tree: &Tree, chance: &mut Chance) -> Tree {
    let at = chance.below(tree.nodes().len());
    let start = tree.start_of(at);
    let (Some(piece), Some(before), Some(after)) = (
        tree.nodes().get(start..=at),
        tree.nodes().get(..start),
        tree.nodes().get(at + 1..),
    ) else {
        return tree.clone();
    };
    let piece = other_words(tree, (start, at), piece, chance);
    let child = Tree::new(tree.arguments(), [before, &piece, after].concat());
    match child {
        Ok(child) if soil.holds(&child) => child,
        Ok(_) | Err(_) => tree.clone(),
    }
}

fn other_words(
    tree: &Tree,
    (start, root): (usize, usize),
    piece: &[Node],
    chance: &mut Chance,
) -> Vec<Node> {
    let apply = |more: &[Node]| [piece, more].concat();
    match chance.below(6) {
        // a = a * 1: exact for every number.
        0 => apply(&[Node::Number(1.0), Node::Apply(Operator::Mul)]),
        // a = a - 0: exact, also for the negative zero, which a + 0 is not.
        1 => apply(&[Node::Number(0.0), Node::Apply(Operator::Sub)]),
        2 => apply(&[Node::Apply(Operator::Neg), Node::Apply(Operator::Neg)]),
        // a = a / 1
        3 => apply(&[Node::Number(1.0), Node::Apply(Operator::Div)]),
        // a = a if 0 < 1, else anything.
        4 => [
            &[Node::Number(0.0), Node::Number(1.0)][..],
            piece,
            &[Node::Number(7.0), Node::Apply(Operator::IfLess)],
        ]
        .concat(),
        _ => swapped(tree, start, root).unwrap_or_else(|| piece.to_vec()),
    }
}

/// The operands of an operator that does not care about their order, the other way round.
fn swapped(tree: &Tree, start: usize, root: usize) -> Option<Vec<Node>> {
    let node = *tree.nodes().get(root)?;
    let same = matches!(
        node,
        Node::Apply(Operator::Add | Operator::Mul | Operator::Min | Operator::Max)
    );
    if !same {
        return None;
    }
    let second = tree.start_of(root - 1);
    let (a, b) = (
        tree.nodes().get(start..second)?,
        tree.nodes().get(second..root)?,
    );
    Some([b, a, &[node]].concat())
}
