//! The page, and what there is besides the interface: health, counters, the description.

use crate::access::cookie_name;
use crate::app::App;
use crate::query::{Ask, At};
use crate::refusal::Refusal;
use agar_core::fault::{Kind, Remedy};
use axum::Json;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::{Value, json};

/// A script or a sheet of the page: its name, what it is, its text.
type Part = (&'static str, &'static str, &'static str);

macro_rules! script {
    ($name:literal) => {
        (
            $name,
            "text/javascript; charset=utf-8",
            include_str!(concat!("page/", $name)),
        )
    };
}

macro_rules! sheet {
    ($name:literal) => {
        (
            $name,
            "text/css; charset=utf-8",
            include_str!(concat!("page/", $name)),
        )
    };
}

/// The parts of the page.
static PARTS: &[Part] = &[
    script!("api.js"),
    script!("app.js"),
    script!("charts.js"),
    script!("checklist.js"),
    script!("conflict.js"),
    script!("dashboard.js"),
    script!("dialog.js"),
    script!("diff.js"),
    script!("dom.js"),
    script!("experiments.js"),
    script!("files.js"),
    script!("guests.js"),
    script!("inbox.js"),
    script!("memory.js"),
    script!("outcome.js"),
    script!("output.js"),
    script!("overlay.js"),
    script!("populations.js"),
    script!("sandbox.js"),
    script!("settings.js"),
    script!("split.js"),
    script!("terminal.js"),
    script!("travel.js"),
    script!("try-this-safely.js"),
    script!("wishes.js"),
    script!("words.js"),
    sheet!("panels.css"),
    sheet!("style.css"),
    (
        "xterm.js",
        "text/javascript; charset=utf-8",
        include_str!("page/vendor/xterm/xterm.mjs"),
    ),
    (
        "xterm-fit.js",
        "text/javascript; charset=utf-8",
        include_str!("page/vendor/xterm/addon-fit.mjs"),
    ),
    (
        "xterm.css",
        "text/css; charset=utf-8",
        include_str!("page/vendor/xterm/xterm.css"),
    ),
    (
        "xterm.LICENSE",
        "text/plain; charset=utf-8",
        include_str!("page/vendor/xterm/LICENSE"),
    ),
];

/// How long a browser keeps its cookie.
const COOKIE_SECONDS: u32 = 30 * 24 * 3600;

/// Whether the server answers.
pub(crate) async fn health() -> Json<Value> {
    Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }))
}

/// Counters.
pub(crate) async fn metrics(State(app): State<App>) -> Response {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(CONTENT_TYPE, kind)], app.metrics.text(app.ready())).into_response()
}

/// The description of the interface.
pub(crate) async fn description(State(app): State<App>) -> Response {
    ([(CONTENT_TYPE, "application/json")], app.openapi.clone()).into_response()
}

/// The page.
pub(crate) async fn index() -> Response {
    let kind = "text/html; charset=utf-8";
    ([(CONTENT_TYPE, kind)], include_str!("page/index.html")).into_response()
}

/// A part of the page.
pub(crate) async fn asset(At(name): At<String>) -> Result<Response, Refusal> {
    let found = PARTS.iter().find(|(known, _, _)| *known == name);
    let Some((_, kind, text)) = found else {
        return Err(Refusal::new(Kind::NotFound, "the page has no such part"));
    };
    let headers = [(CONTENT_TYPE, *kind), (CACHE_CONTROL, "no-cache")];
    Ok((headers, *text).into_response())
}

/// The secret of a link.
#[derive(Debug, Deserialize)]
pub(crate) struct Link {
    key: String,
}

/// Takes a link that works once, gives a cookie and leads to the page.
pub(crate) async fn open(
    State(app): State<App>,
    Ask(link): Ask<Link>,
) -> Result<Response, Refusal> {
    let now = app.surroundings.clock.now();
    if !app.keys.take_link(&link.key, now) {
        return Err(Refusal::new(
            Kind::Refused,
            "this link was used before or is too old; ask for another one",
        )
        .with_remedy(Remedy::Command {
            line: "agar serve --open".to_owned(),
        }));
    }
    let value = app.keys.cookie(&*app.surroundings.entropy, now);
    let cookie = format!(
        "{}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={COOKIE_SECONDS}",
        cookie_name(app.port)
    );
    let cookie = HeaderValue::from_str(&cookie).map_err(|_| Refusal::defect())?;
    let headers = [
        (LOCATION, HeaderValue::from_static("/")),
        (SET_COOKIE, cookie),
    ];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a browser loads at most for the whole page, every view opened.
    const BYTES_MAX: usize = 600_000;

    #[test]
    fn the_whole_page_weighs_less_than_600_kilobytes() {
        let parts: usize = PARTS.iter().map(|(_, _, text)| text.len()).sum();
        let bytes = parts + include_str!("page/index.html").len();
        assert!(bytes < BYTES_MAX, "{bytes} bytes");
    }

    #[test]
    fn what_the_page_asks_for_at_once_is_a_part_of_it() {
        let index = include_str!("page/index.html");
        let names: Vec<&str> = index
            .split("=\"/assets/")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(names.len() > 3, "{names:?}");
        for name in names {
            assert!(PARTS.iter().any(|(part, _, _)| *part == name), "{name}");
        }
    }

    #[test]
    fn every_file_of_the_page_is_a_part_of_it() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/page");
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                // Things of others, named one by one.
                continue;
            }
            let name = entry.file_name().into_string().unwrap();
            let known = PARTS.iter().any(|(part, _, _)| *part == name);
            assert!(known || name == "index.html", "{name}");
        }
    }
}
