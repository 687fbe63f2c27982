//! What every handler is given, and the way to the engine.

use crate::glance::Glances;
use crate::guests::Guests;
use crate::keys::Keys;
use crate::metrics::Metrics;
use crate::pace::Pace;
use crate::refusal::Refusal;
use crate::tail::Sources;
use crate::v1::usage::Samples;
use agar_core::fault::Kind;
use agar_engine::create::{CreateAnswer, CreateRequest, create};
use agar_engine::inspect::summary;
use agar_engine::pool::Pool;
use agar_engine::{Control, Controls, Engine, EngineError, SandboxView, Surroundings, projects};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Commands that may run at once on behalf of requests, waiting ones included.
pub(crate) const RUNS_MAX: usize = 128;
/// Event streams that may be open at once.
pub(crate) const STREAMS_MAX: usize = 512;
/// Terminals that may be looked at at once.
pub(crate) const TERMINALS_MAX: usize = 64;

/// Hears one line for the log.
pub(crate) type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// The server, as handlers hold it.
#[derive(Clone)]
pub(crate) struct App(pub(crate) Arc<Inner>);

/// What there is once.
pub(crate) struct Inner {
    pub(crate) surroundings: Surroundings,
    pub(crate) keys: Keys,
    pub(crate) guests: Guests,
    pub(crate) port: u16,
    pub(crate) metrics: Metrics,
    /// For those who may ask.
    pub(crate) known: Pace,
    /// For pages of other origins that were let in.
    pub(crate) visitors: Pace,
    /// For those who may not.
    pub(crate) strangers: Pace,
    pub(crate) runs: Arc<Semaphore>,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) terminals: Arc<Semaphore>,
    /// Jails that stand ready for sandboxes of the project that the server was started in.
    pub(crate) pool: RwLock<Option<Pool>>,
    pub(crate) ending: Arc<Ending>,
    /// Requests with a key that are being done.
    pub(crate) underway: Mutex<BTreeSet<String>>,
    /// Engines that stand open for those who only look.
    pub(crate) glances: Glances,
    /// What is followed by those who have event streams.
    pub(crate) sources: Sources,
    /// What sandboxes used while somebody looked.
    pub(crate) samples: Samples,
    pub(crate) jobs: watch::Sender<usize>,
    pub(crate) stop: watch::Receiver<u8>,
    pub(crate) openapi: String,
    pub(crate) log: Log,
    pub(crate) requests: AtomicU64,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// In which project something is asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place(pub(crate) Option<PathBuf>);

impl App {
    /// Does something with the engine, where blocking is allowed, to its end: also if the client
    /// does not wait for it.
    pub(crate) async fn work<T, F>(&self, place: Place, job: F) -> Result<T, Refusal>
    where
        F: FnOnce(&Engine) -> Result<T, Refusal> + Send + 'static,
        T: Send + 'static,
    {
        let (counted, span) = (Job::begin(self), tracing::Span::current());
        let app = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            let (_counted, _entered) = (counted, span.entered());
            app.engine(place).and_then(|engine| job(&engine))
        });
        match done.await {
            Ok(done) => done,
            Err(error) => {
                (self.log)(&format!("a request failed: {error}"));
                Err(Refusal::defect())
            }
        }
    }

    /// The same for one sandbox, in the project that it is a copy of.
    pub(crate) async fn on<T, F>(&self, name: String, job: F) -> Result<T, Refusal>
    where
        F: FnOnce(&Engine, &SandboxView) -> Result<T, Refusal> + Send + 'static,
        T: Send + 'static,
    {
        let app = self.clone();
        self.work(Place::default(), move |engine| {
            app.about(engine, &name, job)
        })
        .await
    }

    /// Does something about a sandbox, in the project that it is a copy of.
    pub(crate) fn about<T>(
        &self,
        engine: &Engine,
        name: &str,
        job: impl FnOnce(&Engine, &SandboxView) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let sandbox = summary(engine, name)?;
        let root = Path::new(&sandbox.project_path);
        if projects::current(engine).is_ok_and(|here| here == root) || !root.is_dir() {
            return job(engine, &sandbox);
        }
        let place = Place(Some(root.to_owned()));
        job(&self.engine(place)?, &sandbox)
    }

    /// The engine, as somebody who stands in that project would open it.
    pub(crate) fn engine(&self, place: Place) -> Result<Engine, Refusal> {
        let here = Engine::open(self.surroundings.clone())?;
        let Some(path) = place.0 else {
            return Ok(here);
        };
        let cwd = projects::registered(&here, &path)?;
        Ok(Engine::open(Surroundings {
            cwd,
            ..self.surroundings.clone()
        })?)
    }

    /// Makes a sandbox, around which a jail stands already if the pool has one that fits.
    pub(crate) fn create(
        &self,
        engine: &Engine,
        request: &CreateRequest,
    ) -> Result<CreateAnswer, EngineError> {
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        let is_here = projects::current(engine).is_ok_and(|root| root == self.surroundings.cwd);
        let Some(pool) = pool.as_ref().filter(|_| is_here) else {
            return create(engine, request);
        };
        let pooled = pool.create(engine, request)?;
        let taken = u64::from(pooled.was_ready);
        self.metrics.taken.fetch_add(taken, Ordering::Relaxed);
        Ok(pooled.created)
    }

    /// Jails that stand ready.
    pub(crate) fn ready(&self) -> usize {
        let pool = self.pool.read().unwrap_or_else(PoisonError::into_inner);
        pool.as_ref().map_or(0, Pool::ready)
    }

    /// Takes down the jails that stand ready.
    pub(crate) fn drain(&self) {
        let mut pool = self.pool.write().unwrap_or_else(PoisonError::into_inner);
        drop(pool.take());
    }

    /// The right to run a command, if not too many run already.
    pub(crate) fn run_permit(&self) -> Result<RunPermit, Refusal> {
        match Arc::clone(&self.runs).try_acquire_owned() {
            Ok(permit) => {
                self.metrics.runs.fetch_add(1, Ordering::Relaxed);
                Ok(RunPermit {
                    app: self.clone(),
                    _permit: permit,
                })
            }
            Err(_) => Err(Refusal::new(
                Kind::Limit,
                format!("{RUNS_MAX} commands run or wait already"),
            )
            .retry_after(5)),
        }
    }

    /// What tells a run that the server ends.
    pub(crate) fn halt(&self) -> Halt {
        Halt {
            ending: Arc::clone(&self.ending),
            told: false,
        }
    }

    /// Waits until the server stops.
    pub(crate) async fn stopping(&self) {
        let mut stop = self.stop.clone();
        // One whose teller is gone stops as well.
        drop(stop.wait_for(|stop| *stop > 0).await);
    }

    /// A name for a request.
    pub(crate) fn request_id(&self) -> String {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        format!("{:x}-{number:x}", std::process::id())
    }
}

/// The right to run a command.
#[derive(Debug)]
pub(crate) struct RunPermit {
    app: App,
    _permit: OwnedSemaphorePermit,
}

impl Drop for RunPermit {
    fn drop(&mut self) {
        self.app.metrics.runs.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Work that the end of the server waits for.
#[derive(Debug)]
pub(crate) struct Job(App);

impl Job {
    pub(crate) fn begin(app: &App) -> Self {
        app.jobs.send_modify(|count| *count += 1);
        Self(app.clone())
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.0.jobs.send_modify(|count| *count -= 1);
    }
}

/// Whether runs shall end, and a descriptor that is readable once they shall.
#[derive(Debug)]
pub(crate) struct Ending {
    now: AtomicBool,
    /// Readable for ever once its other end is closed.
    wake: OwnedFd,
    hold: Mutex<Option<OwnedFd>>,
}

impl Ending {
    pub(crate) fn new() -> std::io::Result<Self> {
        let (wake, hold) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        Ok(Self {
            now: AtomicBool::new(false),
            wake,
            hold: Mutex::new(Some(hold)),
        })
    }

    /// Every run shall end.
    pub(crate) fn end(&self) {
        self.now.store(true, Ordering::SeqCst);
        let mut hold = self.hold.lock().unwrap_or_else(PoisonError::into_inner);
        drop(hold.take());
    }
}

/// Tells one run that it shall end.
#[derive(Debug)]
pub(crate) struct Halt {
    ending: Arc<Ending>,
    told: bool,
}

impl Controls for Halt {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        (!self.told).then(|| self.ending.wake.as_fd())
    }

    fn next(&mut self) -> Option<Control> {
        let stop = !self.told && self.ending.now.load(Ordering::SeqCst);
        self.told |= stop;
        stop.then_some(Control::Stop)
    }
}
