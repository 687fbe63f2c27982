//! Near-equal masked lines share a family (after Drain).
//!
//! Masking cannot know that a bare word is a host or a table. Lines of one length that begin alike
//! and differ in few places are taken as one, unless they differ in a name in quotes or in the code
//! of an error: these tell errors apart.

use crate::error::MemoryError;
use crate::fingerprint::{Fingerprint, VERSION, name};
use agar_store::memory::{FingerprintRow, MemoryWriter};

/// The share of places that must agree.
const ALIKE: f64 = 0.75;

/// The least number of places that must agree.
const AGREEING_LEAST: usize = 4;

/// Founders looked at in one bucket.
const BUCKET_MAX: u32 = 200;

/// The family of a masked line: known, found among the near-equal, or new.
pub(crate) fn family(
    writer: &MemoryWriter<'_>,
    template: &str,
) -> Result<Fingerprint, MemoryError> {
    let hash = name(template);
    if let Some(known) = writer.read().fingerprint(VERSION, &hash)? {
        return founder(writer, &known);
    }
    let bucket = bucket(template);
    let founders = writer
        .read()
        .fingerprints_in(VERSION, &bucket, BUCKET_MAX)?;
    let near = founders
        .into_iter()
        .find(|row| is_alike(&row.template, template));
    let family = near.as_ref().map_or(&hash, |row| &row.family).clone();
    let row = FingerprintRow {
        hash: hash.clone(),
        template: template.to_owned(),
        bucket,
        family: family.clone(),
    };
    writer.add_fingerprint(VERSION, &row)?;
    Ok(Fingerprint {
        id: family,
        template: near.map_or_else(|| template.to_owned(), |row| row.template),
    })
}

fn founder(writer: &MemoryWriter<'_>, row: &FingerprintRow) -> Result<Fingerprint, MemoryError> {
    let founder = if row.hash == row.family {
        None
    } else {
        writer.read().fingerprint(VERSION, &row.family)?
    };
    let template = founder.map_or_else(|| row.template.clone(), |row| row.template);
    Ok(Fingerprint {
        id: row.family.clone(),
        template,
    })
}

/// Lines that could be alike lie in one bucket: as many words, the same first one.
fn bucket(template: &str) -> String {
    let first = template.split(' ').next().unwrap_or("");
    format!("{} {first}", template.split(' ').count())
}

pub(super) fn is_alike(a: &str, b: &str) -> bool {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split(' ').collect(), b.split(' ').collect());
    if a.len() != b.len() {
        return false;
    }
    let differing: Vec<(&str, &str)> = a
        .iter()
        .zip(&b)
        .filter(|(a, b)| a != b)
        .map(|(a, b)| (*a, *b))
        .collect();
    let names = |word: &str| word.contains('\'') || word.contains('[') || word.ends_with(':');
    if differing.iter().any(|(a, b)| names(a) || names(b)) {
        return false;
    }
    let agreeing = a.len() - differing.len();
    #[expect(clippy::cast_precision_loss, reason = "a few words")]
    let share = agreeing as f64 / a.len() as f64;
    agreeing >= AGREEING_LEAST && share >= ALIKE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_in_a_bare_word_are_one_family() {
        assert!(is_alike(
            "could not connect to host alpha within # seconds",
            "could not connect to host beta within # seconds"
        ));
    }

    #[test]
    fn names_and_codes_tell_errors_apart() {
        assert!(!is_alike(
            "No module named 'yaml' in this environment",
            "No module named 'toml' in this environment"
        ));
        assert!(!is_alike(
            "error[E0277]: not satisfied here at all",
            "error[E0308]: not satisfied here at all"
        ));
    }
}
