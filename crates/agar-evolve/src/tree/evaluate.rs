//! Computes an expression at many points at once.
//!
//! An expression reaches nothing: no memory, no calls, no branches, and its cost is known before it
//! is begun. So it needs no engine to contain it, and is computed here, an operator for a whole row
//! of points at a time. The answers are those of its module on either engine, bit for bit: what
//! arithmetic leaves open of a NaN is made canonical, and what is only moved keeps its bits.

use super::{Node, Operator, Tree, greater, lesser};

/// Points that are computed together: few enough that the rows of a deep expression stay near.
pub(crate) const ROW: usize = 32;

/// The bits of every NaN that arithmetic makes.
const CANONICAL: f64 = f64::from_bits(0x7ff8_0000_0000_0000);

type Row = [f64; ROW];

/// Rows of operands, kept from one row of points to the next.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    rows: Vec<Row>,
}

impl Desk {
    /// The value of the expression at each of at most [`ROW`] points, put after what is in `out`.
    /// `points` holds the arguments of each point after those of the last.
    pub(crate) fn compute(&mut self, tree: &Tree, points: &[f64], out: &mut Vec<f64>) {
        let arity = usize::from(tree.arguments()).max(1);
        self.row(tree, arity, points);
        let answers = self.rows.first();
        let answers = answers.and_then(|row| row.get(..points.len() / arity));
        out.extend_from_slice(answers.unwrap_or_default());
    }

    fn row(&mut self, tree: &Tree, arity: usize, points: &[f64]) {
        self.rows.clear();
        for node in tree.nodes() {
            match node {
                Node::Number(number) => self.rows.push([*number; ROW]),
                Node::Argument(index) => {
                    self.rows.push(column(points, arity, usize::from(*index)));
                }
                Node::Apply(operator) => self.apply(*operator),
            }
        }
    }

    fn apply(&mut self, operator: Operator) {
        match operator {
            Operator::Add => self.two(|a, b| canonical(a + b)),
            Operator::Sub => self.two(|a, b| canonical(a - b)),
            Operator::Mul => self.two(|a, b| canonical(a * b)),
            Operator::Div => self.two(|a, b| if b == 0.0 { 1.0 } else { canonical(a / b) }),
            Operator::Min => self.two(|a, b| canonical(lesser(a, b))),
            Operator::Max => self.two(|a, b| canonical(greater(a, b))),
            Operator::Neg => self.one(|a| -a),
            Operator::Abs => self.one(f64::abs),
            Operator::Sqrt => self.one(|a| canonical(a.abs().sqrt())),
            Operator::Floor => self.one(|a| canonical(a.floor())),
            Operator::IfLess => self.choose(),
        }
    }

    fn one(&mut self, act: impl Fn(f64) -> f64) {
        if let Some(row) = self.rows.last_mut() {
            for value in row {
                *value = act(*value);
            }
        }
    }

    fn two(&mut self, act: impl Fn(f64, f64) -> f64) {
        let Some(second) = self.rows.pop() else {
            return;
        };
        if let Some(first) = self.rows.last_mut() {
            for (a, b) in first.iter_mut().zip(second) {
                *a = act(*a, b);
            }
        }
    }

    fn choose(&mut self) {
        let (Some(d), Some(c), Some(b)) = (self.rows.pop(), self.rows.pop(), self.rows.pop())
        else {
            return;
        };
        let Some(a) = self.rows.last_mut() else {
            return;
        };
        for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
            *a = if *a < b { c } else { d };
        }
    }
}

/// One argument of every point.
fn column(points: &[f64], arity: usize, index: usize) -> Row {
    let mut row = [0.0; ROW];
    for (place, point) in row.iter_mut().zip(points.chunks_exact(arity)) {
        *place = point.get(index).copied().unwrap_or(0.0);
    }
    row
}

fn canonical(value: f64) -> f64 {
    if value.is_nan() { CANONICAL } else { value }
}
