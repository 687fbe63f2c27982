//! What opens the door: a token for programs, and for browsers a link that works once.
//!
//! The token lies in a file that only its owner can read, made by the first start. A browser cannot
//! send it with an event stream, so a link that works once and for ten minutes is exchanged for a
//! cookie. The cookie is a number and its keyed hash under the token: the server remembers no
//! sessions, a restart ends none, and removing the token's file ends all.

use agar_core::seam::{Entropy, Timestamp};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// How long a link works.
const LINK_MS: u64 = 10 * 60_000;
/// Links that may be open at once.
const LINKS_MAX: usize = 16;
/// How long a cookie is accepted.
const COOKIE_MS: u64 = 30 * 24 * 3_600_000;

/// What a keyed hash is for, so that none can stand for another.
const COOKIE_PURPOSE: &str = "agar 2026-11-16 serve: the cookie of a browser";
const GUEST_PURPOSE: &str = "agar 2026-11-16 serve: the token of another origin";

/// The token, and the links that were given out.
pub(crate) struct Keys {
    token: String,
    cookie_key: [u8; 32],
    guest_key: [u8; 32],
    links: Mutex<Vec<(String, Timestamp)>>,
}

impl std::fmt::Debug for Keys {
    /// Shows nothing: a secret in a log is none.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

impl Keys {
    /// The token in this file, which is made if there is none.
    pub(crate) fn open(path: &Path, entropy: &dyn Entropy) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
        }
        let token = match read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(path, entropy)?,
            other => other?,
        };
        Ok(Self {
            cookie_key: blake3::derive_key(COOKIE_PURPOSE, token.as_bytes()),
            guest_key: blake3::derive_key(GUEST_PURPOSE, token.as_bytes()),
            token,
            links: Mutex::new(Vec::new()),
        })
    }

    /// Whether this is the token.
    pub(crate) fn is_token(&self, offered: &str) -> bool {
        // Hashes of equal length are compared in constant time.
        blake3::hash(offered.as_bytes()) == blake3::hash(self.token.as_bytes())
    }

    /// The token for the pages of an origin that was allowed under this number.
    pub(crate) fn guest(&self, number: &str, origin: &str) -> String {
        let words = format!("{number} {origin}");
        let mac = blake3::keyed_hash(&self.guest_key, words.as_bytes());
        format!("guest-{mac}")
    }

    /// The secret of a new link.
    pub(crate) fn link(&self, entropy: &dyn Entropy, now: Timestamp) -> String {
        let secret = random(entropy);
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|(_, at)| now.since(*at) < LINK_MS);
        if links.len() >= LINKS_MAX {
            links.remove(0);
        }
        links.push((secret.clone(), now));
        secret
    }

    /// Takes a link's secret: once, in time, and never again.
    pub(crate) fn take_link(&self, offered: &str, now: Timestamp) -> bool {
        let offered = blake3::hash(offered.as_bytes());
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|(_, at)| now.since(*at) < LINK_MS);
        let found = links
            .iter()
            .position(|(secret, _)| blake3::hash(secret.as_bytes()) == offered);
        match found {
            Some(at) => {
                links.remove(at);
                true
            }
            None => false,
        }
    }

    /// A new cookie's value.
    pub(crate) fn cookie(&self, entropy: &dyn Entropy, now: Timestamp) -> String {
        let body = format!("{}.{}", now.millis(), random(entropy));
        let mac = blake3::keyed_hash(&self.cookie_key, body.as_bytes());
        format!("{body}.{mac}")
    }

    /// Whether this server, or one with the same token, gave this cookie out, and not too long ago.
    pub(crate) fn is_cookie(&self, offered: &str, now: Timestamp) -> bool {
        let Some((body, mac)) = offered.rsplit_once('.') else {
            return false;
        };
        let Ok(mac) = blake3::Hash::from_hex(mac) else {
            return false;
        };
        let made = body.split('.').next().and_then(|at| at.parse().ok());
        let is_fresh = made.is_some_and(|at| now.since(Timestamp::from_millis(at)) < COOKIE_MS);
        // Comparing hashes takes the same time whatever differs.
        blake3::keyed_hash(&self.cookie_key, body.as_bytes()) == mac && is_fresh
    }
}

/// The token, if nobody else can read it.
fn read(path: &Path) -> io::Result<String> {
    let mut file = fs_err::OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    let metadata = file.metadata()?;
    let own = metadata.uid() == rustix::process::getuid().as_raw();
    if !metadata.is_file() || !own || metadata.mode() & 0o077 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{} is readable by others; remove it", path.display()),
        ));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let text = text.trim().to_owned();
    if text.len() < 32 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} does not hold a token; remove it", path.display()),
        ));
    }
    Ok(text)
}

/// Makes the token. Two servers that start at once end up with the same.
fn make(path: &Path, entropy: &dyn Entropy) -> io::Result<String> {
    let draft = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = fs_err::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(random(entropy).as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    let linked = fs_err::hard_link(&draft, path);
    fs_err::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => read(path),
    }
}

/// 256 bits, in hexadecimal.
pub(crate) fn random(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 32];
    entropy.fill(&mut bytes);
    blake3::Hash::from_bytes(bytes).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::atomic::{AtomicU8, Ordering};

    struct Counting(AtomicU8);

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0.fetch_add(1, Ordering::SeqCst));
        }
    }

    const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

    fn later(ms: u64) -> Timestamp {
        Timestamp::from_millis(NOW.millis() + ms)
    }

    #[test]
    fn the_token_is_private_and_the_same_after_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state/token");
        let entropy = Counting(AtomicU8::new(7));
        let first = Keys::open(&path, &entropy).unwrap();
        let second = Keys::open(&path, &entropy).unwrap();
        assert!(second.is_token(&first.token) && !second.is_token("x"));
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert!(second.is_cookie(&first.cookie(&entropy, NOW), NOW));
        let open = std::fs::Permissions::from_mode(0o644);
        fs_err::set_permissions(&path, open).unwrap();
        assert!(Keys::open(&path, &entropy).is_err());
    }

    #[test]
    fn a_link_works_once_and_not_for_long() {
        let directory = tempfile::tempdir().unwrap();
        let entropy = Counting(AtomicU8::new(0));
        let keys = Keys::open(&directory.path().join("token"), &entropy).unwrap();
        let link = keys.link(&entropy, NOW);
        assert!(!keys.take_link("guess", NOW));
        assert!(keys.take_link(&link, NOW));
        assert!(!keys.take_link(&link, NOW), "twice");
        let late = keys.link(&entropy, NOW);
        assert!(!keys.take_link(&late, later(LINK_MS)));
    }

    #[test]
    fn a_cookie_that_was_changed_or_is_old_opens_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let entropy = Counting(AtomicU8::new(0));
        let keys = Keys::open(&directory.path().join("token"), &entropy).unwrap();
        let cookie = keys.cookie(&entropy, NOW);
        assert!(keys.is_cookie(&cookie, NOW));
        assert!(!keys.is_cookie(&cookie, later(COOKIE_MS)));
        assert!(!keys.is_cookie(&cookie.replacen('1', "2", 1), NOW));
        for junk in ["", ".", "a.b", "1.2.3"] {
            assert!(!keys.is_cookie(junk, NOW), "{junk}");
        }
    }
}
