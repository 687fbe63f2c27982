//! How many tests passed, failed and could not run.

use crate::program;
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Add;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Numbers of tests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    /// Tests that held.
    pub(crate) passed: u64,
    /// Tests that did not.
    pub(crate) failed: u64,
    /// Tests that could not run here.
    pub(crate) skipped: u64,
    /// What those said that did not hold.
    pub(crate) said: Vec<String>,
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
            said: [self.said, other.said].concat(),
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

/// Runs a command that prints the standard harness's results.
pub(crate) fn of_harness(command: &mut Command) -> Result<Tally> {
    let (worked, text) = program::watch(command)?;
    decide(worked, (harness(&text), &text), command)
}

/// Runs a command that prints nextest's results.
pub(crate) fn of_nextest(command: &mut Command) -> Result<Tally> {
    let (worked, text) = program::watch(command)?;
    decide(worked, (nextest(&text), &text), command)
}

/// A command that failed without a failed test did not build or crashed: never a pass.
fn decide(worked: bool, (tally, text): (Tally, &str), command: &Command) -> Result<Tally> {
    if !worked && tally.failed == 0 {
        bail!("{} failed before its tests could", program::words(command));
    }
    // Some tests want a panic, so only a run with failures has anything to say.
    let said = if tally.failed > 0 {
        panics(text)
    } else {
        Vec::new()
    };
    Ok(Tally { said, ..tally })
}

/// How much of what a failed test said is told again at the end.
const SAID_LINES: usize = 4;

/// How long a line told again may be.
const SAID_CHARS: usize = 300;

/// The beginnings of what tests said as they panicked.
fn panics(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_panic = |line: &str| line.starts_with("thread '") && line.contains(" panicked at ");
    let starts = (0..lines.len()).filter(|&at| is_panic(lines[at]));
    let mut said: Vec<String> = Vec::new();
    for at in starts {
        let told = lines[at..].iter().take(SAID_LINES);
        let told = told.map(|line| line.chars().take(SAID_CHARS).collect::<String>());
        let told = told.collect::<Vec<_>>().join("\n");
        // One harness prints a failure twice.
        if !said.contains(&told) {
            said.push(told);
        }
    }
    said
}

/// Sums the lines `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn harness(text: &str) -> Tally {
    let mut sum = Tally::default();
    for line in text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("test result: "))
    {
        let (_, counts) = line.split_once(". ").unwrap_or(("", line));
        for (number, word) in counts.split(';').filter_map(number_and_word) {
            match word {
                "passed" => sum.passed += number,
                "failed" => sum.failed += number,
                "ignored" => sum.skipped += number,
                _ => {}
            }
        }
    }
    sum
}

/// Sums the lines `Summary [ 0.1s] 5 tests run: 3 passed (1 slow), 1 failed, 1 timed out, …`.
/// The last number, of tests left out by a filter, is not a skip.
fn nextest(text: &str) -> Tally {
    let mut sum = Tally::default();
    for line in text
        .lines()
        .filter(|line| line.trim().starts_with("Summary ["))
    {
        let Some((_, counts)) = line.split_once("run: ") else {
            continue;
        };
        for (number, word) in counts.split(',').filter_map(number_and_word) {
            match word {
                "passed" => sum.passed += number,
                "failed" | "timed" | "exec" => sum.failed += number,
                _ => {}
            }
        }
    }
    sum
}

fn number_and_word(text: &str) -> Option<(u64, &str)> {
    let mut words = text.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?))
}

/// Where the tests of one mode write what they could not try.
#[derive(Debug)]
pub(crate) struct SkipFile(PathBuf);

impl SkipFile {
    /// An empty file that anybody may add to.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        fs_err::write(path, "")?;
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o666))?;
        Ok(Self(path.to_owned()))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The tally with the skips taken out of the passes; an error when they are not those expected
    /// in this mode.
    pub(crate) fn count(
        &self,
        root: &Path,
        (mode, missing): (&str, &[&str]),
        tally: Tally,
    ) -> Result<Tally> {
        let text = fs_err::read_to_string(&self.0)?;
        let met = by_claim(&text);
        for line in text.lines() {
            println!("   {line}");
        }
        let expected = expected(root, mode, missing)?;
        if met != expected {
            bail!(
                "{tally}, but the skips are not those of [{mode}] in xtask/expected-skips.toml: \
                 expected {expected:?}, met {met:?}"
            );
        }
        let skipped: u64 = met.values().sum();
        Ok(Tally {
            passed: tally.passed.saturating_sub(skipped),
            failed: tally.failed,
            skipped: tally.skipped + skipped,
            said: tally.said,
        })
    }
}

fn by_claim(text: &str) -> BTreeMap<String, u64> {
    let mut met = BTreeMap::new();
    for line in text
        .lines()
        .filter_map(|line| line.strip_prefix("agar-skip: "))
    {
        let claim = line.split_whitespace().next().unwrap_or("?");
        *met.entry(claim.to_owned()).or_default() += 1;
    }
    met
}

/// What is skipped in this mode, and for want of these.
fn expected(root: &Path, mode: &str, missing: &[&str]) -> Result<BTreeMap<String, u64>> {
    let text = fs_err::read_to_string(root.join("xtask/expected-skips.toml"))?;
    let mut modes: BTreeMap<String, BTreeMap<String, u64>> =
        toml::from_str(&text).context("xtask/expected-skips.toml cannot be read")?;
    let mut section = |name: &str| {
        let found = modes.remove(name);
        found.with_context(|| format!("no section [{name}] in xtask/expected-skips.toml"))
    };
    let mut expected = section(mode)?;
    let without = section("without")?;
    expected.extend(
        without
            .into_iter()
            .filter(|(rule, _)| missing.contains(&rule.as_str())),
    );
    Ok(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_both_harnesses_are_understood() {
        let plain = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out\n\
                     test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured\n";
        assert_eq!(
            harness(plain),
            Tally {
                passed: 5,
                failed: 1,
                skipped: 1,
                said: Vec::new(),
            }
        );
        let next = "     Summary [   0.1s] 5 tests run: 3 passed (1 slow), 1 failed, 1 timed out, 9 skipped";
        assert_eq!(
            nextest(next),
            Tally {
                passed: 3,
                failed: 2,
                skipped: 0,
                said: Vec::new(),
            }
        );
    }

    #[test]
    fn what_a_failed_test_said_is_told_again_once_and_in_short() {
        let text = "test a ... FAILED\n\
                    thread 'a' (12) panicked at src/a.rs:1:2:\nleft: 1\nright: 2\nmore\nstill more\n\
                    thread 'a' (12) panicked at src/a.rs:1:2:\nleft: 1\nright: 2\nmore\nstill more\n";
        let said = panics(text);
        let expected = "thread 'a' (12) panicked at src/a.rs:1:2:\nleft: 1\nright: 2\nmore";
        assert_eq!(said, [expected]);
    }

    #[test]
    fn skips_are_counted_by_claim() {
        let text = "agar-skip: C1 no kernel\nagar-skip: C1 no disk\nnoise\nagar-skip: C2 x\n";
        assert_eq!(
            by_claim(text),
            BTreeMap::from([("C1".into(), 2), ("C2".into(), 1)])
        );
    }

    #[test]
    fn a_command_that_dies_without_a_failed_test_is_no_pass() {
        assert!(of_harness(&mut Command::new("/bin/false")).is_err());
    }
}
