//! Checks that passed and checks that did not.

use super::{other, sandbox};
use agar_engine::check::{CheckAnswer, CheckView, Comparison, Counts, Measured, Verdict};

/// A check that passed without a word.
fn check(name: &str, run: &str) -> CheckView {
    CheckView {
        name: name.to_owned(),
        run: run.to_owned(),
        must_pass: true,
        verdict: Verdict::Pass,
        reason: None,
        wall_ms: 22_000,
        base_wall_ms: Some(21_400),
        tests: None,
        comparison: None,
        base: "compared".to_owned(),
        new_errors: Vec::new(),
        new_warnings: Some(Vec::new()),
        measured: None,
    }
}

/// A build, tests that are as before, and a benchmark.
pub fn checks_passed() -> Vec<CheckView> {
    let counts = Counts {
        passed: 148,
        ..Counts::default()
    };
    vec![
        check("build", "cargo check"),
        CheckView {
            tests: Some(counts),
            comparison: Some(Comparison {
                before: counts,
                now: counts,
                ..Comparison::default()
            }),
            ..check("tests", "cargo test")
        },
        CheckView {
            measured: Some(Measured {
                now: 12.75,
                before: Some(15.0),
                ratio: Some(0.85),
            }),
            ..check("bench", "cargo bench")
        },
    ]
}

/// Tests that newly fail, and a linter that is not there.
pub fn checks_failed() -> Vec<CheckView> {
    let counts = |passed, failed| Counts {
        passed,
        failed,
        skipped: 2,
    };
    vec![
        CheckView {
            verdict: Verdict::Fail,
            reason: Some("shop tests::config fails, and 1 more".to_owned()),
            tests: Some(counts(146, 3)),
            comparison: Some(Comparison {
                before: counts(148, 1),
                now: counts(146, 3),
                newly_failing: vec![
                    "shop tests::config".to_owned(),
                    "shop tests::dates".to_owned(),
                ],
                newly_passing: vec!["shop tests::old".to_owned()],
                still_failing: vec!["shop tests::known".to_owned()],
                newly_skipped: vec!["shop tests::slow".to_owned()],
                missing: vec!["shop tests::gone".to_owned()],
            }),
            new_errors: vec!["error: trait bound not satisfied".to_owned()],
            new_warnings: Some(vec!["warning: unused import".to_owned()]),
            ..check("tests", "cargo test")
        },
        CheckView {
            verdict: Verdict::Undecided,
            reason: Some("its program cannot be run: sh: 1: ruff: not found (exit 127)".to_owned()),
            must_pass: false,
            base: "the base is live, so there is nothing to compare with".to_owned(),
            base_wall_ms: None,
            new_warnings: None,
            ..check("lint", "ruff check .")
        },
        CheckView {
            measured: Some(Measured {
                now: 12.75,
                before: None,
                ratio: None,
            }),
            ..check("bench", "cargo bench")
        },
    ]
}

pub(super) fn answers() -> Vec<CheckAnswer> {
    let passed = CheckAnswer {
        sandbox: sandbox(),
        checks: checks_passed(),
        verdict: Verdict::Pass,
        interrupted: false,
        experiment: None,
    };
    let failed = CheckAnswer {
        sandbox: other(),
        checks: checks_failed(),
        verdict: Verdict::Fail,
        interrupted: false,
        experiment: None,
    };
    let with = |answer: CheckAnswer, experiment| CheckAnswer {
        experiment,
        ..answer
    };
    let [ended, open, none] = super::learning::experiments();
    vec![
        with(passed, ended),
        with(failed.clone(), open),
        with(failed, none),
    ]
}
