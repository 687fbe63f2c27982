//! What a run printed.

use crate::{Engine, EngineError, RunView, SandboxView};
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
pub fn logs(_engine: &Engine, _request: &LogsRequest) -> Result<LogsAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "read a log",
        missing: "store",
    })
}
