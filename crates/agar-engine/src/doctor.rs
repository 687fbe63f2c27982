//! What this machine can do, found out by trying.

use crate::{Engine, EngineError};
use agar_core::walls::Tier;
use serde::{Deserialize, Serialize};

/// Asks what this machine can do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DoctorRequest {
    /// How many sandboxes to time; five if left out, none if zero.
    pub tries: Option<u32>,
}

/// How one mechanism fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// It works.
    Ok,
    /// It works; there is something to know.
    Note,
    /// It works less well than it could.
    Weaker,
    /// It does not work.
    Missing,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was tried: `overlayfs`.
    pub name: String,
    /// What was seen.
    pub detail: String,
    /// How it fares.
    pub health: Health,
    /// Exactly what to type to mend it.
    pub fix: Option<String>,
}

/// What this machine can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DoctorAnswer {
    /// What was tried.
    pub findings: Vec<Finding>,
    /// The strongest tier that works here.
    pub tier: Option<Tier>,
    /// The median time until a sandbox was ready, in microseconds.
    pub ready_us: Option<u64>,
    /// How many sandboxes that was measured on.
    pub tries: u32,
}

/// Tries every mechanism for real.
pub fn doctor(_engine: &Engine, _request: &DoctorRequest) -> Result<DoctorAnswer, EngineError> {
    Err(EngineError::Absent {
        doing: "examine this machine",
        missing: "jail",
    })
}
