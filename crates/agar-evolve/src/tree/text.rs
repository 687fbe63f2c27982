//! Expressions as people write them: `(add (mul x0 x0) 1)`.

use super::{Node, Operator, Tree};
use agar_core::fault::{Fault, Kind};
use std::fmt;

/// The text or the nodes are not an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotATree {
    /// Operands are missing, or something is left over.
    #[error("cannot read the expression: operands are missing or left over")]
    Incomplete,
    /// It uses an argument that it does not have.
    #[error("cannot read the expression: there is no argument x{0}")]
    NoArgument(u16),
    /// A number that is infinite or none.
    #[error("cannot read the expression: its numbers must be finite")]
    NotFinite,
    /// A word that is neither an operator, an argument nor a number.
    #[error("cannot read the expression: `{0}` is no operator, argument or number")]
    Word(String),
    /// More parentheses inside each other than anyone writes.
    #[error("cannot read the expression: it is nested too deeply")]
    TooDeep,
}

impl Fault for NotATree {
    fn kind(&self) -> Kind {
        Kind::Invalid
    }
}

/// Parentheses that may be open at once.
const DEPTH_MAX: usize = 1_000;

impl Tree {
    /// Reads an expression of so many arguments, `x0` and on.
    pub fn parse(text: &str, arguments: u16) -> Result<Self, NotATree> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let mut nodes = Vec::new();
        // The operators whose operands are being read, and how many were.
        let mut open: Vec<(Operator, usize)> = Vec::new();
        let mut words = spaced.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "(" if open.len() == DEPTH_MAX => return Err(NotATree::TooDeep),
                "(" => {
                    let name = words.next().ok_or(NotATree::Incomplete)?;
                    let operator = Operator::named(name).ok_or_else(|| unknown(name))?;
                    open.push((operator, 0));
                    continue;
                }
                ")" => {
                    let closed = open.pop();
                    let whole = closed.filter(|(operator, seen)| operator.arity() == *seen);
                    let (operator, _) = whole.ok_or(NotATree::Incomplete)?;
                    nodes.push(Node::Apply(operator));
                }
                word => nodes.push(leaf(word)?),
            }
            if let Some((_, operands)) = open.last_mut() {
                *operands += 1;
            }
        }
        if !open.is_empty() {
            return Err(NotATree::Incomplete);
        }
        Self::new(arguments, nodes)
    }
}

fn unknown(word: &str) -> NotATree {
    NotATree::Word(word.chars().take(40).collect())
}

fn leaf(word: &str) -> Result<Node, NotATree> {
    if let Some(index) = word.strip_prefix('x') {
        return index.parse().map(Node::Argument).map_err(|_| unknown(word));
    }
    let number: f64 = word.parse().map_err(|_| unknown(word))?;
    Ok(Node::Number(number))
}

/// In prefix form, as [`Tree::parse`] reads it.
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        for node in self.nodes() {
            let text = match node {
                Node::Number(number) => number.to_string(),
                Node::Argument(index) => format!("x{index}"),
                Node::Apply(operator) => {
                    let operands = parts.split_off(parts.len() - operator.arity());
                    format!("({} {})", operator.name(), operands.join(" "))
                }
            };
            parts.push(text);
        }
        f.write_str(&parts.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Any expression of two arguments.
    fn trees() -> impl Strategy<Value = Tree> {
        let leaf = prop_oneof![
            (0_u16..2).prop_map(Node::Argument),
            (-1e6_f64..1e6).prop_map(Node::Number),
        ]
        .prop_map(|node| vec![node]);
        leaf.prop_recursive(5, 60, 4, |inner| {
            (0..Operator::ALL.len(), proptest::collection::vec(inner, 4)).prop_map(
                |(which, parts)| {
                    let operator = Operator::ALL[which];
                    let mut nodes = parts[..operator.arity()].concat();
                    nodes.push(Node::Apply(operator));
                    nodes
                },
            )
        })
        .prop_map(|nodes| Tree::new(2, nodes).unwrap())
    }

    proptest! {
        #[test]
        fn an_expression_survives_being_written_down(tree in trees()) {
            prop_assert_eq!(Tree::parse(&tree.to_string(), 2), Ok(tree));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "[()a-z0-9x. -]{0,60}") {
            drop(Tree::parse(&text, 2));
        }

        #[test]
        fn a_graft_is_an_expression(a in trees(), b in trees(), at: prop::sample::Index, from: prop::sample::Index) {
            let (at, from) = (at.index(a.nodes().len()), from.index(b.nodes().len()));
            prop_assert!(a.grafted(at, &b, from).is_ok());
        }
    }

    #[test]
    fn what_is_not_an_expression_is_refused() {
        for text in [
            "",
            "(",
            ")",
            "(add x0)",
            "(add x0 x0 x0)",
            "x0 x0",
            "(frob x0)",
            "x9",
            "inf",
            "y",
        ] {
            assert!(Tree::parse(text, 2).is_err(), "{text}");
        }
    }
}
