//! Every route in one table: the router and its description are both made from it, so that neither
//! can have what the other lacks.

mod table;

pub(crate) use table::table;

use crate::app::App;
use crate::refusal::Refusal;
use crate::{access, once};
use agar_core::fault::Kind;
use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::MethodRouter;
use utoipa::openapi::{RefOr, Schema};

/// A schema by name, with those that it refers to.
pub(crate) type Shapes = Vec<(String, RefOr<Schema>)>;

/// What a route answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// What a command of the command line answers, and further fields.
    Command(&'static str, &'static [&'static str]),
    /// A value of the server's own.
    Own(fn() -> Shapes),
    /// An object of the engine whose shape the command line does not publish.
    Object,
    /// A stream of events.
    Stream,
    /// Something of one of these kinds.
    Other(&'static [&'static str]),
    /// Nothing.
    Nothing,
}

/// One route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// Its method, in small letters.
    pub(crate) method: &'static str,
    /// Its path.
    pub(crate) path: &'static str,
    /// What it does, in one line.
    pub(crate) summary: &'static str,
    /// What may follow the question mark; what must is marked by `!`.
    pub(crate) query: &'static [&'static str],
    /// What it is told.
    pub(crate) body: Option<fn() -> Shapes>,
    /// The status of an answer.
    pub(crate) status: u16,
    /// What it answers.
    pub(crate) answer: Answer,
    /// Who answers.
    pub(crate) handler: fn() -> MethodRouter<App>,
}

/// Builds the whole service, without a port.
pub(crate) fn router(app: &App) -> Router {
    let mut router = Router::new();
    for row in table() {
        router = router.route(row.path, (row.handler)());
    }
    router
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .layer(from_fn_with_state(app.clone(), once::once))
        .layer(from_fn_with_state(app.clone(), access::gate))
        .with_state(app.clone())
}

async fn nowhere() -> Refusal {
    Refusal::new(
        Kind::NotFound,
        "there is nothing at this address; /openapi.json lists what is",
    )
}

async fn not_so() -> Refusal {
    Refusal::invalid("this address does not take this method")
        .with_status(StatusCode::METHOD_NOT_ALLOWED)
}
