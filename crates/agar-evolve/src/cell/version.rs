//! The genomes that a cell has had, the last ten of them with what they left behind.

use super::State;
use crate::genome::{Genome, GenomeId};
use agar_core::seam::Timestamp;
use std::collections::VecDeque;

/// How many versions are kept.
pub const VERSIONS_KEPT: usize = 10;

/// One genome's time in a cell.
#[derive(Debug, Clone)]
pub struct Version {
    /// Counts up from one; never given twice.
    pub number: u32,
    /// The code, and through its id the checksum.
    pub genome: Genome,
    /// The genomes that it came from, as whoever brought it says.
    pub parents: Vec<GenomeId>,
    /// Why it came.
    pub reason: String,
    /// When it came.
    pub at: Timestamp,
    /// What it saved when it left; nothing for the current one, or one without `save`.
    pub snapshot: Option<State>,
}

/// What is known of a cell's versions.
#[derive(Debug, Clone)]
pub struct History {
    /// The number of the current one.
    pub current_version: u32,
    /// How many there have been.
    pub total_versions: u32,
    /// Those that are kept, the oldest first.
    pub versions: Vec<Version>,
}

/// Which state a cell goes back with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RollbackState {
    /// What the version saved when it left.
    Snapshot,
    /// What the cell knows now, brought into the version's form.
    Current,
}

/// The ring.
#[derive(Debug)]
pub(crate) struct Versions {
    total: u32,
    kept: VecDeque<Version>,
}

impl Versions {
    pub(crate) fn begin(genome: Genome, at: Timestamp) -> Self {
        let mut versions = Self {
            total: 0,
            kept: VecDeque::with_capacity(1),
        };
        versions.push(genome, Vec::new(), String::new(), at);
        versions
    }

    /// The ring as it was, the oldest first.
    pub(crate) fn restored(total: u32, kept: Vec<Version>) -> Self {
        Self {
            total,
            kept: kept.into(),
        }
    }

    pub(crate) const fn current(&self) -> u32 {
        self.total
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Version> {
        self.kept.iter().find(|version| version.number == number)
    }

    /// Notes what the current one leaves behind.
    pub(crate) fn leave(&mut self, snapshot: Option<State>) {
        if let Some(current) = self.kept.back_mut() {
            current.snapshot = snapshot;
        }
    }

    pub(crate) fn push(
        &mut self,
        genome: Genome,
        parents: Vec<GenomeId>,
        reason: String,
        at: Timestamp,
    ) {
        self.total += 1;
        if self.kept.len() == VERSIONS_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(Version {
            number: self.total,
            genome,
            parents,
            reason,
            at,
            snapshot: None,
        });
    }

    pub(crate) fn history(&self) -> History {
        History {
            current_version: self.total,
            total_versions: self.total,
            versions: self.kept.iter().cloned().collect(),
        }
    }
}
