//! Telling whether two error messages are the same error.
//!
//! A line is masked (paths, numbers, hashes, times, quoted values go) and hashed; lines whose
//! masked forms are nearly equal share a family. The way of masking has a [`VERSION`], and a family
//! once given stays: a better mask is a new version beside the old one, so that lessons never move
//! from one group to another behind a person's back.

mod mask;
mod merge;
mod pick;

pub(crate) use merge::family;
pub use pick::Tool;
pub use pick::echoes;
pub(crate) use pick::error_lines;

use serde::{Deserialize, Serialize};

/// The way of masking in force.
pub const VERSION: u32 = 1;

/// An error, without what varies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Its short name: of the family, so near-equal errors share it.
    pub id: String,
    /// The masked line, for people.
    pub template: String,
}

/// The fingerprints of the error lines in an output, the first ones first, each once, before
/// near-equal ones are merged. Vacuous ones ("assert False") are left out.
pub fn fingerprints(output: &str) -> Vec<Fingerprint> {
    let mut found: Vec<Fingerprint> = Vec::new();
    for line in error_lines(output) {
        let Some(template) = mask::mask(&line) else {
            continue;
        };
        let id = name(&template);
        if found.iter().all(|known| known.id != id) {
            found.push(Fingerprint { id, template });
        }
    }
    found
}

/// The short name of a masked line.
fn name(template: &str) -> String {
    let hash = blake3::hash(format!("{VERSION}\n{template}").as_bytes());
    hash.to_hex()[..16].to_owned()
}

/// The short names of the masked lines of an ended experiment, before they are merged.
pub(crate) fn hashes(ending: &crate::experiment::Ending) -> Vec<String> {
    let output = text_of(ending);
    fingerprints(&output).into_iter().map(|it| it.id).collect()
}

/// What an ended experiment said that may hold errors.
pub(crate) fn text_of(ending: &crate::experiment::Ending) -> String {
    let mut output = ending.output.clone();
    for reason in &ending.failure_reasons {
        output.push('\n');
        output.push_str(reason);
    }
    output
}
