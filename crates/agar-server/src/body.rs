//! Bodies of requests: no larger than they may be, and not for ever on their way.

use crate::refusal::Refusal;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The largest body of a request that is JSON.
pub(crate) const JSON_BYTES_MAX: usize = 1 << 20;
/// The largest file that is written through a request.
pub(crate) const FILE_BYTES_MAX: usize = 16 << 20;
/// How long a body may be on its way.
const PATIENCE: Duration = Duration::from_secs(20);

/// A body that is JSON.
#[derive(Debug)]
pub(crate) struct Told<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Told<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        let kind = request.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_json = kind.split(';').next().map(str::trim) == Some("application/json");
        let bytes = read(request, JSON_BYTES_MAX).await?;
        if bytes.is_empty() {
            // Nothing said is nothing asked for.
            return parse(b"{}").map(Self);
        }
        if !is_json {
            return Err(
                Refusal::invalid("the body is not declared as application/json")
                    .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE),
            );
        }
        parse(&bytes).map(Self)
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes)
        .map_err(|error| Refusal::invalid(format!("the body is not as it should be: {error}")))
}

/// A body that is a file.
#[derive(Debug)]
pub(crate) struct Content(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for Content {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        read(request, FILE_BYTES_MAX).await.map(Self)
    }
}

/// Reads a whole body.
pub(crate) async fn read(request: Request, bytes_max: usize) -> Result<Bytes, Refusal> {
    let length = request.headers().get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    // What is said to be too large is not waited for.
    if length.is_some_and(|length| length > bytes_max as u64) {
        return Err(too_large(bytes_max));
    }
    read_body(request.into_body(), bytes_max).await
}

async fn read_body(body: Body, bytes_max: usize) -> Result<Bytes, Refusal> {
    match tokio::time::timeout(PATIENCE, to_bytes(body, bytes_max)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(too_large(bytes_max)),
        Err(_) => Err(Refusal::invalid("the body did not arrive in time")
            .with_status(StatusCode::REQUEST_TIMEOUT)),
    }
}

fn too_large(bytes_max: usize) -> Refusal {
    Refusal::invalid(format!("the body is larger than {} KiB", bytes_max >> 10))
        .with_status(StatusCode::PAYLOAD_TOO_LARGE)
}
