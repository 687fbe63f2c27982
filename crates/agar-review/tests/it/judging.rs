//! The table of verdicts, row by row.

use agar_review::report::{Counts, TestResult};
use agar_review::{Ended, Report, Status, Trial, Verdict, judge};
use proptest::prelude::*;

fn trial(code: i32) -> Trial {
    Trial {
        ended: Ended::Exited { code },
        wall_ms: 10,
        report: None,
        no_report: None,
        errors: Vec::new(),
        warnings: Vec::new(),
        measured_milli: None,
    }
}

fn broken() -> Trial {
    let why = "took longer than 60 s".to_owned();
    Trial {
        ended: Ended::Broken { why },
        ..trial(0)
    }
}

fn tests(code: i32, tests: &[(&str, Status)]) -> Trial {
    let mut report = Report::default();
    for &(name, status) in tests {
        let message = None;
        report
            .tests
            .insert(name.to_owned(), TestResult { status, message });
    }
    Trial {
        report: Some(report),
        ..trial(code)
    }
}

fn verdict(now: &Trial, before: Option<&Trial>) -> Verdict {
    judge(now, before).verdict
}

const OK: (&str, Status) = ("a", Status::Passed);
const BAD: (&str, Status) = ("b", Status::Failed);

#[test]
fn a_clean_exit_passes_and_another_fails() {
    assert_eq!(verdict(&trial(0), None), Verdict::Pass);
    assert_eq!(verdict(&trial(1), None), Verdict::Fail);
    assert_eq!(verdict(&trial(1), Some(&trial(0))), Verdict::Fail);
}

#[test]
fn what_failed_before_says_nothing_about_the_change() {
    let judged = judge(&trial(1), Some(&trial(1)));
    assert_eq!(judged.verdict, Verdict::Undecided);
    assert_eq!(
        judged.reason.as_deref(),
        Some("exit 1, and it failed before the change")
    );
    assert_eq!(verdict(&trial(2), Some(&trial(1))), Verdict::Fail);
}

#[test]
fn a_check_that_did_not_run_to_its_end_is_not_a_pass() {
    assert_eq!(verdict(&broken(), None), Verdict::Undecided);
    assert_eq!(verdict(&broken(), Some(&broken())), Verdict::Undecided);
    assert_eq!(verdict(&broken(), Some(&trial(0))), Verdict::Fail);
}

#[test]
fn a_program_that_is_not_there_decides_nothing() {
    assert_eq!(verdict(&trial(127), None), Verdict::Undecided);
    assert_eq!(verdict(&trial(127), Some(&trial(127))), Verdict::Undecided);
    assert_eq!(verdict(&trial(127), Some(&trial(0))), Verdict::Fail);
}

#[test]
fn a_test_that_newly_fails_fails_whatever_the_exit_status() {
    let before = tests(0, &[OK, ("b", Status::Passed)]);
    for code in [0, 1] {
        let judged = judge(&tests(code, &[OK, BAD]), Some(&before));
        assert_eq!(judged.verdict, Verdict::Fail);
        assert_eq!(judged.reason.as_deref(), Some("b fails"));
    }
    assert_eq!(verdict(&tests(0, &[OK, BAD]), None), Verdict::Fail);
}

#[test]
fn failures_that_were_there_before_do_not_block() {
    let known = tests(1, &[OK, BAD]);
    let judged = judge(&known, Some(&known));
    assert_eq!(judged.verdict, Verdict::Pass);
    assert!(judged.comparison.unwrap().is_same());
}

#[test]
fn where_no_test_passed_before_either_nothing_is_shown() {
    let hopeless = tests(1, &[BAD]);
    assert_eq!(verdict(&hopeless, Some(&hopeless)), Verdict::Undecided);
    assert_eq!(verdict(&hopeless, None), Verdict::Fail);
    assert_eq!(
        verdict(&tests(0, &[("b", Status::Passed)]), Some(&hopeless)),
        Verdict::Pass
    );
}

#[test]
fn an_exit_status_that_the_tests_do_not_explain_fails() {
    let before = tests(0, &[OK]);
    assert_eq!(verdict(&tests(3, &[OK]), Some(&before)), Verdict::Fail);
    assert_eq!(verdict(&tests(3, &[OK]), None), Verdict::Fail);
}

#[test]
fn tests_that_vanish_or_are_skipped_leave_it_undecided() {
    let before = tests(0, &[OK, ("b", Status::Passed)]);
    let judged = judge(&tests(0, &[OK]), Some(&before));
    assert_eq!(judged.verdict, Verdict::Undecided);
    assert_eq!(judged.reason.as_deref(), Some("b is missing"));
    let skipped = tests(0, &[OK, ("b", Status::Skipped)]);
    assert_eq!(verdict(&skipped, Some(&before)), Verdict::Undecided);
    let renamed = tests(0, &[OK, ("c", Status::Passed)]);
    assert_eq!(verdict(&renamed, Some(&before)), Verdict::Pass);
}

#[test]
fn a_report_that_cannot_be_read_is_not_a_pass() {
    let mut now = trial(0);
    now.no_report = Some("it names no test".to_owned());
    assert_eq!(verdict(&now, Some(&tests(0, &[OK]))), Verdict::Undecided);
    let mut cut = tests(0, &[OK]);
    cut.report.as_mut().unwrap().cut_short = Some("there is no summary".to_owned());
    assert_eq!(verdict(&cut, None), Verdict::Undecided);
}

#[test]
fn failures_that_are_only_counted_count() {
    let counted = |failed| {
        let mut trial = trial(1);
        trial.report = Some(Report {
            unnamed: Counts {
                passed: 1,
                failed,
                ..Counts::default()
            },
            ..Report::default()
        });
        trial
    };
    assert_eq!(verdict(&counted(2), Some(&counted(1))), Verdict::Fail);
    assert_eq!(verdict(&counted(1), Some(&counted(1))), Verdict::Pass);
    assert_eq!(verdict(&counted(1), None), Verdict::Fail);
}

fn any_status() -> impl Strategy<Value = Status> {
    prop::sample::select(vec![Status::Passed, Status::Failed, Status::Skipped])
}

fn any_trial() -> impl Strategy<Value = Trial> {
    let names = prop::sample::select(vec!["a", "b", "c", "d"]);
    let list = prop::collection::vec((names, any_status()), 0..4);
    (0..3_i32, prop::option::of(list), any::<bool>()).prop_map(|(code, list, ends)| {
        let now = match list {
            Some(list) => tests(code, &list),
            None => trial(code),
        };
        if ends { now } else { broken() }
    })
}

proptest! {
    #[test]
    fn a_pass_means_that_nothing_newly_fails(now in any_trial(), before in prop::option::of(any_trial())) {
        let judged = judge(&now, before.as_ref());
        if judged.verdict.is_pass() {
            let ended = matches!(now.ended, Ended::Exited { .. });
            prop_assert!(ended);
            if let Some(comparison) = &judged.comparison {
                prop_assert!(comparison.newly_failing.is_empty() && !comparison.has_fewer());
            } else {
                prop_assert_eq!(judged.counts.unwrap_or_default().failed, 0);
            }
        } else {
            prop_assert!(judged.reason.is_some(), "a refusal says why");
        }
    }
}
