//! One source of settings and what it says.

use super::key::{Key, Kind};
use super::value::{NotAValue, Raw, Value, entry_fault};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum Origin {
    /// Built in.
    Default,
    /// The user's own file.
    User {
        /// The file.
        path: PathBuf,
    },
    /// A file of another tool in the project.
    Hint {
        /// The file.
        path: PathBuf,
    },
    /// The project's `agar.toml`.
    Project {
        /// The file.
        path: PathBuf,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// A flag on the command line, or a field of a request.
    Flag {
        /// Its name.
        flag: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User { path } | Self::Hint { path } | Self::Project { path } => {
                write!(f, "{}", path.display())
            }
            Self::Environment { variable } => f.write_str(variable),
            Self::Flag { flag } => f.write_str(flag),
        }
    }
}

/// Whose word a layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The person's: their file, their environment, what they typed.
    Person,
    /// The project's, and nobody has approved it.
    Project,
    /// The project's, and a person approved this exact content.
    ApprovedProject,
}

/// What one source says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Whose word it is.
    pub source: Source,
    /// The values, each with where it stands.
    pub values: BTreeMap<Key, (Value, Origin)>,
}

impl Layer {
    /// A layer that says nothing yet.
    pub const fn new(source: Source) -> Self {
        Self {
            source,
            values: BTreeMap::new(),
        }
    }

    /// Sets a value from a file.
    pub fn set(&mut self, key: Key, raw: &Raw, origin: Origin) -> Result<(), NotAValue> {
        let value = Value::read(key.kind(), raw)?;
        if let Value::Names(names) = &value
            && let Some(fault) = names.iter().find_map(|name| entry_fault(key, name))
        {
            return Err(NotAValue {
                wanted: fault,
                found: "usable".to_owned(),
                suggestion: None,
            });
        }
        self.values.insert(key, (value, origin));
        Ok(())
    }

    /// Sets a value from one piece of text, as in a variable or after a flag. Lists are separated
    /// by commas.
    pub fn set_text(&mut self, key: Key, text: &str, origin: Origin) -> Result<(), NotAValue> {
        let list = || {
            text.split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect::<Vec<String>>()
        };
        let raw = match key.kind() {
            Kind::Names => Raw::List(list()),
            // A name has a dot in it; `nonne` is a slip.
            Kind::Network if text.contains('.') => Raw::Allow(list()),
            Kind::Tier
            | Kind::Base
            | Kind::Network
            | Kind::Monitor
            | Kind::OnBreach
            | Kind::Percent
            | Kind::Size
            | Kind::Count
            | Kind::Span
            | Kind::Share
            | Kind::Flag
            | Kind::Commands
            | Kind::Checks => Raw::Text(text.to_owned()),
        };
        self.set(key, &raw, origin)
    }

    /// What it says about a key.
    pub fn get(&self, key: Key) -> Option<&Value> {
        self.values.get(&key).map(|(value, _)| value)
    }
}
