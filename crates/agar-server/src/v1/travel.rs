//! Snapshots, restores and forks.

use crate::app::App;
use crate::body::Told;
use crate::query::{Ask, At};
use crate::refusal::Refusal;
use agar_engine::fork::{ForkAnswer, ForkRequest, fork};
use agar_engine::remove::{RemoveAnswer, RemoveRequest, remove};
use agar_engine::restore::{RestoreAnswer, RestoreRequest, restore};
use agar_engine::snapshot::{SnapshotAnswer, SnapshotRequest, snapshot};
use agar_engine::snapshots::{SnapshotsAnswer, SnapshotsRequest, snapshots};
use agar_engine::tree::{TreeAnswer, TreeRequest, tree};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

/// Asks for a snapshot.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SnapshotBody {
    /// Its name; a number is given if left out.
    pub(crate) name: Option<String>,
    /// A few words about it.
    pub(crate) note: Option<String>,
}

/// Takes a snapshot.
pub(crate) async fn take(
    State(app): State<App>,
    At(name): At<String>,
    Told(asked): Told<SnapshotBody>,
) -> Result<(StatusCode, Json<SnapshotAnswer>), Refusal> {
    app.on(name, move |engine, sandbox| {
        let request = SnapshotRequest {
            sandbox: Some(sandbox.id.to_string()),
            name: asked.name,
            note: asked.note,
        };
        Ok((StatusCode::CREATED, Json(snapshot(engine, &request)?)))
    })
    .await
}

/// Lists the snapshots of a sandbox.
pub(crate) async fn all(
    State(app): State<App>,
    At(name): At<String>,
) -> Result<Json<SnapshotsAnswer>, Refusal> {
    app.on(name, |engine, sandbox| {
        let sandbox = Some(sandbox.id.to_string());
        Ok(Json(snapshots(engine, &SnapshotsRequest { sandbox })?))
    })
    .await
}

/// Forgets a snapshot.
pub(crate) async fn forget(
    State(app): State<App>,
    At((name, point)): At<(String, String)>,
) -> Result<Json<RemoveAnswer>, Refusal> {
    app.on(name, move |engine, sandbox| {
        let request = RemoveRequest {
            sandboxes: vec![named(&sandbox.id.to_string(), Some(&point))?],
            ..RemoveRequest::default()
        };
        Ok(Json(remove(engine, &request)?))
    })
    .await
}

/// Asks for a sandbox to return to a snapshot.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RestoreBody {
    /// Its name; the one that the sandbox descends from if left out.
    pub(crate) snapshot: Option<String>,
}

/// Returns a sandbox to a snapshot. What runs in it is ended.
pub(crate) async fn back(
    State(app): State<App>,
    At(name): At<String>,
    Told(asked): Told<RestoreBody>,
) -> Result<Json<RestoreAnswer>, Refusal> {
    app.on(name, move |engine, sandbox| {
        let point = named(&sandbox.id.to_string(), asked.snapshot.as_deref())?;
        let request = RestoreRequest {
            snapshot: Some(point),
        };
        Ok(Json(restore(engine, &request)?))
    })
    .await
}

/// Asks for forks.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ForkBody {
    /// How many; one if left out.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) count: Option<u32>,
    /// From this snapshot; from the sandbox as it is if left out.
    pub(crate) snapshot: Option<String>,
    /// A name, for one fork.
    pub(crate) alias: Option<String>,
    /// A few words about them.
    pub(crate) note: Option<String>,
}

/// Makes sandboxes that begin as a snapshot of this one.
pub(crate) async fn forked(
    State(app): State<App>,
    At(name): At<String>,
    Told(asked): Told<ForkBody>,
) -> Result<(StatusCode, Json<ForkAnswer>), Refusal> {
    app.on(name, move |engine, sandbox| {
        let source = named(&sandbox.id.to_string(), asked.snapshot.as_deref())?;
        let request = ForkRequest {
            source: Some(source),
            count: asked.count.unwrap_or(1),
            alias: asked.alias,
            note: asked.note,
        };
        Ok((StatusCode::CREATED, Json(fork(engine, &request)?)))
    })
    .await
}

/// How far to look.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Reach {
    family: bool,
}

/// Shows what descends from a sandbox, or its whole family.
pub(crate) async fn lineage(
    State(app): State<App>,
    At(name): At<String>,
    Ask(reach): Ask<Reach>,
) -> Result<Json<TreeAnswer>, Refusal> {
    app.on(name, move |engine, sandbox| {
        let request = TreeRequest {
            sandbox: Some(sandbox.id.to_string()),
            family: reach.family,
        };
        Ok(Json(tree(engine, &request)?))
    })
    .await
}

/// A point of a sandbox, by name.
fn named(sandbox: &str, point: Option<&str>) -> Result<String, Refusal> {
    match point {
        None => Ok(sandbox.to_owned()),
        Some(point) if point.contains('@') || point.is_empty() => {
            Err(Refusal::invalid("the name of a snapshot holds no `@`"))
        }
        Some(point) => Ok(format!("{sandbox}@{point}")),
    }
}
