//! How the keys of the first seed's configuration map to ours.

use super::key::Key;

/// One key of the seed's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedKey {
    /// As the seed spells it.
    pub seed: &'static str,
    /// Our key.
    pub ours: Key,
    /// Its default in the seed, in the seed's unit.
    pub default: &'static str,
    /// The unit.
    pub unit: &'static str,
}

const fn seed(seed: &'static str, ours: Key, default: &'static str, unit: &'static str) -> SeedKey {
    SeedKey {
        seed,
        ours,
        default,
        unit,
    }
}

/// Every key of the seed's configuration, and the other spellings that it uses for some of them.
pub const SEED: [SeedKey; 22] = [
    seed("defaults.cpu", Key::LimitsCpu, "50", "percent of one core"),
    seed("defaults.memory", Key::LimitsMemory, "512", "MB"),
    seed("defaults.disk", Key::LimitsDisk, "100", "MB"),
    seed("defaults.timeout", Key::LimitsTimeout, "300", "seconds"),
    seed("defaults.network", Key::Network, "false", ""),
    seed(
        "graduation.minConfidence",
        Key::GraduationMinConfidence,
        "0.7",
        "share",
    ),
    seed(
        "graduation.minSuccessRate",
        Key::GraduationMinSuccessRate,
        "0.8",
        "share",
    ),
    seed(
        "graduation.minSimilarSuccesses",
        Key::GraduationMinSimilarSuccesses,
        "2",
        "successes",
    ),
    seed(
        "patterns.minOccurrences",
        Key::PatternsMinOccurrences,
        "3",
        "times",
    ),
    seed(
        "patterns.confidenceDecay",
        Key::PatternsConfidenceDecay,
        "0.95",
        "share a day",
    ),
    seed("patterns.maxPatternAge", Key::PatternsMaxAge, "30", "days"),
    seed("ui.showConfidence", Key::UiShowConfidence, "true", ""),
    seed("ui.enableTournaments", Key::UiEnableTournaments, "true", ""),
    seed(
        "ui.maxConcurrentSandboxes",
        Key::MaxConcurrentSandboxes,
        "5",
        "sandboxes",
    ),
    seed("ui.autoCleanupTime", Key::CleanupIdle, "3600", "seconds"),
    seed(
        "resourceLimits.cpu",
        Key::LimitsCpu,
        "50",
        "percent of one core",
    ),
    seed("resourceLimits.memory", Key::LimitsMemory, "512", "MB"),
    seed(
        "resourceLimits.timeout",
        Key::LimitsTimeout,
        "300",
        "seconds",
    ),
    seed("resourceLimits.diskQuota", Key::LimitsDisk, "100", "MB"),
    seed("limits.diskQuota", Key::LimitsDisk, "100", "MB"),
    seed("networkIsolation", Key::Network, "true", ""),
    seed("monitoring", Key::Monitor, "", "`enhanced` is `files`"),
];

impl SeedKey {
    /// Our key for a key of the seed.
    pub fn find(name: &str) -> Option<Key> {
        SEED.iter().find(|key| key.seed == name).map(|key| key.ours)
    }

    /// The table for the reference, as Markdown.
    pub fn table() -> String {
        let mut table =
            "| the seed's key | ours | default | unit |\n|---|---|---|---|\n".to_owned();
        for key in SEED {
            let line = format!(
                "| `{}` | `{}` | {} | {} |\n",
                key.seed, key.ours, key.default, key.unit
            );
            table.push_str(&line);
        }
        table
    }
}
