//! How good the predictions were: anyone may look.

use crate::confidence::EVIDENCE_LEAST;
use crate::error::MemoryError;
use crate::memory::Memory;
use agar_store::memory::Scored;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Cells of the reliability table.
const CELLS: usize = 10;

/// One line of the reliability table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Predictions from this share on.
    pub from: f64,
    /// Up to this share.
    pub to: f64,
    /// How many there were.
    pub count: u64,
    /// What was said, in the mean.
    pub said: f64,
    /// The share that came true.
    pub came: f64,
}

/// How good predictions were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// How many had evidence and are scored.
    pub predictions: u64,
    /// How many had no evidence: they said so and are not scored.
    pub without_evidence: u64,
    /// The mean square error; 0.25 is what always saying one half gets.
    pub brier: f64,
    /// The same for always saying the share that came true, known only afterwards.
    pub brier_of_rate: f64,
    /// The mean distance between what was said and what came, over the cells.
    pub calibration_error: f64,
    /// The chance that of one that worked and one that failed, the one that worked was rated
    /// higher. `None` without both.
    pub discrimination: Option<f64>,
    /// What was said against what came.
    pub cells: Vec<Cell>,
}

impl Memory {
    /// How good the predictions for this project were, over the newest ten thousand.
    pub fn calibration(&self) -> Result<Calibration, MemoryError> {
        let scored = self.store.read().scored(Some(self.project), 10_000)?;
        let (known, unknown): (Vec<&Scored>, Vec<&Scored>) = scored
            .iter()
            .partition(|it| it.prediction.evidence >= EVIDENCE_LEAST);
        let pairs: Vec<(f64, f64)> = known
            .iter()
            .map(|it| (it.prediction.p, it.outcome))
            .collect();
        let mut calibration = Calibration::of(&pairs);
        calibration.without_evidence = unknown.len() as u64;
        Ok(calibration)
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts far below 2^52, and shares of them"
)]
impl Calibration {
    /// From pairs of what was said and what came.
    pub fn of(pairs: &[(f64, f64)]) -> Self {
        let count = pairs.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| {
            if pairs.is_empty() {
                0.0
            } else {
                pairs.iter().map(of).sum::<f64>() / count
            }
        };
        let rate = mean(&|pair| pair.1);
        let cells = cells(pairs, CELLS);
        let error: f64 = cells
            .iter()
            .map(|cell| cell.count as f64 * (cell.said - cell.came).abs())
            .sum();
        Self {
            predictions: pairs.len() as u64,
            without_evidence: 0,
            brier: mean(&|pair| (pair.0 - pair.1).powi(2)),
            brier_of_rate: rate * (1.0 - rate),
            calibration_error: if pairs.is_empty() { 0.0 } else { error / count },
            discrimination: discrimination(pairs),
            cells,
        }
    }

    /// The plot for a terminal: what came against what was said; `·` where they would agree.
    pub fn plot(&self) -> String {
        const WIDTH: usize = 40;
        const HEIGHT: usize = 12;
        let mut grid = vec![vec![' '; WIDTH + 1]; HEIGHT + 1];
        let column = |share: f64| ((share * WIDTH as f64).round() as usize).min(WIDTH);
        let line = |share: f64| HEIGHT - ((share * HEIGHT as f64).round() as usize).min(HEIGHT);
        for step in 0..=WIDTH {
            grid[line(step as f64 / WIDTH as f64)][step] = '·';
        }
        for cell in self.cells.iter().filter(|cell| cell.count > 0) {
            grid[line(cell.came)][column(cell.said)] = if cell.count < 10 { 'o' } else { '●' };
        }
        let mut text = String::new();
        for (index, row) in grid.iter().enumerate() {
            let label = match index {
                0 => "100 %",
                _ if index == HEIGHT / 2 => " 50 %",
                _ if index == HEIGHT => "  0 %",
                _ => "     ",
            };
            let row: String = row.iter().collect();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{label} │{}", row.trim_end());
        }
        let _ = writeln!(text, "      └{}", "─".repeat(WIDTH + 1));
        let _ = writeln!(text, "       0 %      what was said       100 %");
        text
    }

    /// The same as a picture.
    pub fn svg(&self) -> String {
        let mut svg = String::from(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 240 240\" role=\"img\" \
             aria-label=\"what came against what was said\">\n\
             <rect x=\"20\" y=\"20\" width=\"200\" height=\"200\" fill=\"none\" stroke=\"currentColor\"/>\n\
             <line x1=\"20\" y1=\"220\" x2=\"220\" y2=\"20\" stroke=\"currentColor\" stroke-dasharray=\"3 3\"/>\n",
        );
        let most = self
            .cells
            .iter()
            .map(|cell| cell.count)
            .max()
            .unwrap_or(1)
            .max(1) as f64;
        for cell in self.cells.iter().filter(|cell| cell.count > 0) {
            let (x, y) = (20.0 + 200.0 * cell.said, 220.0 - 200.0 * cell.came);
            let radius = 2.0 + 6.0 * (cell.count as f64 / most).sqrt();
            let _ = writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"currentColor\"/>"
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// What was said against what came, in cells of equal width.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few cells"
)]
pub(crate) fn cells(pairs: &[(f64, f64)], count: usize) -> Vec<Cell> {
    let mut sums = vec![(0_u64, 0.0, 0.0); count];
    for &(said, came) in pairs {
        let index = ((said * count as f64) as usize).min(count - 1);
        let sum = &mut sums[index];
        sum.0 += 1;
        sum.1 += said;
        sum.2 += came;
    }
    sums.iter()
        .enumerate()
        .map(|(index, &(number, said, came))| {
            let of = (number as f64).max(1.0);
            Cell {
                from: index as f64 / count as f64,
                to: (index + 1) as f64 / count as f64,
                count: number,
                said: said / of,
                came: came / of,
            }
        })
        .collect()
}

/// The area under the curve: by ranks, ties shared.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
pub(crate) fn discrimination(pairs: &[(f64, f64)]) -> Option<f64> {
    let mut sorted: Vec<&(f64, f64)> = pairs.iter().collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut ranks, mut worked) = (0.0, 0.0);
    let mut index = 0;
    while index < sorted.len() {
        let same = sorted[index..]
            .iter()
            .take_while(|pair| pair.0.total_cmp(&sorted[index].0).is_eq())
            .count();
        let rank = index as f64 + f64::midpoint(same as f64, 1.0);
        for pair in &sorted[index..index + same] {
            if pair.1 >= 0.5 {
                ranks += rank;
                worked += 1.0;
            }
        }
        index += same;
    }
    let failed = sorted.len() as f64 - worked;
    (worked > 0.0 && failed > 0.0)
        .then(|| (ranks - worked * (worked + 1.0) / 2.0) / (worked * failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_books() {
        let pairs = [(0.9, 1.0), (0.8, 1.0), (0.3, 0.0), (0.6, 0.0)];
        let calibration = Calibration::of(&pairs);
        assert!((calibration.brier - (0.01 + 0.04 + 0.09 + 0.36) / 4.0).abs() < 1e-12);
        assert_eq!(calibration.discrimination, Some(1.0));
        assert_eq!(discrimination(&[(0.5, 1.0), (0.5, 0.0)]), Some(0.5));
        assert_eq!(discrimination(&[(0.5, 1.0)]), None);
    }

    #[test]
    fn the_plot_shows_each_cell_that_has_something() {
        let calibration = Calibration::of(&[(0.95, 1.0), (0.05, 0.0)]);
        assert_eq!(calibration.plot().matches('o').count(), 2);
        assert_eq!(calibration.svg().matches("<circle").count(), 2);
    }
}
