//! What checks say, in as few lines as they need.

use super::block::{self, Block};
use super::human;
use agar_core::text::printable;
use agar_engine::check::{COMPARED, CheckView, Comparison, Counts, Verdict};

/// Names of tests that are shown before the rest is only counted.
const NAMES_MAX: usize = 5;

/// `checks  build ok 22 s · tests 148 passed (same as before) · no new warnings`, and a line for each
/// that is not a plain pass.
pub fn summarize(block: &mut Block, checks: &[CheckView]) {
    if checks.is_empty() {
        return;
    }
    let mut parts: Vec<String> = checks
        .iter()
        .filter(|check| check.verdict.is_pass())
        .map(passed)
        .collect();
    parts.extend(warnings(checks));
    if !parts.is_empty() {
        block.push(block::CHECKS, parts.join(" · "));
    }
    for check in checks {
        let label = match check.verdict {
            Verdict::Pass => continue,
            Verdict::Fail => block::FAILED,
            Verdict::Undecided => block::UNDECIDED,
        };
        block.push(label, not_passed(check));
        for name in more(check) {
            block.push_more(name);
        }
    }
}

/// Whether the declared checks stand in the way.
pub fn verdict(checks: &[CheckView]) -> Verdict {
    let must = checks.iter().filter(|check| check.must_pass);
    must.map(|check| check.verdict)
        .max()
        .unwrap_or(Verdict::Pass)
}

fn passed(check: &CheckView) -> String {
    let name = printable(&check.name);
    if let Some(measured) = &check.measured {
        let against = measured.ratio.map(faster);
        let against = against.map_or_else(String::new, |words| format!(" ({words})"));
        return format!("{name} {}{against}", number(measured.now));
    }
    match check.tests {
        None => format!("{name} ok {}", human::duration(check.wall_ms)),
        Some(counts) => {
            let against = check.comparison.as_ref().map(against);
            let against = against.map_or_else(String::new, |words| format!(" ({words})"));
            format!("{name} {}{against}", counted(counts))
        }
    }
}

fn counted(counts: Counts) -> String {
    let mut parts = vec![format!("{} passed", counts.passed)];
    if counts.failed > 0 {
        parts.push(format!("{} failed", counts.failed));
    }
    if counts.skipped > 0 {
        parts.push(format!("{} skipped", counts.skipped));
    }
    parts.join(", ")
}

/// How a passing check compares with the base.
fn against(comparison: &Comparison) -> String {
    if comparison.is_same() {
        return "same as before".to_owned();
    }
    let mut parts = Vec::new();
    if !comparison.newly_passing.is_empty() {
        parts.push(format!("{} mended", comparison.newly_passing.len()));
    }
    let more = comparison
        .now
        .total()
        .saturating_sub(comparison.before.total());
    if more > 0 {
        parts.push(format!("{more} more than before"));
    }
    if !comparison.still_failing.is_empty() {
        parts.push("failures as before".to_owned());
    }
    if parts.is_empty() {
        parts.push(format!("before {}", counted(comparison.before)));
    }
    parts.join(", ")
}

/// `no new warnings`, where there is a base to compare with.
fn warnings(checks: &[CheckView]) -> Option<String> {
    let new: Vec<&String> = checks
        .iter()
        .filter_map(|check| check.new_warnings.as_ref())
        .flatten()
        .collect();
    let compared = checks.iter().any(|check| check.new_warnings.is_some());
    match new.first() {
        Some(first) => Some(format!(
            "{}: {}",
            human::count(new.len(), "new warning", "new warnings"),
            printable(first)
        )),
        None => compared.then(|| "no new warnings".to_owned()),
    }
}

fn not_passed(check: &CheckView) -> String {
    let mut parts = vec![printable(&check.name).into_owned()];
    if !check.must_pass {
        parts[0].push_str(" (need not pass)");
    }
    if let Some(reason) = &check.reason {
        parts.push(printable(reason).into_owned());
    }
    if let Some(counts) = check.tests {
        parts.push(match &check.comparison {
            Some(comparison) => {
                format!("{}, before {}", counted(counts), counted(comparison.before))
            }
            None => counted(counts),
        });
    }
    if check.base != COMPARED && check.verdict == Verdict::Fail {
        parts.push(check.base.clone());
    }
    parts.join(" · ")
}

/// The tests that newly fail, or the first new errors.
fn more(check: &CheckView) -> Vec<String> {
    let failing = check
        .comparison
        .as_ref()
        .map_or(&[][..], |comparison| &comparison.newly_failing);
    // The first is named in the reason.
    let names = failing.iter().skip(1);
    let lines: Vec<&String> = if failing.is_empty() {
        check.new_errors.iter().take(NAMES_MAX).collect()
    } else {
        names.take(NAMES_MAX).collect()
    };
    let mut shown: Vec<String> = lines
        .iter()
        .map(|line| printable(line).into_owned())
        .collect();
    if failing.len() > NAMES_MAX + 1 {
        shown.push(format!("and {} more", failing.len() - NAMES_MAX - 1));
    }
    shown
}

/// `15 % faster`, from how much of the time it takes now.
fn faster(ratio: f64) -> String {
    let percent = (ratio - 1.0).abs() * 100.0;
    match ratio {
        ratio if (0.98..=1.02).contains(&ratio) => "as before".to_owned(),
        ratio if ratio < 1.0 => format!("{percent:.0} % less than before"),
        _ => format!("{percent:.0} % more than before"),
    }
}

fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::examples;
    use crate::ui::palette::Palette;

    fn said(checks: &[CheckView]) -> String {
        let mut block = Block::new();
        summarize(&mut block, checks);
        block.render(Palette::Plain)
    }

    #[test]
    fn checks_that_pass_are_one_line() {
        let checks = examples::checks_passed();
        insta::assert_snapshot!(said(&checks), @"checks  build ok 22.0 s · tests 148 passed (same as before) · bench 12.75 (15 % less than before) · no new warnings");
    }

    #[test]
    fn a_check_that_fails_says_what_and_against_what() {
        let checks = examples::checks_failed();
        insta::assert_snapshot!(said(&checks), @r"
        checks     bench 12.75 · 1 new warning: warning: unused import
        failed     tests · shop tests::config fails, and 1 more · 146 passed, 3 failed, 2 skipped, before 148 passed, 1 failed, 2 skipped
                   shop tests::dates
        undecided  lint (need not pass) · its program cannot be run: sh: 1: ruff: not found (exit 127)
        ");
    }

    #[test]
    fn only_checks_that_must_pass_stand_in_the_way() {
        let mut checks = examples::checks_failed();
        assert_eq!(verdict(&checks), Verdict::Fail);
        for check in &mut checks {
            check.must_pass = false;
        }
        assert_eq!(verdict(&checks), Verdict::Pass);
        assert_eq!(verdict(&[]), Verdict::Pass);
    }
}
