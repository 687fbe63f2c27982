//! Running a search, from the beginning or from where it stopped.

use super::course::Course;
use super::failure::EvolveError;
use super::keep::{self, Kept};
use super::outside::OutsideWish;
use super::view::{IndividualView, SearchView};
use super::watch::{self, Told};
use super::wish::Wish;
use crate::{Engine, EngineError};
use agar_core::seam::Timestamp;
use agar_evolve::search::{Census, Search};
use agar_evolve::{Unwatched, Watch};
use agar_store::Fact;
use agar_store::evolution::SearchRow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Asks for a search.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvolveRequest {
    /// The evolve file.
    pub file: Option<PathBuf>,
    /// A formula to find, instead of a file.
    pub target: Option<String>,
    /// The name, instead of the file's.
    pub name: Option<String>,
    /// The seed, instead of the file's.
    pub seed: Option<u64>,
    /// The population of each island, instead of the file's.
    pub population: Option<usize>,
    /// The last generation, instead of the file's.
    pub generations: Option<u32>,
    /// Threads; as many as there are processors if left out. They change nothing but the speed.
    pub threads: Option<usize>,
    /// Lets the search ask for children beyond this machine, if its file wants to.
    pub allow_outside: bool,
    /// A file to which every event is added, one a line.
    pub events: Option<PathBuf>,
    /// A file that holds the numbers as of the last generation, in Prometheus' form.
    pub metrics: Option<PathBuf>,
}

/// Asks for a search to go on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResumeSearchRequest {
    /// Which; the newest if left out.
    pub name: Option<String>,
    /// Another last generation: also lets a search go on that has ended.
    pub generations: Option<u32>,
    /// Threads.
    pub threads: Option<usize>,
    /// A file to which every event is added, one a line.
    pub events: Option<PathBuf>,
    /// A file that holds the numbers as of the last generation, in Prometheus' form.
    pub metrics: Option<PathBuf>,
}

/// What came of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvolveAnswer {
    /// The search.
    pub search: SearchView,
    /// The best ever, if anyone has a score.
    pub best: Option<IndividualView>,
    /// More about the best, from cases that nobody was bred on.
    pub examined: BTreeMap<String, f64>,
    /// The population at the end.
    pub census: Option<Census>,
    /// The best score of each generation, from the first that this command made.
    pub history: Vec<Option<f64>>,
}

/// Runs a search to its end. It can be killed at any moment: [`resume_search`] goes on.
pub fn run_search(engine: &Engine, request: &EvolveRequest) -> Result<EvolveAnswer, EngineError> {
    let wish = asked(engine, request)?;
    // Whatever is wrong with it is said before anything is written.
    wish.make_task()?;
    if let Some(outside) = &wish.outside {
        outside.key(engine)?;
    }
    let mut kept = Kept::open(engine)?;
    let (project, text) = (kept.project, wish.text()?);
    let (_, name) = kept
        .store
        .write(|writer| writer.begin_search(project, &wish.name(), &text, engine.now()))?;
    let row = kept.find(Some(&name))?;
    watch::note(
        engine,
        &Fact::EvolveBegan {
            search: name,
            task: wish.task.kind().to_owned(),
            outside: wish.outside.as_ref().map(OutsideWish::words),
        },
    )?;
    let told = Told {
        events: request.events.clone(),
        metrics: request.metrics.clone(),
    };
    go_on(engine, kept, &row, (request.threads, &told))
}

fn asked(engine: &Engine, request: &EvolveRequest) -> Result<Wish, EngineError> {
    let mut wish = match (&request.file, &request.target) {
        (Some(file), None) => Wish::read(&engine.surroundings().cwd.join(file))?,
        (None, Some(target)) => Wish::for_formula(target),
        (Some(_), Some(_)) => {
            let why = "a file has its own task: leave --target out".to_owned();
            return Err(EngineError::Invalid(why));
        }
        (None, None) => return Err(EvolveError::NoTask.into()),
    };
    if let Some(name) = &request.name {
        wish.name = Some(name.clone());
    }
    if let Some(seed) = request.seed {
        wish.search.seed = seed;
    }
    if let Some(population) = request.population {
        wish.search.population = population;
    }
    if let Some(generations) = request.generations {
        wish.search.stop.generations = generations;
    }
    if let Some(outside) = &mut wish.outside {
        outside.allowed = request.allow_outside;
    }
    Ok(wish)
}

/// Goes on with a search from the last generation that is complete.
pub fn resume_search(
    engine: &Engine,
    request: &ResumeSearchRequest,
) -> Result<EvolveAnswer, EngineError> {
    let mut kept = Kept::open(engine)?;
    let mut row = kept.find(request.name.as_deref())?;
    if let Some(generations) = request.generations {
        let mut wish = keep::wish(&row)?;
        wish.search.stop.generations = generations;
        let text = wish.text()?;
        let working = kept.take(&row)?;
        kept.store
            .write(|writer| writer.reopen_search(row.id, &text))?;
        drop(working);
        row = kept.find(Some(&row.name))?;
    }
    if row.ended.is_some() {
        return Err(EvolveError::Over { name: row.name }.into());
    }
    let told = Told {
        events: request.events.clone(),
        metrics: request.metrics.clone(),
    };
    go_on(engine, kept, &row, (request.threads, &told))
}

fn go_on(
    engine: &Engine,
    mut kept: Kept,
    row: &SearchRow,
    (threads, told): (Option<usize>, &Told),
) -> Result<EvolveAnswer, EngineError> {
    let working = kept.take(row)?;
    // Whoever held the lock before may have gone further than what was read then.
    let row = kept.find(Some(&row.name))?;
    let mut course = Course::open(engine, &kept, &row, told)?;
    let threads = threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    course.run(&mut kept, threads)?;
    let Course {
        search,
        history,
        census,
        ..
    } = course;
    if let Some(ended) = search
        .ended()
        .filter(|_| row.ended.is_none() && history.is_empty())
    {
        end(&mut kept, &row, keep::ending(ended))?;
    }
    drop(working);
    let row = kept.find(Some(&row.name))?;
    let best = search.best().cloned();
    Ok(EvolveAnswer {
        search: SearchView::new(&row, false)?,
        examined: best
            .as_ref()
            .map(|it| search.examine(it))
            .unwrap_or_default(),
        best: best.map(|it| IndividualView::new(&it, tried_at(&kept, &row, it.id))),
        census,
        history,
    })
}

/// Writes down that a search had ended all along.
fn end(kept: &mut Kept, row: &SearchRow, word: &str) -> Result<(), EngineError> {
    kept.store.write(|writer| writer.end_search(row.id, word))?;
    Ok(())
}

/// When an individual was tried.
pub(super) fn tried_at(kept: &Kept, row: &SearchRow, number: u64) -> Timestamp {
    let found = kept.store.individual(row.id, number).ok().flatten();
    found.map_or(row.changed_at, |individual| individual.evaluated_at)
}

/// The search as it was after its last whole generation.
pub(super) fn restore(
    engine: &Engine,
    kept: &Kept,
    row: &SearchRow,
) -> Result<Search, EngineError> {
    restore_watched(engine, kept, row, Arc::new(Unwatched))
}

/// The same, watched.
pub(super) fn restore_watched(
    engine: &Engine,
    kept: &Kept,
    row: &SearchRow,
    watch: Arc<dyn Watch>,
) -> Result<Search, EngineError> {
    let wish = keep::wish(row)?;
    let task = wish.make_task()?;
    let bench = wish.bench(Arc::clone(&engine.surroundings().clock));
    match keep::checkpoint(row)? {
        None => Ok(Search::new(wish.search, task, bench, watch)),
        Some(at) => {
            let known = kept.known(row)?;
            let search = Search::resume(wish.search, task, bench, watch, (at, known));
            Ok(search.map_err(|missing| EvolveError::Record {
                name: row.name.clone(),
                why: missing.to_string(),
            })?)
        }
    }
}

/// Asks for searches to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ForgetSearchRequest {
    /// Which.
    pub names: Vec<String>,
}

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetSearchAnswer {
    /// The names.
    pub removed: Vec<String>,
}

/// Removes searches and all that they bore.
pub fn forget_search(
    engine: &Engine,
    request: &ForgetSearchRequest,
) -> Result<ForgetSearchAnswer, EngineError> {
    let mut kept = Kept::open(engine)?;
    let rows: Result<Vec<SearchRow>, EngineError> = request
        .names
        .iter()
        .map(|name| kept.find(Some(name)))
        .collect();
    let mut removed = Vec::new();
    for row in rows? {
        let _working = kept.take(&row)?;
        kept.store.write(|writer| writer.remove_search(row.id))?;
        removed.push(row.name);
    }
    Ok(ForgetSearchAnswer { removed })
}
