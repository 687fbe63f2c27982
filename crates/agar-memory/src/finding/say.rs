//! A plain sentence for each finding, made from its parts and its counts.

use crate::finding::FindingKind;
use crate::text;
use serde_json::Value;

/// What a finding says after so many experiments worked and so many failed.
pub(crate) fn say(kind: FindingKind, parts: &Value, worked: u64, failed: u64) -> String {
    let part = |name: &str| parts.get(name).and_then(Value::as_str).unwrap_or("");
    let number = |name: &str| parts.get(name).and_then(Value::as_f64);
    let all = worked + failed;
    match kind {
        FindingKind::Error => {
            let error = text::line(part("error"), 160);
            let subject = match (part("check"), part("where")) {
                ("", "") => "failed".to_owned(),
                ("", place) => format!("`{place}` failed"),
                (check, "") => format!("check `{check}` failed"),
                (check, place) => format!("check `{check}` failed after `{place}`"),
            };
            format!("{subject}: {error} ({failed} of {all})")
        }
        FindingKind::Test => format!("{} broke ({failed} of {all})", part("test")),
        FindingKind::Command => verdict(&format!("`{}`", part("command")), worked, failed),
        FindingKind::Strategy => {
            let subject = format!("`{}` for {} changes", part("strategy"), part("change"));
            verdict(&subject, worked, failed)
        }
        FindingKind::File => format!("{} changed {all} times", part("file")),
        FindingKind::Files => {
            format!(
                "{} and {} change together ({all} times)",
                part("a"),
                part("b")
            )
        }
        FindingKind::Package => verdict(&format!("moving {}", part("package")), worked, failed),
        FindingKind::Packages => format!(
            "{} and {} must move together ({all} of {})",
            part("a"),
            part("b"),
            number("seen").map_or(all, whole)
        ),
        FindingKind::Version => verdict(
            &format!("{} at {}", part("package"), part("version")),
            worked,
            failed,
        ),
        FindingKind::Break => {
            let what = match part("test") {
                "" => "breaks".to_owned(),
                test => format!("broke {test}"),
            };
            format!(
                "`{}` past {} {what} ({failed} of {all})",
                part("package"),
                part("past")
            )
        }
        FindingKind::Overhead => overhead(part("of"), number("mean"), number("count")),
        FindingKind::Duration => {
            let seconds = number("mean").map_or(0.0, |millis| millis / 1000.0);
            let memory = number("memory").map_or(0.0, |bytes| bytes / 1e6);
            let used = if memory >= 1.0 {
                format!(" and {memory:.0} MB")
            } else {
                String::new()
            };
            let runs = if all == 1 { "run" } else { "runs" };
            format!(
                "`{}` takes {seconds:.1} s{used} here ({all} {runs})",
                part("command")
            )
        }
    }
}

fn verdict(subject: &str, worked: u64, failed: u64) -> String {
    let all = worked + failed;
    if worked * 3 > all * 2 || failed == 0 {
        format!("{subject} works here: {worked} of {all}")
    } else if failed * 3 >= all * 2 {
        format!("{subject} fails here: {failed} of {all}")
    } else {
        format!("{subject} works here only sometimes: {worked} of {all}")
    }
}

fn overhead(of: &str, mean: Option<f64>, count: Option<f64>) -> String {
    let percent = (mean.unwrap_or(1.0) - 1.0) * 100.0;
    let count = count.map_or(0, whole);
    if percent >= 0.0 {
        format!("`{of}` costs {percent:.1} % ({count} measured)")
    } else {
        format!("`{of}` gains {:.1} % ({count} measured)", -percent)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count that was written as a number"
)]
fn whole(number: f64) -> u64 {
    number.max(0.0) as u64
}
