//! What the server did, line by line, for whoever asks for it.
//!
//! One span for each request, with spans of the engine's below it. A request is told by its id, its
//! method, the route it matched, the sandbox it names, its status and its time; never by its
//! address, headers or body, which can hold what only its sender and this server may know.

use agar_core::fault::{Fault, Kind};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use std::str::FromStr as _;
use std::time::Duration;
use tracing::field::Empty;
use tracing::{Level, Span};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer as _, Registry, fmt};

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TraceForm {
    /// For people.
    #[default]
    Words,
    /// One JSON object each.
    Json,
}

/// Lines cannot be written as asked.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// It is not clear what to write.
    #[error(
        "`{filter}` does not say what to log: write a level, or parts and levels as in `agar_server=debug,agar_engine=info`"
    )]
    Filter {
        /// What was asked for.
        filter: String,
    },
    /// Something else in this process writes them already.
    #[error("this process writes a log already")]
    Twice,
}

impl Fault for TraceError {
    fn kind(&self) -> Kind {
        match self {
            Self::Filter { .. } => Kind::Invalid,
            Self::Twice => Kind::Internal,
        }
    }
}

/// Writes what happens from here on to stderr: what the filter names (as `RUST_LOG` does: a level, or
/// `part=level` and commas), each span when it ends.
pub fn trace(filter: &str, form: TraceForm) -> Result<(), TraceError> {
    let known = Targets::from_str(filter).ok();
    // A word that is no level would be taken for the name of a part, and everything of it written.
    let named = |part: &&str| part.contains('=') || Level::from_str(part).is_ok() || *part == "off";
    let is_plain = filter.split(',').all(|part| named(&part.trim()));
    let targets = known
        .filter(|_| is_plain)
        .ok_or_else(|| TraceError::Filter {
            filter: agar_core::text::printable(filter).into_owned(),
        })?;
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE);
    let set = match form {
        TraceForm::Words => {
            let layer = lines.with_filter(targets);
            tracing::subscriber::set_global_default(Registry::default().with(layer))
        }
        TraceForm::Json => {
            let layer = lines.json().with_filter(targets);
            tracing::subscriber::set_global_default(Registry::default().with(layer))
        }
    };
    set.map_err(|_| TraceError::Twice)
}

/// The span of a request.
pub(crate) fn span(request: &Request, (id, route): (&str, &str)) -> Span {
    let span = tracing::info_span!(
        "request",
        id,
        method = %request.method(),
        route,
        sandbox = Empty,
        trace = Empty,
        status = Empty,
        ms = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    if let Some(sandbox) = sandbox(route, request.uri().path()) {
        span.record("sandbox", sandbox);
    }
    if let Some(trace) = trace_of(request.headers()) {
        span.record("trace", trace);
    }
    span
}

/// Says how a request was answered.
pub(crate) fn answered(span: &Span, status: StatusCode, took: Duration) {
    span.record("status", status.as_u16());
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    span.record("ms", millis);
}

/// The sandbox that a path names, if the name is one that a sandbox can have.
fn sandbox<'a>(route: &str, path: &'a str) -> Option<&'a str> {
    let is_one = |part: &str| matches!(part, "sandbox" | "sandboxes");
    let before = route.split('/').zip(route.split('/').skip(1));
    let place = before
        .clone()
        .position(|(before, part)| is_one(before) && part == "{id}")?;
    let name = path.split('/').nth(place + 1)?;
    let is_plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    ((1..=64).contains(&name.len()) && name.chars().all(is_plain)).then_some(name)
}

/// The trace that a caller says this request is part of, as the W3C's `traceparent` has it.
fn trace_of(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get("traceparent")?.to_str().ok()?;
    let is_hex = |part: &str| {
        let digit = |letter: u8| letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter);
        part.bytes().all(digit)
    };
    let parts: Vec<&str> = text.split('-').collect();
    match parts.as_slice() {
        ["00", trace, parent, flags]
            if trace.len() == 32 && parent.len() == 16 && flags.len() == 2 =>
        {
            [trace, parent, flags]
                .iter()
                .all(|part| is_hex(part))
                .then_some(*trace)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn a_request_names_its_sandbox_only_if_it_can_be_one() {
        let route = "/v1/sandboxes/{id}/files";
        assert_eq!(
            sandbox(route, "/v1/sandboxes/calm-fern/files"),
            Some("calm-fern")
        );
        assert_eq!(sandbox(route, "/v1/sandboxes/%0Aevil/files"), None);
        assert_eq!(sandbox(route, "/v1/sandboxes//files"), None);
        let seed = "/api/memory/sandbox/{id}";
        assert_eq!(sandbox(seed, "/api/memory/sandbox/01a1"), Some("01a1"));
        assert_eq!(
            sandbox("/v1/suggestions/{id}", "/v1/suggestions/01a1"),
            None
        );
    }

    #[test]
    fn only_a_well_formed_trace_is_written_down() {
        let told = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("traceparent", HeaderValue::from_static(text));
            trace_of(&headers).map(str::to_owned)
        };
        let whole = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(
            told(whole).as_deref(),
            Some("4bf92f3577b34da6a3ce929d0e0e4736")
        );
        assert_eq!(
            told("00-4bf92f3577b34da6a3ce929d0e0e473G-00f067aa0ba902b7-01"),
            None
        );
        assert_eq!(told("swordfish"), None);
    }
}
