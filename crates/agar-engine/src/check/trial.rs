//! From how a check's command ended to what it says.

use super::report_file;
use crate::blueprint::Blueprint;
use crate::drive::Ended;
use agar_core::limits::Resource;
use agar_core::run::End;
use agar_core::settings::{Check, Measure};
use agar_review::lines::{self, Severity};
use agar_review::{Format, Report, Trial, judge};

/// The word for a report that is printed.
const PRINTED: &str = "-";

/// Reads everything that a check left behind.
pub(super) fn read(
    check: &Check,
    (ended, output): (&Ended, &[u8]),
    blueprint: &Blueprint,
) -> Trial {
    let text = String::from_utf8_lossy(output);
    let ending = ending(&ended.end);
    let (report, no_report) = match &check.report {
        Some(place) => match declared(check, place, output, blueprint) {
            Ok(report) => (Some(report), None),
            Err(why) => (None, Some(why)),
        },
        None => (printed(check, output), None),
    };
    let (report, no_report) = match not_run(&ending, report.as_ref(), &text) {
        Some(said) => (None, Some(said)),
        None => (report, no_report),
    };
    Trial {
        ended: ending,
        wall_ms: ended.usage.wall_ms,
        report: report.map(|mut report| {
            report.relative_to(&blueprint.root.to_string_lossy());
            report
        }),
        no_report,
        errors: lines::of(&text, Severity::Error),
        warnings: lines::of(&text, Severity::Warning),
        measured_milli: match check.measure {
            Some(Measure::Time) => Some(ended.usage.wall_ms.saturating_mul(1000)),
            Some(Measure::Output) => last_number(&text),
            None => None,
        },
    }
}

/// What the shell said where it found nothing to run: an empty report of nothing is no report.
fn not_run(ended: &judge::Ended, report: Option<&Report>, output: &str) -> Option<String> {
    let is_empty = report.is_none_or(|report| report.counts().total() == 0);
    if !matches!(ended, judge::Ended::Exited { code: 126 | 127 }) || !is_empty {
        return None;
    }
    let mut lines = output.lines().rev().map(str::trim);
    let said = lines
        .find(|line| !line.is_empty())
        .unwrap_or("it said nothing");
    Some(said.chars().take(120).collect())
}

fn ending(end: &End) -> judge::Ended {
    let why = match end {
        End::Exited { code } => return judge::Ended::Exited { code: *code },
        End::Signaled { signal } => format!("ended by signal {signal}"),
        End::NotFound | End::NotExecutable { .. } => "there is no shell to run it".to_owned(),
        End::Stopped { breach } => match breach.resource {
            Resource::Time => format!("took longer than {} s", breach.limit / 1000),
            resource @ (Resource::Cpu
            | Resource::Memory
            | Resource::Processes
            | Resource::Disk
            | Resource::Output) => format!("reached the {resource} limit"),
        },
        End::Lost => "its sandbox ended under it".to_owned(),
    };
    judge::Ended::Broken { why }
}

/// The report that the project says there is.
fn declared(
    check: &Check,
    place: &str,
    output: &[u8],
    blueprint: &Blueprint,
) -> Result<Report, String> {
    if place == PRINTED {
        return one(check, output);
    }
    let files = report_file::read(place, blueprint)?;
    let mut whole: Option<Report> = None;
    for file in &files {
        let report = one(check, file)?;
        match &mut whole {
            Some(whole) => whole.absorb(report),
            None => whole = Some(report),
        }
    }
    whole.ok_or_else(|| format!("it wrote no {place}"))
}

fn one(check: &Check, bytes: &[u8]) -> Result<Report, String> {
    let named = check.format.as_deref().and_then(Format::from_word);
    let format = named
        .or_else(|| Format::sniff(bytes))
        .ok_or_else(|| "nobody knows its format".to_owned())?;
    Report::read(format, bytes).map_err(|error| error.to_string())
}

/// What was printed without anybody saying that it would be, where it is plainly a report.
fn printed(check: &Check, output: &[u8]) -> Option<Report> {
    let report = one(check, output).ok()?;
    let tells = report.cut_short.is_none() || report.counts().failed > 0;
    tells.then_some(report)
}

/// The last number in a text, in thousandths.
fn last_number(text: &str) -> Option<u64> {
    let number = |word: &str| {
        let word = word.trim_matches(|letter: char| !letter.is_ascii_digit());
        let (whole, part) = word.split_once('.').unwrap_or((word, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) {
            return None;
        }
        let part: String = part.chars().chain("000".chars()).take(3).collect();
        let whole: u64 = whole.parse().ok()?;
        whole.checked_mul(1000)?.checked_add(part.parse().ok()?)
    };
    text.split_whitespace().rev().take(1000).find_map(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_printed_is_what_was_measured() {
        assert_eq!(
            last_number("took 12.5 ms\nmean: 3.25ms (100 runs)"),
            Some(100_000)
        );
        assert_eq!(last_number("response time 150ms"), Some(150_000));
        assert_eq!(last_number("0.1234"), Some(123));
        assert_eq!(last_number("no numbers"), None);
        assert_eq!(last_number("99999999999999999999999"), None);
    }

    #[test]
    fn a_program_that_is_not_there_leaves_no_report() {
        let exited = |code| judge::Ended::Exited { code };
        let said = "sh: 1: pytest: not found\n";
        let empty = Report::read(Format::Pytest, said.as_bytes()).unwrap();
        let found = not_run(&exited(127), Some(&empty), said);
        assert_eq!(found.as_deref(), Some("sh: 1: pytest: not found"));
        assert_eq!(not_run(&exited(1), Some(&empty), said), None);
        let ran = b"tests/test_a.py::test_b PASSED\n=== 1 passed in 0.1s ===\n";
        let ran = Report::read(Format::Pytest, ran).unwrap();
        assert_eq!(not_run(&exited(127), Some(&ran), said), None);
    }

    #[test]
    fn a_check_that_ran_out_of_time_has_not_ended() {
        let breach = agar_core::limits::Breach {
            resource: Resource::Time,
            limit: 60_000,
            seen: 60_010,
            culprit: None,
        };
        let why = "took longer than 60 s".to_owned();
        assert_eq!(
            ending(&End::Stopped { breach }),
            judge::Ended::Broken { why }
        );
    }
}
