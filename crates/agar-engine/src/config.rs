//! The settings in force, and where each came from.

use crate::view::shown;
use crate::wishes;
use crate::{Engine, EngineError};
use agar_core::settings::{Key, Who};
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
pub fn config(engine: &Engine, request: &ConfigRequest) -> Result<ConfigAnswer, EngineError> {
    let here = engine.here()?;
    let loaded = wishes::load(engine, here, Who::Person)?;
    let wanted = |key: &str| match &request.key {
        None => true,
        Some(asked) => {
            key == asked
                || key
                    .strip_prefix(asked.as_str())
                    .is_some_and(|rest| rest.starts_with('.'))
        }
    };
    let settings: Vec<SettingView> = loaded
        .resolved
        .lines
        .iter()
        .filter(|line| wanted(line.key))
        .map(|line| SettingView {
            key: line.key.to_owned(),
            value: line.value.clone().into(),
            origin: line
                .origins
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", "),
        })
        .collect();
    if let (Some(key), true) = (&request.key, settings.is_empty()) {
        return Err(EngineError::NoSuchSetting {
            key: key.clone(),
            near: Key::suggest(key).map(str::to_owned),
        });
    }
    Ok(ConfigAnswer {
        settings,
        files: loaded.asked.files.iter().map(|path| shown(path)).collect(),
        unapproved: loaded
            .resolved
            .held_back
            .iter()
            .map(|held| format!("{} = {}", held.key, held.value))
            .collect(),
    })
}
