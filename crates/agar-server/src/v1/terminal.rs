//! The terminal of a sandbox over a WebSocket: the one that `agar attach` shows.
//!
//! ```text
//! client ──binary: keys──▶ pipe ──▶ viewer ──▶ terminal inside
//!        ──text: resize──▶ remote ──▶    │
//!        ◀──binary: output── pipe ◀──────┘
//! ```
//!
//! A viewer is one more client of the terminal, so there may be many, and one that goes away takes
//! nothing along. What a slow one has not read fills its own pipe and no more; one that does not read
//! at all, or does not answer a ping, is left.

mod remote;

use crate::access::Who;
use crate::app::{App, Job, TERMINALS_MAX};
use crate::query::{Ask, At};
use crate::refusal::Refusal;
use agar_core::fault::Kind;
use agar_engine::attach::{AttachAnswer, AttachRequest, look, prepare};
use agar_engine::{Engine, Sink, Source, Streams, WindowSize};
use axum::body::Bytes;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{FromRequestParts, State};
use axum::http::header::ORIGIN;
use axum::http::request::Parts;
use axum::response::Response;
use remote::{Handset, Remote};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::Deserialize;
use serde_json::json;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::net::unix::pipe;
use tokio::sync::OwnedSemaphorePermit;

/// The largest message of a client, and the most output in one of ours.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// How long a client may take for one message before it is left.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a client is asked whether it is there.
const PING_EVERY: Duration = Duration::from_secs(20);
/// How long a client may say nothing.
const SILENCE_MAX: Duration = Duration::from_secs(70);

/// Codes of RFC 6455.
mod code {
    pub(super) const OVER: u16 = 1000;
    pub(super) const GOING_AWAY: u16 = 1001;
    pub(super) const NOT_UNDERSTOOD: u16 = 1003;
    pub(super) const FAILED: u16 = 1011;
}

/// How the terminal is looked at.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct View {
    rows: Option<u16>,
    columns: Option<u16>,
    plain: bool,
}

/// A browser said which page asks. Browsers always do where a socket is opened, and the gate has seen
/// that it is ours.
#[derive(Debug)]
pub(crate) struct SaysWhichPage;

impl<S: Send + Sync> FromRequestParts<S> for SaysWhichPage {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        let is_browser = parts.extensions.get() == Some(&Who::Browser);
        if is_browser && !parts.headers.contains_key(ORIGIN) {
            return Err(Refusal::new(
                Kind::Refused,
                "a browser that opens a terminal says from which page",
            ));
        }
        Ok(Self)
    }
}

/// Makes sure that there is a terminal and shows it.
pub(crate) async fn open(
    State(app): State<App>,
    _: SaysWhichPage,
    At(name): At<String>,
    Ask(view): Ask<View>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    let upgrade =
        upgrade.map_err(|error| Refusal::invalid(error.body_text()).with_status(error.status()))?;
    let Ok(permit) = Arc::clone(&app.terminals).try_acquire_owned() else {
        return Err(Refusal::new(
            Kind::Limit,
            format!("{TERMINALS_MAX} terminals are looked at already"),
        )
        .retry_after(5));
    };
    let window = window(view.rows, view.columns)?;
    let ready = app
        .on(name, move |engine, sandbox| {
            let request = AttachRequest {
                sandbox: Some(sandbox.id.to_string()),
                shell: None,
                plain: view.plain,
            };
            Ok(prepare(engine, &request)?)
        })
        .await?;
    Ok(upgrade
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX)
        .max_write_buffer_size(4 * MESSAGE_BYTES_MAX)
        .write_buffer_size(0)
        .on_upgrade(move |socket| async move {
            let viewer = Viewer {
                _counted: Counted::begin(&app, permit),
                app,
                socket,
                heard: Instant::now(),
            };
            viewer.show(ready, window).await;
        }))
}

/// A window that a terminal can have.
fn window(rows: Option<u16>, columns: Option<u16>) -> Result<WindowSize, Refusal> {
    let (rows, columns) = (rows.unwrap_or(24), columns.unwrap_or(80));
    if (1..=1000).contains(&rows) && (1..=1000).contains(&columns) {
        return Ok(WindowSize { rows, columns });
    }
    Err(Refusal::invalid("rows and columns are from 1 to 1000"))
}

/// A terminal that is looked at. The end of the server waits until its viewer heard of it.
#[derive(Debug)]
struct Counted {
    app: App,
    _job: Job,
    _permit: OwnedSemaphorePermit,
}

impl Counted {
    fn begin(app: &App, permit: OwnedSemaphorePermit) -> Self {
        app.metrics.terminals.fetch_add(1, Ordering::Relaxed);
        Self {
            app: app.clone(),
            _job: Job::begin(app),
            _permit: permit,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.app.metrics.terminals.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a client says besides keys.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Said {
    Resize { rows: u16, columns: u16 },
}

/// Why a viewer stops looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// There is nothing to see any more.
    Ended,
    /// The client left, or cannot be reached.
    Left,
    /// The client says what nobody understands.
    NotUnderstood,
    /// The server stops.
    Stopping,
}

/// Our ends of a viewer's pipes.
struct Ends {
    output: pipe::Receiver,
    keys: pipe::Sender,
}

/// One client that looks.
struct Viewer {
    _counted: Counted,
    app: App,
    socket: WebSocket,
    /// When it last said something.
    heard: Instant,
}

impl Viewer {
    /// Shows the terminal until it is over or the client leaves.
    async fn show(mut self, ready: AttachAnswer, window: WindowSize) {
        let hello = json!({
            "type": "ready",
            "session": ready.session,
            "kind": ready.kind,
            "alias": ready.sandbox.alias,
        });
        let Ok((ends, theirs)) = plumb() else {
            (self.app.log)("a terminal cannot be shown: no descriptors are left");
            return self.close(code::FAILED, "no descriptors are left").await;
        };
        let Ok((handset, remote)) = remote::pair() else {
            return self.close(code::FAILED, "no descriptors are left").await;
        };
        if !self.send(Message::text(hello.to_string())).await {
            return;
        }
        let app = self.app.clone();
        let looking = tokio::spawn(looked(app, ready, (theirs, window), remote));
        let why = self.carry(&ends, &handset).await;
        handset.stop();
        let over = match looking.await {
            Ok(Ok(answer)) => answer.over,
            Ok(Err(_)) | Err(_) => false,
        };
        // Not before: the end of the keys would be typed into the shell, which would end with them.
        drop(ends);
        match why {
            Why::Ended if over => {
                let told = json!({ "type": "over" }).to_string();
                self.send(Message::text(told)).await;
                self.close(code::OVER, "the terminal is over").await;
            }
            Why::Ended => self.close(code::GOING_AWAY, "the viewer ended").await,
            Why::Left => {}
            Why::NotUnderstood => {
                let told =
                    "keys are binary; text is {\"type\":\"resize\",\"rows\":…,\"columns\":…}";
                self.close(code::NOT_UNDERSTOOD, told).await;
            }
            Why::Stopping => self.close(code::GOING_AWAY, "the server stops").await,
        }
    }

    /// Carries keys and output.
    async fn carry(&mut self, ends: &Ends, handset: &Handset) -> Why {
        let mut waiting = Vec::new();
        let mut ping = tokio::time::interval(PING_EVERY);
        ping.reset();
        loop {
            // Keys go on their way before more of them are read.
            let is_free = waiting.is_empty();
            let turn = tokio::select! {
                () = self.app.stopping() => Some(Why::Stopping),
                ready = ends.output.readable() => self.pass(ready, &ends.output).await,
                ready = ends.keys.writable(), if !is_free => push(ready, &ends.keys, &mut waiting),
                said = self.socket.recv(), if is_free => self.take(said, handset, &mut waiting),
                _ = ping.tick() => self.ask(is_free).await,
            };
            if let Some(why) = turn {
                return why;
            }
        }
    }

    /// Takes what the client said.
    fn take(
        &mut self,
        said: Option<Result<Message, axum::Error>>,
        handset: &Handset,
        waiting: &mut Vec<u8>,
    ) -> Option<Why> {
        self.heard = Instant::now();
        let Some(Ok(said)) = said else {
            return Some(Why::Left);
        };
        match hear(said, handset) {
            Ok(keys) => {
                waiting.extend_from_slice(&keys);
                None
            }
            Err(why) => Some(why),
        }
    }

    /// Asks the client whether it is there. One whose keys wait was not listened to.
    async fn ask(&mut self, was_listened_to: bool) -> Option<Why> {
        let is_silent = was_listened_to && self.heard.elapsed() > SILENCE_MAX;
        let is_gone = is_silent || !self.send(Message::Ping(Bytes::new())).await;
        is_gone.then_some(Why::Left)
    }

    /// Sends what there is to see, as it is: a client puts characters together that arrive in pieces.
    async fn pass(&mut self, ready: io::Result<()>, output: &pipe::Receiver) -> Option<Why> {
        let mut buffer = vec![0; MESSAGE_BYTES_MAX];
        match ready.and_then(|()| output.try_read(&mut buffer)) {
            Ok(0) => Some(Why::Ended),
            Ok(count) => {
                buffer.truncate(count);
                let sent = self.send(Message::Binary(buffer.into())).await;
                (!sent).then_some(Why::Left)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(_) => Some(Why::Ended),
        }
    }

    /// Sends a message. Whether the client took it.
    async fn send(&mut self, message: Message) -> bool {
        let sent = tokio::time::timeout(PATIENCE, self.socket.send(message)).await;
        matches!(sent, Ok(Ok(())))
    }

    async fn close(mut self, code: u16, reason: &'static str) {
        let frame = CloseFrame {
            code,
            reason: reason.into(),
        };
        self.send(Message::Close(Some(frame))).await;
        // Whoever answers is waited for a moment, so that the reason arrives.
        let answered = async { while let Some(Ok(_)) = self.socket.recv().await {} };
        drop(tokio::time::timeout(Duration::from_secs(1), answered).await);
    }
}

/// The far ends of a viewer's pipes.
struct Theirs {
    keys: OwnedFd,
    output: OwnedFd,
}

fn plumb() -> io::Result<(Ends, Theirs)> {
    let (keys, keys_far) = pipe_with(PipeFlags::CLOEXEC)?;
    let (output, output_far) = pipe_with(PipeFlags::CLOEXEC)?;
    let ends = Ends {
        output: pipe::Receiver::from_owned_fd(output)?,
        keys: pipe::Sender::from_owned_fd(keys_far)?,
    };
    Ok((
        ends,
        Theirs {
            keys,
            output: output_far,
        },
    ))
}

/// Looks, where blocking is allowed.
async fn looked(
    app: App,
    ready: AttachAnswer,
    (theirs, window): (Theirs, WindowSize),
    mut remote: Remote,
) -> Result<AttachAnswer, Refusal> {
    let id = ready.sandbox.id.to_string();
    let work = move |engine: &Engine, _: &_| {
        let streams = lent(&theirs, window, &mut remote);
        Ok(look(engine, &ready, streams)?)
    };
    app.on(id, work).await
}

/// The streams of a viewer, as the engine is given them.
fn lent<'a>(theirs: &'a Theirs, window: WindowSize, remote: &'a mut Remote) -> Streams<'a> {
    Streams {
        stdin: Source::Descriptor(theirs.keys.as_fd()),
        stdout: Sink::Descriptor(theirs.output.as_fd()),
        stderr: Sink::Discard,
        terminal: Some(window),
        controls: remote,
    }
}

/// The keys in a message; whatever else it says is done.
fn hear(said: Message, handset: &Handset) -> Result<Bytes, Why> {
    match said {
        Message::Binary(keys) => Ok(keys),
        Message::Text(text) => {
            let Ok(Said::Resize { rows, columns }) = serde_json::from_str(text.as_str()) else {
                return Err(Why::NotUnderstood);
            };
            let size = window(Some(rows), Some(columns)).map_err(|_| Why::NotUnderstood)?;
            handset.resize(size);
            Ok(Bytes::new())
        }
        Message::Ping(_) | Message::Pong(_) => Ok(Bytes::new()),
        Message::Close(_) => Err(Why::Left),
    }
}

/// Pushes keys on their way.
fn push(ready: io::Result<()>, keys: &pipe::Sender, waiting: &mut Vec<u8>) -> Option<Why> {
    match ready.and_then(|()| keys.try_write(waiting)) {
        Ok(count) => {
            waiting.drain(..count);
            None
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        Err(_) => Some(Why::Ended),
    }
}
