//! What each tool says is what agar understands.

use crate::{SAMPLES, read, sample};
use agar_review::{Format, Report, Status};
use std::fmt::Write as _;

/// A report as a reader can compare it with the sample.
fn shown(format: Format, name: &str) -> String {
    let mut report = read(format, name).unwrap();
    report.relative_to("/home/ana/src/shop");
    let mut text = String::new();
    for (name, test) in &report.tests {
        let word = match test.status {
            Status::Passed => "pass",
            Status::Failed => "FAIL",
            Status::Skipped => "skip",
        };
        let said = test.message.as_deref().and_then(|said| said.lines().next());
        let said = said.map_or_else(String::new, |said| format!("  {said}"));
        let _ = writeln!(text, "{word} {name}{said}");
    }
    let unnamed = report.unnamed;
    if unnamed.total() > 0 {
        let (passed, failed, skipped) = (unnamed.passed, unnamed.failed, unnamed.skipped);
        let _ = writeln!(
            text,
            "and {passed} passed {failed} failed {skipped} skipped"
        );
    }
    if let Some(why) = &report.cut_short {
        let _ = writeln!(text, "not whole: {why}");
    }
    text
}

#[test]
fn junit_is_read_as_pytest_writes_it() {
    insta::assert_snapshot!(shown(Format::Junit, "pytest-junit.xml"), @r#"
    pass test_shop.TestCart::test_empty
    pass test_shop::test_cart[1]
    pass test_shop::test_cart[2]
    FAIL test_shop::test_date_format  AssertionError: date format differs
    FAIL test_shop::test_db  failed on setup with "RuntimeError: no database at /run/pg.sock"
    skip test_shop::test_known
    skip test_shop::test_remote
    pass test_shop::test_total
    "#);
}

#[test]
fn junit_is_read_as_nextest_writes_it() {
    insta::assert_snapshot!(shown(Format::Junit, "nextest-junit.xml"), @r"
    pass shop::it::aborts
    pass shop::it::adds
    pass shop::tests::adds
    FAIL shop::tests::formats_dates  thread 'tests::formats_dates' (17804) panicked at src/lib.rs:10:34
    pass shop::tests::refuses
    ");
}

#[test]
fn junit_is_read_as_surefire_writes_it() {
    insta::assert_snapshot!(shown(Format::Junit, "surefire-junit.xml"), @r"
    pass com.example.shop.CartTest::addsItems
    FAIL com.example.shop.CartTest::connects  Connection refused
    FAIL com.example.shop.CartTest::formatsDates  expected: <2024-01-02> but was: <2024-01-02T00:00Z>
    skip com.example.shop.CartTest::remote
    ");
}

#[test]
fn a_flaky_test_that_passed_in_the_end_passed_and_a_broken_suite_failed() {
    insta::assert_snapshot!(shown(Format::Junit, "flaky-junit.xml"), @r"
    FAIL broken  cannot import name 'cart'
    pass shop::sometimes
    ");
}

#[test]
fn tap_is_read_as_node_writes_it() {
    insta::assert_snapshot!(shown(Format::Tap, "node.tap"), @r"
    pass cart > adds
    FAIL cart > formats dates  1 == 2
    skip cart > remote
    skip cart > soon
    pass top
    ");
}

#[test]
fn tap_is_read_as_perl_writes_it() {
    insta::assert_snapshot!(shown(Format::Tap, "prove.tap"), @r"
    pass adds items
    FAIL formats dates  Failed test 'formats dates'
    skip taxes
    skip test 3
    ");
}

#[test]
fn a_run_that_bailed_out_is_not_whole() {
    insta::assert_snapshot!(shown(Format::Tap, "cut.tap"), @r"
    pass adds items
    FAIL bail out: no database
    not whole: the run bailed out
    ");
}

#[test]
fn libtest_is_read_with_the_program_of_each_test() {
    insta::assert_snapshot!(shown(Format::Libtest, "libtest.txt"), @r"
    pass it aborts
    pass it adds
    pass shop (doc) src/lib.rs - add (line 3)
    pass shop tests::adds
    FAIL shop tests::formats_dates  thread 'tests::formats_dates' (17616) panicked at src/lib.rs:10:34:
    pass shop tests::refuses
    skip shop tests::remote
    ");
}

#[test]
fn a_test_program_that_died_is_not_a_pass() {
    insta::assert_snapshot!(shown(Format::Libtest, "libtest-abort.txt"), @r"
    FAIL it (ended early)  2 of 2 tests have no result
    pass shop (doc) src/lib.rs - add (line 3)
    pass shop tests::adds
    FAIL shop tests::formats_dates  thread 'tests::formats_dates' (17657) panicked at src/lib.rs:10:34:
    pass shop tests::refuses
    skip shop tests::remote
    not whole: 2 of 2 tests have no result
    ");
}

#[test]
fn nextest_counts_the_last_try() {
    insta::assert_snapshot!(shown(Format::Nextest, "nextest.txt"), @r"
    pass shop tests::adds
    FAIL shop tests::formats_dates  thread 'tests::formats_dates' (17751) panicked at src/lib.rs:10:34:
    pass shop tests::refuses
    FAIL shop::it aborts  (test aborted with signal 6: SIGABRT)
    pass shop::it adds
    ");
}

#[test]
fn pytest_names_failures_and_counts_the_rest() {
    insta::assert_snapshot!(shown(Format::Pytest, "pytest-default.txt"), @r"
    FAIL test_shop.py::test_date_format  AssertionError: date format differs
    FAIL test_shop.py::test_db  RuntimeError: no database at /run/pg.sock
    and 4 passed 0 failed 2 skipped
    ");
}

#[test]
fn pytest_names_all_when_asked_to() {
    insta::assert_snapshot!(shown(Format::Pytest, "pytest-verbose.txt"), @r"
    pass test_shop.py::TestCart::test_empty
    pass test_shop.py::test_cart[1]
    pass test_shop.py::test_cart[2]
    FAIL test_shop.py::test_date_format  AssertionError: date format differs
    FAIL test_shop.py::test_db  RuntimeError: no database at /run/pg.sock
    skip test_shop.py::test_known
    skip test_shop.py::test_remote
    pass test_shop.py::test_total
    ");
}

#[test]
fn go_names_packages_and_failures() {
    insta::assert_snapshot!(shown(Format::Go, "go.txt"), @r#"
    FAIL example.com/shop/bad
    FAIL example.com/shop/cart
    FAIL example.com/shop/cart TestAdds/dates  cart_test.go:3: date format: got "2024-01-02T00:00Z", want "2024-01-02"
    pass example.com/shop/ok
    "#);
}

#[test]
fn go_names_all_when_asked_to() {
    insta::assert_snapshot!(shown(Format::Go, "go-verbose.txt"), @r"
    FAIL example.com/shop/bad
    FAIL example.com/shop/cart TestAdds/dates
    pass example.com/shop/cart TestAdds/ints
    skip example.com/shop/cart TestRemote
    pass example.com/shop/cart TestTotal
    pass example.com/shop/ok TestY
    ");
}

#[test]
fn go_says_the_same_in_json() {
    insta::assert_snapshot!(shown(Format::GoJson, "go.jsonl"), @r#"
    FAIL example.com/shop/bad
    FAIL example.com/shop/cart TestAdds/dates  cart_test.go:3: date format: got "2024-01-02T00:00Z", want "2024-01-02"
    pass example.com/shop/cart TestAdds/ints
    skip example.com/shop/cart TestRemote  cart_test.go:5: needs network
    pass example.com/shop/cart TestTotal
    pass example.com/shop/ok TestY
    "#);
}

#[test]
fn jest_names_files_that_could_not_be_run() {
    insta::assert_snapshot!(shown(Format::Jest, "jest.json"), @r"
    FAIL broken.test.js  ● Test suite failed to run
    pass cart.test.js: cart adds
    FAIL cart.test.js: cart formats dates  Error: expect(received).toBe(expected) // Object.is equality
    skip cart.test.js: cart remote
    skip cart.test.js: cart taxes
    FAIL vt/cart.spec.mjs  ● Test suite failed to run
    ");
}

#[test]
fn vitest_writes_what_jest_writes() {
    insta::assert_snapshot!(shown(Format::Jest, "vitest.json"), @r"
    pass vt/cart.spec.mjs: cart adds
    FAIL vt/cart.spec.mjs: cart formats dates  AssertionError: expected '2024-01-02T00:00Z' to be '2024-01-02' // Object.is equality
    skip vt/cart.spec.mjs: cart remote
    ");
}

#[test]
fn the_level_of_detail_does_not_change_the_counts() {
    let counts = |name| read(Format::Pytest, name).unwrap().counts();
    let verbose = counts("pytest-verbose.txt");
    assert_eq!((verbose.passed, verbose.failed, verbose.skipped), (4, 2, 2));
    assert_eq!(counts("pytest-default.txt"), verbose);
    assert_eq!(counts("pytest-quiet.txt"), verbose);
    let junit = read(Format::Junit, "pytest-junit.xml").unwrap().counts();
    assert_eq!(junit, verbose);
}

#[test]
fn each_tool_is_recognised_by_what_it_writes() {
    for (name, format) in SAMPLES {
        assert_eq!(Format::sniff(&sample(name)), Some(format), "{name}");
    }
    for other in ["", "hello\n", "<html></html>", "{\"a\": 1}", "ok\n"] {
        assert_eq!(Format::sniff(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn colours_change_nothing() {
    let plain = read(Format::Libtest, "libtest.txt").unwrap();
    let text = String::from_utf8(sample("libtest.txt")).unwrap();
    let coloured = text
        .replace(" ... ok", " ... \u{1b}[32mok\u{1b}[0m")
        .replace(" ... FAILED", " ... \u{1b}[31mFAILED\u{1b}[m")
        .replace('\n', "\r\n");
    assert_eq!(
        Report::read(Format::Libtest, coloured.as_bytes()),
        Ok(plain)
    );
}
