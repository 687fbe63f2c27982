//! What `pytest` prints, at any level of detail.
//!
//! Without `-v` only what failed has a name; the rest is a number in the last line.

use super::text::leading_number;
use super::{Counts, Report, Status};

/// Reads every line.
pub(super) fn read(text: &str) -> Report {
    let mut report = Report::default();
    let mut total = None;
    for line in text.lines() {
        if let Some(counts) = summary(line) {
            total = Some(counts);
        } else if let Some((name, status, message)) = short(line).or_else(|| verbose(line)) {
            report.add(name, status, message);
        }
    }
    match total {
        None => report.cut("there is no summary"),
        Some(counts) => report.unnamed = counts.beyond(report.counts()),
    }
    report
}

/// `FAILED tests/test_a.py::test_x - AssertionError: no`
fn short(line: &str) -> Option<(&str, Status, Option<&str>)> {
    let (word, rest) = line.split_once(' ')?;
    let status = match word {
        "FAILED" | "ERROR" => Status::Failed,
        "PASSED" => Status::Passed,
        "SKIPPED" | "XFAIL" | "XPASS" => Status::Skipped,
        _ => return None,
    };
    let (name, message) = match rest.split_once(" - ") {
        Some((name, message)) => (name, Some(message)),
        None => (rest, None),
    };
    // `SKIPPED [1] tests/test_a.py:14: needs network` counts without naming.
    let is_name = name.contains("::") || (status == Status::Failed && name.contains(".py"));
    (is_name && !name.starts_with('[')).then_some((name, status, message))
}

/// `tests/test_a.py::test_x PASSED  [ 12%]`, or with xdist `[gw0] [ 12%] PASSED tests/…::test_x`.
fn verbose(line: &str) -> Option<(&str, Status, Option<&str>)> {
    if line.starts_with("[gw") {
        let (_, rest) = line.split_once("] ")?;
        let rest = rest.trim_start();
        let rest = match rest.strip_prefix('[') {
            Some(percent) => percent.split_once("] ")?.1,
            None => rest,
        };
        return short(rest);
    }
    let (name, rest) = line.split_once(' ')?;
    if !name.contains("::") {
        return None;
    }
    // A parameter may have spaces in it: the word is the last one that is a result.
    let (at, status) = WORDS
        .iter()
        .filter_map(|(word, status)| Some((line.rfind(&format!(" {word}"))?, *status)))
        .max_by_key(|(at, _)| *at)?;
    let name = if rest.contains('[') || at > name.len() {
        line.get(..at)?
    } else {
        name
    };
    Some((name, status, None))
}

const WORDS: [(&str, Status); 6] = [
    ("PASSED", Status::Passed),
    ("FAILED", Status::Failed),
    ("ERROR", Status::Failed),
    ("SKIPPED", Status::Skipped),
    ("XFAIL", Status::Skipped),
    ("XPASS", Status::Skipped),
];

/// `=== 1 failed, 4 passed, 1 error in 0.03s ===`
fn summary(line: &str) -> Option<Counts> {
    let line = line.trim().trim_matches('=').trim();
    let (counts, time) = line.rsplit_once(" in ")?;
    let seconds = time.split('s').next()?;
    seconds.parse::<f64>().ok()?;
    let mut found = Counts::default();
    for part in counts.split(", ") {
        if part == "no tests ran" {
            continue;
        }
        let (count, word) = leading_number(part)?;
        match word.trim() {
            "passed" => found.passed += count,
            "failed" | "error" | "errors" => found.failed = found.failed.saturating_add(count),
            "skipped" | "xfailed" | "xpassed" => {
                found.skipped = found.skipped.saturating_add(count);
            }
            "warning" | "warnings" | "deselected" | "rerun" | "subtests passed" => {}
            _ => return None,
        }
    }
    Some(found)
}
