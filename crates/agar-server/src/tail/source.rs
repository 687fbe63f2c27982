//! What is followed by many is read by one.
//!
//! ```text
//! disk ──▶ reader ──▶ ring ──▶ client, client, client …
//!   └──────────────────────────▶ a client that is far behind, until it has caught up
//! ```
//!
//! So the cost follows what happens, not how many listen. A source lives as long as somebody follows
//! it; its reader ends with it, or when nothing more can come.

use super::look::{Looker, Seen, What};
use super::ring::{Ring, Since};
use crate::app::{App, Place};
use crate::refusal::Refusal;
use agar_engine::Engine;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;

/// How soon to look again where there is more to see.
const AT_ONCE: Duration = Duration::from_millis(10);
/// How soon to look again where something happens.
const SOON: Duration = Duration::from_millis(40);
/// How soon to look again where nothing does.
const LATER: Duration = Duration::from_millis(250);

/// Where something is followed, and what.
type Key = (Option<PathBuf>, What);

/// Everything that is followed.
#[derive(Debug, Default)]
pub(crate) struct Sources(Mutex<BTreeMap<Key, Weak<Source>>>);

/// Something that is followed.
pub(super) struct Source {
    app: App,
    key: Key,
    /// Opened by whoever looks first; used by one at a time.
    engine: Arc<tokio::sync::Mutex<Option<Engine>>>,
    ring: Mutex<Ring>,
    stage: watch::Sender<Stage>,
}

/// How far a source has come. Whoever waits for more hears of every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing is read yet, so nobody may rely on the ring.
    Beginning,
    /// Everything that happens comes into the ring.
    Reading,
    /// Nothing more comes: it is over, or cannot be read.
    Ended,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Source");
        shown.field("key", &self.key).finish_non_exhaustive()
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What to follow, together with everybody else who does. The first one starts the reader.
pub(super) fn join(app: &App, place: Place, what: What) -> Arc<Source> {
    let key = (place.0, what);
    let mut sources = held(&app.sources.0);
    let joined = sources.get(&key).and_then(Weak::upgrade);
    // One that ended may be held by somebody who is slow.
    if let Some(source) = &joined
        && *source.stage.borrow() != Stage::Ended
    {
        return Arc::clone(source);
    }
    let source = Arc::new(Source {
        app: app.clone(),
        key: key.clone(),
        engine: Arc::default(),
        ring: Mutex::new(Ring::new()),
        stage: watch::channel(Stage::Beginning).0,
    });
    sources.insert(key, Arc::downgrade(&source));
    // First, since the end of a source looks at all of them.
    drop(sources);
    drop(joined);
    tokio::spawn(read(Reading::begin(app), Arc::downgrade(&source)));
    source
}

impl Drop for Source {
    fn drop(&mut self) {
        let mut sources = held(&self.app.sources.0);
        // Another one may have taken its place.
        if let Some(named) = sources.get(&self.key)
            && named.strong_count() == 0
        {
            sources.remove(&self.key);
        }
    }
}

impl Source {
    /// How far it has come, and news of it.
    pub(super) fn stages(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// The place of what will be told next.
    pub(super) fn end(&self) -> u64 {
        held(&self.ring).end()
    }

    /// What was told to all from a place on.
    pub(super) fn since(&self, place: u64) -> Since {
        held(&self.ring).since(place)
    }

    /// What is followed.
    pub(super) fn what(&self) -> &What {
        &self.key.1
    }

    /// Looks at the disk for one who is there, where blocking is allowed.
    pub(super) async fn look(
        self: &Arc<Self>,
        looker: Looker,
    ) -> Option<Result<(Looker, Seen), Refusal>> {
        let mut looker = looker;
        self.with_engine(move |engine| {
            let seen = looker.look(engine)?;
            Ok((looker, seen))
        })
        .await
    }

    async fn with_engine<T, F>(self: &Arc<Self>, job: F) -> Option<Result<T, Refusal>>
    where
        F: FnOnce(&Engine) -> Result<T, Refusal> + Send + 'static,
        T: Send + 'static,
    {
        let source = Arc::clone(self);
        // In the order in which they came, and nobody holds a thread while waiting.
        let mut engine = Arc::clone(&self.engine).lock_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            if engine.is_none() {
                *engine = Some(source.app.engine(Place(source.key.0.clone()))?);
            }
            match engine.as_ref() {
                Some(engine) => job(engine),
                None => Err(Refusal::defect()),
            }
        });
        // One that panicked or was dropped at the end of the server has nothing to say.
        done.await.ok()
    }

    /// Tells all what was seen.
    fn tell(&self, seen: Seen) {
        if seen.told.is_empty() {
            return;
        }
        let mut ring = held(&self.ring);
        for told in seen.told {
            ring.push(told);
        }
        drop(ring);
        self.stage.send_replace(Stage::Reading);
    }
}

/// A reader, counted while it reads.
struct Reading(App);

impl Reading {
    fn begin(app: &App) -> Self {
        app.metrics.readers.fetch_add(1, Ordering::Relaxed);
        Self(app.clone())
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.metrics.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads a source until nobody follows it or nothing more can come.
async fn read(reading: Reading, source: Weak<Source>) {
    let Some(mut looker) = begin(&reading.0, &source).await else {
        return;
    };
    let mut pause = SOON;
    loop {
        let Some(followed) = source.upgrade() else {
            return;
        };
        let seen = match followed.look(looker).await {
            Some(Ok((back, seen))) => {
                looker = back;
                seen
            }
            Some(Err(refusal)) => return fail(&followed, Some(&refusal)),
            None => return fail(&followed, None),
        };
        if seen.over {
            followed.stage.send_replace(Stage::Ended);
            return;
        }
        let (more, is_quiet) = (seen.more, seen.told.is_empty());
        followed.tell(seen);
        drop(followed);
        pause = if is_quiet {
            (pause * 3 / 2).min(LATER)
        } else {
            SOON
        };
        if more {
            // Those who listen come first, so that few of them fall behind.
            pause = AT_ONCE;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = reading.0.stopping() => return,
        }
    }
}

/// Where the reader begins: now. Those who follow look at the disk for what was before.
async fn begin(app: &App, source: &Weak<Source>) -> Option<Looker> {
    let source = source.upgrade()?;
    let what = source.what().clone();
    let begun = source.with_engine(move |engine| Ok(Looker::now(engine, what)?));
    match begun.await {
        Some(Ok(looker)) => {
            source.stage.send_replace(Stage::Reading);
            Some(looker)
        }
        Some(Err(refusal)) => {
            fail(&source, Some(&refusal));
            None
        }
        None => {
            (app.log)("a stream could not begin");
            fail(&source, None);
            None
        }
    }
}

/// Those who follow come back, and find the same or not.
fn fail(source: &Source, why: Option<&Refusal>) {
    let why = why.map_or("the reader was interrupted", Refusal::told);
    (source.app.log)(&format!("a stream ended: {why}"));
    source.stage.send_replace(Stage::Ended);
}
