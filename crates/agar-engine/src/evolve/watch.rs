//! What happens in a search, for those who watch it: a stream of events, metrics, and the journal.

use crate::{Engine, EngineError};
use agar_core::seam::{Clock, Timestamp};
use agar_evolve::search::Generation;
use agar_evolve::{Event, Invalid, Telemetry, Watch};
use agar_store::Fact;
use serde::Serialize;
use std::fmt;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where to tell what happens, beside the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Told {
    /// A file to which every event is added, one a line.
    pub(super) events: Option<PathBuf>,
    /// A file that holds the numbers as of the last generation, in Prometheus' form.
    pub(super) metrics: Option<PathBuf>,
}

/// Hears everything, counts it, and passes it on.
pub(super) struct Lookout {
    telemetry: Telemetry,
    clock: Arc<dyn Clock>,
    stream: Option<Mutex<Stream>>,
    metrics: Option<PathBuf>,
}

impl fmt::Debug for Lookout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookout")
            .field("telemetry", &self.telemetry)
            .field("metrics", &self.metrics)
            .finish_non_exhaustive()
    }
}

struct Stream {
    out: BufWriter<fs_err::File>,
    /// The first thing that went wrong.
    failed: Option<std::io::Error>,
}

/// One line of the stream.
#[derive(Serialize)]
struct Line<'a> {
    at: Timestamp,
    #[serde(flatten)]
    event: &'a Event<'a>,
}

impl Lookout {
    pub(super) fn new(engine: &Engine, told: &Told) -> Result<Self, EngineError> {
        let around = engine.surroundings();
        let open = |path: &Path| {
            let mut options = fs_err::OpenOptions::new();
            options
                .create(true)
                .append(true)
                .open(around.cwd.join(path))
        };
        let stream = told.events.as_deref().map(open).transpose();
        let stream = stream.map_err(EngineError::io("write the events".to_owned()))?;
        Ok(Self {
            telemetry: Telemetry::default(),
            clock: Arc::clone(&around.clock),
            stream: stream.map(|file| {
                Mutex::new(Stream {
                    out: BufWriter::new(file),
                    failed: None,
                })
            }),
            metrics: told.metrics.as_deref().map(|path| around.cwd.join(path)),
        })
    }

    /// Brings what was told so far to its readers: after each generation, and at the end.
    pub(super) fn publish(&self) -> Result<(), EngineError> {
        if let Some(stream) = &self.stream {
            let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
            let flushed = stream.out.flush();
            let failed = stream.failed.take().map_or(flushed, Err);
            failed.map_err(EngineError::io("write the events".to_owned()))?;
        }
        if let Some(path) = &self.metrics {
            let doing = EngineError::io("write the metrics".to_owned());
            // Whoever collects them must never see half a file.
            let new = path.with_extension("new");
            fs_err::write(&new, self.telemetry.prometheus())
                .and_then(|()| fs_err::rename(&new, path))
                .map_err(doing)?;
        }
        Ok(())
    }
}

impl Watch for Lookout {
    fn event(&self, event: &Event<'_>) {
        self.telemetry.event(event);
        let Some(stream) = &self.stream else {
            return;
        };
        let at = self.clock.now();
        let line = serde_json::to_string(&Line { at, event });
        let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
        let written = line
            .map_err(std::io::Error::other)
            .and_then(|line| writeln!(stream.out, "{line}"));
        if let Err(error) = written {
            stream.failed.get_or_insert(error);
        }
    }
}

/// What of a generation belongs into the journal: who was stopped, and who tried to cheat.
pub(super) fn contained(search: &str, made: &Generation) -> Option<Fact> {
    let reasons = || {
        made.births
            .iter()
            .filter_map(|it| it.verdict.as_ref().err())
    };
    let count = |is: fn(&Invalid) -> bool| reasons().filter(|it| is(it)).count() as u64;
    let limits = count(|it| matches!(it, Invalid::Limit { .. }));
    let timeouts = count(|it| matches!(it, Invalid::Timeout { .. }));
    let cheats = count(|it| {
        matches!(
            it,
            Invalid::OwnScore { .. } | Invalid::Order { .. } | Invalid::Memorised { .. }
        )
    });
    (limits + timeouts + cheats > 0).then(|| Fact::EvolveContained {
        search: search.to_owned(),
        generation: made.number,
        limits,
        timeouts,
        cheats,
    })
}

/// Appends a fact about the project to its journal.
pub(super) fn note(engine: &Engine, fact: &Fact) -> Result<(), EngineError> {
    let here = engine.here()?;
    let project = here.project(engine)?.id;
    here.write(|store| store.append(project, None, engine.now(), fact))?;
    Ok(())
}
