//! What is wanted of a jail, before anything is known about the machine.

use crate::wire::Raw;
use agar_core::limits::Limits;
pub use agar_core::walls::{Identity, Monitor};
use agar_core::walls::{Network, Tier};
use serde::{Deserialize, Serialize};

/// What is wanted of a jail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Which walls.
    pub tier: Tier,
    /// What may be reached over the network.
    pub network: Network,
    /// Who the commands are inside.
    pub identity: Identity,
    /// Whether commands may make user namespaces of their own.
    pub nested: Nested,
    /// What is recorded about the commands.
    pub monitor: Monitor,
    /// The copy-on-write trees, in any order.
    pub overlays: Vec<Overlay>,
    /// The trees that are copied in the tiers that have no copy-on-write.
    pub copies: Vec<Copied>,
    /// Absolute paths that do not exist inside until something inside makes them.
    pub masks: Vec<Raw>,
    /// The user's home directory.
    pub home: Raw,
    /// An empty directory on the host where the new tree is put together, beside two others, `mask` and
    /// `fresh`, that are mounted over as well.
    pub staging: Raw,
    /// Directories below which layers lie that the jail may be given later; none where its layers
    /// stay as they are.
    #[serde(default)]
    pub layer_homes: Vec<Raw>,
    /// How much of the machine it may use.
    pub limits: Limits,
    /// Old ways of doing things that this jail must use although the machine has better.
    pub old_ways: Vec<OldWay>,
}

/// A tree that can be written inside without being written outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// Where it lies, outside and inside.
    pub target: Raw,
    /// Where changes go.
    pub upper: Raw,
    /// The kernel's scratch directory, on the same filesystem, never used before.
    pub work: Raw,
    /// What lies below, topmost first.
    pub lowers: Vec<Raw>,
}

/// A tree that commands work on a copy of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// Where it lies outside.
    pub target: Raw,
    /// Where the copy lies.
    pub copy: Raw,
}

/// Whether commands may make user namespaces of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nested {
    /// They may not.
    #[default]
    Refused,
    /// They may: browsers, container tools, agar in agar.
    Allowed,
}

/// A path through older kernels, forced by a setting so that tests reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OldWay {
    /// Mount layers with `mount(2)` and one option string, as before Linux 6.8.
    MountOptions,
    /// Do without Landlock, as before Linux 5.19.
    NoLandlock,
    /// Do without control groups.
    NoCgroups,
}
