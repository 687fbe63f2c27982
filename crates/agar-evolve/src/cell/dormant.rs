//! A cell between two processes: all that lasts of it, as plain data.
//!
//! A cell that is put to sleep and written down this way comes back as the same cell: its versions
//! with what they left behind, its state to the last bit, the messages that wait for it, and what it
//! has done so far. Only its number is another one, since that belongs to an incubator.

use super::image::Image;
use super::version::Versions;
use super::{Aside, Body, Cell, Mailbox, Message, Metrics, State};
use crate::engine::nearby::Nearby;
use crate::failure::CellError;
use crate::genome::{Genome, GenomeError, GenomeId, Rules};
use crate::incubator::Incubator;
use crate::limits::Limits;
use agar_core::fault::{Fault, Kind};
use agar_core::seam::Timestamp;
use std::sync::Arc;

/// All that lasts of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dormant {
    /// The versions that are kept, the oldest first; the last one is the current.
    pub versions: Vec<DormantVersion>,
    /// How many there have been.
    pub total_versions: u32,
    /// The walls around each run.
    pub limits: Limits,
    /// Where its random numbers began.
    pub seed: u64,
    /// What `init` is told.
    pub params: Vec<u8>,
    /// What it has done so far.
    pub metrics: Metrics,
    /// When it was made.
    pub created_at: Timestamp,
    /// Messages that wait.
    pub messages: Vec<Message>,
    /// The number of the last message that was given one.
    pub last_ticket: u64,
    /// Its state; nothing for one that crashed.
    pub image: Option<Vec<u8>>,
}

/// One version of a cell's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DormantVersion {
    /// Its number.
    pub number: u32,
    /// The code, before counters were put into it.
    pub wasm: Vec<u8>,
    /// The genomes that it came from.
    pub parents: Vec<GenomeId>,
    /// Why it came.
    pub reason: String,
    /// When it came.
    pub at: Timestamp,
    /// What it saved when it left.
    pub snapshot: Option<State>,
}

/// What was written down of a cell cannot be brought back to life.
#[derive(Debug, thiserror::Error)]
pub enum ReviveError {
    /// One of its versions is no genome under the rules.
    #[error("version {number} is refused")]
    Genome {
        /// Which.
        number: u32,
        /// Why.
        source: GenomeError,
    },
    /// There is no version.
    #[error("it has no version")]
    NoVersion,
    /// The state is damaged.
    #[error("its state is damaged")]
    Damaged,
}

impl Fault for ReviveError {
    fn kind(&self) -> Kind {
        match self {
            Self::Genome { source, .. } => source.kind(),
            Self::NoVersion | Self::Damaged => Kind::Internal,
        }
    }
}

impl Cell {
    /// Puts the cell to sleep and copies all that lasts of it. One that crashed is copied as that.
    pub fn dormant(&mut self) -> Result<Dormant, CellError> {
        if !matches!(self.body, Body::Crashed) {
            // Being copied is not sleep of the cell's own.
            let hibernations = self.metrics.hibernations;
            self.hibernate()?;
            self.metrics.hibernations = hibernations;
        }
        let history = self.aside.versions.history();
        let (messages, last_ticket) = self.aside.mailbox.contents();
        Ok(Dormant {
            versions: history
                .versions
                .into_iter()
                .map(|version| DormantVersion {
                    number: version.number,
                    wasm: version.genome.wasm().to_vec(),
                    parents: version.parents,
                    reason: version.reason,
                    at: version.at,
                    snapshot: version.snapshot,
                })
                .collect(),
            total_versions: history.total_versions,
            limits: self.limits,
            seed: self.aside.seed,
            params: self.aside.params.clone(),
            metrics: self.metrics,
            created_at: self.aside.created_at,
            messages,
            last_ticket,
            image: match &self.body {
                Body::Asleep(image) => Some(image.bytes(&self.genome)),
                Body::Awake(..) | Body::Crashed => None,
            },
        })
    }
}

impl Incubator {
    /// Brings back a cell that was written down. It sleeps until it is used.
    pub fn revive(&self, dormant: &Dormant, rules: &Rules) -> Result<Cell, ReviveError> {
        let mut kept = Vec::with_capacity(dormant.versions.len());
        for version in &dormant.versions {
            let number = version.number;
            let genome = Genome::read(&version.wasm, rules)
                .map_err(|source| ReviveError::Genome { number, source })?;
            kept.push(super::Version {
                number,
                genome,
                parents: version.parents.clone(),
                reason: version.reason.clone(),
                at: version.at,
                snapshot: version.snapshot.clone(),
            });
        }
        let genome = kept.last().ok_or(ReviveError::NoVersion)?.genome.clone();
        let body = match &dormant.image {
            None => Body::Crashed,
            Some(bytes) => {
                let image = Image::read(bytes, &genome).ok_or(ReviveError::Damaged)?;
                Body::Asleep(Box::new(image))
            }
        };
        let limits = dormant.limits.within_bounds();
        let (waiting, last) = (dormant.messages.clone(), dormant.last_ticket);
        let aside = Aside {
            id: self.next_id(),
            seed: dormant.seed,
            cases: None,
            params: dormant.params.clone(),
            mailbox: Arc::new(Mailbox::holding(limits.mailbox, waiting, last)),
            versions: Versions::restored(dormant.total_versions, kept),
            created_at: dormant.created_at,
        };
        let cell = Cell {
            genome,
            limits,
            body,
            nearby: Nearby::default(),
            metrics: dormant.metrics,
            artifacts: Vec::new(),
            aside: Box::new(aside),
            incubator: self.clone(),
        };
        if cell.genome.script().is_some() {
            // What a script defines is known once it was evaluated; it was, before it slept.
            drop(cell.hatch(&cell.genome));
        }
        Ok(cell)
    }
}
