//! Packing circles into the unit square so that their radii add up to the most.
//!
//! What evolves is where the centres begin: two numbers a circle. A program of ours, itself a
//! genome in a cell (`circles.wat`), refines them by a local search and answers places and radii;
//! what it found is inherited. The host believes none of it. The answer is rounded onto a grid of
//! 2⁻⁶⁰, radii downwards, and *that* packing is checked in whole numbers: no circle leaves the
//! square, no two overlap, not by the least unit. There is no tolerance to abuse, and the score is
//! the sum of the checked radii.

use super::{Bench, Evaluation, Task, Trace};
use crate::breed::Soil;
use crate::chance::{Chance, number};
use crate::code::Code;
use crate::fitness::{Fitness, Invalid, finite};
use crate::genome::{Genome, GenomeError, Rules};
use std::collections::BTreeMap;

/// The program that refines.
const REFINE: &str = include_str!("circles.wat");

/// The most circles: what the program's one page holds.
const CIRCLES_MAX: usize = 300;

/// One, in units of the grid.
const ONE: i64 = 1 << 60;

/// A packing that was checked, in units of the grid: x, y and radius of each circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packing(Vec<[i64; 3]>);

impl Packing {
    /// The radii added up.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the sum is rounded once, to the nearest number"
    )]
    pub fn sum(&self) -> f64 {
        let sum: i128 = self.0.iter().map(|circle| i128::from(circle[2])).sum();
        sum as f64 / ONE as f64
    }

    /// How many circles.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Checks a packing exactly: circles as x, y and radius.
pub fn verify_circles(circles: &[[f64; 3]]) -> Result<Packing, Invalid> {
    let mut checked: Vec<[i64; 3]> = Vec::with_capacity(circles.len());
    for (case, circle) in circles.iter().enumerate() {
        let [x, y, r] = on_grid(*circle).ok_or(Invalid::NotFinite { case })?;
        let wrong = |words: &str| Invalid::WrongAnswer {
            case,
            words: words.to_owned(),
        };
        if r <= 0 {
            return Err(wrong("a radius is not positive"));
        }
        if x < r || y < r || x > ONE - r || y > ONE - r {
            return Err(wrong("a circle leaves the square"));
        }
        if checked.iter().any(|other| overlap([x, y, r], *other)) {
            return Err(wrong("two circles overlap"));
        }
        checked.push([x, y, r]);
    }
    Ok(Packing(checked))
}

/// On the grid, or nothing for what is no number anywhere near the square.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "numbers between -2 and 2 times 2^60 fit into 64 bits"
)]
fn on_grid(circle: [f64; 3]) -> Option<[i64; 3]> {
    if circle.iter().any(|number| !number.is_finite()) {
        return None;
    }
    let scaled = |number: f64| number.clamp(-2.0, 2.0) * ONE as f64;
    let [x, y, r] = circle;
    Some([
        scaled(x).round() as i64,
        scaled(y).round() as i64,
        scaled(r).floor() as i64,
    ])
}

/// Whether two circles overlap: their squares are below 2^124 and exact.
fn overlap(a: [i64; 3], b: [i64; 3]) -> bool {
    let difference = |at: usize| i128::from(a[at]) - i128::from(b[at]);
    let (dx, dy) = (difference(0), difference(1));
    let sum = i128::from(a[2]) + i128::from(b[2]);
    dx * dx + dy * dy < sum * sum
}

/// Packing this many circles.
#[derive(Debug, Clone)]
pub struct CirclePacking {
    circles: usize,
    /// The sum from which on it counts as solved.
    goal: f64,
    refine: Genome,
}

impl CirclePacking {
    /// The task for so many circles, solved from this sum on.
    pub fn new(circles: usize, goal: f64) -> Result<Self, GenomeError> {
        Ok(Self {
            circles: circles.clamp(1, CIRCLES_MAX),
            goal,
            refine: Genome::from_wat(REFINE, &Rules::default())?,
        })
    }

    fn refined(
        &self,
        starts: &[f64],
        bench: &Bench,
        trace: &mut Trace,
    ) -> Result<Vec<[f64; 3]>, Invalid> {
        let mut cell = bench.cell(&self.refine)?;
        let input: Vec<u8> = starts.iter().flat_map(|it| it.to_le_bytes()).collect();
        let said = cell.evaluate(&input);
        trace.note(cell.metrics().instructions, cell.artifacts())?;
        circles(&said?, self.circles)
    }
}

/// Reads an answer: exactly three numbers a circle and nothing else.
fn circles(answer: &[u8], count: usize) -> Result<Vec<[f64; 3]>, Invalid> {
    let (circles, rest) = answer.as_chunks::<24>();
    if circles.len() != count || !rest.is_empty() {
        let words = format!("{} bytes are not {count} circles", answer.len());
        return Err(Invalid::WrongAnswer { case: 0, words });
    }
    let read = |circle: &[u8; 24]| {
        let (numbers, _) = circle.as_chunks::<8>();
        let at = |index: usize| {
            numbers
                .get(index)
                .map_or(f64::NAN, |it| f64::from_le_bytes(*it))
        };
        [at(0), at(1), at(2)]
    };
    Ok(circles.iter().map(read).collect())
}

impl Task for CirclePacking {
    fn name(&self) -> &'static str {
        "circle_packing"
    }

    fn block(&self) -> usize {
        2
    }

    fn first(&self, _soil: &Soil, _place: usize, chance: &mut Chance) -> Code {
        Code::Numbers((0..self.circles * 2).map(|_| chance.unit()).collect())
    }

    fn evaluate(&self, code: &Code, bench: &Bench) -> Evaluation {
        let Code::Numbers(starts) = code else {
            let words = "places are numbers".to_owned();
            return Evaluation::invalid(Invalid::Refused { words });
        };
        let mut trace = Trace::default();
        let found = self
            .refined(starts, bench, &mut trace)
            .and_then(|circles| Ok((verify_circles(&circles)?, circles)));
        let (verdict, improved) = match found {
            Err(reason) => (Err(reason), None),
            Ok((packing, circles)) => {
                let sum = packing.sum();
                let centres = circles.iter().flat_map(|[x, y, _]| [*x, *y]).collect();
                let fitness = Fitness {
                    score: sum,
                    components: BTreeMap::from([("circles".to_owned(), number(packing.len()))]),
                    cases: Vec::new(),
                    solved: sum >= self.goal,
                };
                (finite(fitness), Some(Code::Numbers(centres)))
            }
        };
        Evaluation {
            improved,
            ..trace.ending(verdict)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packing_that_touches_is_valid_and_its_sum_is_exact() {
        let packing = verify_circles(&[[0.25, 0.25, 0.25], [0.75, 0.25, 0.25]]).unwrap();
        assert!((packing.sum() - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn not_the_least_overlap_is_allowed() {
        // The smallest step of a number near three quarters is already too much.
        let least = f64::EPSILON / 2.0;
        for circles in [
            [[0.25, 0.25, 0.25], [0.75, 0.25, 0.25 + least]],
            [[0.25, 0.25, 0.25 + least], [0.75, 0.75, 0.1]],
            [[0.25, 0.25, 0.25], [0.75 - least, 0.25, 0.25]],
            [[0.5, 0.5, 0.5], [0.5, 0.5, 1e-9]],
        ] {
            let said = verify_circles(&circles);
            assert!(
                matches!(said, Err(Invalid::WrongAnswer { .. })),
                "{circles:?}"
            );
        }
    }

    #[test]
    fn tricks_with_numbers_are_no_packing() {
        for circle in [
            [f64::NAN, 0.5, 0.1],
            [0.5, f64::INFINITY, 0.1],
            [0.5, 0.5, f64::NAN],
            [0.5, 0.5, f64::INFINITY],
            [0.5, 0.5, -1.0],
            [0.5, 0.5, 0.0],
            [1e300, 1e300, 1e299],
            [-0.5, 0.5, 0.1],
            [0.5, 0.5, 4.01],
        ] {
            assert!(verify_circles(&[circle]).is_err(), "{circle:?}");
        }
    }

    #[test]
    fn an_answer_with_more_in_it_is_none() {
        let mut answer: Vec<u8> = [0.5_f64, 0.5, 0.25]
            .iter()
            .flat_map(|it| it.to_le_bytes())
            .collect();
        assert!(circles(&answer, 1).is_ok());
        answer.extend(4.01_f64.to_le_bytes());
        assert!(circles(&answer, 1).is_err());
        assert!(circles(&answer, 2).is_err());
    }
}
