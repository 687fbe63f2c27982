//! Findings that follow from several experiments: packages that must move together, the version
//! past which one breaks, files that change together, mean cost.

use crate::error::MemoryError;
use crate::finding::{Finding, FindingKind, id};
use crate::packages::compare;
use agar_core::id::ProjectId;
use agar_store::memory::{Feature, MemoryReader, Sighting};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Sightings that are looked back on.
const BACK: u32 = 200;

/// More packages at once say nothing about any two of them.
const PACKAGES_MAX: usize = 6;

/// A finding with the counts that follow from the sightings of others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Derived {
    pub(crate) finding: Finding,
    pub(crate) worked: u64,
    pub(crate) failed: u64,
}

/// What follows for the packages that an experiment moved.
pub(crate) fn derive(
    reader: &MemoryReader<'_>,
    project: ProjectId,
    findings: &[Finding],
) -> Result<Vec<Derived>, MemoryError> {
    let mut packages: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.kind == FindingKind::Package)
        .map(|finding| finding.key.as_str())
        .collect();
    packages.sort_unstable();
    packages.dedup();
    packages.truncate(PACKAGES_MAX);
    let mut derived = Vec::new();
    for package in &packages {
        derived.extend(breaks(reader, project, package)?);
        derived.extend(partners(reader, project, package)?);
    }
    Ok(derived)
}

/// The sightings of what has this key.
fn seen(
    reader: &MemoryReader<'_>,
    project: ProjectId,
    kind: FindingKind,
    key: &str,
) -> Result<Vec<Sighting>, MemoryError> {
    match reader.feature(&id(project, kind, key))? {
        Some(feature) => Ok(reader.sightings(feature.number, BACK)?),
        None => Ok(Vec::new()),
    }
}

/// The version past which a package breaks, if the outcomes part there cleanly.
fn breaks(
    reader: &MemoryReader<'_>,
    project: ProjectId,
    package: &str,
) -> Result<Option<Derived>, MemoryError> {
    let mut by_version: Vec<(String, u64, u64)> = Vec::new();
    let mut tests: BTreeMap<String, u64> = BTreeMap::new();
    for feature in versions_of(reader, project, package)? {
        let version = part(&feature, "version");
        let counts = outcomes(reader, &feature, &mut tests)?;
        if counts != (0, 0) {
            by_version.push((version, counts.0, counts.1));
        }
    }
    by_version.sort_by(|a, b| compare(&a.0, &b.0));
    let Some((past, worked, failed)) = parting(&by_version) else {
        return Ok(None);
    };
    let test = tests.into_iter().max_by_key(|(_, count)| *count);
    let parts = json!({
        "package": package,
        "past": past,
        "test": test.map_or(String::new(), |(test, _)| test),
    });
    Ok(Some(Derived {
        finding: Finding::new(FindingKind::Break, package, parts),
        worked,
        failed,
    }))
}

/// What came of a version where few packages moved, and which tests broke with it.
fn outcomes(
    reader: &MemoryReader<'_>,
    feature: &Feature,
    tests: &mut BTreeMap<String, u64>,
) -> Result<(u64, u64), MemoryError> {
    let mut counts = (0, 0);
    for sighting in reader.sightings(feature.number, BACK)? {
        let shown = reader.features_of(sighting.experiment)?;
        let moved = shown.iter().filter(|it| it.kind == "package").count();
        if moved > 3 {
            continue;
        }
        if sighting.success >= 0.5 {
            counts.0 += 1;
            continue;
        }
        counts.1 += 1;
        for test in shown.iter().filter(|it| it.kind == "test") {
            *tests.entry(part(test, "test")).or_default() += 1;
        }
    }
    Ok(counts)
}

/// The last version that works, when at least two attempts past it failed and most did.
/// Answers it with what worked and what failed past it.
fn parting(versions: &[(String, u64, u64)]) -> Option<(String, u64, u64)> {
    let mut best: Option<(String, u64, u64)> = None;
    for (index, (version, worked, failed)) in versions.iter().enumerate() {
        if worked <= failed {
            continue;
        }
        let past = &versions[index + 1..];
        let worked: u64 = past.iter().map(|it| it.1).sum();
        let failed: u64 = past.iter().map(|it| it.2).sum();
        let below_failed: u64 = versions[..=index].iter().map(|it| it.2).sum();
        if failed >= 2 && failed >= 3 * worked && below_failed <= failed / 3 {
            best = Some((version.clone(), worked, failed));
            break;
        }
    }
    // A later version that works as well parts them better.
    let (version, worked, failed) = best?;
    let later = versions
        .iter()
        .rfind(|it| it.1 > it.2 && compare(&it.0, &version).is_gt());
    match later {
        Some(later) => {
            let past = versions
                .iter()
                .filter(|it| compare(&it.0, &later.0).is_gt());
            let (worked, failed) = past.fold((0, 0), |sum, it| (sum.0 + it.1, sum.1 + it.2));
            (failed >= 2 && failed >= 3 * worked).then(|| (later.0.clone(), worked, failed))
        }
        None => Some((version, worked, failed)),
    }
}

/// Packages that work when moved together with this one and fail when moved apart.
fn partners(
    reader: &MemoryReader<'_>,
    project: ProjectId,
    package: &str,
) -> Result<Vec<Derived>, MemoryError> {
    let mine = seen(reader, project, FindingKind::Package, package)?;
    let mut others: BTreeSet<String> = BTreeSet::new();
    for sighting in mine.iter().take(16) {
        let shown = reader.features_of(sighting.experiment)?;
        let moved: Vec<String> = shown
            .iter()
            .filter(|it| it.kind == "package")
            .map(|it| part(it, "package"))
            .collect();
        if moved.len() <= PACKAGES_MAX {
            others.extend(moved.into_iter().filter(|other| other != package));
        }
    }
    let mut derived = Vec::new();
    for other in others {
        let theirs = seen(reader, project, FindingKind::Package, &other)?;
        if let Some((fits, all)) = together(&mine, &theirs) {
            let (a, b) = if package < other.as_str() {
                (package, other.as_str())
            } else {
                (other.as_str(), package)
            };
            let parts = json!({"a": a, "b": b, "seen": all});
            derived.push(Derived {
                finding: Finding::new(FindingKind::Packages, &format!("{a}\n{b}"), parts),
                worked: fits,
                failed: 0,
            });
        }
    }
    Ok(derived)
}

/// How many experiments fit "together works, apart fails", of how many, when that is the rule.
fn together(mine: &[Sighting], theirs: &[Sighting]) -> Option<(u64, u64)> {
    let ids = |list: &[Sighting]| -> BTreeMap<i64, bool> {
        list.iter()
            .map(|it| (it.experiment, it.success >= 0.5))
            .collect()
    };
    let (mine, theirs) = (ids(mine), ids(theirs));
    let (mut both_worked, mut both_failed, mut apart_worked, mut apart_failed) = (0, 0, 0, 0);
    for (experiment, worked) in mine.iter().chain(&theirs) {
        let both = mine.contains_key(experiment) && theirs.contains_key(experiment);
        match (both, worked) {
            // Seen from both sides.
            (true, true) => both_worked += 1,
            (true, false) => both_failed += 1,
            (false, true) => apart_worked += 1,
            (false, false) => apart_failed += 1,
        }
    }
    let (both_worked, both_failed) = (both_worked / 2, both_failed / 2);
    let fits: u64 = both_worked + apart_failed;
    let all = fits + both_failed + apart_worked;
    let is_rule = both_worked >= 1 && apart_failed >= 2 && fits >= 3 * (all - fits);
    is_rule.then_some((fits, all))
}

fn versions_of(
    reader: &MemoryReader<'_>,
    project: ProjectId,
    package: &str,
) -> Result<Vec<Feature>, MemoryError> {
    let all = reader.features(project, FindingKind::Version.word(), 500)?;
    Ok(all
        .into_iter()
        .filter(|feature| part(feature, "package") == package)
        .take(32)
        .collect())
}

fn part(feature: &Feature, name: &str) -> String {
    let parts: Value = serde_json::from_str(&feature.parts).unwrap_or_default();
    parts
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or("")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(list: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
        list.iter()
            .map(|&(version, worked, failed)| (version.to_owned(), worked, failed))
            .collect()
    }

    #[test]
    fn the_version_past_which_it_breaks_is_the_last_that_works() {
        let seen = versions(&[
            ("0.9.20", 2, 0),
            ("0.9.30", 1, 0),
            ("0.9.31", 0, 1),
            ("0.9.34", 1, 2),
        ]);
        assert_eq!(parting(&seen), Some(("0.9.30".to_owned(), 1, 3)));
    }

    #[test]
    fn without_a_clean_parting_nothing_is_said() {
        assert_eq!(parting(&versions(&[("1", 1, 0), ("2", 0, 1)])), None);
        assert_eq!(parting(&versions(&[("1", 0, 3), ("2", 3, 0)])), None);
        assert_eq!(parting(&versions(&[("1", 2, 2), ("2", 2, 2)])), None);
    }
}
