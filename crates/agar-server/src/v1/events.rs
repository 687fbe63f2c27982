//! What happened, as a page or as a stream.

use crate::app::{App, Place};
use crate::query::{Ask, At, page};
use crate::refusal::Refusal;
use crate::tail::{Cursor, What, follow};
use agar_engine::events::{EventsAnswer, EventsRequest, events};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;

/// From where, and how many.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct From {
    after: Option<String>,
    limit: Option<u32>,
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|it| it.to_str().ok());
    accepted.is_some_and(|it| it.contains("text/event-stream"))
}

/// What happened in the project.
pub(crate) async fn of_project(
    State(app): State<App>,
    place: Place,
    Ask(from): Ask<From>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    if wants_stream(&headers) {
        let cursor = Cursor::of(&headers, from.after.as_deref())?;
        // A project that is not known is an answer, not a stream that ends.
        app.work(place.clone(), |_| Ok(())).await?;
        return follow(&app, place, What::Project, cursor);
    }
    let request = asked(&from, None)?;
    app.work(place, move |engine| Ok(sent(events(engine, &request)?)))
        .await
}

/// What happened to a sandbox.
pub(crate) async fn of_sandbox(
    State(app): State<App>,
    At(name): At<String>,
    Ask(from): Ask<From>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let id = app
        .glance(name, |_, sandbox| Ok(sandbox.id.to_string()))
        .await?;
    if wants_stream(&headers) {
        let cursor = Cursor::of(&headers, from.after.as_deref())?;
        return follow(&app, Place::default(), What::Journal(id), cursor);
    }
    let request = asked(&from, Some(id))?;
    app.work(Place::default(), move |engine| {
        Ok(sent(events(engine, &request)?))
    })
    .await
}

fn asked(from: &From, sandbox: Option<String>) -> Result<EventsRequest, Refusal> {
    let after = match &from.after {
        Some(text) => text
            .parse()
            .map_err(|_| Refusal::invalid("`after` is the number of an event"))?,
        None => 0,
    };
    Ok(EventsRequest {
        after,
        limit: page(from.limit)?,
        sandbox,
    })
}

fn sent(answer: EventsAnswer) -> Response {
    Json(answer).into_response()
}
