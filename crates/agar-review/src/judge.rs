//! From what a check did to a verdict.
//!
//! ```text
//!                    report says…            exit 0      exit other
//! before known       newly failing           fail        fail
//!                    only known failures     pass        pass
//!                    and nothing that passes undecided   undecided
//!                    fewer tests ran         undecided   undecided
//!                    nothing failing         pass        fail, or undecided if it was so before
//! before unknown     failing                 fail        fail
//!                    nothing failing         pass        fail
//! no report asked                            pass        fail, or undecided if it was so before
//! report unreadable                          undecided   fail, or undecided if it was so before
//! did not run to its end                     undecided, or fail if it did before
//! ```

use crate::compare::Comparison;
use crate::report::{Counts, Report, Status};
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// How the command of a check ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Ended {
    /// It ran to its end.
    Exited {
        /// Its exit status.
        code: i32,
    },
    /// It did not, for this reason.
    Broken {
        /// Why.
        why: String,
    },
}

/// What one check did in one place: on the base, or on the changed tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// How its command ended.
    pub ended: Ended,
    /// How long it took.
    pub wall_ms: u64,
    /// Its report, where one was asked for and could be read.
    #[serde(default)]
    pub report: Option<Report>,
    /// Why there is no report, where one was asked for.
    #[serde(default)]
    pub no_report: Option<String>,
    /// Lines of its output that are errors.
    #[serde(default)]
    pub errors: Vec<String>,
    /// Lines of its output that are warnings.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// What it measured, in thousandths of its unit: less is better.
    #[serde(default)]
    pub measured_milli: Option<u64>,
}

impl Trial {
    /// A check whose command did not run to its end.
    pub const fn broken(why: String, wall_ms: u64) -> Self {
        Self {
            ended: Ended::Broken { why },
            wall_ms,
            report: None,
            no_report: None,
            errors: Vec::new(),
            warnings: Vec::new(),
            measured_milli: None,
        }
    }

    const fn exit(&self) -> Option<i32> {
        match &self.ended {
            Ended::Exited { code } => Some(*code),
            Ended::Broken { .. } => None,
        }
    }

    /// Whether it showed that all is well, without comparing it to anything.
    pub fn holds(&self) -> bool {
        let whole = self
            .report
            .as_ref()
            .is_none_or(|report| report.cut_short.is_none() && report.counts().failed == 0);
        self.exit() == Some(0) && self.no_report.is_none() && whole
    }
}

/// The verdict on one check, with what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, where it is not a plain pass.
    pub reason: Option<String>,
    /// How many tests ended in which way, where there is a report.
    pub counts: Option<Counts>,
    /// What changed against the base, where both have a report.
    pub comparison: Option<Comparison>,
}

/// Judges a check by what it did on the changed tree and, where known, on the base.
pub fn judge(now: &Trial, before: Option<&Trial>) -> Judgement {
    let comparison = match (
        &now.report,
        before.and_then(|before| before.report.as_ref()),
    ) {
        (Some(now), Some(before)) => Some(Comparison::between(before, now)),
        (Some(_) | None, _) => None,
    };
    let (verdict, reason) = verdict(now, before, comparison.as_ref());
    Judgement {
        verdict,
        reason,
        counts: now.report.as_ref().map(Report::counts),
        comparison,
    }
}

fn verdict(
    now: &Trial,
    before: Option<&Trial>,
    comparison: Option<&Comparison>,
) -> (Verdict, Option<String>) {
    let code = match &now.ended {
        Ended::Exited { code } => *code,
        Ended::Broken { why } => {
            // The base got through, so it is the change that does not.
            let regressed = before.is_some_and(|before| before.exit().is_some());
            let verdict = if regressed {
                Verdict::Fail
            } else {
                Verdict::Undecided
            };
            return (verdict, Some(why.clone()));
        }
    };
    match &now.report {
        Some(report) => by_report(code, report, before, comparison),
        None => by_status(code, now, before),
    }
}

fn by_report(
    code: i32,
    report: &Report,
    before: Option<&Trial>,
    comparison: Option<&Comparison>,
) -> (Verdict, Option<String>) {
    let failing: Vec<&str> = match comparison {
        Some(comparison) => comparison
            .newly_failing
            .iter()
            .map(String::as_str)
            .collect(),
        None => report.named(Status::Failed).collect(),
    };
    let uncounted = match comparison {
        Some(comparison) => comparison.now.failed > comparison.before.failed,
        None => report.counts().failed > 0,
    };
    if let Some(first) = failing.first() {
        return (Verdict::Fail, Some(and_more(first, failing.len(), "fails")));
    }
    if uncounted {
        return (Verdict::Fail, Some("more tests fail".to_owned()));
    }
    if let Some(why) = &report.cut_short {
        return (
            Verdict::Undecided,
            Some(format!("the report is not whole: {why}")),
        );
    }
    if let Some(comparison) = comparison {
        if let Some(first) = comparison.newly_skipped.first() {
            let count = comparison.newly_skipped.len();
            return (
                Verdict::Undecided,
                Some(and_more(first, count, "is no longer run")),
            );
        }
        if comparison.has_fewer() {
            let first = comparison.missing.first().map_or("a test", String::as_str);
            let count = comparison.missing.len().max(1);
            return (
                Verdict::Undecided,
                Some(and_more(first, count, "is missing")),
            );
        }
    }
    let counts = report.counts();
    if counts.failed > 0 && counts.passed == 0 {
        let reason = "no test passes, and none did before the change".to_owned();
        return (Verdict::Undecided, Some(reason));
    }
    if code == 0 || counts.failed > 0 {
        return (Verdict::Pass, None);
    }
    let reason = format!("exit {code} although no test failed");
    (failed_or_known(before, code), Some(reason))
}

fn by_status(code: i32, now: &Trial, before: Option<&Trial>) -> (Verdict, Option<String>) {
    let exit = format!("exit {code}");
    match (code, &now.no_report) {
        (0, None) => (Verdict::Pass, None),
        (0, Some(why)) => (
            Verdict::Undecided,
            Some(format!("the report cannot be read: {why}")),
        ),
        // The shell found nothing to run: the check itself is broken, not the change.
        (126 | 127, said) if before.is_none_or(|before| before.exit() == Some(code)) => {
            let said = said
                .as_ref()
                .map_or_else(String::new, |said| format!(": {said}"));
            let reason = format!("its program cannot be run{said} ({exit})");
            (Verdict::Undecided, Some(reason))
        }
        (_, _) => {
            let verdict = failed_or_known(before, code);
            let reason = match verdict {
                Verdict::Undecided => format!("{exit}, and it failed before the change"),
                Verdict::Pass | Verdict::Fail => exit,
            };
            (verdict, Some(reason))
        }
    }
}

/// A check that did not hold on the base either says nothing about the change.
fn failed_or_known(before: Option<&Trial>, code: i32) -> Verdict {
    match before.and_then(Trial::exit) {
        Some(was) if was != 0 && was == code => Verdict::Undecided,
        Some(_) | None => Verdict::Fail,
    }
}

fn and_more(first: &str, count: usize, does: &str) -> String {
    match count {
        0 | 1 => format!("{first} {does}"),
        more => format!("{first} {does}, and {} more", more - 1),
    }
}
