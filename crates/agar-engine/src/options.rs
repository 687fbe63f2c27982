//! What a caller may ask of a new sandbox, and of a command in it.

use agar_core::limits::Limits;
use agar_core::walls::{BaseKind, Monitor, Network, Tier};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// Who started the work. It decides the default limits and is part of every record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Caller {
    /// A person at a terminal: gets the machine, with the walls against runaways.
    #[default]
    Person,
    /// An agent, by the name it gave: gets the limits of an experiment.
    Agent {
        /// The agent's name.
        name: String,
    },
}

impl Caller {
    /// The limits that hold unless somebody asked for others.
    pub const fn limits(&self) -> Limits {
        match self {
            Self::Person => Limits::person(),
            Self::Agent { .. } => Limits::agent(),
        }
    }

    /// The agent's name, if it is one.
    pub fn agent(&self) -> Option<&str> {
        match self {
            Self::Person => None,
            Self::Agent { name } => Some(name),
        }
    }
}

/// What a new sandbox should be. Everything left out is decided by the settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxOptions {
    /// Frozen or live; each verb has its default.
    pub base: Option<BaseKind>,
    /// A weaker tier, by name.
    pub tier: Option<Tier>,
    /// The network.
    pub network: Option<Network>,
    /// Map the caller to root inside.
    pub fake_root: bool,
    /// Allow user namespaces inside.
    pub nested: bool,
    /// What to record of the inside.
    pub monitor: Option<Monitor>,
    /// Limits that were asked for; the rest comes from the settings and the caller's kind.
    pub limits: Limits,
    /// Environment variables to pass in beyond the allow-list: `NAME`, or `NAME=value`.
    #[serde(with = "crate::os_text")]
    pub environment: Vec<OsString>,
    /// Masked paths to show: `~/.npmrc`, `.env.local`, or a name.
    pub unmask: Vec<String>,
    /// Further paths to mask.
    pub mask: Vec<String>,
    /// Who asks.
    pub caller: Caller,
    /// Its name; two words are drawn if left out.
    pub alias: Option<String>,
    /// A few words for the list.
    pub note: Option<String>,
    /// How long it is meant to live; afterwards it is cleaned up once nothing runs in it.
    pub ttl_ms: Option<u64>,
}

/// One command to run inside.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Command {
    /// The program and its arguments.
    #[serde(with = "crate::os_text")]
    pub argv: Vec<OsString>,
    /// Where to start it; the caller's own directory if left out.
    pub cwd: Option<PathBuf>,
    /// Environment variables for this command only: `NAME`, or `NAME=value`.
    #[serde(with = "crate::os_text")]
    pub environment: Vec<OsString>,
    /// A limit on wall time for this command only.
    pub timeout_ms: Option<u64>,
}

impl Command {
    /// The command of these words, started where the caller is.
    pub fn new<W: Into<OsString>>(argv: impl IntoIterator<Item = W>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}
