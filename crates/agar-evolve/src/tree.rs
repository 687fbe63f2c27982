//! Expressions: the genomes that genetic programming breeds.
//!
//! A tree is a list of nodes in postfix order, operands before their operator. That is how
//! WebAssembly reads them too, so encoding is one pass, and a subtree is a contiguous piece that can
//! be cut out and put elsewhere.

mod encode;
mod evaluate;
mod formula;
mod text;

pub(crate) use self::encode::ENTRY;
pub(crate) use self::evaluate::{Desk, ROW};

pub use self::text::NotATree;

use serde::{Deserialize, Serialize};

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// A number.
    Number(f64),
    /// An argument, by position.
    Argument(u16),
    /// An operator on the results before it.
    Apply(Operator),
}

/// An operator on numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`, and one where `b` is zero.
    Div,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// `-a`
    Neg,
    /// `|a|`
    Abs,
    /// The square root of `|a|`.
    Sqrt,
    /// The integer below.
    Floor,
    /// `c` where `a < b`, else `d`.
    IfLess,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Self; 11] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Div,
        Self::Min,
        Self::Max,
        Self::Neg,
        Self::Abs,
        Self::Sqrt,
        Self::Floor,
        Self::IfLess,
    ];

    /// How many operands it takes.
    pub const fn arity(self) -> usize {
        match self {
            Self::Neg | Self::Abs | Self::Sqrt | Self::Floor => 1,
            Self::Add | Self::Sub | Self::Mul | Self::Div | Self::Min | Self::Max => 2,
            Self::IfLess => 4,
        }
    }

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::Div => "div",
            Self::Min => "min",
            Self::Max => "max",
            Self::Neg => "neg",
            Self::Abs => "abs",
            Self::Sqrt => "sqrt",
            Self::Floor => "floor",
            Self::IfLess => "if_less",
        }
    }

    /// The operator of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

impl Node {
    /// How many results before it the node takes.
    pub const fn arity(self) -> usize {
        match self {
            Self::Number(_) | Self::Argument(_) => 0,
            Self::Apply(operator) => operator.arity(),
        }
    }
}

/// An expression of some arguments.
///
/// # Invariants
///
/// The nodes are one whole expression in postfix order; every argument exists; every number is
/// finite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Tree {
    nodes: Vec<Node>,
    arguments: u16,
}

#[derive(Serialize, Deserialize)]
struct Parts {
    arguments: u16,
    nodes: Vec<Node>,
}

impl TryFrom<Parts> for Tree {
    type Error = NotATree;

    fn try_from(parts: Parts) -> Result<Self, NotATree> {
        Self::new(parts.arguments, parts.nodes)
    }
}

impl From<Tree> for Parts {
    fn from(tree: Tree) -> Self {
        Self {
            arguments: tree.arguments,
            nodes: tree.nodes,
        }
    }
}

impl Tree {
    /// Makes an expression of so many arguments from nodes in postfix order.
    pub fn new(arguments: u16, nodes: Vec<Node>) -> Result<Self, NotATree> {
        let mut height = 0_usize;
        for node in &nodes {
            match node {
                Node::Argument(index) if *index >= arguments => {
                    return Err(NotATree::NoArgument(*index));
                }
                Node::Number(number) if !number.is_finite() => return Err(NotATree::NotFinite),
                Node::Argument(_) | Node::Number(_) | Node::Apply(_) => {}
            }
            height = height
                .checked_sub(node.arity())
                .ok_or(NotATree::Incomplete)?
                + 1;
        }
        if height != 1 {
            return Err(NotATree::Incomplete);
        }
        Ok(Self { nodes, arguments })
    }

    /// A number, as an expression of so many arguments. One that is not finite becomes zero.
    pub fn number(arguments: u16, number: f64) -> Self {
        let number = if number.is_finite() { number } else { 0.0 };
        Self {
            nodes: vec![Node::Number(number)],
            arguments,
        }
    }

    /// The nodes, operands before operators.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many arguments there are.
    pub const fn arguments(&self) -> u16 {
        self.arguments
    }

    /// Where the subtree begins whose root is at this position.
    pub fn start_of(&self, root: usize) -> usize {
        let mut wanted = 1_usize;
        let mut at = root + 1;
        while wanted > 0 && at > 0 {
            at -= 1;
            wanted = wanted - 1 + self.nodes.get(at).map_or(0, |node| node.arity());
        }
        at
    }

    /// This tree with the subtree at `root` replaced by the one at `graft_root` of the other.
    pub fn grafted(&self, root: usize, other: &Self, graft_root: usize) -> Result<Self, NotATree> {
        let piece = other.nodes.get(other.start_of(graft_root)..=graft_root);
        let piece = piece.ok_or(NotATree::Incomplete)?;
        let before = self.nodes.get(..self.start_of(root));
        let after = self.nodes.get(root + 1..);
        let (Some(before), Some(after)) = (before, after) else {
            return Err(NotATree::Incomplete);
        };
        Self::new(self.arguments, [before, piece, after].concat())
    }

    /// The longest way from the root to a leaf, in nodes.
    pub fn depth(&self) -> usize {
        let mut depths: Vec<usize> = Vec::new();
        for node in &self.nodes {
            let below = depths.split_off(depths.len() - node.arity());
            depths.push(1 + below.into_iter().max().unwrap_or(0));
        }
        depths.pop().unwrap_or(0)
    }

    /// What the expression is worth, computed here rather than in a cell: for trees that agar made
    /// itself, and to hold a cell's answer against.
    pub fn value(&self, arguments: &[f64]) -> f64 {
        let mut stack: Vec<f64> = Vec::with_capacity(16);
        for node in &self.nodes {
            let value = match node {
                Node::Number(number) => *number,
                Node::Argument(index) => arguments.get(usize::from(*index)).copied().unwrap_or(0.0),
                Node::Apply(operator) => {
                    let operands = stack.split_off(stack.len() - operator.arity());
                    apply(*operator, &operands)
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap_or(0.0)
    }
}

fn apply(operator: Operator, operands: &[f64]) -> f64 {
    let at = |index: usize| operands.get(index).copied().unwrap_or(0.0);
    let (a, b) = (at(0), at(1));
    match operator {
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Mul => a * b,
        Operator::Div if b == 0.0 => 1.0,
        Operator::Div => a / b,
        Operator::Min => lesser(a, b),
        Operator::Max => greater(a, b),
        Operator::Neg => -a,
        Operator::Abs => a.abs(),
        Operator::Sqrt => a.abs().sqrt(),
        Operator::Floor => a.floor(),
        Operator::IfLess => {
            if a < b {
                at(2)
            } else {
                at(3)
            }
        }
    }
}

/// WebAssembly's minimum.
fn lesser(a: f64, b: f64) -> f64 {
    extreme(a, b, a < b || (a <= b && a.is_sign_negative()))
}

/// WebAssembly's maximum.
fn greater(a: f64, b: f64) -> f64 {
    extreme(a, b, a > b || (a >= b && a.is_sign_positive()))
}

/// WebAssembly's minimum and maximum: a NaN among the operands wins, and zeros are ordered.
const fn extreme(a: f64, b: f64, first: bool) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if first {
        a
    } else {
        b
    }
}
