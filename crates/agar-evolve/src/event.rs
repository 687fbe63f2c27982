//! What happens in a dish, as a stream and as numbers.
//!
//! The names are the seed's, as dotted strings. A [`Watch`] hears every event as it happens;
//! [`Telemetry`] is the one that counts them and can be read at any time.

use crate::search::Census;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// Something happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event")]
pub enum Event<'a> {
    /// A cell begins to run.
    #[serde(rename = "sandbox.run.start")]
    RunStart {
        /// Which.
        id: &'a str,
    },
    /// It answered.
    #[serde(rename = "sandbox.run.stop")]
    RunStop {
        /// Which.
        id: &'a str,
        /// How long it took.
        duration_us: u64,
        /// That it did.
        result: &'a str,
    },
    /// It did not.
    #[serde(rename = "sandbox.run.exception")]
    RunException {
        /// Which.
        id: &'a str,
        /// How long it took.
        duration_us: u64,
        /// Why, in words.
        result: &'a str,
    },
    /// A candidate is tried.
    #[serde(rename = "sandbox.evaluate.start")]
    EvaluateStart {
        /// The name of its code.
        #[serde(serialize_with = "digits")]
        id: &'a [u8; 32],
    },
    /// It has a score.
    #[serde(rename = "sandbox.evaluate.stop")]
    EvaluateStop {
        /// The name of its code.
        #[serde(serialize_with = "digits")]
        id: &'a [u8; 32],
        /// How long it took.
        duration_us: u64,
    },
    /// It has none.
    #[serde(rename = "sandbox.evaluate.exception")]
    EvaluateException {
        /// The name of its code.
        #[serde(serialize_with = "digits")]
        id: &'a [u8; 32],
        /// How long it took.
        duration_us: u64,
        /// Why, in one word.
        result: &'a str,
    },
    /// Many are tried at once.
    #[serde(rename = "sandbox.batch.start")]
    BatchStart {
        /// How many.
        count: u64,
    },
    /// All of them are done, each with its own result.
    #[serde(rename = "sandbox.batch.stop")]
    BatchStop {
        /// How many.
        count: u64,
    },
    /// A batch could not be done at all.
    #[serde(rename = "sandbox.batch.exception")]
    BatchException {
        /// Why, in words.
        result: &'a str,
    },
    /// The host computed a score.
    #[serde(rename = "sandbox.fitness.computed")]
    FitnessComputed {
        /// The score.
        score: f64,
    },
    /// A limit ended a run.
    #[serde(rename = "sandbox.killed.resource_limit")]
    KilledResourceLimit,
    /// The clock ended a run.
    #[serde(rename = "sandbox.killed.timeout")]
    KilledTimeout,
    /// The dead were collected.
    #[serde(rename = "sandbox.gc.collected")]
    Collected {
        /// How many.
        count: u64,
    },
    /// A generation is complete.
    #[serde(rename = "sandbox.generation")]
    Generation(&'a Census),
}

impl Event<'_> {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RunStart { .. } => "sandbox.run.start",
            Self::RunStop { .. } => "sandbox.run.stop",
            Self::RunException { .. } => "sandbox.run.exception",
            Self::EvaluateStart { .. } => "sandbox.evaluate.start",
            Self::EvaluateStop { .. } => "sandbox.evaluate.stop",
            Self::EvaluateException { .. } => "sandbox.evaluate.exception",
            Self::BatchStart { .. } => "sandbox.batch.start",
            Self::BatchStop { .. } => "sandbox.batch.stop",
            Self::BatchException { .. } => "sandbox.batch.exception",
            Self::FitnessComputed { .. } => "sandbox.fitness.computed",
            Self::KilledResourceLimit => "sandbox.killed.resource_limit",
            Self::KilledTimeout => "sandbox.killed.timeout",
            Self::Collected { .. } => "sandbox.gc.collected",
            Self::Generation(_) => "sandbox.generation",
        }
    }
}

/// Every name that an event can have.
pub const EVENT_NAMES: [&str; 14] = [
    "sandbox.run.start",
    "sandbox.run.stop",
    "sandbox.run.exception",
    "sandbox.evaluate.start",
    "sandbox.evaluate.stop",
    "sandbox.evaluate.exception",
    "sandbox.batch.start",
    "sandbox.batch.stop",
    "sandbox.batch.exception",
    "sandbox.fitness.computed",
    "sandbox.killed.resource_limit",
    "sandbox.killed.timeout",
    "sandbox.gc.collected",
    "sandbox.generation",
];

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands fields over by reference"
)]
fn digits<S: Serializer>(digest: &&[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
    let mut text = String::with_capacity(64);
    for byte in *digest {
        let _ = write!(text, "{byte:02x}");
    }
    serializer.serialize_str(&text)
}

/// Hears what happens. Called from the threads that do the work; must be quick.
pub trait Watch: std::fmt::Debug + Send + Sync {
    /// Something happened.
    fn event(&self, event: &Event<'_>);
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn event(&self, _event: &Event<'_>) {}
}

/// Counts what happens and keeps the last census.
#[derive(Debug, Default)]
pub struct Telemetry(Mutex<Counts>);

/// What was counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Counts {
    /// How often each event happened, by its name.
    pub events: BTreeMap<&'static str, u64>,
    /// Microseconds spent in runs and trials, all threads together.
    pub busy_us: u64,
    /// Individuals collected.
    pub collected: u64,
    /// What came of asking outside, by word.
    pub outside: BTreeMap<String, usize>,
    /// The last census: population health and fitness distribution.
    pub census: Option<Census>,
}

impl Telemetry {
    /// What was counted so far.
    pub fn read(&self) -> Counts {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The same in the text format of Prometheus.
    pub fn prometheus(&self) -> String {
        let counts = self.read();
        let mut text = String::from("# TYPE agar_evolve_events_total counter\n");
        for (name, count) in &counts.events {
            let _ = writeln!(text, "agar_evolve_events_total{{event=\"{name}\"}} {count}");
        }
        text.push_str("# TYPE agar_evolve_busy_microseconds_total counter\n");
        let _ = writeln!(
            text,
            "agar_evolve_busy_microseconds_total {}",
            counts.busy_us
        );
        let Some(census) = &counts.census else {
            return text;
        };
        text.push_str("# TYPE agar_evolve_generation gauge\n");
        let _ = writeln!(text, "agar_evolve_generation {}", census.generation);
        for (name, value) in [
            ("born", census.born),
            ("trials", census.trials),
            ("collected", counts.collected),
        ] {
            let _ = writeln!(text, "# TYPE agar_evolve_{name}_total counter");
            let _ = writeln!(text, "agar_evolve_{name}_total {value}");
        }
        text.push_str("# TYPE agar_evolve_outside_total counter\n");
        for (result, count) in &counts.outside {
            let _ = writeln!(
                text,
                "agar_evolve_outside_total{{result=\"{result}\"}} {count}"
            );
        }
        text.push_str("# TYPE agar_evolve_distinct gauge\n");
        let _ = writeln!(text, "agar_evolve_distinct {}", census.health.distinct);
        text.push_str("# TYPE agar_evolve_population gauge\n");
        for (state, count) in [
            ("valid", census.health.valid),
            ("invalid", census.health.invalid),
        ] {
            let _ = writeln!(text, "agar_evolve_population{{state=\"{state}\"}} {count}");
        }
        text.push_str("# TYPE agar_evolve_fitness gauge\n");
        for (which, score) in census.quantiles() {
            if let Some(score) = score {
                let _ = writeln!(text, "agar_evolve_fitness{{at=\"{which}\"}} {score}");
            }
        }
        text.push_str("# TYPE agar_evolve_fitness_distribution gauge\n");
        for bin in &census.distribution {
            let _ = writeln!(
                text,
                "agar_evolve_fitness_distribution{{from=\"{}\",to=\"{}\"}} {}",
                bin.from, bin.to, bin.count
            );
        }
        text
    }
}

impl Watch for Telemetry {
    fn event(&self, event: &Event<'_>) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.events.entry(event.name()).or_default() += 1;
        match event {
            Event::RunStop { duration_us, .. }
            | Event::RunException { duration_us, .. }
            | Event::EvaluateStop { duration_us, .. }
            | Event::EvaluateException { duration_us, .. } => counts.busy_us += duration_us,
            Event::Collected { count } => counts.collected += count,
            Event::Generation(census) => {
                for (result, count) in &census.outside {
                    *counts.outside.entry(result.clone()).or_default() += count;
                }
                counts.census = Some((*census).clone());
            }
            Event::RunStart { .. }
            | Event::EvaluateStart { .. }
            | Event::BatchStart { .. }
            | Event::BatchStop { .. }
            | Event::BatchException { .. }
            | Event::FitnessComputed { .. }
            | Event::KilledResourceLimit
            | Event::KilledTimeout => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_and_the_counters_use_the_seeds_names() {
        let id = [7; 32];
        let events = [
            Event::RunStart { id: "a" },
            Event::RunStop {
                id: "a",
                duration_us: 1,
                result: "ok",
            },
            Event::RunException {
                id: "a",
                duration_us: 1,
                result: "no",
            },
            Event::EvaluateStart { id: &id },
            Event::EvaluateStop {
                id: &id,
                duration_us: 1,
            },
            Event::EvaluateException {
                id: &id,
                duration_us: 1,
                result: "limit",
            },
            Event::BatchStart { count: 1 },
            Event::BatchStop { count: 1 },
            Event::BatchException { result: "no" },
            Event::FitnessComputed { score: 1.0 },
            Event::KilledResourceLimit,
            Event::KilledTimeout,
            Event::Collected { count: 1 },
        ];
        let telemetry = Telemetry::default();
        for (event, name) in events.iter().zip(EVENT_NAMES) {
            assert_eq!(event.name(), name);
            let line = serde_json::to_value(event).unwrap();
            assert_eq!(line["event"], name, "{line}");
            telemetry.event(event);
        }
        assert_eq!(telemetry.read().events.len(), events.len());
        assert_eq!(telemetry.read().busy_us, 4);
    }
}
