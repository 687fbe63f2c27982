//! A file is one idea, says why it exists, and is not forgotten.

use super::Allowances;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// The most lines of a file, its tests aside.
const LINES_MAX: usize = 500;

/// The one file outside the jail that may: a hint to the processor, which has no safe form.
const AUDITED: &str = "crates/agar-evolve/src/engine/nearby.rs";

/// Names that say nothing about what a file holds.
const VAGUE: [&str; 8] = [
    "utils", "util", "helpers", "helper", "common", "misc", "manager", "types",
];

/// Complains of files too long, without a header, vaguely named, unlisted or unsafe, and of a lock
/// file that grew.
pub(super) fn check(root: &Path, sources: &[PathBuf], allowed: &Allowances) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for path in sources
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
    {
        let text = fs_err::read_to_string(root.join(path))?;
        let excused = allowed.long_files.contains_key(path);
        complaints.extend(of_source(path, &text, excused));
    }
    complaints.extend(forgotten(root, sources)?);
    complaints.extend(unused(root, allowed)?);
    complaints.extend(lock(root, allowed.packages_max)?);
    Ok(complaints)
}

fn of_source(path: &Path, text: &str, excused: bool) -> Vec<String> {
    let shown = path.display();
    let mut complaints = Vec::new();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if stem == "mod" {
        complaints.push(format!(
            "{shown}: use a file beside the directory, not mod.rs"
        ));
    }
    if VAGUE.contains(&&*stem) {
        complaints.push(format!(
            "{shown}: the name says nothing about what is in it"
        ));
    }
    // A file of nothing but its neighbour's tests says enough by its name.
    let beside = stem == "tests";
    let header = text.lines().find(|line| !line.starts_with("#!["));
    if !beside && !header.is_some_and(|line| line.starts_with("//!")) {
        complaints.push(format!("{shown}: no header that says why it exists"));
    }
    let of_tests = beside || path.iter().any(|part| part == "tests");
    let lines = length(text);
    if lines > LINES_MAX && !excused && !of_tests {
        complaints.push(format!(
            "{shown}: {lines} lines without tests; split it, or give a reason in xtask/tidy.toml"
        ));
    }
    let excuse = ["expect(unsafe_code", "allow(unsafe_code"]
        .iter()
        .any(|word| text.contains(word));
    let about_it = path.ends_with("tidy/files.rs");
    let audited = path == Path::new(AUDITED);
    if excuse && !path.starts_with("crates/agar-jail") && !about_it && !audited {
        complaints.push(format!("{shown}: unsafe code belongs in agar-jail"));
    }
    complaints
}

/// Lines up to the tests of the file.
fn length(text: &str) -> usize {
    text.lines()
        .take_while(|line| *line != "#[cfg(test)]")
        .count()
}

/// Test files that their `main.rs` does not list: they would never run.
fn forgotten(root: &Path, sources: &[PathBuf]) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for main in sources.iter().filter(|path| is_test_main(path)) {
        let text = fs_err::read_to_string(root.join(main))?;
        let directory = main.parent().unwrap_or(Path::new(""));
        let siblings = sources
            .iter()
            .filter(|path| path.parent() == Some(directory));
        for path in siblings.filter(|path| path != &main) {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let is_source = path.extension().is_some_and(|end| end == "rs");
            if is_source
                && !text
                    .lines()
                    .any(|line| line.trim() == format!("mod {stem};"))
            {
                complaints.push(format!(
                    "{}: not listed in {}",
                    path.display(),
                    main.display()
                ));
            }
        }
    }
    Ok(complaints)
}

fn is_test_main(path: &Path) -> bool {
    let words: Vec<_> = path.iter().map(|word| word.to_string_lossy()).collect();
    matches!(words.as_slice(), [.., tests, _, main] if tests == "tests" && main == "main.rs")
}

/// Excuses for files that are gone or short again.
fn unused(root: &Path, allowed: &Allowances) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for (path, reason) in &allowed.long_files {
        let shown = path.display();
        if !root.join(path).exists() {
            complaints.push(format!(
                "xtask/tidy.toml excuses {shown}, which does not exist"
            ));
        } else if length(&fs_err::read_to_string(root.join(path))?) <= LINES_MAX {
            complaints.push(format!(
                "xtask/tidy.toml excuses {shown}, which is short enough"
            ));
        } else if reason.trim().is_empty() {
            complaints.push(format!("xtask/tidy.toml gives no reason for {shown}"));
        }
    }
    Ok(complaints)
}

fn lock(root: &Path, packages_max: usize) -> Result<Vec<String>> {
    let text = fs_err::read_to_string(root.join("Cargo.lock"))?;
    let packages = text.lines().filter(|line| *line == "[[package]]").count();
    let mut complaints = Vec::new();
    if packages > packages_max {
        complaints.push(format!(
            "Cargo.lock names {packages} packages; raise packages_max in xtask/tidy.toml from \
             {packages_max} if they are worth it"
        ));
    }
    let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let strange = text
        .lines()
        .find(|line| line.starts_with("source = ") && *line != public);
    complaints.extend(strange.map(|line| format!("Cargo.lock names another registry: {line}")));
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(path: &str, text: &str) -> String {
        of_source(Path::new(path), text, false).join("\n")
    }

    #[test]
    fn a_good_file_is_left_alone() {
        assert_eq!(about("crates/agar/src/diff.rs", "//! Why.\n"), "");
        assert_eq!(about("a/src/lib.rs", "#![no_std]\n//! Why.\n"), "");
    }

    #[test]
    fn each_rule_complains() {
        assert!(about("a/src/x.rs", "fn a() {}\n").contains("no header"));
        assert!(about("a/src/x/mod.rs", "//! W\n").contains("mod.rs"));
        assert!(about("a/src/utils.rs", "//! W\n").contains("says nothing"));
        let long = format!("//! W\n{}", "x\n".repeat(500));
        assert!(about("a/src/x.rs", &long).contains("501 lines"));
        let tested = format!("//! W\n#[cfg(test)]\n{}", "x\n".repeat(900));
        assert_eq!(about("a/src/x.rs", &tested), "");
        assert_eq!(about("a/src/x/tests.rs", "use super::*;\n"), "");
        assert_eq!(about("a/tests/it/x.rs", &long), "");
    }

    #[test]
    fn only_the_jail_is_unsafe() {
        let text = "//! W\n#![expect(unsafe_code, reason = \"x\")]\n";
        assert!(about("crates/agar/src/x.rs", text).contains("agar-jail"));
        assert_eq!(about("crates/agar-jail/src/x.rs", text), "");
        assert_eq!(about(AUDITED, text), "");
    }

    #[test]
    fn the_main_of_an_integration_test_is_known() {
        assert!(is_test_main(Path::new("crates/agar/tests/it/main.rs")));
        assert!(!is_test_main(Path::new("crates/agar/src/main.rs")));
    }
}
