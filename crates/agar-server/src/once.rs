//! Requests that are made twice and done once.
//!
//! A client that did not hear the answer sends the request again with the same `Idempotency-Key` and
//! gets the same answer, also from a server that was started again in between. The same key with
//! another request is a mistake, and a request that is still being done is not begun again.

use crate::app::{App, Place};
use crate::body::{JSON_BYTES_MAX, read};
use crate::refusal::Refusal;
use agar_core::fault::Kind;
use agar_engine::answered::{GivenAnswer, given, remember};
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::sync::PoisonError;

/// The name of the header.
const KEY: &str = "idempotency-key";
/// The longest key.
const KEY_BYTES_MAX: usize = 200;
/// The largest answer that is kept.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// Does a request with a key once.
pub(crate) async fn once(State(app): State<App>, request: Request, next: Next) -> Response {
    let key = request.headers().get(KEY).cloned();
    let Some(key) = key.filter(|_| *request.method() == Method::POST) else {
        return next.run(request).await;
    };
    match keyed(&app, &key, request, next).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    }
}

/// A request that is being done; another one with its key waits for its end by trying again.
struct Underway {
    app: App,
    key: String,
}

impl Underway {
    fn begin(app: &App, key: &str) -> Result<Self, Refusal> {
        let mut underway = app.underway.lock().unwrap_or_else(PoisonError::into_inner);
        if !underway.insert(key.to_owned()) {
            return Err(Refusal::new(
                Kind::Conflict,
                "the request with this key is still being done",
            )
            .retry_after(1));
        }
        Ok(Self {
            app: app.clone(),
            key: key.to_owned(),
        })
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let underway = self.app.underway.lock();
        underway
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.key);
    }
}

async fn keyed(
    app: &App,
    key: &HeaderValue,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let key = key.to_str().unwrap_or_default().to_owned();
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        return Err(Refusal::invalid("the key is not 1 to 200 plain characters"));
    }
    let underway = Underway::begin(app, &key)?;
    let (parts, body) = request.into_parts();
    let asked = Request::from_parts(parts.clone(), body);
    let bytes = read(asked, JSON_BYTES_MAX).await?;
    let mut hash = blake3::Hasher::new();
    hash.update(parts.uri.to_string().as_bytes());
    hash.update(&[0]);
    hash.update(&bytes);
    let fingerprint = hash.finalize().to_hex().to_string();
    let wanted = key.clone();
    let known = app
        .work(Place::default(), move |engine| Ok(given(engine, &wanted)?))
        .await?;
    match known {
        Some(known) if known.request == fingerprint => return Ok(again(known)),
        Some(_) => {
            return Err(
                Refusal::new(Kind::Conflict, "this key was used for another request")
                    .with_status(StatusCode::UNPROCESSABLE_ENTITY),
            );
        }
        None => {}
    }
    // To its end and its record, also if the client does not wait.
    let (app, request) = (app.clone(), Request::from_parts(parts, Body::from(bytes)));
    let done = tokio::spawn(async move {
        let _underway = underway;
        let response = next.run(request).await;
        kept(&app, (key, fingerprint), response).await
    });
    done.await.unwrap_or_else(|_| Err(Refusal::defect()))
}

/// Remembers an answer and passes it on.
async fn kept(
    app: &App,
    (key, request): (String, String),
    response: Response,
) -> Result<Response, Refusal> {
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    // What failed for want of room or luck may be tried again.
    let passes = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
    if !is_json || passes {
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, ANSWER_BYTES_MAX)
        .await
        .map_err(|_| Refusal::defect())?;
    let answer = GivenAnswer {
        request,
        status: status.as_u16(),
        body: String::from_utf8_lossy(&bytes).into_owned(),
    };
    app.work(Place::default(), move |engine| {
        Ok(remember(engine, &key, &answer)?)
    })
    .await?;
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

fn again(known: GivenAnswer) -> Response {
    let status = StatusCode::from_u16(known.status).unwrap_or(StatusCode::OK);
    let headers = [
        (CONTENT_TYPE.as_str(), "application/json"),
        ("idempotent-replayed", "true"),
    ];
    (status, headers, known.body).into_response()
}
