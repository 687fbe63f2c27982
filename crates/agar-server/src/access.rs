//! Who may ask.
//!
//! ```text
//! Host names this server ──▶ Origin is none or this server ──▶ token or cookie ──▶ pace ──▶ handler
//! ```
//!
//! A page of another site can make a browser send requests here, also under a name that leads to
//! this machine (DNS rebinding). Its requests carry its own `Host` or `Origin`, or say in
//! `Sec-Fetch-Site` where they come from, and are turned away before anything is looked at, cookie or
//! not. The exception is an origin that the person allowed (`guests.rs`): with its own token, and for
//! two things only.

use crate::app::App;
use crate::guests::{Guest, is_offer};
use crate::refusal::Refusal;
use crate::trace;
use agar_core::fault::{Kind, Remedy};
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST,
    ORIGIN, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::sync::atomic::Ordering;
use std::time::Instant;
use tracing::Instrument as _;

/// What a page may load, run and talk to: itself, and nothing written into it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// The name of the header that names a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// How somebody showed that they may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// With the token.
    Program,
    /// With a cookie.
    Browser,
    /// With the token of another origin that was allowed.
    Guest,
    /// Not at all, and not needed.
    Anyone,
}

/// Lets a request through, or turns it away.
pub(crate) async fn gate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = app.request_id();
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.map_or_else(|| "none".to_owned(), |path| path.as_str().to_owned());
    let span = trace::span(&request, (&id, &route));
    let visitor = visitor(&app, &request);
    let mut response = match admit(&app, &request, begun) {
        Ok(_) if visitor.is_some() && *request.method() == Method::OPTIONS => preflight(),
        Ok(who) => {
            request.extensions_mut().insert(who);
            if let Some(guest) = visitor.as_ref().and_then(|origin| origin.to_str().ok()) {
                request.extensions_mut().insert(Guest(guest.to_owned()));
            }
            next.run(request).instrument(span.clone()).await
        }
        Err(refusal) => {
            app.metrics.turned_away.fetch_add(1, Ordering::Relaxed);
            refusal.into_response()
        }
    };
    dress(response.headers_mut(), &id);
    if let Some(origin) = visitor {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(VARY, HeaderValue::from_static("Origin"));
    }
    let status = response.status();
    if status == StatusCode::INTERNAL_SERVER_ERROR {
        (app.log)(&format!("request {id} to {route} failed"));
    }
    let took = begun.elapsed();
    trace::answered(&span, status, took);
    app.metrics.answered(&route, status.as_u16(), took);
    response
}

/// What every answer carries.
fn dress(headers: &mut HeaderMap, id: &str) {
    let fixed = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
}

/// Whether a request may be looked at.
fn admit(app: &App, request: &Request, now: Instant) -> Result<Who, Refusal> {
    let slow = |seconds| Refusal::new(Kind::Limit, "requests come too fast").retry_after(seconds);
    match check(app, request) {
        Ok(who) => {
            let pace = match who {
                Who::Guest => &app.visitors,
                Who::Program | Who::Browser | Who::Anyone => &app.known,
            };
            pace.take(now).map_err(slow)?;
            Ok(who)
        }
        Err(refusal) => {
            app.strangers.take(now).map_err(slow)?;
            Err(refusal)
        }
    }
}

fn check(app: &App, request: &Request) -> Result<Who, Refusal> {
    let headers = request.headers();
    let hosts: Vec<&HeaderValue> = headers.get_all(HOST).iter().collect();
    let named = match hosts.as_slice() {
        [one] => one.to_str().ok(),
        [] | [_, _, ..] => None,
    };
    let proxied = request.uri().authority();
    let is_here = named.is_some_and(|host| is_own(host, app.port))
        && proxied.is_none_or(|authority| is_own(authority.as_str(), app.port));
    if !is_here {
        return Err(Refusal::new(
            Kind::Refused,
            "this server answers to localhost only; the request names another host",
        ));
    }
    let public = is_public(request.uri().path());
    let origin = headers.get(ORIGIN);
    if let Some(origin) = origin.filter(|origin| !is_own_origin(origin, app.port)) {
        return visit(app, request, origin);
    }
    let from = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let is_far = from.is_some_and(|from| !matches!(from, b"same-origin" | b"none"));
    if is_far && !(public && is_navigation(request)) {
        return Err(foreign());
    }
    if let Some(token) = bearer(headers) {
        return if app.keys.is_token(token) {
            Ok(Who::Program)
        } else {
            Err(unknown())
        };
    }
    let clock = &app.surroundings.clock;
    let is_known = cookies(headers, &cookie_name(app.port))
        .any(|value| app.keys.is_cookie(value, clock.now()));
    if is_known {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        // A browser that changes something says where it was told to.
        if reads || origin.is_some() || from == Some(b"same-origin") {
            return Ok(Who::Browser);
        }
        return Err(foreign());
    }
    if public {
        Ok(Who::Anyone)
    } else {
        Err(unknown())
    }
}

/// The origin of a page that was allowed and asks for what such pages may ask for.
fn visitor(app: &App, request: &Request) -> Option<HeaderValue> {
    let origin = request.headers().get(ORIGIN)?;
    let path = request.uri().path();
    let is_asset = *request.method() == Method::GET && path.starts_with("/assets/");
    let may_ask = is_asset || is_offer(request.method(), path);
    if is_own_origin(origin, app.port) || !may_ask {
        return None;
    }
    app.guests.token(&app.keys, origin).map(|_| origin.clone())
}

/// Whether a page of another origin may ask.
fn visit(app: &App, request: &Request, origin: &HeaderValue) -> Result<Who, Refusal> {
    let token = app
        .guests
        .token(&app.keys, origin)
        .filter(|_| visitor(app, request).is_some())
        .ok_or_else(foreign)?;
    match *request.method() {
        // A script that tells nothing, and the question whether one may ask.
        Method::GET | Method::OPTIONS => Ok(Who::Anyone),
        // Which project is none of its business.
        _ if request.uri().query().is_some() => Err(foreign()),
        _ => match bearer(request.headers()) {
            // Hashes of equal length are compared in constant time.
            Some(offered) if blake3::hash(offered.as_bytes()) == blake3::hash(token.as_bytes()) => {
                Ok(Who::Guest)
            }
            Some(_) | None => Err(unknown()),
        },
    }
}

/// Says what a page of another origin may send.
fn preflight() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, "POST"),
        (
            ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, idempotency-key",
        ),
        (ACCESS_CONTROL_MAX_AGE, "600"),
        (
            HeaderName::from_static("access-control-allow-private-network"),
            "true",
        ),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Paths that anybody on this machine may ask for: they tell nothing.
fn is_public(path: &str) -> bool {
    matches!(path, "/" | "/healthz" | "/open") || path.starts_with("/assets/")
}

/// Whether somebody followed a link, rather than a page asking behind their back.
fn is_navigation(request: &Request) -> bool {
    let mode = request.headers().get("sec-fetch-mode");
    *request.method() == Method::GET && mode.is_some_and(|mode| mode.as_bytes() == b"navigate")
}

/// Whether a `Host` is this server's.
fn is_own(host: &str, port: u16) -> bool {
    let with_port = |name: &str| host == format!("{name}:{port}") || (port == 80 && host == name);
    ["127.0.0.1", "localhost", "[::1]"]
        .into_iter()
        .any(with_port)
}

/// Whether an `Origin` is this server's.
fn is_own_origin(origin: &HeaderValue, port: u16) -> bool {
    let origin = origin.to_str().unwrap_or_default();
    origin
        .strip_prefix("http://")
        .is_some_and(|host| is_own(host, port))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// The name of the cookie: browsers do not tell ports apart, so it does.
pub(crate) fn cookie_name(port: u16) -> String {
    format!("agar-{port}")
}

fn cookies<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(move |(key, _)| *key == name)
        .map(|(_, value)| value)
}

fn foreign() -> Refusal {
    Refusal::new(
        Kind::Refused,
        "the request comes from a page of another origin",
    )
}

fn unknown() -> Refusal {
    Refusal::new(
        Kind::Refused,
        "the request carries neither the token nor a cookie of this server",
    )
    .with_status(StatusCode::UNAUTHORIZED)
    .with_remedy(Remedy::Command {
        line: "agar serve --open".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_with_this_port_are_this_server() {
        for host in ["127.0.0.1:7727", "localhost:7727", "[::1]:7727"] {
            assert!(is_own(host, 7727), "{host}");
        }
        for host in [
            "",
            "localhost",
            "localhost:7728",
            "evil.example:7727",
            "localhost.evil.example:7727",
            "127.0.0.1:7727.evil.example",
            "localhost:7727@evil.example",
            "LOCALHOST.:7727",
            "0.0.0.0:7727",
        ] {
            assert!(!is_own(host, 7727), "{host}");
        }
    }

    #[test]
    fn an_origin_is_this_server_only_over_plain_http() {
        let own = |origin: &'static str| is_own_origin(&HeaderValue::from_static(origin), 7727);
        assert!(own("http://localhost:7727"));
        for origin in [
            "null",
            "https://localhost:7727",
            "http://localhost:3000",
            "",
        ] {
            assert!(!own(origin), "{origin}");
        }
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        let line = HeaderValue::from_static("a=1; agar-7727=x.y; agar-7728=z");
        headers.insert(COOKIE, line);
        let found: Vec<&str> = cookies(&headers, &cookie_name(7727)).collect();
        assert_eq!(found, ["x.y"]);
    }
}
