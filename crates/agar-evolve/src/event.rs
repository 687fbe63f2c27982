//! What happens in a dish, as a stream and as numbers.
//!
//! The names are the seed's, as dotted strings. A [`Watch`] hears every event as it happens;
//! [`Telemetry`] is the one that counts them and can be read at any time.

use crate::search::Census;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// Something happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Event<'a> {
    /// A cell begins to run.
    RunStart {
        /// Which.
        id: u64,
    },
    /// It answered.
    RunStop {
        /// Which.
        id: u64,
        /// How long it took.
        duration_us: u64,
    },
    /// It did not.
    RunException {
        /// Which.
        id: u64,
        /// How long it took.
        duration_us: u64,
        /// Why, in words.
        result: &'a str,
    },
    /// A candidate is tried.
    EvaluateStart,
    /// It has a score.
    EvaluateStop {
        /// How long it took.
        duration_us: u64,
    },
    /// It has none.
    EvaluateException {
        /// How long it took.
        duration_us: u64,
        /// Why, in one word.
        result: &'a str,
    },
    /// Many are tried at once.
    BatchStart {
        /// How many.
        count: u64,
    },
    /// All of them are done, each with its own result.
    BatchStop {
        /// How many.
        count: u64,
    },
    /// A batch could not be done at all.
    BatchException {
        /// Why, in words.
        result: &'a str,
    },
    /// The host computed a score.
    FitnessComputed {
        /// The score.
        score: f64,
    },
    /// A limit ended a run.
    KilledResourceLimit,
    /// The clock ended a run.
    KilledTimeout,
    /// The dead were collected.
    Collected {
        /// How many.
        count: u64,
    },
    /// A generation is complete.
    Generation(&'a Census),
}

impl Event<'_> {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RunStart { .. } => "sandbox.run.start",
            Self::RunStop { .. } => "sandbox.run.stop",
            Self::RunException { .. } => "sandbox.run.exception",
            Self::EvaluateStart => "sandbox.evaluate.start",
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
            | Event::EvaluateStop { duration_us }
            | Event::EvaluateException { duration_us, .. } => counts.busy_us += duration_us,
            Event::Collected { count } => counts.collected += count,
            Event::Generation(census) => counts.census = Some((*census).clone()),
            Event::RunStart { .. }
            | Event::EvaluateStart
            | Event::BatchStart { .. }
            | Event::BatchStop { .. }
            | Event::BatchException { .. }
            | Event::FitnessComputed { .. }
            | Event::KilledResourceLimit
            | Event::KilledTimeout => {}
        }
    }
}
