//! What this machine is, read once, as data.

use serde::{Deserialize, Serialize};
use std::io;

/// What a plan needs to know about the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The caller's user id.
    pub uid: u32,
    /// The caller's group id.
    pub gid: u32,
}

impl Machine {
    /// Reads this machine.
    pub fn read() -> io::Result<Self> {
        Ok(Self {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
        })
    }
}
