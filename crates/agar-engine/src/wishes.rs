//! The settings, as far as sandboxes are concerned.

use crate::Engine;
use crate::failure::EngineError;
use crate::here::Here;
use crate::options::Caller;
use crate::settings::{self, Loaded, Sources};
use agar_core::limits::Limits;
use agar_core::settings::{BaseChoice, Cleanup, Key, OnBreach, Settings, Who};
use agar_core::walls::{BaseKind, Identity, Monitor, Network, Tier};
use agar_jail::policy::OldWay;
use agar_memory::Tuning;
use agar_sandbox::base::BulkRule;
use std::ffi::OsString;

/// Reads every source of settings for where the caller stands.
pub(crate) fn load(engine: &Engine, here: &Here, who: Who) -> Result<Loaded, EngineError> {
    let user = user_file(engine);
    let sources = Sources {
        user: &user,
        project: here.known().map(|known| known.found.root.as_path()),
        environment: &engine.surroundings().environment,
        flags: None,
    };
    here.reading(|store| {
        let approvals = here.project_id().map(|project| (&store, project));
        Ok(settings::load(&sources, who, approvals)?)
    })
}

/// What the settings say about a new sandbox, before the caller's own options.
#[derive(Debug, Clone)]
pub(crate) struct Wishes {
    pub(crate) tier: Tier,
    pub(crate) network: Network,
    pub(crate) base: Option<BaseKind>,
    pub(crate) nested: bool,
    pub(crate) identity: Identity,
    pub(crate) monitor: Monitor,
    pub(crate) environment: Vec<OsString>,
    pub(crate) mask: Vec<String>,
    pub(crate) unmask: Vec<String>,
    pub(crate) limits: Limits,
    pub(crate) ttl_ms: Option<u64>,
    pub(crate) old_ways: Vec<OldWay>,
    pub(crate) learning: Learning,
    pub(crate) bulk: BulkRule,
    /// Commands that prepare a sandbox that stays.
    pub(crate) setup: Vec<String>,
    /// What becomes of a sandbox whose command went too far.
    pub(crate) on_breach: OnBreach,
    /// What the project asked for and did not get.
    pub(crate) held_back: Vec<String>,
}

impl Wishes {
    /// Reads the settings for a caller.
    pub(crate) fn of(engine: &Engine, here: &Here, caller: &Caller) -> Result<Self, EngineError> {
        let who = match caller {
            Caller::Person => Who::Person,
            Caller::Agent { .. } => Who::Agent,
        };
        let resolved = load(engine, here, who)?.resolved;
        let settings = resolved.settings;
        let learning = Learning::of(&settings);
        Ok(Self {
            tier: settings.tier,
            network: settings.network,
            base: match settings.base {
                BaseChoice::Auto => None,
                BaseChoice::Frozen => Some(BaseKind::Frozen),
                BaseChoice::Live => Some(BaseKind::Live),
            },
            nested: settings.nested,
            identity: settings.identity,
            monitor: settings.monitor,
            environment: settings.env.into_iter().map(OsString::from).collect(),
            mask: settings.mask,
            unmask: settings.unmask,
            limits: settings.limits,
            ttl_ms: settings.cleanup.ttl_ms,
            old_ways: settings
                .old_ways
                .iter()
                .map(|word| old_way(word))
                .collect::<Result<_, _>>()?,
            learning,
            bulk: bulk_rule(settings.bulk),
            setup: settings.setup,
            on_breach: settings.on_breach,
            held_back: resolved
                .held_back
                .iter()
                .map(|held| format!("{} = {}", held.key, held.value))
                .collect(),
        })
    }
}

/// What the settings say about learning from what is tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Learning {
    /// The thresholds of memory.
    pub(crate) tuning: Tuning,
    /// Whether to say how likely an attempt is to work.
    pub(crate) show_confidence: bool,
    /// How many checks the project declares.
    pub(crate) checks: usize,
}

impl Learning {
    fn of(settings: &Settings) -> Self {
        Self {
            tuning: Tuning::new(&settings.graduation, &settings.patterns),
            show_confidence: settings.ui.show_confidence,
            checks: settings.checks.len(),
        }
    }
}

/// What the settings say about learning, for a command that makes no sandbox.
pub(crate) fn learning(engine: &Engine, here: &Here) -> Result<Learning, EngineError> {
    let loaded = load(engine, here, Who::Person)?;
    Ok(Learning::of(&loaded.resolved.settings))
}

/// Which directories stay live below a frozen base, for a command that makes no sandbox.
pub(crate) fn bulk(engine: &Engine, here: &Here) -> Result<BulkRule, EngineError> {
    let loaded = load(engine, here, Who::Person)?;
    Ok(bulk_rule(loaded.resolved.settings.bulk))
}

/// Names that are the default's stand for more than themselves: for all that tools are known to
/// rebuild.
fn bulk_rule(names: Vec<String>) -> BulkRule {
    let usual = Key::Bulk.default_text().split(", ");
    if names.iter().map(String::as_str).eq(usual) {
        BulkRule::Usual
    } else {
        BulkRule::Named(names)
    }
}

/// An old way by its name.
fn old_way(word: &str) -> Result<OldWay, EngineError> {
    let quoted = serde_json::Value::String(word.to_owned());
    serde_json::from_value(quoted)
        .map_err(|_| EngineError::Invalid(format!("`{word}` is not one of the old ways")))
}

/// How long changes that were given up can still be had back.
pub(crate) const GRACE_MS: u64 = 7 * 24 * 3_600_000;

/// What the settings say about clearing away in the caller's project.
pub(crate) fn cleanup(engine: &Engine, here: &Here) -> Result<Cleanup, EngineError> {
    Ok(load(engine, here, Who::Person)?.resolved.settings.cleanup)
}

/// What the user's own settings say about clearing away, for projects whose files are not read.
pub(crate) fn cleanup_elsewhere(engine: &Engine, here: &Here) -> Result<Cleanup, EngineError> {
    let user = user_file(engine);
    let sources = Sources {
        user: &user,
        project: None,
        environment: &engine.surroundings().environment,
        flags: None,
    };
    let loaded = here.reading(|_| Ok(settings::load(&sources, Who::Person, None)?))?;
    Ok(loaded.resolved.settings.cleanup)
}

fn user_file(engine: &Engine) -> std::path::PathBuf {
    engine.surroundings().config_home.join("agar/config.toml")
}
