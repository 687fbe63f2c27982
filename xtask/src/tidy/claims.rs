//! Every claim of the threat model has a test that tries to break it, and every such test a claim.

use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;

const MODEL: &str = "docs/THREAT_MODEL.md";
const TESTS: &str = "crates/agar/tests/claims";

/// Complains of claims without a test file and of test files without a claim.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let claimed = numbers(&fs_err::read_to_string(root.join(MODEL)).unwrap_or_default());
    let mut tested = BTreeSet::new();
    if root.join(TESTS).exists() {
        for entry in fs_err::read_dir(root.join(TESTS))? {
            tested.extend(number_of_file(&entry?.file_name().to_string_lossy()));
        }
    }
    let untested = claimed.difference(&tested);
    let unclaimed = tested.difference(&claimed);
    Ok(untested
        .map(|number| format!("{MODEL}: C{number} has no test in {TESTS}"))
        .chain(unclaimed.map(|number| format!("{TESTS}: c{number:02} has no claim in {MODEL}")))
        .collect())
}

/// The numbers of paragraphs that begin `**C7. `.
fn numbers(text: &str) -> BTreeSet<u32> {
    text.lines()
        .filter_map(|line| line.strip_prefix("**C")?.split_once(". ")?.0.parse().ok())
        .collect()
}

/// The number of `c07_name.rs`.
fn number_of_file(name: &str) -> Option<u32> {
    name.strip_prefix('c')?
        .strip_suffix(".rs")?
        .split_once('_')?
        .0
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_and_their_tests_are_recognised() {
        let text = "**C1. A thing.** more\nC2. no\n**C13. Another.**\n";
        assert_eq!(numbers(text), BTreeSet::from([1, 13]));
        assert_eq!(number_of_file("c07_masked_secrets.rs"), Some(7));
        assert_eq!(number_of_file("main.rs"), None);
        assert_eq!(number_of_file("control.rs"), None);
    }
}
