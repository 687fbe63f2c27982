//! Who is asked for children, as people write it.

use super::super::failure::EvolveError;
use crate::Engine;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::PathBuf;

/// Who is asked for children: a command, or an endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutsideWish {
    /// A program that answers a line of JSON with a line of JSON. It runs in a sandbox, beside the
    /// evolve file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Gives the command the host's network. Needs a person's word.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub network: bool,
    /// Where the evolve file was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// The base of an API that speaks OpenAI's chat completions: `http://127.0.0.1:8080/v1`. One that
    /// is not on this machine needs a person's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The model to name there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The environment variable that holds the key. The key itself is kept nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// How freely the model answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// What to tell the model beside what agar tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// How long one answer may take, in seconds.
    pub timeout_s: u64,
    /// How many questions are asked at once.
    pub at_once: usize,
    /// After how many failures in a row the search stops.
    pub give_up_after: u32,
    /// A person said that it may leave the machine. A file cannot say it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allowed: bool,
}

impl Default for OutsideWish {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            network: false,
            directory: None,
            endpoint: None,
            model: None,
            key_env: None,
            temperature: None,
            instructions: None,
            timeout_s: 60,
            at_once: 1,
            give_up_after: 5,
            allowed: false,
        }
    }
}

impl OutsideWish {
    /// Whether it can be followed, and may be.
    pub(in super::super) fn check(&self) -> Result<(), EvolveError> {
        let wrong = |why: &str| Err(EvolveError::Task(why.to_owned()));
        match (&self.endpoint, self.command.is_empty()) {
            (Some(_), false) | (None, true) => {
                return wrong("`outside` needs either a `command` or an `endpoint`");
            }
            (Some(url), true) => checked(url)?,
            (None, false) => {}
        }
        if !(1..=3_600).contains(&self.timeout_s) {
            return wrong("`timeout_s` must be between 1 and 3600");
        }
        if !(1..=64).contains(&self.at_once) {
            return wrong("`at_once` must be between 1 and 64");
        }
        if self.give_up_after == 0 {
            return wrong("`give_up_after` must be at least 1");
        }
        if self.leaves() && !self.allowed {
            return Err(EvolveError::Leaves { to: self.words() });
        }
        Ok(())
    }

    /// The key, from the environment that the wish names.
    pub(in super::super) fn key(&self, engine: &Engine) -> Result<Option<String>, EvolveError> {
        let Some(name) = &self.key_env else {
            return Ok(None);
        };
        let value = engine.surroundings().variable(name);
        let value = value.and_then(std::ffi::OsStr::to_str).map(str::to_owned);
        let missing = || EvolveError::NoKey {
            variable: name.clone(),
        };
        value.ok_or_else(missing).map(Some)
    }

    /// Whether it can reach beyond this machine.
    fn leaves(&self) -> bool {
        self.network
            || self
                .endpoint
                .as_deref()
                .is_some_and(|url| !is_loopback(url))
    }

    /// For people and for the journal: who is asked.
    pub(in super::super) fn words(&self) -> String {
        match &self.endpoint {
            Some(url) => url.clone(),
            None if self.network => format!("{} with the network", self.command.join(" ")),
            None => self.command.join(" "),
        }
    }
}

/// Host and port of an address, unless it is not one that can be asked.
fn authority(url: &str) -> Option<&str> {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    // A name and password in the address would be kept with the search.
    (!authority.is_empty() && !authority.contains('@')).then_some(authority)
}

fn checked(url: &str) -> Result<(), EvolveError> {
    if authority(url).is_none() {
        let why = "`endpoint` must begin with http:// or https://, without a password".to_owned();
        return Err(EvolveError::Task(why));
    }
    Ok(())
}

fn is_loopback(url: &str) -> bool {
    let Some(authority) = authority(url) else {
        return false;
    };
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let address: Option<IpAddr> = host.parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_without_a_word() {
        for url in [
            "http://127.0.0.1:80/v1",
            "http://localhost",
            "http://[::1]:8080/v1",
            "https://localhost/v1",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "http://127.0.0.1.example.com/v1",
            "http://localhost.example.com",
            "http://example.com/localhost",
            "http://localhost@example.com",
            "http://10.0.0.1",
            "ftp://localhost",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
        let away = OutsideWish {
            endpoint: Some("http://10.0.0.1/v1".to_owned()),
            ..OutsideWish::default()
        };
        assert!(matches!(away.check(), Err(EvolveError::Leaves { .. })));
        let allowed = OutsideWish {
            allowed: true,
            ..away
        };
        assert!(allowed.check().is_ok());
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        let nobody = OutsideWish::default();
        let both = OutsideWish {
            command: vec!["cat".to_owned()],
            endpoint: Some("http://localhost".to_owned()),
            ..OutsideWish::default()
        };
        let never = OutsideWish {
            command: vec!["cat".to_owned()],
            timeout_s: 0,
            ..OutsideWish::default()
        };
        for wish in [nobody, both, never] {
            assert!(
                matches!(wish.check(), Err(EvolveError::Task(_))),
                "{wish:?}"
            );
        }
    }
}
