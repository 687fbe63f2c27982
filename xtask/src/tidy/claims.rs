//! Every claim of the threat model has a test that tries to break it, and every such test a claim.

use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;

const MODEL: &str = "docs/THREAT_MODEL.md";
const TESTS: &str = "crates/agar/tests/claims";
/// Where the tests of claims about cells are.
const CELLS: [&str; 2] = ["crates/agar-evolve/tests/it", "crates/agar-engine/tests/it"];

/// Complains of claims without a test file and of test files without a claim.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let model = fs_err::read_to_string(root.join(MODEL)).unwrap_or_default();
    let claimed = numbers(&model);
    let mut tested = BTreeSet::new();
    if root.join(TESTS).exists() {
        for entry in fs_err::read_dir(root.join(TESTS))? {
            tested.extend(number_of_file(&entry?.file_name().to_string_lossy()));
        }
    }
    let untested = claimed.difference(&tested);
    let unclaimed = tested.difference(&claimed);
    let mut complaints: Vec<String> = untested
        .map(|number| format!("{MODEL}: C{number} has no test in {TESTS}"))
        .chain(unclaimed.map(|number| format!("{TESTS}: c{number:02} has no claim in {MODEL}")))
        .collect();
    complaints.extend(about_cells(&model, &sources(root)?));
    Ok(complaints)
}

/// The text of all tests of cells.
fn sources(root: &Path) -> Result<String> {
    let mut text = String::new();
    for directory in CELLS {
        for entry in fs_err::read_dir(root.join(directory))? {
            let path = entry?.path();
            if path.extension().is_some_and(|it| it == "rs") {
                text.push_str(&fs_err::read_to_string(path)?);
            }
        }
    }
    Ok(text)
}

/// Claims about cells that name no test, and tests that they name and nobody wrote.
fn about_cells(model: &str, sources: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for claim in model.split("\n\n").filter_map(|it| it.strip_prefix("**E")) {
        let number = claim.split('.').next().unwrap_or_default();
        let named = claim.split_once("Tests:").map_or("", |(_, named)| named);
        let named: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
        if named.is_empty() {
            complaints.push(format!("{MODEL}: E{number} names no test"));
        }
        for name in named {
            if !sources.contains(&format!("fn {name}(")) {
                complaints.push(format!(
                    "{MODEL}: E{number} names `{name}`, which is no test"
                ));
            }
        }
    }
    complaints
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
    fn a_claim_about_cells_names_tests_that_exist() {
        let model = "**E1. Good.** It is. Tests: `one`,\n`two`.\n\n**E2. Bare.** Yes.\n\n**E3. Gone.** Tests: `three`.";
        let complaints = about_cells(model, "fn one() {} fn two(x: u8) {}");
        assert_eq!(
            complaints,
            [
                "docs/THREAT_MODEL.md: E2 names no test",
                "docs/THREAT_MODEL.md: E3 names `three`, which is no test"
            ]
        );
    }

    #[test]
    fn claims_and_their_tests_are_recognised() {
        let text = "**C1. A thing.** more\nC2. no\n**C13. Another.**\n";
        assert_eq!(numbers(text), BTreeSet::from([1, 13]));
        assert_eq!(number_of_file("c07_masked_secrets.rs"), Some(7));
        assert_eq!(number_of_file("main.rs"), None);
        assert_eq!(number_of_file("control.rs"), None);
    }
}
