//! Populations that breed, looked at.

use crate::app::{App, Place};
use crate::query::{Ask, At};
use crate::refusal::Refusal;
use agar_engine::evolve::{
    BestAnswer, BestRequest, LineageAnswer, LineageRequest, PlotAnswer, PlotRequest, StatusAnswer,
    StatusRequest, best, lineage, plot, status,
};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;

/// Lists populations.
pub(crate) async fn all(
    State(app): State<App>,
    place: Place,
) -> Result<Json<StatusAnswer>, Refusal> {
    app.work(place, |engine| {
        Ok(Json(status(engine, &StatusRequest::default())?))
    })
    .await
}

/// Shows one population.
pub(crate) async fn one(
    State(app): State<App>,
    place: Place,
    At(name): At<String>,
) -> Result<Json<StatusAnswer>, Refusal> {
    app.work(place, move |engine| {
        let request = StatusRequest { name: Some(name) };
        Ok(Json(status(engine, &request)?))
    })
    .await
}

/// How many.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Count {
    count: Option<usize>,
}

/// Shows the best ever.
pub(crate) async fn champions(
    State(app): State<App>,
    place: Place,
    At(name): At<String>,
    Ask(asked): Ask<Count>,
) -> Result<Json<BestAnswer>, Refusal> {
    app.work(place, move |engine| {
        let request = BestRequest {
            name: Some(name),
            count: asked.count.unwrap_or(1).clamp(1, 100),
        };
        Ok(Json(best(engine, &request)?))
    })
    .await
}

/// Whose ancestors.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Whose {
    individual: Option<u64>,
    depth: Option<u32>,
}

/// Shows the ancestors of an individual.
pub(crate) async fn ancestors(
    State(app): State<App>,
    place: Place,
    At(name): At<String>,
    Ask(whose): Ask<Whose>,
) -> Result<Json<LineageAnswer>, Refusal> {
    app.work(place, move |engine| {
        let request = LineageRequest {
            name: Some(name),
            individual: whose.individual,
            depth: whose.depth,
        };
        Ok(Json(lineage(engine, &request)?))
    })
    .await
}

/// Shows fitness over generations.
pub(crate) async fn fitness(
    State(app): State<App>,
    place: Place,
    At(name): At<String>,
) -> Result<Json<PlotAnswer>, Refusal> {
    app.work(place, move |engine| {
        let request = PlotRequest { name: Some(name) };
        Ok(Json(plot(engine, &request)?))
    })
    .await
}
