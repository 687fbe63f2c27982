//! The server's life: bound, ready, serving, and an end that loses nothing.
//!
//! ```text
//! stop ──▶ no new connections, streams end, requests go on ──grace──▶ runs are ended and recorded ──▶ over
//! ```
//!
//! A run that is ended this way is on record as stopped; its sandbox stays, like every other.

use crate::app::{App, Ending, Inner, RUNS_MAX, STREAMS_MAX, TERMINALS_MAX};
use crate::guests::{AllowedOrigin, Guests};
use crate::keys::Keys;
use crate::metrics::Metrics;
use crate::pace::{Pace, Rate};
use crate::routes::router;
use agar_core::fault::{Fault, Kind, Remedy};
use agar_engine::pool::Pool;
use agar_engine::{EngineError, Surroundings};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// Connections that may be open at once.
const CONNECTIONS_MAX: usize = PLACES as usize;
/// The same, as a semaphore counts.
const PLACES: u32 = 1024;
/// How long a client may take to say what it wants.
const HEADERS_PATIENCE: Duration = Duration::from_secs(15);
/// How much a client may say before its body begins.
const HEADERS_BYTES_MAX: usize = 64 << 10;
/// How long runs are given to be recorded after they were ended.
const RECORD_PATIENCE: Duration = Duration::from_secs(30);

/// How the server is to be.
pub struct Settings {
    /// Who it works for, and from where.
    pub surroundings: Surroundings,
    /// Where it listens on this machine; any free port if 0.
    pub port: u16,
    /// The file of the token.
    pub token: PathBuf,
    /// The description of the interface, from [`document`](crate::document).
    pub openapi: String,
    /// Jails that may stand ready before anybody asks for a sandbox.
    pub pool: usize,
    /// Origins whose pages may offer suggestions, besides those that were allowed before.
    pub allow_origins: Vec<String>,
    /// How long requests may go on after it was told to stop.
    pub grace: Duration,
    /// Hears one line for the log.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("port", &self.port)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

/// The server listens.
#[derive(Debug, Clone)]
pub struct Ready {
    /// Where.
    pub address: SocketAddr,
    /// Where, for a browser.
    pub url: String,
    /// A link for a browser that works once.
    pub link: String,
    /// Origins whose pages may offer suggestions.
    pub origins: Vec<AllowedOrigin>,
}

/// The server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Somebody else listens there.
    #[error("cannot listen on port {port} of this machine: it is in use")]
    Taken {
        /// The port.
        port: u16,
    },
    /// The port cannot be had.
    #[error("cannot listen on port {port} of this machine")]
    Listen {
        /// The port.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The token can neither be read nor made.
    #[error("cannot use the server's token")]
    Token(#[source] io::Error),
    /// An origin cannot be allowed.
    #[error("cannot let pages of `{origin}` offer suggestions: {reason}")]
    Origin {
        /// The origin.
        origin: String,
        /// Why not.
        reason: String,
    },
    /// No jails can stand ready.
    #[error("cannot keep jails ready")]
    Pool(#[source] EngineError),
    /// There are not enough threads or descriptors.
    #[error("cannot start the server")]
    Start(#[source] io::Error),
}

impl Fault for ServeError {
    fn kind(&self) -> Kind {
        match self {
            Self::Taken { .. } => Kind::Conflict,
            Self::Origin { .. } => Kind::Invalid,
            Self::Listen { .. } | Self::Token(_) => Kind::Unsupported,
            Self::Start(_) | Self::Pool(_) => Kind::Internal,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Taken { .. } => Some(Remedy::Command {
                line: "agar serve --port 0".to_owned(),
            }),
            Self::Listen { .. }
            | Self::Origin { .. }
            | Self::Token(_)
            | Self::Pool(_)
            | Self::Start(_) => None,
        }
    }
}

/// Tells a server to stop.
#[derive(Debug, Clone)]
pub struct Stopper(watch::Sender<u8>);

impl Stopper {
    /// Let it end: requests under way are given time. Said again, they are not.
    pub fn stop(&self) {
        self.0.send_modify(|level| *level = level.saturating_add(1));
    }
}

/// The far end of a [`Stopper`].
#[derive(Debug)]
pub struct Stop(watch::Receiver<u8>);

/// A way to stop a server, and what the server is given.
pub fn stopping() -> (Stopper, Stop) {
    let (to, from) = watch::channel(0);
    (Stopper(to), Stop(from))
}

/// Serves until it is told to stop. `ready` hears where, once.
pub fn serve(settings: Settings, stop: Stop, ready: impl FnOnce(&Ready)) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(RUNS_MAX + STREAMS_MAX + TERMINALS_MAX + 64)
        .thread_name("agar-serve")
        .enable_all()
        .build()
        .map_err(ServeError::Start)?;
    let served = runtime.block_on(run(settings, stop.0, ready));
    // Everything that matters has been waited for.
    runtime.shutdown_background();
    served
}

async fn run(
    settings: Settings,
    stop: watch::Receiver<u8>,
    ready: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    let port = settings.port;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .map_err(|source| {
            if source.kind() == io::ErrorKind::AddrInUse {
                ServeError::Taken { port }
            } else {
                ServeError::Listen { port, source }
            }
        })?;
    let address = listener.local_addr().map_err(ServeError::Start)?;
    let (grace, allow) = (settings.grace, settings.allow_origins.clone());
    let app = app(settings, address.port(), stop.clone())?;
    let origins = origins(&app, &allow)?;
    let url = format!("http://{address}/");
    let now = app.surroundings.clock.now();
    let secret = app.keys.link(&*app.surroundings.entropy, now);
    ready(&Ready {
        address,
        link: format!("{url}open?key={secret}"),
        origins,
        url,
    });
    let places = accept(&app, listener, stop.clone()).await;
    end(&app, places, stop, grace).await;
    // One that panicked leaves what a crash leaves.
    drop(tokio::task::spawn_blocking(move || app.drain()).await);
    Ok(())
}

/// Allows these origins; every one that is allowed.
fn origins(app: &App, allow: &[String]) -> Result<Vec<AllowedOrigin>, ServeError> {
    for origin in allow {
        let with = (&app.keys, &*app.surroundings.entropy);
        app.guests
            .allow(with, origin)
            .map_err(|refusal| ServeError::Origin {
                origin: origin.clone(),
                reason: refusal.told().to_owned(),
            })?;
    }
    app.guests.all(&app.keys).map_err(ServeError::Token)
}

fn app(settings: Settings, port: u16, stop: watch::Receiver<u8>) -> Result<App, ServeError> {
    let mut surroundings = settings.surroundings.for_many();
    // Whoever looks at a terminal through the server looks with xterm.js, wherever it was started.
    surroundings.environment.retain(|(name, _)| name != "TERM");
    let kind = ("TERM".into(), "xterm-256color".into());
    surroundings.environment.push(kind);
    let keys = Keys::open(&settings.token, &*surroundings.entropy).map_err(ServeError::Token)?;
    let pool = match settings.pool {
        0 => None,
        jails => Some(Pool::start(surroundings.clone(), jails).map_err(ServeError::Pool)?),
    };
    let now = Instant::now();
    let (jobs, _) = watch::channel(0);
    let known = Rate {
        steady: 500.0,
        burst: 2000.0,
    };
    let visitors = Rate {
        steady: 10.0,
        burst: 100.0,
    };
    let strangers = Rate {
        steady: 10.0,
        burst: 50.0,
    };
    Ok(App(Arc::new(Inner {
        surroundings,
        keys,
        guests: Guests::beside(&settings.token),
        port,
        metrics: Metrics::default(),
        known: Pace::new(known, now),
        visitors: Pace::new(visitors, now),
        strangers: Pace::new(strangers, now),
        runs: Arc::new(Semaphore::new(RUNS_MAX)),
        streams: Arc::new(Semaphore::new(STREAMS_MAX)),
        pool: RwLock::new(pool),
        terminals: Arc::new(Semaphore::new(TERMINALS_MAX)),
        ending: Arc::new(Ending::new().map_err(ServeError::Start)?),
        underway: Mutex::default(),
        glances: crate::glance::Glances::default(),
        sources: crate::tail::Sources::default(),
        samples: crate::v1::usage::Samples::default(),
        jobs,
        stop,
        openapi: settings.openapi,
        log: settings.log,
        requests: AtomicU64::new(1),
    })))
}

/// Accepts connections until it is time to stop; every connection that is open holds one of the
/// places that are the answer.
async fn accept(app: &App, listener: TcpListener, mut stop: watch::Receiver<u8>) -> Arc<Semaphore> {
    let service = TowerToHyperService::new(router(app));
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop > 0) => return places,
        };
        let Ok((socket, _)) = accepted else {
            // Out of descriptors: one becomes free, or the next look fails the same way.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            // Closed at once: those who are here come first.
            continue;
        };
        let connection = speak(socket, service.clone(), stop.clone());
        let app = app.clone();
        tokio::spawn(async move {
            app.metrics.connections.fetch_add(1, Ordering::Relaxed);
            connection.await;
            app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
            drop(place);
        });
    }
}

/// One connection, to its end; once the server stops, to the end of its request.
async fn speak(
    socket: TcpStream,
    service: TowerToHyperService<axum::Router>,
    mut stop: watch::Receiver<u8>,
) {
    // Small messages of streams go at once; a socket that cannot is only slower.
    drop(socket.set_nodelay(true));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_PATIENCE)
        .max_buf_size(HEADERS_BYTES_MAX)
        .serve_connection(TokioIo::new(socket), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    tokio::select! {
        // A client that breaks off is its own affair.
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stop| *stop > 0) => {}
    }
    connection.as_mut().graceful_shutdown();
    drop(connection.await);
}

/// Waits for what is under way, then ends the runs that are left, then waits for their records.
async fn end(app: &App, places: Arc<Semaphore>, mut stop: watch::Receiver<u8>, grace: Duration) {
    let mut jobs = app.jobs.subscribe();
    let mut all = pin!(async move {
        // Whoever is connected holds a place, and nobody closes the places.
        drop(places.acquire_many(PLACES).await);
        // The sender is the server's own.
        drop(jobs.wait_for(|count| *count == 0).await);
    });
    tokio::select! {
        () = &mut all => return,
        () = tokio::time::sleep(grace) => {}
        _ = stop.wait_for(|stop| *stop > 1) => {}
    }
    app.ending.end();
    if tokio::time::timeout(RECORD_PATIENCE, all).await.is_err() {
        (app.log)("some requests did not end; what they did is settled by the next command");
    }
}
