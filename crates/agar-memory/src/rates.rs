//! The sums of evidence at each level, kept up to date one experiment at a time.
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

/// The names of the levels that a suggestion belongs to, the outermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Levels(pub(crate) [String; 5]);

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
        ])
    }
}

/// A project as evidence rows name it.
pub(crate) fn project_hash(project: ProjectId) -> i64 {
    hash64("project", &project.to_string()).cast_signed()
}

/// The sums of each level, as they weigh now.
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
    Ok(sums)
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
