//! What a sandbox changed: shown, checked, carried into the project, taken back.

use crate::app::{App, Place};
use crate::body::Told;
use crate::query::{Ask, At};
use crate::refusal::Refusal;
use crate::trial::accept;
use crate::v1::sandboxes::caller;
use agar_core::fault::{Kind, Remedy};
use agar_engine::apply::{ApplyAnswer, ApplyRequest, Destination, Side};
use agar_engine::check::{CheckAnswer, CheckRequest, check};
use agar_engine::diff::{DiffAnswer, DiffRequest, diff};
use agar_engine::undo::{UndoAnswer, UndoRequest, undo};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// How to show changes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Shown {
    patch: bool,
    context: Option<usize>,
    /// One path, and what is below it.
    path: Option<String>,
    outside: bool,
}

/// Shows what a sandbox changed.
pub(crate) async fn show(
    State(app): State<App>,
    At(name): At<String>,
    Ask(shown): Ask<Shown>,
) -> Result<Json<DiffAnswer>, Refusal> {
    app.on(name, move |engine, sandbox| {
        let request = DiffRequest {
            sandbox: Some(sandbox.id.to_string()),
            paths: shown.path.into_iter().collect(),
            patch: shown.patch,
            context: shown.context.map(|lines| lines.min(1000)),
            outside: shown.outside,
        };
        Ok(Json(diff(engine, &request)?))
    })
    .await
}

/// Asks for checks.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CheckBody {
    /// Only these; all if there are none.
    pub(crate) only: Vec<String>,
    /// On whose behalf.
    pub(crate) agent: Option<String>,
}

/// Runs the declared checks on what a sandbox changed.
pub(crate) async fn checked(
    State(app): State<App>,
    At(name): At<String>,
    Told(asked): Told<CheckBody>,
) -> Result<Json<CheckAnswer>, Refusal> {
    let permit = app.run_permit()?;
    let mut halt = app.halt();
    app.on(name, move |engine, sandbox| {
        let _permit = permit;
        let request = CheckRequest {
            sandbox: Some(sandbox.id.to_string()),
            only: asked.only,
            caller: caller(asked.agent),
        };
        Ok(Json(check(engine, &request, &mut halt, &mut |_| {})?))
    })
    .await
}

/// Asks for changes to be carried into the project.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PromoteBody {
    /// Only these paths and what is below them, relative to the project; everything if empty.
    pub(crate) paths: Vec<String>,
    /// Only these hunks of these paths, by their numbers in a dry run.
    pub(crate) hunks: BTreeMap<String, Vec<usize>>,
    /// The `plan` of the dry run that the numbers were read from: if it is not what would be done
    /// now, the answer is 409 and nothing is written.
    pub(crate) plan: Option<String>,
    /// Whose version wins in every conflict that `choices` does not name: `mine`, `theirs`,
    /// `markers`.
    #[schema(value_type = Option<String>)]
    pub(crate) side: Option<Side>,
    /// Whose version wins, by path.
    #[schema(value_type = Object)]
    pub(crate) choices: BTreeMap<String, Side>,
    /// `{"to": "work_tree"}`, `{"to": "commit", "message": …}` or `{"to": "branch", "name": …}`.
    #[schema(value_type = Object)]
    pub(crate) destination: Destination,
    /// Say what would happen, write nothing.
    pub(crate) dry_run: bool,
    /// End what runs in the sandbox first.
    pub(crate) stop: bool,
    /// What the person thinks of it, for memory.
    pub(crate) feedback: Option<String>,
    /// On whose behalf.
    pub(crate) agent: Option<String>,
}

/// Checks what a sandbox changed and merges it into the project.
pub(crate) async fn promote(
    State(app): State<App>,
    At(name): At<String>,
    Told(asked): Told<PromoteBody>,
) -> Result<Json<ApplyAnswer>, Refusal> {
    let permit = app.run_permit()?;
    let mut halt = app.halt();
    app.on(name, move |engine, sandbox| {
        let _permit = permit;
        let request = ApplyRequest {
            sandbox: Some(sandbox.id.to_string()),
            paths: asked.paths,
            // What lies outside the project is a person's to apply, at a terminal.
            outside: Vec::new(),
            side: asked.side,
            choices: asked.choices,
            hunks: asked.hunks,
            plan: asked.plan,
            destination: asked.destination,
            dry_run: asked.dry_run,
            stop: asked.stop,
            feedback: asked.feedback,
        };
        let answer = accept(engine, &request, &caller(asked.agent), &mut halt)?;
        Ok(Json(answer))
    })
    .await
}

/// Asks for a promotion to be taken back.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct UndoBody {
    /// Its id or a unique beginning, or the alias of its sandbox; the last one if left out.
    pub(crate) promotion: Option<String>,
    /// Whose version wins where the project changed since: `mine`, `theirs`, `markers`.
    #[schema(value_type = Option<String>)]
    pub(crate) side: Option<Side>,
    /// Say what would happen, write nothing.
    pub(crate) dry_run: bool,
}

/// Takes a promotion back.
pub(crate) async fn take_back(
    State(app): State<App>,
    place: Place,
    Told(asked): Told<UndoBody>,
) -> Result<Json<UndoAnswer>, Refusal> {
    app.work(place, move |engine| {
        let request = UndoRequest {
            promotion: asked.promotion,
            side: asked.side,
            choices: BTreeMap::new(),
            dry_run: asked.dry_run,
        };
        let answer = undo(engine, &request)?;
        if !answer.undone && !request.dry_run {
            return Err(Refusal::new(
                Kind::Conflict,
                "later edits stand in the way; nothing was written",
            )
            .with_remedy(Remedy::ChooseSide)
            .with_details(json!({ "files": answer.files })));
        }
        Ok(Json(answer))
    })
    .await
}
