//! What an experiment showed that can be seen again.
//!
//! Everything here is read off the evidence: exit codes, test names, error lines, files, package
//! versions, times. No language model, and nothing that was recalled is stored again as new.

mod derive;
mod extract;
mod say;

pub(crate) use derive::{Derived, derive};
pub(crate) use extract::{expected, extract};
pub(crate) use say::say;

use agar_core::id::ProjectId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What sort of thing was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingKind {
    /// An error, by its fingerprint.
    Error,
    /// A test that fails and did not before.
    Test,
    /// The shape of a command.
    Command,
    /// A way of going about it.
    Strategy,
    /// A file that changed.
    File,
    /// Two files that change together.
    Files,
    /// A package that moved.
    Package,
    /// Two packages that must move together.
    Packages,
    /// A package at a version.
    Version,
    /// A version past which a package breaks.
    Break,
    /// What a change costs or gains against the base.
    Overhead,
    /// How long a command takes, and what it uses.
    Duration,
}

impl FindingKind {
    /// Every one.
    pub const ALL: [Self; 12] = [
        Self::Error,
        Self::Test,
        Self::Command,
        Self::Strategy,
        Self::File,
        Self::Files,
        Self::Package,
        Self::Packages,
        Self::Version,
        Self::Break,
        Self::Overhead,
        Self::Duration,
    ];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Test => "test",
            Self::Command => "command",
            Self::Strategy => "strategy",
            Self::File => "file",
            Self::Files => "files",
            Self::Package => "package",
            Self::Packages => "packages",
            Self::Version => "version",
            Self::Break => "break",
            Self::Overhead => "overhead",
            Self::Duration => "duration",
        }
    }

    /// The kind of this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Whether a failure that shows it teaches a lesson.
    pub(crate) const fn teaches(self) -> bool {
        match self {
            Self::Error | Self::Test | Self::Command | Self::Strategy | Self::Break => true,
            Self::File
            | Self::Files
            | Self::Package
            | Self::Packages
            | Self::Version
            | Self::Overhead
            | Self::Duration => false,
        }
    }

    /// Whether it befalls an attempt, instead of being part of it.
    pub(crate) const fn befalls(self) -> bool {
        matches!(self, Self::Error | Self::Test | Self::Break)
    }

    /// Whether it can become a pattern. The others are only counted, to make such from them.
    pub(crate) const fn becomes_pattern(self) -> bool {
        match self {
            Self::Command
            | Self::Strategy
            | Self::Files
            | Self::Packages
            | Self::Overhead
            | Self::Duration => true,
            Self::Error | Self::Test | Self::File | Self::Package | Self::Version | Self::Break => {
                false
            }
        }
    }
}

/// One thing that an experiment showed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) kind: FindingKind,
    /// What makes it the same as another.
    pub(crate) key: String,
    /// What it is made of.
    pub(crate) parts: Value,
    /// What was measured, where something was.
    pub(crate) value: Option<f64>,
}

impl Finding {
    pub(crate) fn new(kind: FindingKind, key: &str, parts: Value) -> Self {
        Self {
            kind,
            key: key.to_owned(),
            parts,
            value: None,
        }
    }

    /// Its short name in a project.
    pub(crate) fn id(&self, project: ProjectId) -> String {
        id(project, self.kind, &self.key)
    }
}

/// The short name of what has this key.
pub(crate) fn id(project: ProjectId, kind: FindingKind, key: &str) -> String {
    let text = format!("{project}\n{}\n{key}", kind.word());
    blake3::hash(text.as_bytes()).to_hex()[..12].to_owned()
}
