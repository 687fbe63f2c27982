//! Words about snapshots.

use serde::{Deserialize, Serialize};

/// Why there is a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotKind {
    /// Somebody asked for it.
    Asked,
    /// A run was about to start.
    BeforeRun,
    /// The sandbox was about to return to another one.
    BeforeRestore,
    /// The sandbox was about to be forked.
    BeforeFork,
}

impl SnapshotKind {
    const ALL: [Self; 4] = [
        Self::Asked,
        Self::BeforeRun,
        Self::BeforeRestore,
        Self::BeforeFork,
    ];

    /// The one with that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::BeforeRun => "before_run",
            Self::BeforeRestore => "before_restore",
            Self::BeforeFork => "before_fork",
        }
    }
}

/// In which state the sandbox was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// It had no jail.
    Stopped,
    /// Its jail was up and nothing ran in it.
    Idle,
    /// Processes ran in it, and stood still meanwhile.
    Running,
}

impl Taken {
    const ALL: [Self; 3] = [Self::Stopped, Self::Idle, Self::Running];

    /// The one with that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|taken| taken.word() == word)
    }

    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Idle => "idle",
            Self::Running => "running",
        }
    }
}
