//! Requests that are made twice and done once.

use crate::{Engine, EngineError};
use agar_core::seam::Timestamp;
use serde::{Deserialize, Serialize};

/// How long an answer is given again.
const REMEMBERED_MS: u64 = 24 * 3_600_000;

/// An answer that can be given again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenAnswer {
    /// What identifies the request beyond its key.
    pub request: String,
    /// The status of the answer.
    pub status: u16,
    /// Its text.
    pub body: String,
}

/// What was answered to the request with this key, within the last day.
pub fn given(engine: &Engine, key: &str) -> Result<Option<GivenAnswer>, EngineError> {
    let found = engine.here()?.read(|store| store.answered(key))?;
    let fresh = |at: Timestamp| engine.now().since(at) < REMEMBERED_MS;
    Ok(found
        .filter(|answered| fresh(answered.at))
        .map(|answered| GivenAnswer {
            request: answered.request,
            status: answered.status,
            body: answered.body,
        }))
}

/// Remembers what was answered to the request with this key.
pub fn remember(engine: &Engine, key: &str, answer: &GivenAnswer) -> Result<(), EngineError> {
    let answered = agar_store::Answered {
        request: answer.request.clone(),
        status: answer.status,
        body: answer.body.clone(),
        at: engine.now(),
    };
    engine
        .here()?
        .write(|store| store.set_answered(key, &answered))
}
