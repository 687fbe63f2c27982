//! Files inside a sandbox: no path leads out, and no link is followed.

use crate::app::App;
use crate::body::{Content, FILE_BYTES_MAX};
use crate::query::{Ask, At};
use crate::refusal::Refusal;
use agar_engine::files::{LookRequest, look, remove_file, write_file};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use std::path::PathBuf;

/// Which file.
#[derive(Debug, Deserialize)]
pub(crate) struct Wanted {
    /// Absolute, or relative to the project.
    path: PathBuf,
    /// Describe a file rather than send it.
    #[serde(default)]
    describe: bool,
}

/// Sends a file, or lists a directory, or says where a link points.
pub(crate) async fn get(
    State(app): State<App>,
    At(name): At<String>,
    Ask(wanted): Ask<Wanted>,
) -> Result<Response, Refusal> {
    app.on(name, move |engine, sandbox| {
        let request = LookRequest {
            sandbox: Some(sandbox.id.to_string()),
            path: wanted.path,
            bytes_max: FILE_BYTES_MAX as u64,
        };
        let found = look(engine, &request)?;
        if found.what != "file" || wanted.describe {
            return Ok(Json(found).into_response());
        }
        // Never as something that a browser would show or run.
        let headers = [
            (CONTENT_TYPE, "application/octet-stream"),
            (CONTENT_DISPOSITION, "attachment"),
        ];
        Ok((headers, found.content).into_response())
    })
    .await
}

/// Writes a file, making its directories.
pub(crate) async fn put(
    State(app): State<App>,
    At(name): At<String>,
    Ask(wanted): Ask<Wanted>,
    Content(content): Content,
) -> Result<StatusCode, Refusal> {
    let permit = app.run_permit()?;
    app.on(name, move |engine, sandbox| {
        let _permit = permit;
        let id = sandbox.id.to_string();
        write_file(engine, (&id, &wanted.path), &content)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Removes a file, or a directory with all in it.
pub(crate) async fn delete(
    State(app): State<App>,
    At(name): At<String>,
    Ask(wanted): Ask<Wanted>,
) -> Result<StatusCode, Refusal> {
    let permit = app.run_permit()?;
    app.on(name, move |engine, sandbox| {
        let _permit = permit;
        let id = sandbox.id.to_string();
        remove_file(engine, (&id, &wanted.path))?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
