//! Checks judge a change and leave nothing behind.

use crate::desk::{Desk, capture};
use agar_core::walls::{BaseKind, Tier};
use agar_engine::check::{CheckAnswer, CheckRequest, CheckView, Verdict, check};
use agar_engine::diff::{DiffRequest, diff};
use agar_engine::run::RunAnswer;
use agar_engine::try_change::{TryRequest, try_change};
use agar_engine::{Command, NoControls, SandboxOptions};

/// A desk whose project has a test that counts how often it was run, and wants `one` in `a.txt`.
fn desk(settings: &str) -> Desk {
    let desk = Desk::new();
    desk.write("a.txt", "one\n");
    desk.write(
        "test.sh",
        "echo run >> ~/ran.txt; echo TAP version 13; echo 1..2; echo ok 1 - always\n\
         if grep -q one a.txt; then echo ok 2 - has one; else echo not ok 2 - has one; fi\n",
    );
    desk.write("agar.toml", settings);
    desk
}

const PRINTED: &str = "[[check]]\nname = 'test'\nrun = 'sh test.sh'\nreport = '-'\n";

fn attempt(desk: &Desk, script: &str, options: SandboxOptions) -> RunAnswer {
    let request = TryRequest {
        options,
        command: Command::new(["sh", "-c", script]),
        ..TryRequest::default()
    };
    let mut output = Vec::new();
    try_change(&desk.engine(), &request, capture(&mut output), &mut |_| {}).unwrap()
}

fn checked(desk: &Desk, tried: &RunAnswer) -> CheckAnswer {
    let request = CheckRequest {
        sandbox: Some(tried.sandbox.id.to_string()),
        ..CheckRequest::default()
    };
    check(&desk.engine(), &request, &mut NoControls, &mut |_| {}).unwrap()
}

fn only(answer: CheckAnswer) -> CheckView {
    let [only] = <[CheckView; 1]>::try_from(answer.checks).unwrap();
    only
}

/// Tries a change and has it checked.
fn judged(settings: &str, script: &str) -> CheckView {
    let desk = desk(settings);
    let tried = attempt(&desk, script, SandboxOptions::default());
    assert!(tried.checks_due);
    only(checked(&desk, &tried))
}

#[test]
fn tests_that_hold_are_the_same_as_before() {
    let view = judged(PRINTED, "echo two >> a.txt");
    assert_eq!((view.verdict, view.reason), (Verdict::Pass, None));
    let comparison = view.comparison.unwrap();
    assert!(comparison.is_same());
    assert_eq!((comparison.now.passed, view.base.as_str()), (2, "compared"));
}

#[test]
fn a_test_that_the_change_breaks_is_named() {
    let view = judged(PRINTED, "echo two > a.txt");
    assert_eq!(view.verdict, Verdict::Fail);
    assert_eq!(view.comparison.unwrap().newly_failing, ["has one"]);
}

#[test]
fn what_a_check_writes_is_no_part_of_the_change() {
    let settings =
        "[[check]]\nname = 'mess'\nrun = 'echo x > a.txt; rm test.sh; mkdir new; echo y > ~/z'\n";
    let desk = desk(settings);
    let tried = attempt(&desk, "echo two >> a.txt", SandboxOptions::default());
    let before = tried.changes.clone();
    assert!(checked(&desk, &tried).verdict.is_pass());
    let request = DiffRequest {
        sandbox: Some(tried.sandbox.id.to_string()),
        ..DiffRequest::default()
    };
    let after = diff(&desk.engine(), &request).unwrap();
    assert_eq!(Some(after.changes), before);
    assert_eq!(desk.read("a.txt"), "one\n");
    assert!(!desk.home().join("z").exists());
    assert_eq!(
        desk.left_in_state("sandboxes"),
        1,
        "throwaway sandboxes are gone"
    );
    assert_eq!(desk.left_in_state("alive"), 0);
}

#[test]
fn a_check_sees_what_the_command_did_in_the_project_and_at_home() {
    let settings = "[[check]]\nname = 'sees'\nrun = 'cat new/file ~/.told && ! test -e test.sh'\n";
    let view = judged(
        settings,
        "mkdir new; echo a > new/file; echo b > ~/.told; rm test.sh",
    );
    assert_eq!(view.verdict, Verdict::Pass, "{:?}", view.reason);
}

#[test]
fn the_base_is_asked_once_per_generation() {
    // A base that is known keeps the time of the one run it had.
    let settings = "[[check]]\nname = 'slow'\nrun = 'test -e new || sleep 0.3'\n";
    let desk = desk(settings);
    let first = attempt(&desk, "echo 1 > new", SandboxOptions::default());
    let first = only(checked(&desk, &first));
    let second = attempt(&desk, "echo 2 > new", SandboxOptions::default());
    let second = only(checked(&desk, &second));
    assert!(first.base_wall_ms.unwrap() >= 300);
    assert_eq!(first.base_wall_ms, second.base_wall_ms);
    desk.write("a.txt", "one and more\n");
    let third = attempt(&desk, "echo 3 > new", SandboxOptions::default());
    let third = only(checked(&desk, &third));
    assert!(
        third.base_wall_ms.unwrap() >= 300,
        "another base is asked again"
    );
}

#[test]
fn a_check_that_cannot_run_has_decided_nothing() {
    for run in ["no-such-program", "sleep 60"] {
        let settings = format!("[[check]]\nname = 'c'\nrun = '{run}'\ntimeout_s = 1\n");
        let view = judged(&settings, "echo two >> a.txt");
        assert_eq!(view.verdict, Verdict::Undecided, "{run}");
        assert!(view.reason.is_some());
    }
}

#[test]
fn a_report_that_was_there_before_is_not_the_checks_report() {
    let settings = "[[check]]\nname = 'test'\nrun = 'true'\nreport = 'old.tap'\n";
    let desk = desk(settings);
    desk.write("old.tap", "1..1\nok 1 - old\n");
    let tried = attempt(
        &desk,
        "echo '1..1\nok 1 - forged' > old.tap; echo > a.txt",
        SandboxOptions::default(),
    );
    let view = only(checked(&desk, &tried));
    assert_eq!(view.verdict, Verdict::Undecided);
    assert_eq!(
        view.reason.as_deref(),
        Some("the report cannot be read: old.tap: No such file or directory (os error 2)")
    );
}

#[test]
fn a_report_is_read_from_where_the_check_wrote_it() {
    let settings = "[[check]]\nname = 'test'\nreport = 'out/a-*.tap'\nformat = 'tap'\nrun = \"\"\"\n\
        mkdir -p out; sh test.sh > out/a-1.tap\nprintf '1..1\\\\nok 1 - third' > out/a-2.tap\"\"\"\n";
    let view = judged(settings, "echo two >> a.txt");
    assert_eq!(view.verdict, Verdict::Pass, "{:?}", view.reason);
    assert_eq!(view.tests.unwrap().passed, 3);
}

#[test]
fn a_report_cannot_lead_out_of_the_sandbox() {
    let desk = desk("");
    fs_err::write(desk.root().join("secret.tap"), "1..1\nok 1 - secret\n").unwrap();
    let secret = desk.root().join("secret.tap");
    let secret = secret.display();
    for run in [
        format!("ln -s {secret} r.tap"),
        "mkfifo r.tap".to_owned(),
        "mkdir r.tap".to_owned(),
        "truncate -s 1T r.tap".to_owned(),
    ] {
        desk.write(
            "agar.toml",
            &format!("[[check]]\nname = 'c'\nrun = '{run}'\nreport = 'r.tap'\n"),
        );
        let tried = attempt(&desk, "echo two >> a.txt", SandboxOptions::default());
        let view = only(checked(&desk, &tried));
        assert_eq!(view.verdict, Verdict::Undecided, "{run}");
        assert_eq!(view.tests, None);
    }
    for place in ["../x.tap", "/etc/passwd", "a/../../x"] {
        desk.write(
            "agar.toml",
            &format!("[[check]]\nname = 'c'\nrun = 'true'\nreport = '{place}'\n"),
        );
        let tried = attempt(&desk, "echo two >> a.txt", SandboxOptions::default());
        let view = only(checked(&desk, &tried));
        assert_eq!(view.verdict, Verdict::Undecided, "{place}");
    }
}

#[test]
fn a_live_base_is_not_compared_with() {
    let options = SandboxOptions {
        base: Some(BaseKind::Live),
        ..SandboxOptions::default()
    };
    let desk = desk(PRINTED);
    let tried = attempt(&desk, "echo two >> a.txt", options);
    let view = only(checked(&desk, &tried));
    assert_eq!((view.verdict, view.comparison), (Verdict::Pass, None));
    assert!(view.base.contains("live"));
}

#[test]
fn checks_run_where_there_are_no_layers_too() {
    let desk = desk(PRINTED);
    for tier in [Tier::Landlock, Tier::None] {
        let options = SandboxOptions {
            tier: Some(tier),
            ..SandboxOptions::default()
        };
        let tried = attempt(&desk, "echo two > a.txt", options);
        assert_eq!(only(checked(&desk, &tried)).verdict, Verdict::Fail);
    }
}

#[test]
fn nothing_is_due_where_nothing_changed_or_the_command_failed() {
    let desk = desk(PRINTED);
    for script in ["true", "echo two >> a.txt; exit 3"] {
        let tried = attempt(&desk, script, SandboxOptions::default());
        assert!(!tried.checks_due, "{script}");
    }
}

#[test]
fn a_benchmark_is_measured_against_the_base() {
    let settings = "[[check]]\nname = 'bench'\nrun = 'echo took $(wc -l < a.txt) ms'\nmeasure = 'output'\nmust_pass = false\n";
    let desk = desk(settings);
    desk.write("a.txt", "1\n2\n3\n4\n");
    let tried = attempt(&desk, "echo 1 > a.txt", SandboxOptions::default());
    let measured = only(checked(&desk, &tried)).measured.unwrap();
    assert_eq!(
        (measured.now, measured.before, measured.ratio),
        (1.0, Some(4.0), Some(0.25))
    );
}
