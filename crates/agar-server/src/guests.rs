//! Pages of other origins that a person let offer suggestions.
//!
//! An origin is allowed once, from agar's own page or when the server is started, and has a token from
//! then on. With it a page of that origin may post suggestions and ask how likely they are to work:
//! nothing is run, no project is named, and what was tried before is not told. The token is a keyed hash
//! under the server's own, so that no list of tokens exists; the list of origins lies beside the server's
//! token and is read whenever another origin asks, so that taking one off it counts at once.

use crate::access::Who;
use crate::app::App;
use crate::body::Told;
use crate::keys::Keys;
use crate::query::Ask;
use crate::refusal::Refusal;
use agar_core::fault::Kind;
use agar_core::seam::Entropy;
use axum::extract::State;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::{Extension, Json};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use utoipa::ToSchema;

/// Origins that may be allowed at once.
const ORIGINS_MAX: usize = 64;
/// The longest origin.
const ORIGIN_BYTES_MAX: usize = 200;

/// What a page of another origin may ask for.
const OFFERS: [&str; 2] = ["/v1/suggestions", "/api/confidence/calculate"];

/// Whether a guest may ask for this.
pub(crate) fn is_offer(method: &Method, path: &str) -> bool {
    matches!(*method, Method::POST | Method::OPTIONS) && OFFERS.contains(&path)
}

/// The origin of a page that was let in.
#[derive(Debug, Clone)]
pub(crate) struct Guest(pub(crate) String);

/// An origin that was allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Grant {
    origin: String,
    /// Drawn when it was allowed, so that one that is allowed again has another token.
    number: String,
}

/// An origin that is allowed, and its token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct AllowedOrigin {
    /// The origin: `http://localhost:3000`.
    pub origin: String,
    /// The token for its pages.
    pub token: String,
}

/// The list of origins.
#[derive(Debug)]
pub(crate) struct Guests {
    file: PathBuf,
}

impl Guests {
    /// The list beside the server's token.
    pub(crate) fn beside(token: &Path) -> Self {
        Self {
            file: token.with_file_name("origins.json"),
        }
    }

    fn read(&self) -> io::Result<Vec<Grant>> {
        match fs_err::read(&self.file) {
            Ok(text) => serde_json::from_slice(&text).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Waits until nobody else changes the list: not here, and not in another server, which could
    /// bring back an origin that is being taken off. Given up when dropped, or when the process dies.
    fn turn(&self) -> io::Result<fs_err::File> {
        let lock = fs_err::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.file.with_extension("lock"))?;
        lock.file().lock()?;
        Ok(lock)
    }

    fn write(&self, grants: &[Grant]) -> io::Result<()> {
        let draft = self
            .file
            .with_extension(format!("new-{}", std::process::id()));
        let mut file = fs_err::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)?;
        file.write_all(&serde_json::to_vec_pretty(grants)?)?;
        file.sync_all()?;
        fs_err::rename(&draft, &self.file)
    }

    /// Every origin that is allowed. A list that cannot be read allows nobody.
    pub(crate) fn all(&self, keys: &Keys) -> io::Result<Vec<AllowedOrigin>> {
        let told = |grant: Grant| AllowedOrigin {
            token: keys.guest(&grant.number, &grant.origin),
            origin: grant.origin,
        };
        Ok(self.read()?.into_iter().map(told).collect())
    }

    /// The token of an origin, if it is allowed.
    pub(crate) fn token(&self, keys: &Keys, origin: &HeaderValue) -> Option<String> {
        let origin = origin.to_str().ok()?;
        let grants = self.read().ok()?;
        let grant = grants.into_iter().find(|grant| grant.origin == origin)?;
        Some(keys.guest(&grant.number, &grant.origin))
    }

    /// Allows an origin. One that is allowed already keeps its token.
    pub(crate) fn allow(
        &self,
        (keys, entropy): (&Keys, &dyn Entropy),
        origin: &str,
    ) -> Result<AllowedOrigin, Refusal> {
        if !is_origin(origin) {
            return Err(Refusal::invalid(
                "an origin is a scheme, a host and perhaps a port: http://localhost:3000",
            ));
        }
        let _turn = self.turn().map_err(unkept)?;
        let mut grants = self.read().map_err(unkept)?;
        let known = grants.iter().find(|grant| grant.origin == origin).cloned();
        let grant = match known {
            Some(grant) => grant,
            None if grants.len() >= ORIGINS_MAX => {
                let told = format!("{ORIGINS_MAX} origins are allowed already");
                return Err(Refusal::new(Kind::Limit, told));
            }
            None => {
                let grant = Grant {
                    origin: origin.to_owned(),
                    number: crate::keys::random(entropy),
                };
                grants.push(grant.clone());
                self.write(&grants).map_err(unkept)?;
                grant
            }
        };
        Ok(AllowedOrigin {
            token: keys.guest(&grant.number, &grant.origin),
            origin: grant.origin,
        })
    }

    /// Takes an origin off the list. Whether it was on it.
    fn forget(&self, origin: &str) -> io::Result<bool> {
        let _turn = self.turn()?;
        let mut grants = self.read()?;
        let before = grants.len();
        grants.retain(|grant| grant.origin != origin);
        let was_there = grants.len() < before;
        if was_there {
            self.write(&grants)?;
        }
        Ok(was_there)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "what map_err hands over")]
fn unkept(error: io::Error) -> Refusal {
    Refusal::new(
        Kind::Internal,
        format!("cannot keep the list of origins: {error}"),
    )
}

/// Whether this is an origin as browsers write it, of the web and not `null`.
fn is_origin(text: &str) -> bool {
    let host = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    let is_plain =
        |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b':' | b'[' | b']');
    text.len() <= ORIGIN_BYTES_MAX
        && host.is_some_and(|host| !host.is_empty() && host.bytes().all(is_plain))
}

/// Only the person may say who else may ask: not a program with the token, and not a guest.
fn only_the_person(who: Who) -> Result<(), Refusal> {
    match who {
        Who::Browser => Ok(()),
        Who::Program | Who::Guest | Who::Anyone => Err(Refusal::new(
            Kind::Refused,
            "which pages may offer suggestions is decided by the person, on agar's own page",
        )),
    }
}

/// The origins that are allowed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Origins {
    /// In the order in which they were allowed.
    origins: Vec<AllowedOrigin>,
}

/// Lists them.
pub(crate) async fn all(
    State(app): State<App>,
    Extension(who): Extension<Who>,
) -> Result<Json<Origins>, Refusal> {
    only_the_person(who)?;
    let origins = app.guests.all(&app.keys).map_err(unkept)?;
    Ok(Json(Origins { origins }))
}

/// Names an origin.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OriginBody {
    /// A scheme, a host and perhaps a port: `http://localhost:3000`.
    pub(crate) origin: String,
}

/// Lets the pages of an origin offer suggestions.
pub(crate) async fn allow(
    State(app): State<App>,
    Extension(who): Extension<Who>,
    Told(asked): Told<OriginBody>,
) -> Result<(StatusCode, Json<AllowedOrigin>), Refusal> {
    only_the_person(who)?;
    let with = (&app.keys, &*app.surroundings.entropy);
    let allowed = app.guests.allow(with, &asked.origin)?;
    Ok((StatusCode::CREATED, Json(allowed)))
}

/// Lets them no longer.
pub(crate) async fn forget(
    State(app): State<App>,
    Extension(who): Extension<Who>,
    Ask(asked): Ask<OriginBody>,
) -> Result<StatusCode, Refusal> {
    only_the_person(who)?;
    if app.guests.forget(&asked.origin).map_err(unkept)? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Refusal::new(
        Kind::NotFound,
        "no such origin is allowed; the list has those that are",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_change_the_list_at_once_lose_no_change() {
        let directory = tempfile::tempdir().unwrap();
        let token = directory.path().join("token");
        let grant = |origin: String| Grant {
            origin,
            number: String::new(),
        };
        // Each with a list of its own, as in two processes.
        let one = Guests::beside(&token);
        let first: Vec<Grant> = (0..30).map(|it| grant(format!("http://a{it}"))).collect();
        one.write(&first).unwrap();
        let forget = |half: usize| {
            let own = Guests::beside(&token);
            let mut mine = first.iter().skip(half).step_by(2);
            assert!(mine.all(|it| own.forget(&it.origin).unwrap()));
        };
        std::thread::scope(|scope| {
            scope.spawn(|| forget(0));
            forget(1);
        });
        assert_eq!(one.read().unwrap(), []);
    }

    #[test]
    fn an_origin_has_no_path_no_name_and_no_secret() {
        for origin in [
            "http://localhost:3000",
            "https://editor.example",
            "http://[::1]:80",
        ] {
            assert!(is_origin(origin), "{origin}");
        }
        for text in [
            "",
            "null",
            "*",
            "http://",
            "file://",
            "localhost:3000",
            "http://a/",
            "http://me@a",
            "http://A",
            "http://a b",
            "http://a\r\nx: y",
        ] {
            assert!(!is_origin(text), "{text:?}");
        }
    }
}
