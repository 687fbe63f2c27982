//! From an experiment to its findings.

use crate::command;
use crate::experiment::{Ending, Operation, PackageMove, Suggestion, Verdict};
use crate::finding::{Finding, FindingKind};
use crate::fingerprint::Fingerprint;
use crate::packages;
use serde_json::json;

/// More of one sort tell nothing: everything changed.
const TESTS_MAX: usize = 24;
const FILES_MAX: usize = 24;
const TOGETHER_MAX: usize = 8;
const PACKAGES_MAX: usize = 24;

/// Files that say which packages are in force.
const LOCK_FILES: [&str; 8] = [
    "Cargo.lock",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "poetry.lock",
    "uv.lock",
    "go.sum",
    "composer.lock",
];

/// Everything that an ended experiment showed.
pub(crate) fn extract(
    suggestion: &Suggestion,
    ending: &Ending,
    errors: &[Fingerprint],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (place, check) = failing_place(suggestion, ending);
    if !ending.status.success() {
        for error in errors {
            findings.push(Finding::new(
                FindingKind::Error,
                &error.id,
                json!({"error": error.template, "where": place, "check": check}),
            ));
        }
    }
    let failing = ending.checks.iter().flat_map(|check| &check.newly_failing);
    for test in failing.take(TESTS_MAX) {
        findings.push(Finding::new(
            FindingKind::Test,
            test,
            json!({"test": test, "where": place}),
        ));
    }
    commands(suggestion, ending, &mut findings);
    strategy(suggestion, &mut findings);
    files(ending, &mut findings);
    for moved in moves(suggestion, ending).iter().take(PACKAGES_MAX) {
        package(moved, &mut findings);
    }
    measures(suggestion, ending, &mut findings);
    findings
}

/// What a suggestion will show, as far as it can be told before it runs.
pub(crate) fn expected(suggestion: &Suggestion) -> Vec<Finding> {
    let mut findings = Vec::new();
    for command in &suggestion.commands {
        for shape in command::shapes(command) {
            findings.push(by_shape(&shape));
        }
        for moved in packages::named(command) {
            findings.push(Finding::new(
                FindingKind::Break,
                &moved.name,
                json!({"package": moved.name, "to": moved.to}),
            ));
        }
    }
    strategy(suggestion, &mut findings);
    findings
}

fn by_shape(shape: &str) -> Finding {
    Finding::new(FindingKind::Command, shape, json!({"command": shape}))
}

/// The shape of the command that failed. Where all of them worked and a check found the failure, the
/// shape of the command that the check came after, and the check.
fn failing_place(suggestion: &Suggestion, ending: &Ending) -> (Option<String>, Option<String>) {
    let ran = &ending.operations;
    let shapes =
        |command: Option<&Vec<String>>| command.map_or_else(Vec::new, |it| command::shapes(it));
    if let Some(failed) = ran.iter().find(|operation| !operation.success()) {
        return (shapes(Some(&failed.command)).pop(), None);
    }
    let first = ran.first().map(|operation| &operation.command);
    let mut shapes = shapes(first.or(suggestion.commands.first()));
    let mut failing = ending
        .checks
        .iter()
        .filter(|check| check.verdict == Verdict::Fail);
    match failing.next().filter(|_| !ran.is_empty()) {
        Some(check) => {
            let telling = shapes.iter().find(|shape| command::is_telling(shape));
            (
                telling.or(shapes.first()).cloned(),
                Some(check.name.clone()),
            )
        }
        None => (shapes.pop(), None),
    }
}

/// The commands that were proposed; those that ran, where none were.
fn commands(suggestion: &Suggestion, ending: &Ending, findings: &mut Vec<Finding>) {
    let mut shapes: Vec<String> = Vec::new();
    let ran = ending.operations.iter().map(|operation| &operation.command);
    let all: Vec<&Vec<String>> = if suggestion.commands.is_empty() {
        ran.collect()
    } else {
        suggestion.commands.iter().collect()
    };
    for command in all.into_iter().take(16) {
        for shape in command::shapes(command) {
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
    }
    let is_lock = |file: &String| {
        let name = file.rsplit('/').next().unwrap_or(file);
        LOCK_FILES.contains(&name)
    };
    let locked = ending.changed.iter().any(is_lock);
    let worked = ending.operations.iter().all(Operation::success);
    let moved = worked && !moves(suggestion, ending).is_empty();
    for shape in shapes.iter().filter(|it| command::is_telling(it)).take(8) {
        findings.push(by_shape(shape));
        // Of those that write a lock file: pip has none.
        let manages = ["npm", "pnpm", "yarn", "cargo", "poetry", "uv", "bundle"]
            .contains(&shape.split(' ').next().unwrap_or(""));
        if manages && moved && !locked {
            findings.push(by_shape(&format!("{shape} without lockfile")));
        }
    }
}

fn strategy(suggestion: &Suggestion, findings: &mut Vec<Finding>) {
    if let Some(strategy) = &suggestion.strategy {
        let change = suggestion.change_type();
        findings.push(Finding::new(
            FindingKind::Strategy,
            &format!("{change}\n{strategy}"),
            json!({"strategy": strategy, "change": change.word()}),
        ));
    }
}

fn files(ending: &Ending, findings: &mut Vec<Finding>) {
    let changed = &ending.changed;
    if changed.len() > FILES_MAX {
        return;
    }
    for file in changed {
        findings.push(Finding::new(FindingKind::File, file, json!({"file": file})));
    }
    if changed.len() > TOGETHER_MAX {
        return;
    }
    for (index, a) in changed.iter().enumerate() {
        for b in &changed[index + 1..] {
            let (a, b) = if a < b { (a, b) } else { (b, a) };
            findings.push(Finding::new(
                FindingKind::Files,
                &format!("{a}\n{b}"),
                json!({"a": a, "b": b}),
            ));
        }
    }
}

/// The packages that moved: as found in the files, or else as named by the commands.
fn moves(suggestion: &Suggestion, ending: &Ending) -> Vec<PackageMove> {
    if !ending.packages.is_empty() {
        return ending.packages.clone();
    }
    let ran = ending.operations.iter().map(|operation| &operation.command);
    let mut moves: Vec<PackageMove> = suggestion
        .commands
        .iter()
        .chain(ran)
        .flat_map(|command| packages::named(command))
        .collect();
    moves.sort();
    moves.dedup();
    moves
}

fn package(moved: &PackageMove, findings: &mut Vec<Finding>) {
    let name = &moved.name;
    findings.push(Finding::new(
        FindingKind::Package,
        name,
        json!({"package": name}),
    ));
    if let Some(to) = &moved.to {
        findings.push(Finding::new(
            FindingKind::Version,
            &format!("{name}\n{to}"),
            json!({"package": name, "version": to}),
        ));
    }
}

fn measures(suggestion: &Suggestion, ending: &Ending, findings: &mut Vec<Finding>) {
    if let Some(ratio) = ending.performance_ratio.filter(|ratio| ratio.is_finite()) {
        let of = subject(suggestion, ending);
        let mut finding = Finding::new(FindingKind::Overhead, &of, json!({"of": of}));
        finding.value = Some(ratio);
        findings.push(finding);
    }
    if let Some(operation) = ending.operations.first()
        && let Some(shape) = command::shape(&operation.command)
        && command::is_telling(&shape)
        && ending.operations.len() == 1
    {
        let parts = json!({"command": shape, "memory": ending.cost.memory_bytes});
        let mut finding = Finding::new(FindingKind::Duration, &shape, parts);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let millis = operation.millis as f64;
        finding.value = Some(millis);
        findings.push(finding);
    }
}

/// What a measured change is called: its strategy, its command or its sort.
fn subject(suggestion: &Suggestion, ending: &Ending) -> String {
    if let Some(strategy) = &suggestion.strategy {
        return strategy.clone();
    }
    let command = suggestion.commands.first();
    let ran = ending
        .operations
        .first()
        .map(|operation| &operation.command);
    command
        .or(ran)
        .and_then(|command| command::shape(command))
        .unwrap_or_else(|| format!("{} changes", suggestion.change_type()))
}
