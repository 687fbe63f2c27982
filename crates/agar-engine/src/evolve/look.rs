//! Looking at searches without touching them.

use super::failure::EvolveError;
use super::keep::{self, Kept};
use super::run::{restore, tried_at};
use super::view::{IndividualView, SearchView};
use crate::{Engine, EngineError};
use agar_evolve::search::Census;
use agar_store::evolution::SearchRow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Asks how searches stand.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StatusRequest {
    /// Which; all of the project if left out.
    pub name: Option<String>,
}

/// How searches stand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusAnswer {
    /// The searches, the newest first.
    pub searches: Vec<SearchView>,
    /// The population of the one that was asked for: health and fitness distribution.
    pub census: Option<Census>,
}

/// Says how searches stand.
pub fn status(engine: &Engine, request: &StatusRequest) -> Result<StatusAnswer, EngineError> {
    let kept = Kept::open(engine)?;
    let Some(name) = &request.name else {
        let rows = kept.store.searches(kept.project)?;
        let views: Result<Vec<SearchView>, EvolveError> = rows
            .iter()
            .map(|row| SearchView::new(row, kept.is_running(row)))
            .collect();
        return Ok(StatusAnswer {
            searches: views?,
            census: None,
        });
    };
    let row = kept.find(Some(name))?;
    let last = censuses(&kept, &row)?.pop();
    Ok(StatusAnswer {
        searches: vec![SearchView::new(&row, kept.is_running(&row))?],
        census: last,
    })
}

fn censuses(kept: &Kept, row: &SearchRow) -> Result<Vec<Census>, EngineError> {
    let documents = kept.store.censuses(row.id)?;
    let read = documents
        .iter()
        .map(|census| serde_json::from_str(&census.document));
    let read: Result<Vec<Census>, serde_json::Error> = read.collect();
    Ok(read.map_err(|error| EvolveError::Record {
        name: row.name.clone(),
        why: error.to_string(),
    })?)
}

/// Asks for the best.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BestRequest {
    /// Of which search; the newest if left out.
    pub name: Option<String>,
    /// How many.
    pub count: usize,
}

/// The best ever, and more about the first of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BestAnswer {
    /// The search.
    pub name: String,
    /// The best first.
    pub best: Vec<IndividualView>,
    /// More about the first, from cases that nobody was bred on.
    pub examined: BTreeMap<String, f64>,
}

/// Shows the best ever with different genomes.
pub fn best(engine: &Engine, request: &BestRequest) -> Result<BestAnswer, EngineError> {
    let kept = Kept::open(engine)?;
    let row = kept.find(request.name.as_deref())?;
    let search = restore(engine, &kept, &row)?;
    let at = search.checkpoint();
    let hall = at.best.into_iter().chain(at.archives.hall.iter().copied());
    let mut seen = std::collections::BTreeSet::new();
    let best: Vec<_> = hall
        .filter(|id| seen.insert(*id))
        .filter_map(|id| search.individual(id))
        .take(request.count.max(1))
        .collect();
    let first = best.first().ok_or_else(|| EvolveError::Nobody {
        name: row.name.clone(),
    })?;
    Ok(BestAnswer {
        examined: search.examine(first),
        best: best
            .iter()
            .map(|it| IndividualView::new(it, tried_at(&kept, &row, it.id)))
            .collect(),
        name: row.name,
    })
}

/// Asks for fitness over generations.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlotRequest {
    /// Of which search; the newest if left out.
    pub name: Option<String>,
}

/// Fitness over generations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlotAnswer {
    /// The search.
    pub search: SearchView,
    /// What each generation looked like.
    pub generations: Vec<Census>,
}

/// Shows fitness over generations.
pub fn plot(engine: &Engine, request: &PlotRequest) -> Result<PlotAnswer, EngineError> {
    let kept = Kept::open(engine)?;
    let row = kept.find(request.name.as_deref())?;
    keep::wish(&row)?;
    Ok(PlotAnswer {
        generations: censuses(&kept, &row)?,
        search: SearchView::new(&row, kept.is_running(&row))?,
    })
}
