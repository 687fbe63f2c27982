//! What a run printed.

use crate::{Engine, EngineError, RunView, SandboxView};
use crate::{drive, find, view};
use agar_store::StoreError;
use serde::{Deserialize, Serialize};

/// Asks for a run's output.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogsRequest {
    /// Its alias, id or a unique beginning; may be left out when there is only one.
    pub sandbox: Option<String>,
    /// Which run; the last one if left out.
    pub run: Option<u32>,
    /// Only this many lines, from the end.
    pub tail: Option<usize>,
    /// Skip this many bytes: a follower asks again from where it was.
    pub from: u64,
    /// Read this many bytes at most; all there are if left out.
    pub most: Option<u64>,
}

/// What a run printed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogsAnswer {
    /// The sandbox.
    pub sandbox: SandboxView,
    /// The run.
    pub run: RunView,
    /// Its output: both streams in the order they came, bounded, secrets redacted.
    #[serde(serialize_with = "lossy", deserialize_with = "from_text")]
    pub output: Vec<u8>,
    /// Where the output ends: ask from here for more.
    pub until: u64,
}

fn lossy<S: serde::Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&String::from_utf8_lossy(bytes))
}

fn from_text<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    String::deserialize(from).map(String::into_bytes)
}

/// Reads what a run printed.
pub fn logs(engine: &Engine, request: &LogsRequest) -> Result<LogsAnswer, EngineError> {
    let here = engine.here()?;
    let record = find::sandbox(here, request.sandbox.as_deref())?;
    let wanted = here.read(|store| match request.run {
        Some(number) => found(store.run(record.id, number)),
        None => store.latest_run(record.id),
    })?;
    let run = wanted.ok_or_else(|| EngineError::NoSuchRun {
        alias: record.alias.clone(),
        number: request.run.unwrap_or(1),
    })?;
    let part = (request.from, request.most.unwrap_or(u64::MAX));
    let output = drive::output_from(&here.sandbox(record.id), run.number, part)
        .map_err(EngineError::io("read the log"))?;
    let until = request.from + output.len() as u64;
    Ok(LogsAnswer {
        sandbox: view::sandbox(here, &record)?,
        run: view::run(&run),
        output: match request.tail {
            Some(lines) => tail(output, lines),
            None => output,
        },
        until,
    })
}

/// A record, where there is one.
fn found<T>(record: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match record {
        Ok(record) => Ok(Some(record)),
        Err(StoreError::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The last lines.
fn tail(mut output: Vec<u8>, lines: usize) -> Vec<u8> {
    let body = output.strip_suffix(b"\n").unwrap_or(&output);
    let start = match lines.checked_sub(1) {
        None => output.len(),
        Some(before) => body
            .iter()
            .enumerate()
            .rev()
            .filter(|&(_, &byte)| byte == b'\n')
            .nth(before)
            .map_or(0, |(at, _)| at + 1),
    };
    output.split_off(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_whole_lines_from_the_end() {
        let text = b"one\ntwo\nthree\n".to_vec();
        assert_eq!(tail(text.clone(), 2), b"two\nthree\n");
        assert_eq!(tail(text.clone(), 9), text);
        assert_eq!(tail(text.clone(), 0), b"");
        assert_eq!(tail(b"one\ntwo".to_vec(), 1), b"two");
    }
}
