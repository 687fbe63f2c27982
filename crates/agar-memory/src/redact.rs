//! Secrets go before anything is stored.

use crate::experiment::{Ending, Suggestion};
use crate::text;
use agar_core::secret::{names_secret, redact, redact_argv};
use serde_json::{Map, Value};

/// Longer texts are cut.
const TEXT_MAX: usize = 32 * 1024;
const OUTPUT_MAX: usize = 64 * 1024;

pub(crate) fn plain(text: &str) -> String {
    redact(text::clip(text, TEXT_MAX)).into_owned()
}

fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| plain(text)).collect()
}

fn commands(commands: &[Vec<String>]) -> Vec<Vec<String>> {
    commands.iter().map(|argv| redact_argv(argv)).collect()
}

/// A document without secrets: also without the values of fields that are called one.
pub(crate) fn value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(plain(text)),
        Value::Array(items) => Value::Array(items.iter().map(self::value).collect()),
        Value::Object(map) => Value::Object(object(map)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn object(map: &Map<String, Value>) -> Map<String, Value> {
    map.iter()
        .map(|(key, inner)| {
            let hidden = names_secret(key) && !inner.is_null();
            let inner = if hidden {
                Value::String(agar_core::secret::REDACTED.to_owned())
            } else {
                value(inner)
            };
            (key.clone(), inner)
        })
        .collect()
}

pub(crate) fn suggestion(suggestion: &Suggestion) -> Suggestion {
    Suggestion {
        text: plain(&suggestion.text),
        agent: plain(&suggestion.agent),
        change: suggestion.change,
        commands: commands(&suggestion.commands),
        files: lines(&suggestion.files),
        language: suggestion.language.as_deref().map(plain),
        strategy: suggestion.strategy.as_deref().map(plain),
        problem: suggestion.problem.as_deref().map(plain),
        context: object(&suggestion.context),
    }
}

pub(crate) fn ending(ending: &Ending) -> Ending {
    let mut clean = ending.clone();
    for operation in &mut clean.operations {
        operation.command = redact_argv(&operation.command);
    }
    clean.output = redact(text::clip_end(&ending.output, OUTPUT_MAX)).into_owned();
    clean.failure_reasons = lines(&ending.failure_reasons);
    if let Some(partial) = &mut clean.partial {
        partial.what_worked = lines(&partial.what_worked);
        partial.what_failed = lines(&partial.what_failed);
    }
    for check in &mut clean.checks {
        check.newly_failing = lines(&check.newly_failing);
        check.newly_passing = lines(&check.newly_passing);
    }
    clean
}
