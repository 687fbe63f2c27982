//! Reports that were written to mislead, to exhaust or by accident.

use crate::{SAMPLES, sample};
use agar_review::report::{MESSAGE_CHARS_MAX, NAME_CHARS_MAX, REPORT_BYTES_MAX, TESTS_MAX};
use agar_review::{Format, Report, Status, Unreadable};
use proptest::prelude::*;
use std::fmt::Write as _;

#[test]
fn an_entity_is_never_expanded() {
    let bomb = r#"<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
        <testsuite name="s"><testcase name="&b;"><failure message="m&b;">&b;&b;</failure></testcase></testsuite>"#;
    let report = Report::read(Format::Junit, bomb.as_bytes()).unwrap();
    let (name, test) = report.tests.first_key_value().unwrap();
    assert_eq!(name, "s::&b;");
    assert_eq!(test.status, Status::Failed);
    let message = test.message.as_deref().unwrap_or_default();
    assert!(message.len() < 40 && !message.contains("aaaa"), "{message}");
}

#[test]
fn nothing_outside_the_report_is_read() {
    let outside = r#"<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>
        <testsuite name="s"><testcase name="t"><failure>&f;</failure></testcase></testsuite>"#;
    let report = Report::read(Format::Junit, outside.as_bytes()).unwrap();
    assert_eq!(report.tests["s::t"].message.as_deref(), Some("&f;"));
}

#[test]
fn deep_nesting_is_refused() {
    let deep = "<a>".repeat(100_000);
    let refused = Report::read(Format::Junit, deep.as_bytes());
    assert!(
        matches!(refused, Err(Unreadable::Malformed { .. })),
        "{refused:?}"
    );
    let deep = format!("{{\"testResults\":{}", "[".repeat(100_000));
    assert!(Report::read(Format::Jest, deep.as_bytes()).is_err());
}

#[test]
fn a_report_beyond_all_measure_is_not_read() {
    let huge = vec![b' '; REPORT_BYTES_MAX + 1];
    for format in Format::ALL {
        assert_eq!(Report::read(format, &huge), Err(Unreadable::TooLarge));
    }
}

#[test]
fn names_messages_and_numbers_of_tests_are_bounded() {
    let long = "x".repeat(1 << 20);
    let written = format!(
        "<testsuite name=\"{long}\"><testcase name=\"{long}\"><failure>{long}</failure></testcase></testsuite>"
    );
    let report = Report::read(Format::Junit, written.as_bytes()).unwrap();
    let (name, test) = report.tests.first_key_value().unwrap();
    assert!(name.chars().count() <= NAME_CHARS_MAX + 1);
    assert!(test.message.as_ref().unwrap().chars().count() <= MESSAGE_CHARS_MAX + 1);
    let mut many = String::from("TAP version 13\n");
    for number in 1..=TESTS_MAX + 5 {
        let _ = writeln!(many, "ok {number} - t{number}");
    }
    let _ = writeln!(many, "1..{}", TESTS_MAX + 5);
    let report = Report::read(Format::Tap, many.as_bytes()).unwrap();
    assert_eq!(report.tests.len(), TESTS_MAX);
    assert_eq!(report.counts().passed, TESTS_MAX as u64 + 5);
    assert_eq!(report.cut_short, None);
}

#[test]
fn a_test_cannot_print_itself_a_pass() {
    // The failing test prints a line that looks like another test's success, and a summary.
    let text = "\nrunning 2 tests\ntest a ... FAILED\ntest b ... ok\n\nfailures:\n\n---- a stdout ----\n\
        test a ... ok\ntest result: ok. 2 passed; 0 failed\n\n\nfailures:\n    a\n\n\
        test result: FAILED. 1 passed; 1 failed; 0 ignored\n";
    let report = Report::read(Format::Libtest, text.as_bytes()).unwrap();
    assert_eq!(report.tests["a"].status, Status::Failed);
}

#[test]
fn of_two_tests_with_one_name_the_worse_counts() {
    let text = "<testsuite name='s'><testcase name='t'><failure/></testcase><testcase name='t'/></testsuite>";
    let report = Report::read(Format::Junit, text.as_bytes()).unwrap();
    assert_eq!(report.tests["s::t"].status, Status::Failed);
}

#[test]
fn a_report_without_tests_says_nothing() {
    for (format, text) in [
        (Format::Junit, "<testsuites/>"),
        (Format::Tap, "TAP version 13\n1..0 # SKIP none\n"),
        (Format::Pytest, "no tests ran in 0.01s\n"),
        (
            Format::Libtest,
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed\n",
        ),
        (Format::Jest, "{\"testResults\":[]}"),
    ] {
        let said = Report::read(format, text.as_bytes());
        assert_eq!(said, Err(Unreadable::NoTests), "{format}");
    }
}

#[test]
fn no_beginning_of_a_report_is_whole_and_green() {
    for (name, format) in SAMPLES {
        let bytes = sample(name);
        for end in (0..bytes.len()).step_by(37) {
            let Ok(report) = Report::read(format, &bytes[..end]) else {
                continue;
            };
            let honest = report.cut_short.is_some() || report.counts().failed > 0;
            let told = Report::read(format, &bytes).unwrap();
            // Text forms of go end each package for itself: what came before is whole.
            let by_package = matches!(format, Format::Go);
            let blank = bytes[end..].iter().all(u8::is_ascii_whitespace);
            assert!(
                honest || by_package || blank || report == told,
                "{name} at {end}: {report:?}"
            );
        }
    }
}

/// Pieces that reports are made of, so that random texts come near to being one.
fn fragments() -> impl Strategy<Value = String> {
    let words = [
        "test ",
        " ... ",
        "ok",
        "FAILED",
        "running 3 tests\n",
        "test result: ok. 1 passed",
        "\n",
        "---- a stdout ----\n",
        "failures:\n",
        "not ok 1 - x",
        "ok 2",
        "1..3\n",
        "# Subtest: y\n",
        "    ",
        "  ---\n",
        "  ...\n",
        "Bail out!",
        "<testsuite name='a'>",
        "<testcase name='b'",
        ">",
        "</testcase>",
        "<failure>",
        "</failure>",
        "&lt;",
        "&#x10ffff;",
        "&#xffffffff;",
        "<![CDATA[",
        "]]>",
        "<!DOCTYPE",
        "--- FAIL: T/x (0.0s)\n",
        "FAIL\tp\t0.1s\n",
        "ok  \tp\t0.1s\n",
        "{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"t\"}\n",
        "{\"testResults\":[",
        "]}",
        "PASS [   0.1s] a b\n",
        "TRY 2 FAIL [ 0.1s] (2/2) a b\n",
        "Summary [ 0.1s] 2 tests run: 1 passed\n",
        "a.py::t PASSED [ 1%]\n",
        "FAILED a.py::t - no\n",
        "= 1 failed, 99999999999999999999 passed in 0.1s =",
        "= 18446744073709551615 failed in 1s =\n",
        "\u{1b}[3",
        "é",
        "\u{0}",
        "18446744073709551615",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..40)
        .prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for format in Format::ALL {
            drop(Report::read(format, &bytes));
        }
        Format::sniff(&bytes);
    }

    #[test]
    fn nearly_a_report_is_read_or_refused(text in fragments()) {
        for format in Format::ALL {
            if let Ok(report) = Report::read(format, text.as_bytes()) {
                let counts = report.counts();
                prop_assert!(counts.total() > 0 || report.cut_short.is_some());
                // Whatever was read survives being stored.
                let stored = serde_json::to_string(&report).unwrap();
                let back: Report = serde_json::from_str(&stored).unwrap();
                prop_assert_eq!(back, report);
            }
        }
        Format::sniff(text.as_bytes());
    }

    #[test]
    fn a_damaged_report_is_read_or_refused(which in 0..SAMPLES.len(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let (name, format) = SAMPLES[which];
        let mut bytes = sample(name);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(cut.index(bytes.len()) + 1);
        drop(Report::read(format, &bytes));
    }
}
