//! Counters, in Prometheus' form.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the buckets of answer times, in seconds.
const BUCKETS: [f64; 9] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];

/// What the server counts.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    answers: Mutex<BTreeMap<(String, u16), u64>>,
    times: Mutex<([u64; BUCKETS.len()], u64, f64)>,
    /// Requests that were turned away before anything was looked at.
    pub(crate) turned_away: AtomicU64,
    /// Event streams that are open.
    pub(crate) streams: AtomicI64,
    /// Readers behind them.
    pub(crate) readers: AtomicI64,
    /// Sandboxes whose jail stood ready.
    pub(crate) taken: AtomicU64,
    /// Terminals that are looked at.
    pub(crate) terminals: AtomicI64,
    /// Messages that were sent on event streams.
    pub(crate) messages: AtomicU64,
    /// Commands that run on behalf of requests.
    pub(crate) runs: AtomicI64,
    /// Connections that are open.
    pub(crate) connections: AtomicI64,
}

impl Metrics {
    /// Counts an answer.
    pub(crate) fn answered(&self, route: &str, status: u16, took: Duration) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.entry((route.to_owned(), status)).or_default() += 1;
        drop(answers);
        let seconds = took.as_secs_f64();
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        for (count, end) in times.0.iter_mut().zip(BUCKETS) {
            *count += u64::from(seconds <= end);
        }
        times.1 += 1;
        times.2 += seconds;
    }

    /// Everything, as Prometheus reads it.
    pub(crate) fn text(&self, ready: usize) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "# HELP agar_http_answers_total Answers by route and status.\n\
             # TYPE agar_http_answers_total counter"
        );
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for ((route, status), count) in answers.iter() {
            let _ = writeln!(
                text,
                "agar_http_answers_total{{route=\"{route}\",status=\"{status}\"}} {count}"
            );
        }
        drop(answers);
        self.tell_times(&mut text);
        self.tell_numbers(&mut text, ready);
        text
    }

    fn tell_numbers(&self, text: &mut String, ready: usize) {
        for (name, kind, help, value) in [
            (
                "agar_http_turned_away_total",
                "counter",
                "Requests without a right to ask.",
                self.turned_away.load(Ordering::Relaxed).cast_signed(),
            ),
            (
                "agar_http_streams",
                "gauge",
                "Event streams that are open.",
                self.streams.load(Ordering::Relaxed),
            ),
            (
                "agar_http_stream_readers",
                "gauge",
                "Readers behind event streams: one for each thing that is followed.",
                self.readers.load(Ordering::Relaxed),
            ),
            (
                "agar_http_terminals",
                "gauge",
                "Terminals that are looked at.",
                self.terminals.load(Ordering::Relaxed),
            ),
            (
                "agar_pool_ready",
                "gauge",
                "Jails that stand ready.",
                i64::try_from(ready).unwrap_or(i64::MAX),
            ),
            (
                "agar_pool_taken_total",
                "counter",
                "Sandboxes whose jail stood ready.",
                self.taken.load(Ordering::Relaxed).cast_signed(),
            ),
            (
                "agar_http_messages_total",
                "counter",
                "Messages sent on event streams.",
                self.messages.load(Ordering::Relaxed).cast_signed(),
            ),
            (
                "agar_http_runs",
                "gauge",
                "Commands that run on behalf of requests.",
                self.runs.load(Ordering::Relaxed),
            ),
            (
                "agar_http_connections",
                "gauge",
                "Connections that are open.",
                self.connections.load(Ordering::Relaxed),
            ),
        ] {
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}"
            );
        }
    }

    fn tell_times(&self, text: &mut String) {
        const NAME: &str = "agar_http_answer_seconds";
        let _ = writeln!(
            text,
            "# HELP {NAME} Time until the answer began.\n# TYPE {NAME} histogram"
        );
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        for (count, end) in times.0.iter().zip(BUCKETS) {
            let _ = writeln!(text, "{NAME}_bucket{{le=\"{end}\"}} {count}");
        }
        let (count, sum) = (times.1, times.2);
        let _ = writeln!(
            text,
            "{NAME}_bucket{{le=\"+Inf\"}} {count}\n{NAME}_sum {sum}\n{NAME}_count {count}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_end_with_all() {
        let metrics = Metrics::default();
        metrics.answered("/healthz", 200, Duration::from_millis(3));
        metrics.answered("/healthz", 200, Duration::from_mins(1));
        let text = metrics.text(0);
        for line in [
            "agar_http_answers_total{route=\"/healthz\",status=\"200\"} 2",
            "agar_http_answer_seconds_bucket{le=\"0.0025\"} 0",
            "agar_http_answer_seconds_bucket{le=\"0.005\"} 1",
            "agar_http_answer_seconds_bucket{le=\"+Inf\"} 2",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
