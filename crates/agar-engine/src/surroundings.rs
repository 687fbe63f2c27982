//! Who asks, from where, and when: everything the engine would otherwise read from the process.

use agar_core::seam::{Clock, Entropy};
use agar_jail::client::Hatchery;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The caller's side of the world, read once by the face and passed in.
#[derive(Clone)]
pub struct Surroundings {
    /// The user.
    pub uid: u32,
    /// The user's group.
    pub gid: u32,
    /// The user's home directory.
    pub home: PathBuf,
    /// Where settings live: `$XDG_CONFIG_HOME`, else `~/.config`.
    pub config_home: PathBuf,
    /// Where state lives: `$XDG_STATE_HOME`, else `~/.local/state`.
    pub state_home: PathBuf,
    /// Where sockets live: `$XDG_RUNTIME_DIR`, if the session has one.
    pub runtime_dir: Option<PathBuf>,
    /// The directory the caller is in.
    pub cwd: PathBuf,
    /// The caller's environment, as data.
    pub environment: Vec<(OsString, OsString)>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness for ids and aliases.
    pub entropy: Arc<dyn Entropy>,
    /// Where long work says how far it is.
    pub progress: Arc<dyn Progress>,
    /// How to do upkeep when nobody waits; without one it waits for `prune`.
    pub background: Option<Arc<dyn Background>>,
    /// Where keepers come from by the dozen; without one each is started by itself, which is quicker
    /// for a process that wants one.
    pub hatchery: Option<Arc<Hatchery>>,
}

impl Surroundings {
    /// Derives the directories from the environment, as the XDG specification says.
    ///
    /// A relative XDG path is ignored, as the specification asks. `home` is the fallback for a
    /// process without `$HOME` (from the user database).
    pub fn new(
        (uid, gid): (u32, u32),
        (cwd, home): (PathBuf, PathBuf),
        environment: Vec<(OsString, OsString)>,
        (clock, entropy): (Arc<dyn Clock>, Arc<dyn Entropy>),
    ) -> Self {
        let absolute = |name: &str| {
            lookup(&environment, name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let home = absolute("HOME").unwrap_or(home);
        Self {
            uid,
            gid,
            config_home: absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            state_home: absolute("XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state")),
            runtime_dir: absolute("XDG_RUNTIME_DIR"),
            home,
            cwd,
            environment,
            clock,
            entropy,
            progress: Arc::new(Quiet),
            background: None,
            hatchery: None,
        }
    }

    /// The same for a process that will make many sandboxes.
    #[must_use]
    pub fn for_many(mut self) -> Self {
        self.hatchery.get_or_insert_default();
        self
    }

    /// The value of one environment variable.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        lookup(&self.environment, name)
    }
}

fn lookup<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    environment
        .iter()
        .find(|(key, value)| key == name && !value.is_empty())
        .map(|(_, value)| value.as_os_str())
}

impl fmt::Debug for Surroundings {
    /// Leaves the environment out: it holds secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("uid", &self.uid)
            .field("gid", &self.gid)
            .field("home", &self.home)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// One report of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// What is being done, in the words of a heading: `freezing`.
    pub doing: &'a str,
    /// How many units are done.
    pub done: u64,
    /// How many there are, where that is known.
    pub total: Option<u64>,
}

/// Hears how far long work is. Called often; must be quick.
pub trait Progress: Send + Sync {
    /// The work moved on.
    fn step(&self, step: Step<'_>);
    /// The work ended, well or not.
    fn end(&self);
    /// The caller waits for its turn, at this position, behind so many that run at once. Called when
    /// the position changes.
    fn queued(&self, position: u64, at_once: u64);
    /// Something that nobody asked about: what sort of thing in a word, and what in some.
    fn told(&self, what: &str, words: &str);
}

/// Hears nothing.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl Progress for Quiet {
    fn step(&self, _step: Step<'_>) {}
    fn end(&self) {}
    fn queued(&self, _position: u64, _at_once: u64) {}
    fn told(&self, _what: &str, _words: &str) {}
}

/// Starts work that nobody waits for.
pub trait Background: Send + Sync {
    /// Starts [`upkeep`](crate::upkeep::upkeep) for the project around a directory, apart from the
    /// caller's terminal, and returns at once. Failing to is no failure.
    fn start(&self, directory: &std::path::Path, due: crate::upkeep::Due);
}
