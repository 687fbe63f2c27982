//! What was measured, for people and for programs.

use crate::measure::Samples;
use serde::Serialize;
use std::fmt::Write as _;

/// One line.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    /// Which benchmark.
    pub(crate) benchmark: &'static str,
    /// Who or what was measured.
    pub(crate) what: String,
    /// How many times.
    pub(crate) samples: usize,
    /// The middle value.
    pub(crate) p50: f64,
    /// What all but one in a hundred stay below.
    pub(crate) p99: f64,
    /// The unit of both.
    pub(crate) unit: &'static str,
    /// The middle value over the peer's.
    pub(crate) ratio: Option<f64>,
    /// What is promised.
    pub(crate) promise: Option<String>,
    /// Whether it is kept.
    pub(crate) kept: Option<bool>,
}

impl Row {
    /// A line of times in milliseconds.
    pub(crate) fn times(benchmark: &'static str, what: &str, samples: &Samples) -> Self {
        Self {
            benchmark,
            what: what.to_owned(),
            samples: samples.count(),
            p50: samples.p50(),
            p99: samples.p99(),
            unit: "ms",
            ratio: None,
            promise: None,
            kept: None,
        }
    }

    /// A line of one value.
    pub(crate) fn value(
        benchmark: &'static str,
        what: &str,
        value: f64,
        unit: &'static str,
    ) -> Self {
        Self {
            benchmark,
            what: what.to_owned(),
            samples: 1,
            p50: value,
            p99: value,
            unit,
            ratio: None,
            promise: None,
            kept: None,
        }
    }

    /// Says how it compares.
    pub(crate) fn beside(mut self, peer: f64) -> Self {
        self.ratio = Some(self.p50 / peer);
        self
    }

    /// Says that the ratio should stay at or below a number.
    pub(crate) fn ratio_at_most(mut self, most: f64) -> Self {
        self.promise = Some(format!("ratio at most {most}"));
        self.kept = self.ratio.map(|ratio| ratio <= most);
        self
    }

    /// Says that the middle value should stay at or below a number.
    pub(crate) fn at_most(mut self, most: f64) -> Self {
        self.promise = Some(format!("at most {most} {}", self.unit));
        self.kept = Some(self.p50 <= most);
        self
    }

    /// Says that all but one in a hundred should stay at or below a number.
    pub(crate) fn p99_at_most(mut self, most: f64) -> Self {
        self.promise = Some(format!("p99 at most {most} {}", self.unit));
        self.kept = Some(self.p99 <= most);
        self
    }

    /// Says that the value should reach a number.
    pub(crate) fn at_least(mut self, least: f64) -> Self {
        self.promise = Some(format!("at least {least} {}", self.unit));
        self.kept = Some(self.p50 >= least);
        self
    }
}

/// Rows for each contestant, compared with the first.
pub(crate) fn compared(benchmark: &'static str, measured: &[(String, Samples)]) -> Vec<Row> {
    let peer = measured
        .first()
        .map_or(f64::NAN, |(_, samples)| samples.p50());
    measured
        .iter()
        .map(|(name, samples)| Row::times(benchmark, name, samples).beside(peer))
        .collect()
}

/// The rows for a person.
pub(crate) fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    let width = rows
        .iter()
        .map(|row| row.what.chars().count())
        .max()
        .unwrap_or(0);
    for row in rows {
        let ratio = row
            .ratio
            .map_or_else(String::new, |ratio| format!("{ratio:.2}x"));
        let kept = match row.kept {
            Some(true) => "kept",
            Some(false) => "MISSED",
            None => "",
        };
        let promise = row.promise.as_deref().unwrap_or("");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {:width$}  p50 {:>10.3} {unit}  p99 {:>10.3} {unit}  n {:>4}  {ratio:>8}  {kept} {promise}",
            row.what,
            row.p50,
            row.p99,
            row.samples,
            unit = row.unit,
        );
    }
    text
}
