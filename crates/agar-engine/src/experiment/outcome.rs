//! From evidence to an outcome. Nobody's word counts, only what was seen.
//!
//! ```text
//! the command failed                                   failure
//! a check that must pass fails                         failure
//! a check that must pass could not decide or is missing  partial
//! only a check that need not pass does not pass        partial
//! everything passes                                    success
//! ```

use super::evidence::Evidence;
use crate::check::{CheckView, together};
use agar_core::id::ExperimentId;
use agar_core::run::End;
use agar_core::seam::Timestamp;
use agar_memory::{
    CheckEvidence, Cost, Ending, Operation, PartialSuccess, Status, SuccessMetrics,
    Verdict as Found,
};
use agar_review::lines::{self, Severity};
use agar_review::{Format, Report, Status as TestStatus, Verdict};

/// A benchmark that takes less than this share of the time before has improved.
const IMPROVED: f64 = 0.95;
/// More reasons than this help nobody.
const REASONS_MAX: usize = 8;

/// What memory is told.
pub(super) fn ending(id: ExperimentId, evidence: &Evidence<'_>, at: Timestamp) -> Ending {
    let status = status(evidence);
    let printed = printed(evidence);
    let ratio = ratio(evidence);
    let mut checks: Vec<CheckEvidence> = evidence.checks.iter().map(check).collect();
    checks.extend(printed.as_ref().map(printed_evidence));
    let (what_worked, what_failed) = parts(evidence);
    Ending {
        operations: operations(evidence),
        changed: evidence.changed.to_vec(),
        packages: evidence.packages.to_vec(),
        checks,
        output: output(evidence, status),
        metrics: SuccessMetrics {
            tests_pass: tests_pass(evidence, printed.as_ref()),
            build_succeeds: build_succeeds(evidence.checks),
            no_errors: Some(no_errors(evidence)),
            performance_improved: ratio.map(|ratio| ratio < IMPROVED),
        },
        failure_reasons: if status == Status::Success {
            Vec::new()
        } else {
            reasons(evidence)
        },
        partial: (status == Status::Partial).then_some(PartialSuccess {
            what_worked,
            what_failed,
        }),
        cost: Cost {
            wall_millis: evidence.usage.wall_ms,
            cpu_millis: evidence.usage.user_ms + evidence.usage.system_ms,
            memory_bytes: evidence.usage.memory_peak_bytes,
        },
        performance_ratio: ratio,
        ..Ending::new(id, status, at)
    }
}

fn status(evidence: &Evidence<'_>) -> Status {
    if !evidence.end.is_success() {
        return Status::Failure;
    }
    let missing = evidence.checks_missing && !evidence.changed.is_empty();
    if missing {
        return Status::Partial;
    }
    if evidence.checks.is_empty() {
        return Status::Success;
    }
    let all = evidence.checks.iter().all(|check| check.verdict.is_pass());
    match together(evidence.checks) {
        Verdict::Fail => Status::Failure,
        Verdict::Pass if all => Status::Success,
        Verdict::Pass | Verdict::Undecided => Status::Partial,
    }
}

/// Every command of the experiment, in order.
fn operations(evidence: &Evidence<'_>) -> Vec<Operation> {
    let earlier = evidence.earlier.iter().map(|run| Operation {
        command: run.argv.clone(),
        exit: run.end.as_ref().and_then(exit),
        started: run.started,
        millis: run.usage.map_or(0, |usage| usage.wall_ms),
    });
    earlier.chain([operation(evidence)]).collect()
}

/// The command itself.
pub(super) fn operation(evidence: &Evidence<'_>) -> Operation {
    Operation {
        command: evidence.argv.to_vec(),
        exit: exit(evidence.end),
        started: evidence.started,
        millis: evidence.usage.wall_ms,
    }
}

fn exit(end: &End) -> Option<i32> {
    match end {
        End::Lost => None,
        end @ (End::Exited { .. }
        | End::Signaled { .. }
        | End::NotFound
        | End::NotExecutable { .. }
        | End::Stopped { .. }) => Some(end.exit_code()),
    }
}

/// What a command printed that is a report itself: `agar try -- cargo test`.
fn printed(evidence: &Evidence<'_>) -> Option<Report> {
    let bytes = evidence.output.as_bytes();
    let report = Report::read(Format::sniff(bytes)?, bytes).ok()?;
    (report.counts().total() > 0).then_some(report)
}

fn printed_evidence(report: &Report) -> CheckEvidence {
    let counts = report.counts();
    CheckEvidence {
        name: "output".to_owned(),
        verdict: match (counts.failed, &report.cut_short) {
            (0, None) => Found::Pass,
            (0, Some(_)) => Found::Undecided,
            (_, _) => Found::Fail,
        },
        passed: counts.passed,
        failed: counts.failed,
        newly_failing: report
            .named(TestStatus::Failed)
            .map(str::to_owned)
            .collect(),
        newly_passing: Vec::new(),
        millis: 0,
    }
}

fn check(check: &CheckView) -> CheckEvidence {
    let comparison = check.comparison.as_ref();
    CheckEvidence {
        name: check.name.clone(),
        verdict: match check.verdict {
            Verdict::Pass => Found::Pass,
            Verdict::Fail => Found::Fail,
            Verdict::Undecided => Found::Undecided,
        },
        passed: check.tests.map_or(0, |tests| tests.passed),
        failed: check.tests.map_or(0, |tests| tests.failed),
        newly_failing: comparison.map_or_else(Vec::new, |it| it.newly_failing.clone()),
        newly_passing: comparison.map_or_else(Vec::new, |it| it.newly_passing.clone()),
        millis: check.wall_ms,
    }
}

/// The lines in which memory looks for errors: the command's, where it failed, and the new ones of
/// the checks. What a command that worked printed is not held against it.
fn output(evidence: &Evidence<'_>, status: Status) -> String {
    let mut text = String::new();
    if !evidence.end.is_success() {
        text.push_str(evidence.output);
    }
    if status != Status::Success {
        for line in evidence.checks.iter().flat_map(|check| &check.new_errors) {
            text.push('\n');
            text.push_str(line);
        }
    }
    text
}

fn tests_pass(evidence: &Evidence<'_>, printed: Option<&Report>) -> Option<bool> {
    let mut known = evidence
        .checks
        .iter()
        .filter(|check| check.tests.is_some())
        .peekable();
    if known.peek().is_some() {
        return Some(known.all(|check| check.verdict.is_pass()));
    }
    printed.map(|report| report.counts().failed == 0 && report.cut_short.is_none())
}

fn build_succeeds(checks: &[CheckView]) -> Option<bool> {
    let is_build = |check: &&CheckView| {
        ["build", "compile", "types", "typecheck"]
            .iter()
            .any(|word| check.name == *word || check.name.ends_with(&format!("-{word}")))
    };
    let mut builds = checks.iter().filter(is_build).peekable();
    builds.peek()?;
    Some(builds.all(|check| check.verdict.is_pass()))
}

fn no_errors(evidence: &Evidence<'_>) -> bool {
    let clean = evidence
        .checks
        .iter()
        .all(|check| check.new_errors.is_empty());
    evidence.end.is_success() && clean
}

fn ratio(evidence: &Evidence<'_>) -> Option<f64> {
    let mut measured = evidence.checks.iter().filter_map(|check| check.measured);
    measured.find_map(|measured| measured.ratio)
}

fn reasons(evidence: &Evidence<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    if !evidence.end.is_success() {
        let mut errors = lines::of(evidence.output, Severity::Error);
        errors.retain(|line| !agar_memory::echoes(line));
        // The line itself, as it was printed: another one for the same error would be another error.
        let last = errors.into_iter().next_back();
        reasons.push(last.unwrap_or_else(|| how(evidence.end)));
    }
    let failing = evidence
        .checks
        .iter()
        .filter(|check| !check.verdict.is_pass());
    reasons.extend(failing.map(said));
    if evidence.checks_missing && evidence.end.is_success() {
        reasons.push("agar ended before the checks ran".to_owned());
    }
    reasons.truncate(REASONS_MAX);
    reasons
}

fn said(check: &CheckView) -> String {
    let reason = check.reason.as_deref().unwrap_or(check.verdict.word());
    format!("{}: {reason}", check.name)
}

fn how(end: &End) -> String {
    match end {
        End::Exited { code } => format!("exit {code}"),
        End::Signaled { signal } => format!("killed by signal {signal}"),
        End::NotFound => "there is no such program".to_owned(),
        End::NotExecutable { .. } => "the program cannot be executed".to_owned(),
        End::Stopped { breach } => format!("{} limit reached", breach.resource),
        End::Lost => "the sandbox ended under it".to_owned(),
    }
}

fn parts(evidence: &Evidence<'_>) -> (Vec<String>, Vec<String>) {
    let mut worked = Vec::new();
    let mut failed = Vec::new();
    if evidence.end.is_success() {
        worked.push("the command".to_owned());
    } else {
        failed.push("the command".to_owned());
    }
    for check in evidence.checks {
        if check.verdict.is_pass() {
            worked.push(check.name.clone());
        } else {
            failed.push(said(check));
        }
    }
    if evidence.checks_missing {
        failed.push("the checks did not run".to_owned());
    }
    (worked, failed)
}
