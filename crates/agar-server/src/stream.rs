//! Server-sent events as a body: what is sent, at the pace of whoever reads.

use crate::app::{App, STREAMS_MAX};
use crate::refusal::Refusal;
use agar_core::fault::Kind;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use hyper::body::Frame;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Messages on their way to one client.
const WAITING_MAX: usize = 32;
/// How long a client may take for one message before it is left. It comes back with the number of
/// the last one it has.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a quiet stream shows that it is there.
pub(crate) const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// A message without a name, which is what a plain `onmessage` hears; and where its id ends.
pub(crate) fn message(id: &str, data: &str) -> (Bytes, usize) {
    let mut text = format!("id: {id}\n");
    let data_from = text.len();
    for line in data.split('\n') {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    (text.into(), data_from)
}

/// The near end of a stream.
#[derive(Debug)]
pub(crate) struct Sender {
    app: App,
    to: mpsc::Sender<Bytes>,
    _permit: OwnedSemaphorePermit,
}

/// Whoever reads is gone, or does not read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gone;

impl Sender {
    /// Sends what [`message`] made.
    pub(crate) async fn message(&self, message: Bytes) -> Result<(), Gone> {
        self.send(message).await?;
        self.app.metrics.messages.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Sends something that no client shows.
    pub(crate) async fn comment(&self, words: &str) -> Result<(), Gone> {
        self.send(format!(": {words}\n\n").into()).await
    }

    async fn send(&self, text: Bytes) -> Result<(), Gone> {
        match tokio::time::timeout(PATIENCE, self.to.send(text)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone),
        }
    }

    /// Waits for something, unless there is no sense in waiting.
    pub(crate) async fn unless_closed<T>(&self, what: impl Future<Output = T>) -> Result<T, Gone> {
        tokio::select! {
            value = what => Ok(value),
            () = self.app.stopping() => Err(Gone),
            () = self.to.closed() => Err(Gone),
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.app.metrics.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The far end, as a body.
struct Messages(mpsc::Receiver<Bytes>);

impl HttpBody for Messages {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = self.0.poll_recv(context);
        polled.map(|message| message.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Opens a stream, if there are not too many already.
pub(crate) fn open(app: &App) -> Result<(Sender, Response), Refusal> {
    let Ok(permit) = Arc::clone(&app.streams).try_acquire_owned() else {
        return Err(Refusal::new(
            Kind::Limit,
            format!("{STREAMS_MAX} event streams are open already"),
        )
        .retry_after(5));
    };
    app.metrics.streams.fetch_add(1, Ordering::Relaxed);
    let (to, from) = mpsc::channel(WAITING_MAX);
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store"),
    ];
    let response = (headers, Body::new(Messages(from))).into_response();
    let sender = Sender {
        app: app.clone(),
        to,
        _permit: permit,
    };
    Ok((sender, response))
}
