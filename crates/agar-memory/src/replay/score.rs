//! What was said against what came.

use crate::calibration::{cells, discrimination};
use crate::replay::stream::Said;
use std::fmt;

/// Cells of the calibration error, as in the research it is compared with.
const CELLS: usize = 15;

/// Lines in one group when the interval's coverage is counted.
const GROUP: usize = 10;

/// How good one way of answering was.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// Which way.
    pub name: &'static str,
    /// The mean square error; smaller is better.
    pub brier: f64,
    /// The mean distance between what was said and what came; smaller is better.
    pub error: f64,
    /// The chance of rating one that worked above one that failed.
    pub discrimination: Option<f64>,
}

/// How good every way was.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// How many lines were scored.
    pub lines: usize,
    /// The share that worked.
    pub rate: f64,
    /// agar first, then its raw estimate, then the simple answers.
    pub all: Vec<Scores>,
    /// The same over the second half, when there was something to learn from.
    pub later: Vec<Scores>,
    /// Of groups of lines of one project with about the same words, the share whose outcomes lie
    /// within the mean interval. The interval is meant to hold the probability with 90 %; the chance
    /// in so few outcomes is added to it. As far as errors differ within a group they cancel, so this
    /// is at least the share of probabilities held; of lines that have only their prediction in
    /// common nearly every error would.
    pub coverage: Option<f64>,
}

pub(super) fn report(said: &[Said]) -> Report {
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    let rate = said.iter().map(|it| it.came).sum::<f64>() / (said.len() as f64).max(1.0);
    Report {
        lines: said.len(),
        rate,
        all: scores(said),
        later: scores(&said[said.len() / 2..]),
        coverage: coverage(said),
    }
}

fn scores(said: &[Said]) -> Vec<Scores> {
    type Way = (&'static str, fn(&Said) -> f64);
    let ways: [Way; 5] = [
        ("agar", |it| it.agar),
        ("agar before recalibration", |it| it.raw),
        ("success rate so far", |it| it.global),
        ("success rate of 14 days", |it| it.fortnight),
        ("first seed's formula", |it| it.seed),
    ];
    ways.iter()
        .map(|&(name, of)| {
            let pairs: Vec<(f64, f64)> = said.iter().map(|it| (of(it), it.came)).collect();
            score(name, &pairs)
        })
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn score(name: &'static str, pairs: &[(f64, f64)]) -> Scores {
    let count = (pairs.len() as f64).max(1.0);
    let cells = cells(pairs, CELLS);
    Scores {
        name,
        brier: pairs.iter().map(|it| (it.0 - it.1).powi(2)).sum::<f64>() / count,
        error: cells
            .iter()
            .map(|cell| cell.count as f64 * (cell.said - cell.came).abs())
            .sum::<f64>()
            / count,
        discrimination: discrimination(pairs),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn coverage(said: &[Said]) -> Option<f64> {
    let mut sorted: Vec<&Said> = said.iter().collect();
    sorted.sort_by(|a, b| a.kin.cmp(&b.kin));
    let groups: Vec<&[&Said]> = sorted.chunks_exact(GROUP).collect();
    let held = groups
        .iter()
        .filter(|group| {
            let mean =
                |of: fn(&Said) -> f64| group.iter().map(|it| of(it)).sum::<f64>() / GROUP as f64;
            let came = mean(|it| it.came);
            let p = mean(|it| it.agar);
            // Half the width of the interval and the chance in so few outcomes, in quadrature.
            let chance = 1.645 * (p * (1.0 - p) / GROUP as f64).sqrt();
            let below = p - mean(|it| it.interval.0);
            let above = mean(|it| it.interval.1) - p;
            came >= p - below.hypot(chance) && came <= p + above.hypot(chance)
        })
        .count();
    (!groups.is_empty()).then(|| held as f64 / groups.len() as f64)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} outcomes, {:.1} % worked",
            self.lines,
            self.rate * 100.0
        )?;
        for (title, scores) in [("all", &self.all), ("second half", &self.later)] {
            writeln!(f, "\n{title:<28} {:>8} {:>8} {:>8}", "Brier", "ECE", "AUC")?;
            for it in scores {
                let area = it
                    .discrimination
                    .map_or_else(|| "–".to_owned(), |area| format!("{area:.3}"));
                writeln!(
                    f,
                    "  {:<26} {:>8.4} {:>8.4} {area:>8}",
                    it.name, it.brier, it.error
                )?;
            }
        }
        if let Some(coverage) = self.coverage {
            writeln!(
                f,
                "\ninterval (90 %) holds the outcomes of {:.0} % of groups of {GROUP} of a kind",
                coverage * 100.0
            )?;
        }
        Ok(())
    }
}
