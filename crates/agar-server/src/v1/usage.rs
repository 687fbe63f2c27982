//! What runs uses, as a short course of samples.
//!
//! Nobody samples while nobody looks: a sample is taken when somebody asks and the last one is old
//! enough. The last minutes are kept in memory, so that a page that is loaded again, or a second
//! one, begins with what the first has seen. Nothing of it is worth keeping when the server ends.

use crate::app::{App, Place};
use crate::query::Ask;
use crate::refusal::Refusal;
use agar_core::id::SandboxId;
use agar_engine::list::{ListOrder, ListRequest, Listed, Look, list};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use utoipa::ToSchema;

/// Samples that are kept of a sandbox.
const SAMPLES: usize = 60;
/// Sandboxes whose samples are kept.
const SANDBOXES: usize = 500;
/// Sandboxes that are looked at for one request, the newest first.
const LOOKED_AT: usize = 50;
/// No two samples are closer than this.
const APART_MS: u64 = 900;

/// One look at what runs in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub(crate) struct Sample {
    /// When, in milliseconds.
    at: u64,
    /// Processor use since the sample before, in percent of one processor.
    cpu_percent: u32,
    /// Resident memory.
    memory_bytes: u64,
    #[serde(skip)]
    cpu_ms: u64,
}

/// What one sandbox uses.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Used {
    /// The sandbox.
    #[schema(value_type = String)]
    id: SandboxId,
    /// Its name.
    alias: String,
    /// The oldest first.
    samples: Vec<Sample>,
}

/// What everything that runs uses.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Usage {
    /// When this was asked, in milliseconds: ask with `after` this for what comes next.
    at: u64,
    /// Sandboxes in which something may run, the newest first.
    sandboxes: Vec<Used>,
}

/// The samples of all sandboxes.
#[derive(Debug, Default)]
pub(crate) struct Samples(Mutex<BTreeMap<SandboxId, VecDeque<Sample>>>);

impl Samples {
    /// Adds a sample where the last one is old enough, and answers those after a moment.
    fn take(&self, seen: &[Listed], now: u64, after: u64) -> Vec<Used> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut used = Vec::new();
        for listed in seen {
            let samples = kept.entry(listed.sandbox.id).or_default();
            let last = samples.back().copied();
            if last.is_none_or(|last| now >= last.at + APART_MS) {
                samples.push_back(sample(listed, last, now));
            }
            let over = samples.len().saturating_sub(SAMPLES);
            samples.drain(..over);
            used.push(Used {
                id: listed.sandbox.id,
                alias: listed.sandbox.alias.clone(),
                samples: samples.iter().filter(|it| it.at > after).copied().collect(),
            });
        }
        while kept.len() > SANDBOXES {
            // The oldest sandbox is the least interesting.
            kept.pop_first();
        }
        used
    }
}

fn sample(listed: &Listed, last: Option<Sample>, now: u64) -> Sample {
    let cpu_ms = listed.cpu_ms.unwrap_or(0);
    let percent = match last {
        // What ended takes its time with it; that is no negative use.
        Some(last) => {
            let used = cpu_ms.saturating_sub(last.cpu_ms) * 100;
            used.checked_div(now - last.at).unwrap_or(0)
        }
        None => u64::from(listed.cpu_percent.unwrap_or(0)),
    };
    Sample {
        at: now,
        cpu_percent: u32::try_from(percent).unwrap_or(u32::MAX),
        memory_bytes: listed.memory_bytes.unwrap_or(0),
        cpu_ms,
    }
}

/// From when on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Since {
    after: u64,
}

/// Says what everything that runs uses.
pub(crate) async fn usage(
    State(app): State<App>,
    place: Place,
    Ask(since): Ask<Since>,
) -> Result<Json<Usage>, Refusal> {
    let server = app.clone();
    app.work(place, move |engine| {
        let request = ListRequest {
            states: agar_core::state::State::ALL
                .into_iter()
                .filter(|state| state.is_alive())
                .collect(),
            look: Look::Usage,
            order: ListOrder::Newest,
            limit: Some(LOOKED_AT),
            ..ListRequest::default()
        };
        let seen = list(engine, &request)?.sandboxes;
        let now = server.surroundings.clock.now().millis();
        let sandboxes = server.samples.take(&seen, now, since.after);
        Ok(Json(Usage { at: now, sandboxes }))
    })
    .await
}
