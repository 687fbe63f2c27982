//! Trying many candidates at once.
//!
//! What was tried before and is still known is not tried again: the same code on the same task gets
//! the same verdict. Which candidates those are depends on who is known and not on which thread was
//! quicker, so the number of trials is as reproducible as their results.

use super::birth::Birth;
use super::individual::Individual;
use crate::event::{Event, Watch};
use crate::fitness::Invalid;
use crate::task::{Bench, Evaluation, Task};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// What came of a batch.
#[derive(Debug)]
pub(super) struct Tried {
    /// In the order of the births.
    pub(super) results: Vec<Evaluation>,
    /// How many trials really ran.
    pub(super) ran: u64,
}

/// Where a birth's result comes from.
enum Source {
    Known(Evaluation),
    /// The trial at this position.
    Trial(usize),
}

/// Tries each code once, on so many threads.
pub(super) fn run(
    births: &[Birth],
    (task, bench): (&dyn Task, &Bench),
    (threads, watch): (usize, &dyn Watch),
    known: &BTreeMap<u64, Arc<Individual>>,
) -> Tried {
    let remembered: HashMap<&[u8; 32], &Individual> = known
        .values()
        .filter(|it| {
            it.verdict
                .as_ref()
                .err()
                .is_none_or(Invalid::is_reproducible)
        })
        .map(|it| (&it.digest, it.as_ref()))
        .collect();
    let mut planned: HashMap<&[u8; 32], usize> = HashMap::new();
    let mut trials: Vec<&Birth> = Vec::new();
    let mut sources = Vec::with_capacity(births.len());
    for birth in births {
        let source = match (remembered.get(&birth.digest), planned.get(&birth.digest)) {
            (Some(same), _) => Source::Known(Evaluation {
                verdict: same.verdict.clone(),
                instructions: same.instructions,
                improved: None,
                artifacts: same.artifacts.clone(),
            }),
            (None, Some(trial)) => Source::Trial(*trial),
            (None, None) => {
                planned.insert(&birth.digest, trials.len());
                trials.push(birth);
                Source::Trial(trials.len() - 1)
            }
        };
        sources.push(source);
    }
    let done = all(&trials, (task, bench), threads, watch);
    let results = sources.into_iter().map(|source| match source {
        Source::Known(evaluation) => evaluation,
        Source::Trial(at) => done.get(at).cloned().unwrap_or_else(lost),
    });
    Tried {
        results: results.collect(),
        ran: trials.len() as u64,
    }
}

/// A trial whose thread ended without a word.
fn lost() -> Evaluation {
    Evaluation::invalid(Invalid::Timeout {
        words: "the trial was lost".to_owned(),
    })
}

fn all(
    trials: &[&Birth],
    (task, bench): (&dyn Task, &Bench),
    threads: usize,
    watch: &dyn Watch,
) -> Vec<Evaluation> {
    let next = AtomicUsize::new(0);
    let slots: Vec<OnceLock<Evaluation>> = trials.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let (Some(birth), Some(slot)) = (trials.get(at), slots.get(at)) else {
                break;
            };
            // Each slot is set once, by whoever drew its number.
            drop(slot.set(one(birth, task, bench, watch)));
        }
    };
    let threads = threads.clamp(1, trials.len().max(1));
    if threads == 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
    }
    let done = slots.into_iter().map(OnceLock::into_inner);
    done.map(|evaluation| evaluation.unwrap_or_else(lost))
        .collect()
}

fn one(birth: &Birth, task: &dyn Task, bench: &Bench, watch: &dyn Watch) -> Evaluation {
    let id = &birth.digest;
    watch.event(&Event::EvaluateStart { id });
    let began = Instant::now();
    let evaluation = task.evaluate(&birth.code, bench);
    let duration_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    match &evaluation.verdict {
        Ok(fitness) => {
            watch.event(&Event::EvaluateStop { id, duration_us });
            watch.event(&Event::FitnessComputed {
                score: fitness.score,
            });
        }
        Err(reason) => {
            let result = reason.word();
            watch.event(&Event::EvaluateException {
                id,
                duration_us,
                result,
            });
            match reason {
                Invalid::Limit { .. } => watch.event(&Event::KilledResourceLimit),
                Invalid::Timeout { .. } => watch.event(&Event::KilledTimeout),
                Invalid::NotFinite { .. }
                | Invalid::Refused { .. }
                | Invalid::Crashed { .. }
                | Invalid::WrongAnswer { .. }
                | Invalid::OwnScore { .. }
                | Invalid::Order { .. }
                | Invalid::Memorised { .. } => {}
            }
        }
    }
    evaluation
}
