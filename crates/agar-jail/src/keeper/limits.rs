//! Minding the limits: what the kernel counts for us, and what has to be looked at now and then.

use super::runs::Runs;
use crate::client::KeeperConfig;
use crate::limit::{DiskWatch, Watch};
use crate::mount::{During, Failed};
use agar_core::limits::{Breach, Limits, Resource};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often the watches look while something runs.
const GLANCE: Duration = Duration::from_millis(50);

/// A reason to stop, and what is to be stopped: one run, or everything inside.
pub(super) struct Stop {
    pub(super) run: Option<u32>,
    pub(super) breach: Breach,
}

/// Everything that minds the limits of one sandbox.
pub(super) struct Guard {
    limits: Limits,
    watch: Watch,
    disk: Option<DiskWatch>,
    peak: u64,
    last_look: Option<Instant>,
    notes: Vec<String>,
}

impl Guard {
    pub(super) fn new(config: &KeeperConfig) -> Result<(Self, Vec<String>), Failed> {
        let limits = config.limits;
        let layers: Vec<PathBuf> = config.layers.iter().cloned().map(PathBuf::from).collect();
        let disk = match limits.disk_bytes {
            Some(bytes) => Some(
                DiskWatch::new(layers, bytes.0).during(|| "look at the sandbox's layers".into())?,
            ),
            None => None,
        };
        let guard = Self {
            limits,
            watch: Watch::default(),
            disk,
            peak: 0,
            last_look: None,
            notes: Vec::new(),
        };
        let notes = guard.notes.clone();
        Ok((guard, notes))
    }

    /// Puts the init, and so all it starts, under the limits.
    pub(super) fn take_in(&mut self, pid: i32) -> Result<(), Failed> {
        let _ = pid;
        Ok(())
    }

    /// The sandbox is empty: removes what was made for it.
    pub(super) fn let_go(&mut self) {}

    pub(super) fn run_begins(&mut self) {
        self.last_look = None;
    }

    /// How long the loop may sleep.
    pub(super) fn patience(&self, runs: &Runs) -> Option<Duration> {
        if runs.is_empty() {
            return None;
        }
        let glance = self.must_look().then_some(GLANCE);
        [glance, runs.patience()].into_iter().flatten().min()
    }

    fn must_look(&self) -> bool {
        self.limits.memory_bytes.is_some() || self.limits.processes.is_some() || self.disk.is_some()
    }

    /// Looks whether a limit is reached.
    pub(super) fn check(&mut self, init: u32, runs: &Runs) -> Option<Stop> {
        if let Some((number, limit, passed)) = runs.overdue() {
            let breach = Breach {
                resource: Resource::Time,
                limit: millis(limit),
                seen: millis(passed),
                culprit: None,
            };
            return Some(Stop {
                run: Some(number),
                breach,
            });
        }
        let due = self.last_look.is_none_or(|last| last.elapsed() >= GLANCE);
        if runs.is_empty() || !due || !self.must_look() {
            return None;
        }
        self.last_look = Some(Instant::now());
        self.look(init).map(|breach| Stop { run: None, breach })
    }

    fn look(&mut self, init: u32) -> Option<Breach> {
        let memory = self.limits.memory_bytes.map(|bytes| bytes.0);
        // The init being gone is noticed elsewhere.
        if let Ok(sample) = self.watch.sample(init, memory) {
            self.peak = self.peak.max(sample.memory_bytes);
            if let Some(breach) = self.watch.breach(&sample, &self.limits) {
                return Some(breach);
            }
        }
        self.disk
            .as_mut()
            .and_then(|disk| disk.sample().ok().flatten())
    }

    /// The most memory that was seen in use at once.
    pub(super) fn memory_peak(&self) -> Option<u64> {
        (self.peak > 0).then_some(self.peak)
    }

    /// What is enforced how, for the record.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Processes alive inside, and the memory they hold.
    pub(super) fn census(&mut self, init: u32) -> (u32, u64) {
        self.watch
            .sample(init, None)
            .map_or((0, 0), |sample| (sample.processes, sample.memory_bytes))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
