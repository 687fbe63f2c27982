//! Why settings could not be read.

use agar_core::fault::{Fault, Kind, Remedy};
use agar_core::settings::NotAValue;
use std::fmt;
use std::path::PathBuf;

/// A place in a file, counted from 1 as editors do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl Position {
    /// The place of a byte in a text.
    pub(super) fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file is there and cannot be read.
    #[error("cannot read settings from {}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not TOML or JSON.
    #[error("{}:{at}: {message}", .path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
        /// What is wrong.
        message: String,
    },
    /// There is no such setting.
    #[error("{}:{at}: there is no setting `{key}`", .path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
        /// What was written.
        key: String,
        /// What was probably meant.
        suggestion: Option<String>,
    },
    /// The value does not fit the key.
    #[error("{}:{at}: `{key}`: {fault}", .path.display())]
    BadValue {
        /// The file.
        path: PathBuf,
        /// Where.
        at: Position,
        /// The key.
        key: String,
        /// What is wrong with the value.
        fault: Box<NotAValue>,
    },
    /// A variable holds something that does not fit.
    #[error("{variable}: {fault}")]
    BadVariable {
        /// The variable.
        variable: String,
        /// What is wrong with the value.
        fault: Box<NotAValue>,
    },
    /// A variable is called almost like a setting.
    #[error("there is no setting for the variable {variable}")]
    UnknownVariable {
        /// The variable.
        variable: String,
        /// What was probably meant.
        suggestion: String,
    },
    /// The record of approvals could not be read.
    #[error(transparent)]
    Store(#[from] agar_store::StoreError),
}

impl Fault for SettingsError {
    fn kind(&self) -> Kind {
        match self {
            Self::Unreadable { .. } => Kind::Unsupported,
            Self::Syntax { .. }
            | Self::UnknownKey { .. }
            | Self::BadValue { .. }
            | Self::BadVariable { .. }
            | Self::UnknownVariable { .. } => Kind::Invalid,
            Self::Store(error) => error.kind(),
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        let value = match self {
            Self::UnknownKey { suggestion, .. } => suggestion.clone(),
            Self::UnknownVariable { suggestion, .. } => Some(suggestion.clone()),
            Self::BadValue { fault, .. } | Self::BadVariable { fault, .. } => {
                fault.suggestion.clone()
            }
            Self::Store(error) => return error.remedy(),
            Self::Unreadable { .. } | Self::Syntax { .. } => None,
        };
        value.map(|value| Remedy::Suggest { value })
    }
}
