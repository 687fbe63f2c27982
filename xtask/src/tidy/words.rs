//! One concept, one word; and no word of the machine that a text was written on.

use anyhow::Result;
use std::path::{Path, PathBuf};

/// The words that the glossary must explain.
const WORDS: [&str; 25] = [
    "project",
    "base",
    "generation",
    "layer",
    "sandbox",
    "jail",
    "run",
    "snapshot",
    "change set",
    "experiment",
    "outcome",
    "tournament",
    "pattern",
    "lesson",
    "graduation",
    "modification",
    "check",
    "approval",
    "promotion",
    "cell",
    "genome",
    "population",
    "generation number",
    "lineage",
    "fitness",
];

/// Complains of words that the glossary lacks and of texts that name the place they were written.
pub(super) fn check(root: &Path, sources: &[PathBuf]) -> Result<Vec<String>> {
    let glossary = fs_err::read_to_string(root.join("docs/GLOSSARY.md")).unwrap_or_default();
    let missing = WORDS.iter().filter(|word| !explains(&glossary, word));
    let mut complaints: Vec<String> = missing
        .map(|word| format!("docs/GLOSSARY.md does not explain `{word}`"))
        .collect();
    let places = places(root);
    for path in sources {
        let bytes = fs_err::read(root.join(path))?;
        let text = String::from_utf8_lossy(&bytes);
        let named = places.iter().find(|place| text.contains(place.as_str()));
        complaints.extend(named.map(|place| format!("{} names {place}", path.display())));
    }
    Ok(complaints)
}

/// Whether a row of the table is about the word.
fn explains(glossary: &str, word: &str) -> bool {
    glossary
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .any(|line| {
            let subject = line.split('|').next().unwrap_or("");
            subject
                .split(',')
                .any(|name| name.trim().trim_matches('*') == word)
        })
}

/// The workspace's own place, and the directory around it where that is not one that many have.
fn places(root: &Path) -> Vec<String> {
    let own = std::iter::once(root);
    let around = root
        .parent()
        .filter(|parent| parent.components().count() > 2);
    own.chain(around)
        .map(|path| path.display().to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_explained_by_a_row_of_its_own() {
        let glossary =
            "| word | meaning |\n|---|---|\n| **run** | one |\n| population, lineage | two |\n";
        assert!(explains(glossary, "run"));
        assert!(explains(glossary, "lineage"));
        assert!(!explains(glossary, "cell"));
    }
}
