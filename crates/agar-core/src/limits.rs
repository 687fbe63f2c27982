//! How much of the machine a sandbox may use, and what happens when it wants more.

use crate::size::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The walls against runaways. `None` means: as much as the machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Share of one processor, in percent: 200 is two whole processors.
    pub cpu_percent: Option<u32>,
    /// Resident memory of all processes together.
    pub memory_bytes: Option<Bytes>,
    /// Processes and threads alive at once.
    pub processes: Option<u32>,
    /// Growth of the sandbox's layers.
    pub disk_bytes: Option<Bytes>,
    /// Wall time of one run, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Output of one run that is passed on and kept.
    pub output_bytes: Option<Bytes>,
}

impl Limits {
    /// What an experiment started by an agent or the API gets unless it asks otherwise.
    pub const fn agent() -> Self {
        Self {
            cpu_percent: Some(50),
            memory_bytes: Some(Bytes::mib(512)),
            processes: Some(1024),
            disk_bytes: Some(Bytes::mib(100)),
            timeout_ms: Some(300_000),
            output_bytes: Some(Bytes::mib(64)),
        }
    }

    /// What a person's own run gets: the machine, with a wall against a fork bomb.
    pub const fn person() -> Self {
        Self {
            cpu_percent: None,
            memory_bytes: None,
            processes: Some(8192),
            disk_bytes: None,
            timeout_ms: None,
            output_bytes: None,
        }
    }

    /// These limits where they are set, and `other`'s elsewhere.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        const fn pick<T: Copy>(mine: Option<T>, other: Option<T>) -> Option<T> {
            match mine {
                Some(_) => mine,
                None => other,
            }
        }
        Self {
            cpu_percent: pick(self.cpu_percent, other.cpu_percent),
            memory_bytes: pick(self.memory_bytes, other.memory_bytes),
            processes: pick(self.processes, other.processes),
            disk_bytes: pick(self.disk_bytes, other.disk_bytes),
            timeout_ms: pick(self.timeout_ms, other.timeout_ms),
            output_bytes: pick(self.output_bytes, other.output_bytes),
        }
    }
}

impl Limits {
    /// What is limited to nothing at all, so that no command could even start.
    pub fn exhausted(&self) -> Option<Resource> {
        let bytes = |limit: Option<Bytes>| limit == Some(Bytes(0));
        [
            (self.cpu_percent == Some(0), Resource::Cpu),
            (bytes(self.memory_bytes), Resource::Memory),
            (self.processes == Some(0), Resource::Processes),
            (bytes(self.disk_bytes), Resource::Disk),
            (bytes(self.output_bytes), Resource::Output),
        ]
        .into_iter()
        .find_map(|(exhausted, resource)| exhausted.then_some(resource))
    }
}

/// Something a limit can be put on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Processor time.
    Cpu,
    /// Resident memory.
    Memory,
    /// Processes and threads.
    Processes,
    /// Growth on disk.
    Disk,
    /// Wall time.
    Time,
    /// Output of a run.
    Output,
}

impl Resource {
    /// The flag and the settings key that raise it.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Disk => "disk",
            Self::Time => "timeout",
            Self::Output => "output",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Processes => "process",
            Self::Disk => "disk",
            Self::Time => "time",
            Self::Output => "output",
        })
    }
}

/// A limit that was reached, as the run's record names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breach {
    /// What ran out.
    pub resource: Resource,
    /// The limit, in the resource's unit: bytes, processes or milliseconds.
    pub limit: u64,
    /// What was seen when the run was ended, in the same unit.
    pub seen: u64,
    /// The process that was the largest user of it, where that is known: `cc1plus (pid 231)`.
    pub culprit: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_defaults_hold_for_agents() {
        let limits = Limits::agent();
        assert_eq!(limits.cpu_percent, Some(50));
        assert_eq!(limits.memory_bytes, Some(Bytes::mib(512)));
        assert_eq!(limits.disk_bytes, Some(Bytes::mib(100)));
        assert_eq!(limits.timeout_ms, Some(300_000));
    }

    #[test]
    fn a_stated_limit_wins_over_the_default() {
        let stated = Limits {
            memory_bytes: Some(Bytes(7)),
            ..Limits::default()
        };
        let both = stated.or(Limits::agent());
        assert_eq!(both.memory_bytes, Some(Bytes(7)));
        assert_eq!(both.timeout_ms, Some(300_000));
    }

    #[test]
    fn even_a_person_is_walled_against_a_fork_bomb() {
        assert!(Limits::person().processes.is_some());
    }
}
