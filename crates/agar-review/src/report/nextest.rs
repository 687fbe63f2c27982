//! What `cargo nextest run` prints.

use super::text::leading_number;
use super::{Report, Status, TestResult};

/// Reads every line.
pub(super) fn read(text: &str) -> Report {
    let mut report = Report::default();
    let mut run = None;
    let mut saying: Option<(String, String)> = None;
    for line in text.lines() {
        if let Some((name, status)) = result(line) {
            tell(&mut report, saying.take());
            if status == Status::Failed {
                saying = Some((name.clone(), String::new()));
            }
            settle(&mut report, &name, status);
        } else if let Some(summary) = line.trim().strip_prefix("Summary [") {
            tell(&mut report, saying.take());
            run = tests_run(summary);
        } else if let Some((_, said)) = &mut saying
            && said.len() < super::MESSAGE_CHARS_MAX
            && let Some(panic) = panic_line(line)
        {
            said.push_str(panic);
            said.push('\n');
        }
    }
    tell(&mut report, saying);
    match run {
        None => report.cut("there is no summary"),
        Some(count) if count > report.tests.len() as u64 => {
            // Written with `--status-level fail`: those that passed are only counted.
            report.unnamed.passed = count - report.tests.len() as u64;
        }
        Some(_) => {}
    }
    report
}

/// A test may be tried again; the last try counts.
fn settle(report: &mut Report, name: &str, status: Status) {
    let known = report.tests.len();
    report.add(name, status, None);
    if report.tests.len() == known
        && let Some(TestResult { status: kept, .. }) = report.tests.get_mut(name)
    {
        *kept = status;
    }
}

fn tell(report: &mut Report, saying: Option<(String, String)>) {
    if let Some((name, said)) = saying {
        report.explain(&name, &said);
    }
}

/// `        PASS [   0.007s] (1/5) shop tests::adds`
fn result(line: &str) -> Option<(String, Status)> {
    let (word, rest) = line.trim_start().split_once('[')?;
    let word = word.trim();
    let word = match word.strip_prefix("TRY ") {
        Some(word) => {
            word.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ' ')
        }
        None => word,
    };
    let status = match word {
        "PASS" | "LEAK" | "SLOW" => Status::Passed,
        word if word.starts_with("FLAKY") => Status::Passed,
        "FAIL" | "TIMEOUT" | "ABORT" | "XFAIL" | "FAIL + LEAK" | "LEAK-FAIL" => Status::Failed,
        // Ended by a signal: ABRT, SEGV, SIGKILL.
        word if SIGNALS.contains(&word.trim_start_matches("SIG")) => Status::Failed,
        "SKIP" => Status::Skipped,
        _ => return None,
    };
    let (time, name) = rest.split_once(']')?;
    let time = time
        .trim()
        .trim_start_matches(['>', ' '])
        .strip_suffix('s')?;
    if word == "SLOW" || time.parse::<f64>().is_err() {
        return None;
    }
    let mut name = name.trim();
    if name.starts_with('(') {
        name = name.split_once(')')?.1.trim_start();
    }
    (!name.is_empty()).then(|| (name.to_owned(), status))
}

const SIGNALS: [&str; 9] = [
    "ABRT", "SEGV", "KILL", "BUS", "ILL", "FPE", "TERM", "INT", "HUP",
];

/// `   0.259s] 5 tests run: 3 passed, 2 failed, 1 skipped`
fn tests_run(summary: &str) -> Option<u64> {
    let (_, counts) = summary.split_once(']')?;
    leading_number(counts.trim()).map(|(count, _)| count)
}

/// The lines of a panic that say what is wrong.
fn panic_line(line: &str) -> Option<&str> {
    let line = line.trim();
    let said = line.starts_with("thread '")
        || line.starts_with("assertion ")
        || line.starts_with("left: ")
        || line.starts_with("right: ")
        || line.starts_with("(test aborted");
    said.then_some(line)
}
