//! The replay itself, and the simple answers beside it.

use crate::error::MemoryError;
use crate::experiment::{Beginning, Ending, Status};
use crate::memory::{Memory, Tuning, days};
use crate::replay::Outcome;
use agar_core::id::{ExperimentId, ProjectId, SandboxId};
use agar_core::seam::Timestamp;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// What each way of answering said of one line, and what came.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    /// Project, words and agent.
    pub(super) kin: (String, String, String),
    pub(super) agar: f64,
    pub(super) raw: f64,
    pub(super) interval: (f64, f64),
    pub(super) global: f64,
    pub(super) fortnight: f64,
    pub(super) seed: f64,
    pub(super) came: f64,
}

/// Replays the outcomes, which are in order of their beginning.
pub(super) fn run(
    outcomes: &[Outcome],
    directory: &Path,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Said>, MemoryError> {
    let mut memory = Memory::open(directory, project(""), Tuning::default())?;
    let mut open: BTreeMap<(Timestamp, usize), ExperimentId> = BTreeMap::new();
    let mut rates = Rates::default();
    let mut said = Vec::with_capacity(outcomes.len());
    for (index, outcome) in outcomes.iter().enumerate() {
        while let Some((&(closed, which), &id)) = open.first_key_value() {
            if closed >= outcome.opened {
                break;
            }
            open.remove(&(closed, which));
            memory = close(memory, &outcomes[which], id)?;
            rates.add(closed, outcomes[which].success);
        }
        memory = memory.of_project(project(&outcome.project));
        let told = memory.tell(&outcome.suggestion, outcome.opened)?;
        said.push(Said {
            kin: (
                outcome.project.clone(),
                outcome.suggestion.text.clone(),
                outcome.suggestion.agent.clone(),
            ),
            agar: told.confidence.p,
            raw: told.confidence.raw,
            interval: (told.confidence.low, told.confidence.high),
            global: rates.global(),
            fortnight: rates.fortnight(outcome.opened),
            seed: literal(&told.neighbours, outcome.opened),
            came: if outcome.success { 1.0 } else { 0.0 },
        });
        let id = ExperimentId::new(outcome.opened, number(index));
        let beginning = Beginning {
            id,
            sandbox: SandboxId::new(outcome.opened, number(index)),
            user: String::new(),
            suggestion: outcome.suggestion.clone(),
            limits: Value::Null,
            at: outcome.opened,
        };
        memory.insert(&beginning, &told)?;
        open.insert((outcome.closed, index), id);
        progress(index + 1, outcomes.len());
    }
    Ok(said)
}

fn close(memory: Memory, outcome: &Outcome, id: ExperimentId) -> Result<Memory, MemoryError> {
    let mut memory = memory.of_project(project(&outcome.project));
    let status = if outcome.success {
        Status::Success
    } else {
        Status::Failure
    };
    memory.record(&Ending::new(id, status, outcome.closed))?;
    Ok(memory)
}

fn number(index: usize) -> [u8; 10] {
    let mut bytes = [0; 10];
    // The first three bytes share their place with the marks of a UUID.
    bytes[3..].copy_from_slice(&(index as u64).to_be_bytes()[1..]);
    bytes
}

/// An id for a project that has only a name.
fn project(name: &str) -> ProjectId {
    let mut bytes = [0; 10];
    bytes.copy_from_slice(&blake3::hash(name.as_bytes()).as_bytes()[..10]);
    ProjectId::new(Timestamp::from_millis(0), bytes)
}

/// The first seed taken literally: the share of similar successes times 0.95 for each day of their
/// mean age, and one half with fewer than three.
fn literal(neighbours: &[crate::confidence::Neighbour], now: Timestamp) -> f64 {
    let similar: Vec<_> = neighbours
        .iter()
        .filter(|it| it.likeness >= crate::confidence::SIMILAR)
        .collect();
    if similar.len() < 3 {
        return 0.5;
    }
    #[expect(clippy::cast_precision_loss, reason = "a few neighbours")]
    let count = similar.len() as f64;
    #[expect(clippy::cast_precision_loss, reason = "a few neighbours")]
    let worked = similar.iter().filter(|it| it.success).count() as f64;
    let age: f64 = similar
        .iter()
        .map(|it| days(now.since(it.closed)))
        .sum::<f64>()
        / count;
    worked / count * 0.95_f64.powf(age)
}

/// Shares of successes so far and lately.
#[derive(Debug, Default)]
struct Rates {
    all: (f64, f64),
    recent: VecDeque<(Timestamp, bool)>,
}

impl Rates {
    fn add(&mut self, at: Timestamp, success: bool) {
        self.all.0 += f64::from(u8::from(success));
        self.all.1 += 1.0;
        self.recent.push_back((at, success));
    }

    fn global(&self) -> f64 {
        (self.all.0 + 1.0) / (self.all.1 + 2.0)
    }

    fn fortnight(&mut self, now: Timestamp) -> f64 {
        const FORTNIGHT: u64 = 14 * 86_400_000;
        while self
            .recent
            .front()
            .is_some_and(|(at, _)| now.since(*at) > FORTNIGHT)
        {
            self.recent.pop_front();
        }
        if self.recent.is_empty() {
            return self.global();
        }
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
        let count = self.recent.len() as f64;
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
        let worked = self.recent.iter().filter(|(_, success)| *success).count() as f64;
        (worked + 1.0) / (count + 2.0)
    }
}
