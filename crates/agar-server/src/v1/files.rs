//! Files inside a sandbox: no path leads out, and no link is followed.

use crate::app::App;
use crate::body::{Content, FILE_BYTES_MAX};
use crate::query::{Ask, At};
use crate::refusal::Refusal;
use agar_engine::files::{LookRequest, look, look_at_main, remove_file, write_file};
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
    /// Where to look.
    #[serde(default)]
    side: Where,
}

/// The two sides of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Where {
    /// Inside the sandbox.
    #[default]
    Sandbox,
    /// In the project that it was made from, as it is now. Only looked at.
    Main,
}

impl Wanted {
    /// Refuses to change main: that is what promotion is for.
    fn inside(&self) -> Result<(), Refusal> {
        match self.side {
            Where::Sandbox => Ok(()),
            Where::Main => Err(Refusal::invalid(
                "main is only looked at; what a sandbox changed reaches it by promotion",
            )),
        }
    }
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
        let found = match wanted.side {
            Where::Sandbox => look(engine, &request)?,
            Where::Main => look_at_main(engine, &request)?,
        };
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
    wanted.inside()?;
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
    wanted.inside()?;
    let permit = app.run_permit()?;
    app.on(name, move |engine, sandbox| {
        let _permit = permit;
        let id = sandbox.id.to_string();
        remove_file(engine, (&id, &wanted.path))?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
