//! What the settings say about a new sandbox.

use crate::Engine;
use crate::failure::EngineError;
use crate::here::{Here, Known};
use agar_core::limits::Limits;
use agar_core::size::Bytes;
use agar_core::walls::{BaseKind, Monitor, Network, Tier};
use agar_jail::policy::OldWay;
use std::ffi::OsString;

/// What the settings say, before the caller's own options.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wishes {
    pub(crate) tier: Tier,
    pub(crate) network: Network,
    pub(crate) base: Option<BaseKind>,
    pub(crate) nested: bool,
    pub(crate) monitor: Monitor,
    pub(crate) environment: Vec<OsString>,
    pub(crate) mask: Vec<String>,
    pub(crate) unmask: Vec<String>,
    pub(crate) limits: Limits,
    pub(crate) old_ways: Vec<OldWay>,
}

impl Wishes {
    /// Reads the settings for a project.
    pub(crate) fn of(_engine: &Engine, _here: &Here, _known: &Known) -> Result<Self, EngineError> {
        Ok(Self::default())
    }
}

/// What the settings say about clearing away.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keeping {
    /// A sandbox that nothing happened to for this long may go.
    pub(crate) idle_ms: u64,
    /// At least this many of the newest stay.
    pub(crate) keep_last: usize,
    /// All sandboxes together may occupy this much.
    pub(crate) disk_budget: Option<Bytes>,
    /// How long changes that were given up can still be had back.
    pub(crate) grace_ms: u64,
}

impl Keeping {
    /// Reads the settings for where the caller stands.
    pub(crate) fn of(_engine: &Engine, _here: &Here) -> Result<Self, EngineError> {
        Ok(Self {
            idle_ms: 3_600_000,
            keep_last: 0,
            disk_budget: None,
            grace_ms: 7 * 24 * 3_600_000,
        })
    }
}
