//! The settings in force, and where each came from.

use crate::{Engine, EngineError};
use serde::{Deserialize, Serialize};

/// Asks for the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfigRequest {
    /// Only this key and those below it.
    pub key: Option<String>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingView {
    /// Its dotted key: `limits.memory`.
    pub key: String,
    /// Its value.
    pub value: serde_json::Value,
    /// Where it came from: `default`, a file's path, a variable's name, `flag`.
    pub origin: String,
}

/// The settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigAnswer {
    /// By key.
    pub settings: Vec<SettingView>,
    /// The files that were read.
    pub files: Vec<String>,
    /// Settings of the project file that wait for approval and are not in force.
    pub unapproved: Vec<String>,
}

/// Tells the settings in force for the caller's directory.
pub fn config(_engine: &Engine, _request: &ConfigRequest) -> Result<ConfigAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "read the settings",
        missing: "settings",
    })
}
