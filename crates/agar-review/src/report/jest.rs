//! The JSON of jest (`--json`) and of vitest (`--reporter=json`).

use super::{Format, Report, Status, Unreadable};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    test_results: Vec<File>,
    #[serde(default)]
    num_total_tests: u64,
    #[serde(default)]
    was_interrupted: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct File {
    name: String,
    status: String,
    message: String,
    assertion_results: Vec<Test>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Test {
    full_name: String,
    ancestor_titles: Vec<String>,
    title: String,
    status: String,
    failure_messages: Vec<String>,
}

/// Reads the object, which may stand between other output.
pub(super) fn read(text: &str) -> Result<Report, Unreadable> {
    let malformed = |why: String| Unreadable::Malformed {
        format: Format::Jest,
        why,
    };
    let start = text
        .find("{\"")
        .ok_or_else(|| malformed("it holds no JSON".to_owned()))?;
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Run>();
    let run = match values.next() {
        Some(Ok(run)) => run,
        Some(Err(error)) => return Err(malformed(super::text::clip(&error.to_string(), 200))),
        None => return Err(malformed("it holds no JSON".to_owned())),
    };
    let mut report = Report::default();
    for file in &run.test_results {
        add_file(&mut report, file);
    }
    if run.was_interrupted {
        report.cut("the run was interrupted");
    }
    let seen = run
        .test_results
        .iter()
        .map(|file| file.assertion_results.len() as u64)
        .sum();
    if run.num_total_tests > seen {
        report.cut(format!(
            "{} tests were counted and {seen} are listed",
            run.num_total_tests
        ));
    }
    Ok(report)
}

fn add_file(report: &mut Report, file: &File) {
    // The file itself could not be run.
    if file.status == "failed" && file.assertion_results.is_empty() {
        report.add(&file.name, Status::Failed, Some(&file.message));
    }
    for test in &file.assertion_results {
        let status = match test.status.as_str() {
            "passed" => Status::Passed,
            "failed" => Status::Failed,
            _ => Status::Skipped,
        };
        let title = if test.full_name.is_empty() {
            let parts = test.ancestor_titles.iter().chain([&test.title]);
            parts.map(String::as_str).collect::<Vec<_>>().join(" ")
        } else {
            test.full_name.clone()
        };
        let name = format!("{}: {title}", file.name);
        let message = test.failure_messages.first().map(String::as_str);
        report.add(&name, status, message);
    }
}
