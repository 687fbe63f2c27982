//! Layers become settings: the later wins, and a project loosens nothing without approval.

use super::check::Check;
use super::key::{Key, Merge};
use super::layer::{Layer, Origin, Source};
use super::value::{BaseChoice, OnBreach, Value};
use crate::limits::Limits;
use crate::size::Bytes;
use crate::walls::{Identity, Monitor, Network, Tier};
use serde::Serialize;
use std::collections::BTreeMap;

/// Who wants to run something. Agents get the seed's limits, a person the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Who {
    /// A person at a terminal.
    #[default]
    Person,
    /// An agent, or anybody over the API.
    Agent,
}

/// Every value, decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The walls around a sandbox.
    pub tier: Tier,
    /// What a sandbox starts from.
    pub base: BaseChoice,
    /// What it may reach.
    pub network: Network,
    /// What is recorded about its commands.
    pub monitor: Monitor,
    /// Whether user namespaces are allowed inside.
    pub nested: bool,
    /// Whose id its processes carry.
    pub identity: Identity,
    /// Further patterns of hidden files, for [`MaskRules::with`](crate::mask::MaskRules::with).
    pub mask: Vec<String>,
    /// Patterns of files that are shown although they are hidden by default.
    pub unmask: Vec<String>,
    /// Further variables, for [`keep`](crate::environment::keep).
    pub env: Vec<String>,
    /// Ignored directories that stay live below a frozen base.
    pub bulk: Vec<String>,
    /// Commands that prepare a new sandbox, inside it.
    pub setup: Vec<String>,
    /// Older ways of doing things that are to be tried.
    pub old_ways: Vec<String>,
    /// How much of the machine a sandbox may use.
    pub limits: Limits,
    /// What becomes of a kept sandbox whose command broke a limit.
    pub on_breach: OnBreach,
    /// Which snapshots nobody has to ask for.
    pub snapshots: Snapshots,
    /// Whether `apply` makes a git commit.
    pub apply_commit: bool,
    /// When sandboxes are cleaned up.
    pub cleanup: Cleanup,
    /// Sandboxes of experiments that run at once.
    pub max_concurrent_sandboxes: u32,
    /// Declared checks.
    pub checks: Vec<Check>,
    /// When a pattern may enter the project's memory.
    pub graduation: Graduation,
    /// When something is a pattern.
    pub patterns: Patterns,
    /// What the faces show.
    pub ui: Ui,
}

/// What the faces show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ui {
    /// Whether to say how likely an attempt is to work.
    pub show_confidence: bool,
    /// Whether the page offers tournaments.
    pub enable_tournaments: bool,
}

/// Which snapshots nobody has to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshots {
    /// Whether one is taken before every command in a kept sandbox.
    pub before_run: bool,
    /// How many of those are kept of each sandbox.
    pub keep_automatic: u32,
}

/// When sandboxes are cleaned up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleanup {
    /// Milliseconds after which an idle one is; never if there is none.
    pub idle_ms: Option<u64>,
    /// Milliseconds after which any is, once nothing runs in it; never if there is none.
    pub ttl_ms: Option<u64>,
    /// How many finished ones of a project are kept in any case.
    pub keep_last: u32,
    /// How much disk they may hold together; all of it if there is none.
    pub disk_budget: Option<Bytes>,
}

/// When a pattern may enter the project's memory. Shares are in hundredths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Graduation {
    /// The least confidence.
    pub min_confidence: u16,
    /// The least share of successes.
    pub min_success_rate: u16,
    /// The least number of similar successes.
    pub min_similar_successes: u32,
}

/// When something is a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patterns {
    /// How often it must be seen.
    pub min_occurrences: u32,
    /// What remains of the weight of evidence after a day, in hundredths of a percent.
    pub confidence_decay: u16,
    /// Days until it expires.
    pub max_age_days: u32,
}

/// One value and where it came from, for `agar config show --origin`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The key's name.
    pub key: &'static str,
    /// The value as one would type it.
    pub value: String,
    /// Where it came from; several for lists that join.
    pub origins: Vec<Origin>,
}

/// Something the project asked for and did not get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldBack {
    /// The key's name.
    pub key: &'static str,
    /// What was asked for.
    pub value: String,
    /// Where it stands.
    pub origin: Origin,
}

/// Decided settings and how they came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The values.
    pub settings: Settings,
    /// Each value with its origin, in the order of the documentation.
    pub lines: Vec<Line>,
    /// What the project asked for and needs approval.
    pub held_back: Vec<HeldBack>,
}

/// Decides every value. Layers come in order, the strongest last.
pub fn resolve(who: Who, layers: &[Layer]) -> Resolved {
    let mut table = Table::defaults(who);
    let mut held_back = Vec::new();
    for layer in layers {
        for (&key, (value, origin)) in &layer.values {
            if layer.source == Source::Project && table.loosens(key, value, origin) {
                held_back.push(HeldBack {
                    key: key.name(),
                    value: value.show(key.kind()),
                    origin: origin.clone(),
                });
            } else {
                table.put(key, value.clone(), origin.clone());
            }
        }
    }
    Resolved {
        settings: table.settings(),
        lines: table.lines(),
        held_back,
    }
}

/// The value of each key so far. Keys without an entry have none.
struct Table(BTreeMap<Key, (Value, Vec<Origin>)>);

impl Table {
    fn defaults(who: Who) -> Self {
        let mut table = Self(BTreeMap::new());
        for &key in Key::ALL {
            let text = key.default_text();
            let mut layer = Layer::new(Source::Person);
            // A test reads every default.
            if !text.is_empty() && layer.set_text(key, text, Origin::Default).is_ok() {
                table.0.extend(
                    layer
                        .values
                        .into_iter()
                        .map(|(key, (value, origin))| (key, (value, vec![origin]))),
                );
            }
        }
        let before_run = Value::Flag(who == Who::Agent);
        let before_run = (before_run, vec![Origin::Default]);
        table.0.insert(Key::SnapshotsBeforeRun, before_run);
        for (key, number) in numbers(&default_limits(who)) {
            let value = number.map_or(Value::Unlimited, Value::Number);
            table.0.insert(key, (value, vec![Origin::Default]));
        }
        table
    }

    fn put(&mut self, key: Key, value: Value, origin: Origin) {
        match (key.merge(), self.0.get_mut(&key), value) {
            (Merge::Join, Some((Value::Names(names), origins)), Value::Names(more)) => {
                names.extend(more);
                origins.push(origin);
            }
            (Merge::Join | Merge::Replace, _, value) => {
                self.0.insert(key, (value, vec![origin]));
            }
        }
    }

    /// Whether the value would weaken a wall, compared with what holds so far.
    fn loosens(&self, key: Key, value: &Value, origin: &Origin) -> bool {
        let now = self.0.get(&key).map(|(value, _)| value);
        match (key, value) {
            (Key::Tier, Value::Tier(wanted)) => *wanted < self.tier(),
            (Key::Network, Value::Network(wanted)) => !within(wanted, &self.network()),
            (Key::Monitor, Value::Monitor(wanted)) => *wanted < self.monitor(),
            (Key::Nested, Value::Flag(wanted)) => *wanted && now != Some(&Value::Flag(true)),
            // Nobody can undo what was not kept.
            (Key::SnapshotsBeforeRun, Value::Flag(wanted)) => {
                !*wanted && now == Some(&Value::Flag(true))
            }
            (Key::OnBreach, Value::OnBreach(wanted)) => {
                *wanted == OnBreach::Keep && now == Some(&Value::OnBreach(OnBreach::Restore))
            }
            (Key::Unmask | Key::Env | Key::OldWays, Value::Names(wanted)) => {
                let known = self.names(key);
                wanted.iter().any(|name| !known.contains(name))
            }
            // Commands that stand in another tool's file were not written with agar in mind.
            (Key::Setup, Value::Names(wanted)) => {
                !wanted.is_empty() && matches!(origin, Origin::Hint { .. })
            }
            _ => false,
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            tier: self.tier(),
            base: match self.value(Key::Base) {
                Some(Value::Base(base)) => *base,
                _ => BaseChoice::default(),
            },
            network: self.network(),
            monitor: self.monitor(),
            nested: self.flag(Key::Nested),
            identity: if self.flag(Key::FakeRoot) {
                Identity::FakeRoot
            } else {
                Identity::Caller
            },
            mask: self.names(Key::Mask),
            unmask: self.names(Key::Unmask),
            env: self.names(Key::Env),
            bulk: self.names(Key::Bulk),
            setup: self.names(Key::Setup),
            old_ways: self.names(Key::OldWays),
            limits: self.limits(),
            on_breach: match self.value(Key::OnBreach) {
                Some(Value::OnBreach(choice)) => *choice,
                _ => OnBreach::default(),
            },
            snapshots: Snapshots {
                before_run: self.flag(Key::SnapshotsBeforeRun),
                keep_automatic: self.count(Key::SnapshotsKeepAutomatic),
            },
            apply_commit: self.flag(Key::ApplyCommit),
            cleanup: Cleanup {
                idle_ms: self.number(Key::CleanupIdle),
                ttl_ms: self.number(Key::CleanupTtl),
                keep_last: self.count(Key::CleanupKeepLast),
                disk_budget: self.number(Key::CleanupDiskBudget).map(Bytes),
            },
            max_concurrent_sandboxes: self.count(Key::MaxConcurrentSandboxes),
            checks: match self.value(Key::Check) {
                Some(Value::Checks(checks)) => checks.clone(),
                _ => Vec::new(),
            },
            graduation: Graduation {
                min_confidence: self.share(Key::GraduationMinConfidence),
                min_success_rate: self.share(Key::GraduationMinSuccessRate),
                min_similar_successes: self.count(Key::GraduationMinSimilarSuccesses),
            },
            patterns: Patterns {
                min_occurrences: self.count(Key::PatternsMinOccurrences),
                confidence_decay: self.share(Key::PatternsConfidenceDecay),
                max_age_days: self.count(Key::PatternsMaxAge),
            },
            ui: Ui {
                show_confidence: self.flag(Key::UiShowConfidence),
                enable_tournaments: self.flag(Key::UiEnableTournaments),
            },
        }
    }

    fn limits(&self) -> Limits {
        let small = |key| {
            self.number(key)
                .map(|number| u32::try_from(number).unwrap_or(u32::MAX))
        };
        Limits {
            cpu_percent: small(Key::LimitsCpu),
            memory_bytes: self.number(Key::LimitsMemory).map(Bytes),
            processes: small(Key::LimitsProcesses),
            disk_bytes: self.number(Key::LimitsDisk).map(Bytes),
            timeout_ms: self.number(Key::LimitsTimeout),
            output_bytes: self.number(Key::LimitsOutput).map(Bytes),
        }
    }

    fn value(&self, key: Key) -> Option<&Value> {
        self.0.get(&key).map(|(value, _)| value)
    }

    fn tier(&self) -> Tier {
        match self.value(Key::Tier) {
            Some(Value::Tier(tier)) => *tier,
            _ => Tier::default(),
        }
    }

    fn network(&self) -> Network {
        match self.value(Key::Network) {
            Some(Value::Network(network)) => network.clone(),
            _ => Network::default(),
        }
    }

    fn monitor(&self) -> Monitor {
        match self.value(Key::Monitor) {
            Some(Value::Monitor(monitor)) => *monitor,
            _ => Monitor::default(),
        }
    }

    fn flag(&self, key: Key) -> bool {
        self.value(key) == Some(&Value::Flag(true))
    }

    fn names(&self, key: Key) -> Vec<String> {
        match self.value(key) {
            Some(Value::Names(names)) => names.clone(),
            _ => Vec::new(),
        }
    }

    fn number(&self, key: Key) -> Option<u64> {
        match self.value(key) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn count(&self, key: Key) -> u32 {
        self.number(key)
            .map_or(u32::MAX, |number| u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn share(&self, key: Key) -> u16 {
        match self.value(key) {
            Some(Value::Share(share)) => *share,
            _ => 0,
        }
    }

    fn lines(&self) -> Vec<Line> {
        Key::ALL
            .iter()
            .map(|&key| {
                let (value, origins) = match self.0.get(&key) {
                    Some((value, origins)) => (value.show(key.kind()), origins.clone()),
                    None => (String::new(), vec![Origin::Default]),
                };
                Line {
                    key: key.name(),
                    value,
                    origins,
                }
            })
            .collect()
    }
}

/// Whether everything that `inner` may reach, `outer` may reach as well.
fn within(inner: &Network, outer: &Network) -> bool {
    match (inner, outer) {
        (Network::None, _) | (_, Network::Host) => true,
        (Network::Allow { names }, Network::Allow { names: allowed }) => {
            names.iter().all(|name| allowed.contains(name))
        }
        (Network::Allow { .. } | Network::Host, Network::None)
        | (Network::Host, Network::Allow { .. }) => false,
    }
}

const fn default_limits(who: Who) -> Limits {
    match who {
        Who::Person => Limits::person(),
        Who::Agent => Limits::agent(),
    }
}

/// The limits as keys and numbers.
fn numbers(limits: &Limits) -> [(Key, Option<u64>); 6] {
    [
        (Key::LimitsCpu, limits.cpu_percent.map(u64::from)),
        (Key::LimitsMemory, limits.memory_bytes.map(|bytes| bytes.0)),
        (Key::LimitsProcesses, limits.processes.map(u64::from)),
        (Key::LimitsDisk, limits.disk_bytes.map(|bytes| bytes.0)),
        (Key::LimitsTimeout, limits.timeout_ms),
        (Key::LimitsOutput, limits.output_bytes.map(|bytes| bytes.0)),
    ]
}
