//! Two reports of the same check, before and after a change.

use crate::report::{Counts, Report, Status};
use serde::{Deserialize, Serialize};

/// What changed between two reports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Comparison {
    /// How it was.
    pub before: Counts,
    /// How it is.
    pub now: Counts,
    /// Fails now and did not: it passed, was skipped, or is new.
    pub newly_failing: Vec<String>,
    /// Passes now and failed.
    pub newly_passing: Vec<String>,
    /// Failed and still does.
    pub still_failing: Vec<String>,
    /// Passed, and is skipped now.
    pub newly_skipped: Vec<String>,
    /// Was there and is no longer.
    pub missing: Vec<String>,
}

impl Comparison {
    /// Compares what is with what was.
    pub fn between(before: &Report, now: &Report) -> Self {
        let mut comparison = Self {
            before: before.counts(),
            now: now.counts(),
            ..Self::default()
        };
        for (name, test) in &now.tests {
            let was = before.tests.get(name).map(|test| test.status);
            let list = match (was, test.status) {
                (Some(Status::Failed), Status::Failed) => &mut comparison.still_failing,
                (_, Status::Failed) => &mut comparison.newly_failing,
                (Some(Status::Failed), Status::Passed) => &mut comparison.newly_passing,
                (Some(Status::Passed), Status::Skipped) => &mut comparison.newly_skipped,
                (Some(_) | None, Status::Passed | Status::Skipped) => continue,
            };
            list.push(name.clone());
        }
        for (name, test) in &before.tests {
            if now.tests.contains_key(name) {
                continue;
            }
            // A report that names only failures does not name one that passes now.
            if test.status == Status::Failed && now.unnamed.total() > 0 {
                comparison.newly_passing.push(name.clone());
            } else if now.unnamed.total() == 0 {
                comparison.missing.push(name.clone());
            }
        }
        comparison
    }

    /// Whether nothing is different.
    pub fn is_same(&self) -> bool {
        self.before == self.now
            && self.newly_failing.is_empty()
            && self.newly_passing.is_empty()
            && self.newly_skipped.is_empty()
            && self.missing.is_empty()
    }

    /// Whether fewer tests were run than before: those that are gone have shown nothing.
    pub fn has_fewer(&self) -> bool {
        let ran = |counts: Counts| counts.passed.saturating_add(counts.failed);
        ran(self.now) < ran(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::TestResult;

    pub(crate) fn report(tests: &[(&str, Status)]) -> Report {
        let mut report = Report::default();
        for &(name, status) in tests {
            let message = None;
            report
                .tests
                .insert(name.to_owned(), TestResult { status, message });
        }
        report
    }

    #[test]
    fn every_test_lands_in_one_list_or_is_as_it_was() {
        let before = report(&[
            ("same", Status::Passed),
            ("breaks", Status::Passed),
            ("mended", Status::Failed),
            ("known", Status::Failed),
            ("hidden", Status::Passed),
            ("gone", Status::Passed),
        ]);
        let now = report(&[
            ("same", Status::Passed),
            ("breaks", Status::Failed),
            ("mended", Status::Passed),
            ("known", Status::Failed),
            ("hidden", Status::Skipped),
            ("new", Status::Failed),
        ]);
        let comparison = Comparison::between(&before, &now);
        assert_eq!(comparison.newly_failing, ["breaks", "new"]);
        assert_eq!(comparison.newly_passing, ["mended"]);
        assert_eq!(comparison.still_failing, ["known"]);
        assert_eq!(comparison.newly_skipped, ["hidden"]);
        assert_eq!(comparison.missing, ["gone"]);
        assert!(!comparison.is_same() && comparison.has_fewer());
    }

    #[test]
    fn a_report_is_the_same_as_itself() {
        let one = report(&[("a", Status::Passed), ("b", Status::Failed)]);
        assert!(Comparison::between(&one, &one).is_same());
    }

    #[test]
    fn a_failure_that_is_no_longer_named_among_counted_passes_was_mended() {
        let before = report(&[("a", Status::Failed)]);
        let now = Report {
            unnamed: Counts {
                passed: 1,
                ..Counts::default()
            },
            ..Report::default()
        };
        let comparison = Comparison::between(&before, &now);
        assert_eq!(comparison.newly_passing, ["a"]);
        assert_eq!(comparison.missing, [""; 0]);
    }
}
