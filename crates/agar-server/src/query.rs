//! What a request says in its address.

use crate::app::Place;
use crate::refusal::Refusal;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// The parts of the path that a route leaves open.
#[derive(Debug)]
pub(crate) struct At<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for At<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(open)| Self(open))
            .map_err(|error| Refusal::invalid(error.body_text()))
    }
}

/// What follows the question mark.
#[derive(Debug)]
pub(crate) struct Ask<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Ask<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        Query::<T>::try_from_uri(&parts.uri)
            .map(|Query(asked)| Self(asked))
            .map_err(|error| Refusal::invalid(error.body_text()))
    }
}

/// In which project: `?project=/home/me/src/shop`, else where the server was started.
impl<S: Send + Sync> FromRequestParts<S> for Place {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        #[derive(Deserialize)]
        struct Asked {
            project: Option<PathBuf>,
        }
        let Ask(asked) = Ask::<Asked>::from_request_parts(parts, state).await?;
        Ok(Self(asked.project))
    }
}

/// How many things a page of a list holds, where nobody says.
pub(crate) const PAGE: u32 = 50;
/// How many it holds at most.
pub(crate) const PAGE_MAX: u32 = 500;

/// The number of things on a page.
pub(crate) fn page(limit: Option<u32>) -> Result<u32, Refusal> {
    match limit {
        None => Ok(PAGE),
        Some(limit @ 1..=PAGE_MAX) => Ok(limit),
        Some(_) => Err(Refusal::invalid(format!("limit is from 1 to {PAGE_MAX}"))),
    }
}
