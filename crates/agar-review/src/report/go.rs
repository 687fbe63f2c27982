//! What `go test` prints, as text and with `-json`.

use super::{Report, Status};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Reads the text form: tests come first, then the line of their package.
pub(super) fn read(text: &str) -> Report {
    let mut package = Package::default();
    let mut report = Report::default();
    let mut ended = false;
    for line in text.lines() {
        if let Some((name, status)) = test_line(line) {
            package.tests.push((name.to_owned(), status));
        } else if line.starts_with("=== RUN ") {
            package.verbose = true;
        } else if let Some((path, status)) = package_line(line) {
            std::mem::take(&mut package).close(&mut report, path, status);
            ended = true;
        } else if let Some((name, said)) = package.message(line) {
            package.said.entry(name).or_default().push_str(said);
        }
    }
    if !package.tests.is_empty() || package.verbose || !ended {
        package.close(&mut report, "", Some(Status::Failed));
        report.cut("the last package has no result");
    }
    report.drop_parents("/", after_package);
    report
}

#[derive(Debug, Default)]
struct Package {
    tests: Vec<(String, Status)>,
    said: BTreeMap<String, String>,
    verbose: bool,
}

impl Package {
    fn close(self, report: &mut Report, path: &str, status: Option<Status>) {
        let mut failed = false;
        for (test, status) in &self.tests {
            let name = format!("{path} {test}");
            failed |= *status == Status::Failed;
            report.add(&name, *status, self.said.get(test).map(String::as_str));
        }
        let Some(status) = status else { return };
        // Without -v only what failed is named, so the package itself stands for the rest.
        let stands = if self.verbose {
            status == Status::Failed && !failed
        } else {
            true
        };
        if stands && !path.is_empty() {
            report.add(path, status, None);
        }
    }

    /// An indented line below a result says why.
    fn message<'a>(&self, line: &'a str) -> Option<(String, &'a str)> {
        let said = line.trim_start();
        let indented = line.len() - said.len() >= 4;
        let (name, status) = self.tests.last()?;
        let room = self.said.get(name).is_none_or(|said| said.len() < 500);
        (indented && room && *status == Status::Failed).then(|| (name.clone(), said))
    }
}

/// `    --- FAIL: TestAdds/dates (0.00s)`
fn test_line(line: &str) -> Option<(&str, Status)> {
    let rest = line.trim_start().strip_prefix("--- ")?;
    let (word, rest) = rest.split_once(": ")?;
    let status = match word {
        "PASS" => Status::Passed,
        "FAIL" => Status::Failed,
        "SKIP" => Status::Skipped,
        _ => return None,
    };
    let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name);
    Some((name, status))
}

/// Where the name of the test begins: the path of a package has slashes of its own.
fn after_package(name: &str) -> usize {
    name.find(' ').unwrap_or(name.len())
}

/// `ok`, the package and the time, with tabs between them; a package without tests has no status.
fn package_line(line: &str) -> Option<(&str, Option<Status>)> {
    let (word, rest) = line.split_once('\t')?;
    let path = rest.split(['\t', ' ']).next().filter(|it| !it.is_empty())?;
    match word.trim_end() {
        "ok" if rest.contains("[no tests to run]") => Some((path, None)),
        "ok" => Some((path, Some(Status::Passed))),
        "FAIL" => Some((path, Some(Status::Failed))),
        "?" | "" => Some((path, None)),
        _ => None,
    }
}

/// One line of `go test -json`.
#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "Action")]
    action: String,
    #[serde(rename = "Package", default)]
    package: String,
    #[serde(rename = "Test", default)]
    test: String,
    #[serde(rename = "Output", default)]
    output: String,
}

/// Reads the JSON form. Lines that are not JSON are what tools around it printed.
pub(super) fn read_json(text: &str) -> Report {
    let mut report = Report::default();
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut tested: BTreeMap<String, bool> = BTreeMap::new();
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let Ok(event) = serde_json::from_str::<Event>(line) else {
            report.cut("a line cannot be read");
            continue;
        };
        let name = format!("{} {}", event.package, event.test);
        let status = match event.action.as_str() {
            "pass" => Status::Passed,
            "fail" => Status::Failed,
            "skip" => Status::Skipped,
            "start" => {
                open.insert(event.package);
                continue;
            }
            "output" if !event.test.is_empty() && event.output.starts_with("    ") => {
                let said = said.entry(name).or_default();
                if said.len() < super::MESSAGE_CHARS_MAX {
                    said.push_str(&event.output);
                }
                continue;
            }
            _ => continue,
        };
        if event.test.is_empty() {
            open.remove(&event.package);
            let failed_inside = tested.get(&event.package).copied();
            if status == Status::Failed && failed_inside != Some(true) {
                report.add(&event.package, status, None);
            }
        } else {
            *tested.entry(event.package).or_default() |= status == Status::Failed;
            report.add(&name, status, said.remove(&name).as_deref());
        }
    }
    if let Some(package) = open.first() {
        report.cut(format!("{package} has no result"));
    }
    report.drop_parents("/", after_package);
    report
}
