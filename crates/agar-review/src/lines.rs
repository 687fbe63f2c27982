//! Lines of output that say that something is wrong.

use std::collections::BTreeSet;

/// More lines than this are not kept.
const LINES_MAX: usize = 200;
/// Longer lines are cut.
const LINE_CHARS_MAX: usize = 400;

/// How bad a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Something does not work.
    Error,
    /// Something may not work.
    Warning,
}

/// What a line says, if it says that something is wrong.
///
/// By the words that compilers, test runners and interpreters put first. A line that merely speaks
/// of errors (`0 errors`, `error.rs`, `handle_error`) says nothing.
pub fn severity(line: &str) -> Option<Severity> {
    let line = line.trim_start();
    if line.len() > LINE_CHARS_MAX * 16 {
        return None;
    }
    // pytest shows under an error where its values come from, and how they differ.
    let explains = |rest: &str| rest.trim_start().starts_with(['+', '-', '?']);
    if line.strip_prefix("E   ").is_some_and(explains) {
        return None;
    }
    let is_failed_test = line.starts_with("FAILED ") && line.contains("::");
    if is_failed_test
        || ERROR_STARTS.iter().any(|start| line.starts_with(start))
        || ERROR_PARTS.iter().any(|part| line.contains(part))
        || is_exception(line)
    {
        return Some(Severity::Error);
    }
    let warns = WARNING_STARTS.iter().any(|start| line.starts_with(start))
        || line.contains(": warning: ")
        || line.contains("Warning: ");
    warns.then_some(Severity::Warning)
}

const ERROR_STARTS: [&str; 17] = [
    "error: ",
    "error[",
    "Error: ",
    "ERROR: ",
    "ERROR ",
    "[ERROR]",
    "fatal: ",
    "FATAL",
    "panic: ",
    "npm ERR!",
    "npm error ",
    "E   ",
    "Traceback (most recent call last)",
    "Segmentation fault",
    "make: *** ",
    "Bail out!",
    "CRITICAL",
];

const ERROR_PARTS: [&str; 7] = [
    ": error: ",
    ": error TS",
    " error:  ",
    "panicked at ",
    ": command not found",
    ": fatal error: ",
    ": Permission denied",
];

const WARNING_STARTS: [&str; 6] = [
    "warning: ",
    "warning[",
    "Warning: ",
    "WARN ",
    "npm WARN",
    "npm warn ",
];

/// `ValueError: time data does not match`, `java.lang.IllegalStateException: no`.
fn is_exception(line: &str) -> bool {
    let Some((name, rest)) = line.split_once(':') else {
        return false;
    };
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '.' || letter == '_';
    let class = name.rsplit('.').next().unwrap_or(name);
    rest.starts_with(' ')
        && name.chars().all(plain)
        && class.chars().next().is_some_and(|c| c.is_ascii_uppercase())
        && class.len() > "Error".len()
        && (class.ends_with("Error") || class.ends_with("Exception"))
}

/// The lines that are of a severity, each once, in order.
pub fn of(output: &str, wanted: Severity) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for line in output.lines() {
        if severity(line) != Some(wanted) {
            continue;
        }
        let line: String = line.trim().chars().take(LINE_CHARS_MAX).collect();
        if seen.insert(line.clone()) {
            found.push(line);
        }
        if found.len() == LINES_MAX {
            break;
        }
    }
    found
}

/// The lines of `now` whose like was not there before; `key` says what makes two lines alike.
pub fn new_ones(before: &[String], now: &[String], key: &dyn Fn(&str) -> String) -> Vec<String> {
    let known: BTreeSet<String> = before.iter().map(|line| key(line)).collect();
    let mut seen = BTreeSet::new();
    now.iter()
        .filter(|line| {
            let key = key(line);
            !known.contains(&key) && seen.insert(key)
        })
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_print_when_something_is_wrong_is_an_error() {
        for line in [
            "error[E0308]: mismatched types",
            "src/main.c:3:5: error: expected ';'",
            "src/a.ts(3,5): error TS2304: Cannot find name 'x'.",
            "ERROR: relation \"orders\" does not exist",
            "thread 'main' panicked at src/lib.rs:3:5:",
            "ValueError: time data '2024' does not match format '%Y-%m-%d'",
            "java.lang.IllegalStateException: no",
            "npm ERR! code ERESOLVE",
            "fatal: not a git repository",
            "sh: 1: jq: command not found",
            "E       assert 10.0 == 90",
            "FAILED tests/test_cart.py::test_discount - assert 10.0 == 90",
        ] {
            assert_eq!(severity(line), Some(Severity::Error), "{line}");
        }
        assert_eq!(
            severity("warning: unused variable: `x`"),
            Some(Severity::Warning)
        );
    }

    #[test]
    fn speaking_of_errors_is_not_making_one() {
        for line in [
            "0 errors, 0 warnings",
            "compiling error.rs",
            "test handle_error ... ok",
            "Finished with no errors: all good",
            "https://example.com/Error: x",
            "E        +  where 10.0 = discount([(100, 1)], 10)",
            "E         ?   ^^",
        ] {
            assert_eq!(severity(line), None, "{line}");
        }
    }

    #[test]
    fn only_lines_unlike_any_before_are_new() {
        let lines = |lines: &[&str]| {
            lines
                .iter()
                .map(|&line| line.to_owned())
                .collect::<Vec<_>>()
        };
        let digits = |line: &str| line.replace(|c: char| c.is_ascii_digit(), "0");
        let before = lines(&["error: at line 12"]);
        let now = lines(&["error: at line 97", "error: disk full", "error: disk full"]);
        assert_eq!(new_ones(&before, &now, &digits), ["error: disk full"]);
    }
}
