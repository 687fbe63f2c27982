//! Samples, taken in turns.

use anyhow::{Result, bail};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long something took, many times over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    /// Adds one.
    pub(crate) fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// Adds those of another.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The value below which this share of the samples lies, in milliseconds.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort();
        let last = sorted.len().saturating_sub(1);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of a small count"
        )]
        let index = (last as f64 * share).round() as usize;
        sorted
            .get(index)
            .map_or(f64::NAN, |sample| sample.as_secs_f64() * 1000.0)
    }

    /// The middle one, in milliseconds.
    pub(crate) fn p50(&self) -> f64 {
        self.quantile(0.5)
    }

    /// What all but one in a hundred stay below, in milliseconds.
    pub(crate) fn p99(&self) -> f64 {
        self.quantile(0.99)
    }
}

/// One way of doing the same thing.
pub(crate) struct Contestant<'a> {
    /// What it is called in the table.
    pub(crate) name: String,
    act: Box<dyn FnMut() -> Result<Duration> + 'a>,
}

impl<'a> Contestant<'a> {
    /// Something that measures itself.
    pub(crate) fn new(name: &str, act: impl FnMut() -> Result<Duration> + 'a) -> Self {
        Self {
            name: name.to_owned(),
            act: Box::new(act),
        }
    }

    /// A command, from its start until its end is seen.
    pub(crate) fn command(name: &str, mut make: impl FnMut() -> Command + 'a) -> Self {
        Self::new(name, move || timed(&mut make()))
    }
}

/// The pause between two contestants.
const SETTLE: Duration = Duration::from_millis(5);

/// Lets the contestants take turns: a few rounds that do not count, then `rounds` that do.
pub(crate) fn in_turns(
    rounds: usize,
    mut contestants: Vec<Contestant<'_>>,
) -> Result<Vec<(String, Samples)>> {
    let mut samples = vec![Samples::default(); contestants.len()];
    let warm_up = (rounds / 10).clamp(1, 5);
    for round in 0..rounds + warm_up {
        for (contestant, samples) in contestants.iter_mut().zip(&mut samples) {
            let sample = (contestant.act)()?;
            // What one leaves to the kernel, such as namespaces to take down, must not fall on the
            // next.
            std::thread::park_timeout(SETTLE);
            if round >= warm_up {
                samples.push(sample);
            }
        }
    }
    Ok(contestants
        .into_iter()
        .map(|contestant| contestant.name)
        .zip(samples)
        .collect())
}

/// Runs the command, its output thrown away, and says how long it took. It must work.
pub(crate) fn timed(command: &mut Command) -> Result<Duration> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let start = Instant::now();
    let child = command.spawn()?;
    let output = child.wait_with_output()?;
    let took = start.elapsed();
    if !output.status.success() {
        bail!(
            "{command:?} failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_the_sorted_samples() {
        let mut samples = Samples::default();
        for millis in [5, 1, 3, 2, 4] {
            samples.push(Duration::from_millis(millis));
        }
        assert!((samples.p50() - 3.0).abs() < 1e-9);
        assert!((samples.p99() - 5.0).abs() < 1e-9);
    }

    #[test]
    fn contestants_take_turns_and_warm_up_rounds_do_not_count() {
        let order = std::cell::RefCell::new(Vec::new());
        let act = |name: &'static str| {
            let order = &order;
            move || {
                order.borrow_mut().push(name);
                Ok(Duration::from_millis(1))
            }
        };
        let measured = in_turns(
            2,
            vec![
                Contestant::new("a", act("a")),
                Contestant::new("b", act("b")),
            ],
        )
        .unwrap();
        assert_eq!(*order.borrow(), ["a", "b", "a", "b", "a", "b"]);
        assert_eq!(measured[0].1.count(), 2);
    }
}
