//! What was tried: page by page, by words, and day by day.

use super::open;
use crate::{Engine, EngineError};
use agar_core::seam::Timestamp;
use agar_memory::{ExperimentPage, ExperimentSummary, Status};
use serde::{Deserialize, Serialize};

/// Asks for experiments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExperimentsRequest {
    /// How many at most.
    pub limit: u32,
    /// Only those before the one with this number.
    pub before: Option<i64>,
    /// Only those with all of these words in what was proposed, by whom, or what came of it.
    pub words: String,
    /// Only those of this status.
    pub status: Option<Status>,
}

impl Default for ExperimentsRequest {
    fn default() -> Self {
        Self {
            limit: 20,
            before: None,
            words: String::new(),
            status: None,
        }
    }
}

/// The experiments of the project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentsAnswer {
    /// The newest first.
    pub experiments: Vec<ExperimentSummary>,
}

/// Lists the experiments.
pub fn experiments(
    engine: &Engine,
    request: &ExperimentsRequest,
) -> Result<ExperimentsAnswer, EngineError> {
    let (_, memory) = open(engine)?;
    let experiments = memory.experiment_page(&ExperimentPage {
        words: &request.words,
        status: request.status.map(Status::word),
        before: request.before,
        limit: request.limit,
    })?;
    Ok(ExperimentsAnswer { experiments })
}

/// Asks what was tried on the last days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HistoryRequest {
    /// How many days, today among them.
    pub days: u32,
    /// Where days begin: minutes east of Greenwich.
    pub east_minutes: i32,
}

impl Default for HistoryRequest {
    fn default() -> Self {
        Self {
            days: 30,
            east_minutes: 0,
        }
    }
}

/// One day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryDay {
    /// When it began.
    pub from: Timestamp,
    /// Experiments that worked.
    pub success: u64,
    /// Experiments that worked in part.
    pub partial: u64,
    /// Experiments that failed.
    pub failure: u64,
    /// Experiments that have not ended.
    pub running: u64,
}

/// What was tried on the last days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryAnswer {
    /// Every day, the oldest first, also those on which nothing was tried.
    pub days: Vec<HistoryDay>,
}

const DAY_MS: i64 = 86_400_000;

/// Counts what was tried on each of the last days.
pub fn history(engine: &Engine, request: HistoryRequest) -> Result<HistoryAnswer, EngineError> {
    let (_, memory) = open(engine)?;
    // Nobody lives further from Greenwich than this.
    let east_ms = i64::from(request.east_minutes.clamp(-14 * 60, 14 * 60)) * 60_000;
    let now = i64::try_from(engine.now().millis()).unwrap_or_default();
    let today = (now + east_ms).div_euclid(DAY_MS);
    let first = today - i64::from(request.days.clamp(1, 366)) + 1;
    let begins = |day: i64| {
        Timestamp::from_millis(u64::try_from(day * DAY_MS - east_ms).unwrap_or_default())
    };
    let mut days: Vec<HistoryDay> = (first..=today)
        .map(|day| HistoryDay {
            from: begins(day),
            success: 0,
            partial: 0,
            failure: 0,
            running: 0,
        })
        .collect();
    for counted in memory.by_day(begins(first), east_ms)? {
        let place = usize::try_from(counted.day - first).ok();
        let Some(day) = place.and_then(|place| days.get_mut(place)) else {
            // Begun tomorrow, by a clock that was wrong.
            continue;
        };
        match Status::from_word(&counted.status) {
            Some(Status::Success) => day.success += counted.count,
            Some(Status::Partial) => day.partial += counted.count,
            Some(Status::Failure) => day.failure += counted.count,
            Some(Status::Running) | None => day.running += counted.count,
        }
    }
    Ok(HistoryAnswer { days })
}
