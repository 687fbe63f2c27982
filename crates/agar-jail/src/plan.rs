//! A jail as plain data: what will be mounted, dropped and filtered, in which order.
//!
//! A plan is made by a pure function from what is wanted ([`Policy`]) and what is there
//! ([`Machine`]). It can be printed, compared and tested without a kernel; raising it is then a
//! walk down the list that decides nothing.

use crate::machine::Machine;
use crate::policy::Policy;
use agar_core::fault::{Fault, Kind};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A complete description of a jail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What it was made from.
    pub policy: Policy,
}

/// The policy cannot be had on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The network mode is not there yet.
    #[error("an allow-list of network names is not available yet")]
    NoAllowList,
}

impl Fault for PlanError {
    fn kind(&self) -> Kind {
        Kind::Unsupported
    }
}

/// Decides the jail.
pub fn plan(policy: &Policy, machine: &Machine) -> Result<Plan, PlanError> {
    let _ = machine;
    Ok(Plan {
        policy: policy.clone(),
    })
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tier {}", self.policy.tier)
    }
}
