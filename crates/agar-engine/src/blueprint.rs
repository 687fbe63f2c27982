//! What a sandbox is made of beyond its record: enough to raise its jail again tomorrow.

use crate::failure::EngineError;
use crate::whereabouts::Directory;
use agar_core::seam::Timestamp;
use agar_core::walls::Monitor;
use agar_jail::policy::OldWay;
use agar_sandbox::change::Copied;
use agar_sandbox::spelling;
use agar_sandbox::stack::Stack;
use agar_store::Sandbox;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// A sandbox's parts, kept with its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Blueprint {
    /// The project's directory when the sandbox was made, and inside for ever.
    #[serde(with = "spelling::path")]
    pub(crate) root: PathBuf,
    /// What that directory is, to find it again wherever it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) made_from: Option<Directory>,
    /// The copy-on-write trees.
    pub(crate) stacks: Vec<Stack>,
    /// Paths that do not exist inside.
    #[serde(with = "spelling::siblings")]
    pub(crate) masks: Vec<PathBuf>,
    /// Whether user namespaces may be made inside.
    pub(crate) nested: bool,
    /// What is recorded of the inside.
    pub(crate) monitor: Monitor,
    /// Variables that were asked for: `NAME` from the caller of each run, or `NAME=value`.
    #[serde(with = "crate::os_text")]
    pub(crate) environment: Vec<OsString>,
    /// Old ways that its jail must use.
    pub(crate) old_ways: Vec<OldWay>,
    /// The agent that made it.
    pub(crate) agent: Option<String>,
    /// What a person should know about it.
    pub(crate) warnings: Vec<String>,
    /// In the tiers without copy-on-write, the copy of the project that commands work on.
    #[serde(default)]
    pub(crate) copy: Option<Copy>,
    /// How long it was meant to live; nothing for no end.
    #[serde(default)]
    pub(crate) ttl_ms: Option<u64>,
    /// Whether git inside must not trust the inodes that the index remembers.
    pub(crate) minimal_git_stat: bool,
    /// Since when its base was live, if a snapshot froze it later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) live_since: Option<Timestamp>,
}

impl Blueprint {
    /// What the copy of the project was to begin with, where there is one and it was written down.
    pub(crate) fn copied(&self) -> Option<Copied> {
        Copied::read(&self.copy.as_ref()?.note())
    }
}

impl Copy {
    /// Where it is written down what the copy was to begin with.
    pub(crate) fn note(&self) -> PathBuf {
        self.project.with_file_name("copied")
    }
}

/// A copy of the project, where there are no layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Copy {
    /// The copy. It stands in for the upper layer: everything is in it, so it hides what is below.
    #[serde(with = "spelling::path")]
    pub(crate) project: PathBuf,
    /// A directory for temporary files.
    #[serde(with = "spelling::path")]
    pub(crate) temporary: PathBuf,
    /// Whether commands see it where the project is, or only where it lies.
    pub(crate) in_place: bool,
}

impl Blueprint {
    /// Reads the parts of a recorded sandbox.
    pub(crate) fn of(sandbox: &Sandbox) -> Result<Self, EngineError> {
        serde_json::from_str(&sandbox.stacks).map_err(|source| EngineError::Record {
            alias: sandbox.alias.clone(),
            source,
        })
    }

    /// The parts as they are recorded.
    pub(crate) fn to_text(&self) -> Result<String, EngineError> {
        serde_json::to_string(self).map_err(|source| EngineError::Record {
            alias: "a new sandbox".to_owned(),
            source,
        })
    }

    /// The stack of the project itself.
    pub(crate) fn project_stack(&self) -> Option<&Stack> {
        self.stacks
            .iter()
            .find(|stack| stack.role == agar_sandbox::stack::Role::Project)
    }
}
