//! One line of a stream, whatever its fields are called.

use crate::change::ChangeType;
use crate::error::MemoryError;
use crate::experiment::{PERSON, Suggestion};
use crate::replay::Skipped;
use agar_core::seam::Timestamp;
use serde_json::{Map, Value};
use std::io::BufRead;

/// Names that fields have in streams we have seen, the likeliest first.
const OPENED: [&str; 10] = [
    "time",
    "opened",
    "opened_at",
    "created",
    "created_at",
    "started",
    "started_at",
    "start",
    "timestamp",
    "date",
];
const CLOSED: [&str; 8] = [
    "closed",
    "closed_at",
    "ended",
    "ended_at",
    "end",
    "finished_at",
    "merged_at",
    "completed_at",
];
const TEXT: [&str; 8] = [
    "text",
    "suggestion",
    "title",
    "prompt",
    "description",
    "instruction",
    "message",
    "task",
];
const MORE_TEXT: [&str; 3] = ["body", "details", "summary"];
const SUCCESS: [&str; 9] = [
    "success",
    "is_resolved",
    "resolved",
    "merged",
    "passed",
    "outcome",
    "label",
    "y",
    "status",
];
const PROJECT: [&str; 6] = [
    "project",
    "repo",
    "repository",
    "repo_name",
    "repository_name",
    "codebase",
];
const AGENT: [&str; 7] = [
    "agent",
    "agent_name",
    "model",
    "submission",
    "tool",
    "author",
    "system",
];
const CHANGE: [&str; 6] = [
    "change",
    "change_type",
    "changetype",
    "type",
    "kind",
    "category",
];

/// Fields that are names of the line itself: they are never seen again.
const NAMES: [&str; 8] = [
    "id", "number", "url", "html_url", "uuid", "sha", "commit", "pr",
];

/// Something that was tried, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// When it began.
    pub opened: Timestamp,
    /// When its outcome was known.
    pub closed: Timestamp,
    /// What was proposed.
    pub suggestion: Suggestion,
    /// The project's name, empty where the stream has none.
    pub project: String,
    /// Whether it worked.
    pub success: bool,
}

/// Reads every line that can be used, in order of time.
pub(super) fn read(
    lines: &mut dyn BufRead,
    skipped: &mut Skipped,
) -> Result<Vec<Outcome>, MemoryError> {
    let mut outcomes = Vec::new();
    let mut bytes = Vec::new();
    for number in 0_u64.. {
        bytes.clear();
        if lines
            .read_until(b'\n', &mut bytes)
            .map_err(MemoryError::io)?
            == 0
        {
            break;
        }
        let text = String::from_utf8_lossy(&bytes);
        if text.trim().is_empty() {
            continue;
        }
        let Ok(Value::Object(fields)) = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        else {
            skipped.unreadable += 1;
            continue;
        };
        match parse(fields, number) {
            Some(outcome) => outcomes.push(outcome),
            None => skipped.without_outcome += 1,
        }
    }
    outcomes.sort_by_key(|outcome| outcome.opened);
    Ok(outcomes)
}

/// The outcome of a line; `None` where it does not say one. `number` stands in for a missing time.
pub fn parse(mut fields: Map<String, Value>, number: u64) -> Option<Outcome> {
    let success = take(&mut fields, &SUCCESS).and_then(|value| truth(&value))?;
    for key in ["context", "metadata"] {
        if let Some(Value::Object(inner)) = fields.remove(key) {
            for (key, value) in inner {
                fields.entry(key).or_insert(value);
            }
        }
    }
    let opened = take(&mut fields, &OPENED).and_then(|value| moment(&value));
    let opened = opened.unwrap_or_else(|| Timestamp::from_millis(number * 1000));
    let closed = take(&mut fields, &CLOSED)
        .and_then(|value| moment(&value))
        .unwrap_or(opened)
        .max(opened);
    let mut text = take(&mut fields, &TEXT).map_or_else(String::new, |value| words(&value));
    for key in MORE_TEXT {
        if let Some(more) = fields.remove(key) {
            text.push('\n');
            text.push_str(&words(&more));
        }
    }
    let project = take(&mut fields, &PROJECT).map_or_else(String::new, |value| words(&value));
    let agent = take(&mut fields, &AGENT)
        .map(|value| words(&value))
        .filter(|agent| !agent.is_empty())
        .unwrap_or_else(|| PERSON.to_owned());
    let change = take(&mut fields, &CHANGE);
    let declared: Option<ChangeType> = change
        .as_ref()
        .and_then(|value| words(value).to_lowercase().parse().ok());
    if let (None, Some(value)) = (declared, change) {
        fields.insert("type".to_owned(), value);
    }
    fields.retain(|key, _| !NAMES.contains(&key.as_str()));
    Some(Outcome {
        opened,
        closed,
        suggestion: Suggestion {
            text,
            agent,
            change: declared,
            context: fields,
            ..Suggestion::default()
        },
        project,
        success,
    })
}

/// Takes the first field that is there under one of its names.
fn take(fields: &mut Map<String, Value>, names: &[&str]) -> Option<Value> {
    for name in names {
        let key = fields
            .keys()
            .find(|key| key.eq_ignore_ascii_case(name))
            .cloned();
        if let Some(value) = key.and_then(|key| fields.remove(&key))
            && !value.is_null()
        {
            return Some(value);
        }
    }
    None
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => number.as_f64().map(|number| number >= 0.5),
        Value::String(word) => match word.to_lowercase().as_str() {
            "true" | "yes" | "1" | "success" | "succeeded" | "passed" | "pass" | "merged"
            | "resolved" | "ok" => Some(true),
            "false" | "no" | "0" | "failure" | "failed" | "fail" | "closed" | "partial"
            | "unresolved" | "rejected" | "error" => Some(false),
            _ => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A moment: seconds, milli-, micro- or nanoseconds since 1970 by their size, or ISO 8601.
fn moment(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Number(number) => number.as_f64().and_then(from_number),
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(number) => from_number(number),
            Err(_) => iso(text.trim()),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn from_number(number: f64) -> Option<Timestamp> {
    let size = number.abs();
    let millis = if size < 1e11 {
        number * 1e3
    } else if size < 1e14 {
        number
    } else if size < 1e17 {
        number / 1e3
    } else {
        number / 1e6
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a moment after 1970"
    )]
    (millis.is_finite() && millis >= 0.0).then(|| Timestamp::from_millis(millis as u64))
}

/// `2026-11-15`, `2026-11-15T23:28:12.5Z`, `2026-11-15 23:28:12+01:00`.
fn iso(text: &str) -> Option<Timestamp> {
    let date = text.get(..10)?;
    let mut parts = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let rest = text
        .get(10..)
        .unwrap_or("")
        .trim_start_matches(['T', ' ', 't']);
    let (clock, offset) = split_zone(rest);
    let mut seconds = 0.0;
    for (part, scale) in clock.split(':').zip([3600.0, 60.0, 1.0]) {
        seconds += part.trim().parse::<f64>().unwrap_or(0.0) * scale;
    }
    #[expect(clippy::cast_precision_loss, reason = "days since 1970")]
    let days = days_from_civil(year, month, day) as f64;
    from_number_of_seconds(days * 86_400.0 + seconds - offset)
}

fn from_number_of_seconds(seconds: f64) -> Option<Timestamp> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a moment after 1970"
    )]
    (seconds >= 0.0).then(|| Timestamp::from_millis((seconds * 1000.0).round() as u64))
}

/// The clock and the seconds that its zone is ahead.
fn split_zone(text: &str) -> (&str, f64) {
    let text = text.trim();
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return (clock, 0.0);
    }
    let Some(at) = text.rfind(['+', '-']) else {
        return (text, 0.0);
    };
    let digits: String = text[at + 1..]
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    let number = |range: std::ops::Range<usize>| {
        digits
            .get(range)
            .and_then(|part| part.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    let ahead = number(0..2) * 3600.0 + number(2..4) * 60.0;
    let sign = if text[at..].starts_with('-') {
        -1.0
    } else {
        1.0
    };
    (&text[..at], sign * ahead)
}

/// Days since 1970-01-01 of a civil date, by Hinnant's era method.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn of(value: &Value) -> Option<Outcome> {
        parse(value.as_object().unwrap().clone(), 7)
    }

    #[test]
    fn times_are_read_in_every_form() {
        for time in [
            json!(1_763_249_292),
            json!(1_763_249_292_000_u64),
            json!("1763249292"),
            json!(1_763_249_292_000_000_u64),
            json!("2025-11-15T23:28:12Z"),
            json!("2025-11-16 00:28:12+01:00"),
            json!("2025-11-15T23:28:12.000"),
        ] {
            assert_eq!(
                moment(&time),
                Some(Timestamp::from_millis(1_763_249_292_000)),
                "{time}"
            );
        }
        assert_eq!(
            moment(&json!("2025-11-15")),
            Some(Timestamp::from_millis(1_763_164_800_000))
        );
        assert_eq!(moment(&json!("yesterday")), None);
    }

    #[test]
    fn fields_may_be_missing_renamed_or_nested() {
        let outcome = of(&json!({
            "title": "Fix it", "body": "now", "merged": true, "created_at": 5,
            "context": {"repo": "a/b", "agent": "codex", "size": 3}, "html_url": "x",
        }))
        .unwrap();
        assert_eq!(outcome.suggestion.text, "Fix it\nnow");
        assert_eq!(
            (outcome.project.as_str(), outcome.suggestion.agent.as_str()),
            ("a/b", "codex")
        );
        assert_eq!(outcome.closed, outcome.opened);
        assert_eq!(
            outcome.suggestion.context.keys().collect::<Vec<_>>(),
            ["size"]
        );
        let bare = of(&json!({"success": "failed"})).unwrap();
        assert_eq!(
            (bare.success, bare.opened),
            (false, Timestamp::from_millis(7000))
        );
        assert_eq!(of(&json!({"text": "no outcome"})), None);
    }

    proptest! {
        #[test]
        fn no_time_makes_it_panic(text: String, number: f64) {
            let read = (iso(&text), from_number(number));
            prop_assert!(read.1.is_none() || number >= 0.0);
        }
    }
}
