//! The sums of evidence at each level, kept up to date one experiment at a time.
//!
//! Each past experiment counts at one level only, the innermost it shares with the suggestion:
//! others' elsewhere; this agent's elsewhere; this agent's changes of this sort elsewhere; others'
//! here; this agent's here. Counted at several, three failures would weigh like fifteen.
//!
//! Weight fades by the same factor each day, so a sum need not remember its parts: it is brought to
//! a moment by one multiplication, and an experiment can be added or taken out at any time.

use crate::confidence::Sums;
use crate::error::MemoryError;
use crate::experiment::Suggestion;
use crate::memory::Tuning;
use crate::terms::hash64;
use agar_core::id::ProjectId;
use agar_core::seam::Timestamp;
use agar_store::memory::{MemoryReader, MemoryWriter, Rate};

/// The names of the sums that a suggestion belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Levels([String; 6]);

impl Levels {
    pub(crate) fn of(project: ProjectId, suggestion: &Suggestion) -> Self {
        Self::new(project, &suggestion.agent, suggestion.change_type().word())
    }

    pub(crate) fn new(project: ProjectId, agent: &str, change: &str) -> Self {
        Self([
            "everybody".to_owned(),
            format!("agent {agent}"),
            format!("change {change} {agent}"),
            format!("project {project}"),
            format!("project {project} {agent}"),
            format!("project {project} {agent} {change}"),
        ])
    }
}

/// A project as evidence rows name it.
pub(crate) fn project_hash(project: ProjectId) -> i64 {
    hash64("project", &project.to_string()).cast_signed()
}

/// An agent as evidence rows name it.
pub(crate) fn agent_hash(agent: &str) -> i64 {
    hash64("agent", agent).cast_signed()
}

/// The sums of each level, as they weigh now, the outermost first.
pub(crate) fn sums(
    reader: &MemoryReader<'_>,
    levels: &Levels,
    tuning: &Tuning,
    now: Timestamp,
) -> Result<Vec<Sums>, MemoryError> {
    let mut sums = Vec::with_capacity(levels.0.len());
    for level in &levels.0 {
        let rate = reader.rate(level)?.unwrap_or_default();
        let remains = tuning.remains(now.since(rate.as_of));
        sums.push(Sums {
            weight: rate.weight * remains,
            success: rate.success * remains,
        });
    }
    Ok(apart(&sums))
}

/// From sums that hold each other to sums that do not overlap.
fn apart(sums: &[Sums]) -> Vec<Sums> {
    let [all, agent, change, project, here, exactly] = sums else {
        return Vec::new();
    };
    let without = |parts: [(f64, &Sums); 4]| {
        let weight: f64 = parts.iter().map(|(sign, it)| sign * it.weight).sum();
        let success: f64 = parts.iter().map(|(sign, it)| sign * it.success).sum();
        let weight = weight.max(0.0);
        Sums {
            weight,
            success: success.clamp(0.0, weight),
        }
    };
    let nothing = Sums::default();
    vec![
        without([(1.0, all), (-1.0, agent), (-1.0, project), (1.0, here)]),
        without([(1.0, agent), (-1.0, change), (-1.0, here), (1.0, exactly)]),
        without([
            (1.0, change),
            (-1.0, exactly),
            (0.0, &nothing),
            (0.0, &nothing),
        ]),
        without([
            (1.0, project),
            (-1.0, here),
            (0.0, &nothing),
            (0.0, &nothing),
        ]),
        *here,
    ]
}

/// What happens to anything, at any level: how often it works.
pub(crate) fn everything(
    reader: &MemoryReader<'_>,
    tuning: &Tuning,
    now: Timestamp,
) -> Result<Sums, MemoryError> {
    let rate = reader.rate("everybody")?.unwrap_or_default();
    let remains = tuning.remains(now.since(rate.as_of));
    Ok(Sums {
        weight: rate.weight * remains,
        success: rate.success * remains,
    })
}

/// Adds an outcome to every level.
pub(crate) fn add(
    writer: &MemoryWriter<'_>,
    levels: &Levels,
    tuning: &Tuning,
    outcome: (f64, Timestamp),
) -> Result<(), MemoryError> {
    for level in &levels.0 {
        let rate = writer.read().rate(level)?.unwrap_or_default();
        writer.set_rate(level, &with(&rate, tuning, outcome))?;
    }
    Ok(())
}

/// Takes an outcome out of every level again, as if it had never been.
pub(crate) fn remove(
    writer: &MemoryWriter<'_>,
    levels: &Levels,
    tuning: &Tuning,
    outcome: (f64, Timestamp),
) -> Result<(), MemoryError> {
    let (success, closed) = outcome;
    for level in &levels.0 {
        let Some(rate) = writer.read().rate(level)? else {
            continue;
        };
        let weight = tuning.remains(rate.as_of.since(closed));
        let left = Rate {
            weight: (rate.weight - weight).max(0.0),
            success: (rate.success - weight * success).max(0.0),
            count: rate.count.saturating_sub(1),
            as_of: rate.as_of,
        };
        writer.set_rate(level, &left)?;
    }
    Ok(())
}

fn with(rate: &Rate, tuning: &Tuning, (success, closed): (f64, Timestamp)) -> Rate {
    let as_of = rate.as_of.max(closed);
    let remains = tuning.remains(as_of.since(rate.as_of));
    let weight = tuning.remains(as_of.since(closed));
    Rate {
        weight: rate.weight * remains + weight,
        success: rate.success * remains + weight * success,
        count: rate.count + 1,
        as_of,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_experiment_counts_at_one_level() {
        let sum = |weight: f64| Sums {
            weight,
            success: weight / 2.0,
        };
        // 100 in all: 40 by this agent, 10 of them of this sort, 30 here, 12 of these by this agent,
        // 4 of these of this sort.
        let levels = apart(&[40.0 + 60.0, 40.0, 10.0, 30.0, 12.0, 4.0].map(sum));
        let weights: Vec<f64> = levels.iter().map(|it| it.weight).collect();
        assert_eq!(weights, [42.0, 22.0, 6.0, 18.0, 12.0]);
        assert!((weights.iter().sum::<f64>() - 100.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn the_order_of_arrival_does_not_matter(
            ends in proptest::collection::vec((0_u8..2, 0_u64..8_000_000_000), 1..20),
        ) {
            let tuning = Tuning::default();
            let sum = |ends: &[(u8, u64)]| ends.iter().fold(Rate::default(), |rate, &(y, at)| {
                with(&rate, &tuning, (f64::from(y), Timestamp::from_millis(at)))
            });
            let forwards = sum(&ends);
            let mut reversed = ends.clone();
            reversed.reverse();
            let backwards = sum(&reversed);
            prop_assert!((forwards.weight - backwards.weight).abs() < 1e-6);
            prop_assert!((forwards.success - backwards.success).abs() < 1e-6);
        }
    }
}
