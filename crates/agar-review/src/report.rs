//! Reports of tests, read into one shape.
//!
//! Each format has a reader of its own that keeps to three rules: it never fails on what it does
//! not understand but skips it, it never spends more than the input's size, and it says whether the
//! report is whole. A report that stops in the middle is told apart from one that passed.

mod by_line;
mod go;
mod jest;
mod junit;
mod libtest;
mod nextest;
mod pytest;
mod sniff;
mod tap;
mod text;

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Longer reports are not read.
pub const REPORT_BYTES_MAX: usize = 64 << 20;
/// More tests than this are counted, and not kept by name.
pub const TESTS_MAX: usize = 200_000;
/// Longer names are cut.
pub const NAME_CHARS_MAX: usize = 400;
/// Longer messages are cut.
pub const MESSAGE_CHARS_MAX: usize = 2_000;

/// A format of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// `JUnit` XML, as most tools can write it.
    Junit,
    /// The Test Anything Protocol.
    Tap,
    /// What `cargo test` prints.
    Libtest,
    /// What `cargo nextest run` prints.
    Nextest,
    /// What `pytest` prints.
    Pytest,
    /// What `go test` prints.
    Go,
    /// What `go test -json` prints.
    GoJson,
    /// The JSON of jest, and of vitest, which is the same.
    Jest,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 8] = [
        Self::Junit,
        Self::Tap,
        Self::Libtest,
        Self::Nextest,
        Self::Pytest,
        Self::Go,
        Self::GoJson,
        Self::Jest,
    ];

    /// The word for it, everywhere.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Junit => "junit",
            Self::Tap => "tap",
            Self::Libtest => "libtest",
            Self::Nextest => "nextest",
            Self::Pytest => "pytest",
            Self::Go => "go",
            Self::GoJson => "go-json",
            Self::Jest => "jest",
        }
    }

    /// The format of that name; `vitest` is another name for jest's.
    pub fn from_word(word: &str) -> Option<Self> {
        if word == "vitest" {
            return Some(Self::Jest);
        }
        Self::ALL.into_iter().find(|format| format.word() == word)
    }

    /// The format that a text seems to have.
    pub fn sniff(bytes: &[u8]) -> Option<Self> {
        sniff::sniff(bytes)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It was not run, or its failure is expected.
    Skipped,
    /// It holds.
    Passed,
    /// It does not hold, or could not be run to its end.
    Failed,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResult {
    /// How it ended.
    pub status: Status,
    /// What it said when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How many tests ended in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Those that hold.
    pub passed: u64,
    /// Those that do not.
    pub failed: u64,
    /// Those that were not run.
    pub skipped: u64,
}

impl Counts {
    /// All of them.
    pub const fn total(self) -> u64 {
        self.passed
            .saturating_add(self.failed)
            .saturating_add(self.skipped)
    }

    const fn add(&mut self, status: Status) {
        let count = match status {
            Status::Passed => &mut self.passed,
            Status::Failed => &mut self.failed,
            Status::Skipped => &mut self.skipped,
        };
        *count = count.saturating_add(1);
    }

    /// What is here beyond what is there.
    const fn beyond(self, other: Self) -> Self {
        Self {
            passed: self.passed.saturating_sub(other.passed),
            failed: self.failed.saturating_sub(other.failed),
            skipped: self.skipped.saturating_sub(other.skipped),
        }
    }
}

/// What a report says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// Every test that is named.
    pub tests: BTreeMap<String, TestResult>,
    /// Tests that are counted and not named: `pytest` names only those that failed.
    pub unnamed: Counts,
    /// Why it is not whole, if it is not: it stops in the middle, or counts others than it lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
}

/// A report could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is longer than any honest one.
    #[error("it is larger than {} MB", REPORT_BYTES_MAX >> 20)]
    TooLarge,
    /// It does not have the form.
    #[error("it is not {format}: {why}")]
    Malformed {
        /// The form.
        format: Format,
        /// What is wrong.
        why: String,
    },
    /// There is no test in it.
    #[error("it names no test")]
    NoTests,
}

impl Report {
    /// Reads a report of a known format.
    pub fn read(format: Format, bytes: &[u8]) -> Result<Self, Unreadable> {
        if bytes.len() > REPORT_BYTES_MAX {
            return Err(Unreadable::TooLarge);
        }
        let text = text::plain(bytes);
        let report = match format {
            Format::Junit => junit::read(&text)?,
            Format::Tap => tap::read(&text),
            Format::Libtest => libtest::read(&text),
            Format::Nextest => nextest::read(&text),
            Format::Pytest => pytest::read(&text),
            Format::Go => go::read(&text),
            Format::GoJson => go::read_json(&text),
            Format::Jest => jest::read(&text)?,
        };
        if report.counts().total() == 0 && report.cut_short.is_none() {
            return Err(Unreadable::NoTests);
        }
        Ok(report)
    }

    /// How many tests ended in which way.
    pub fn counts(&self) -> Counts {
        let mut counts = self.unnamed;
        for test in self.tests.values() {
            counts.add(test.status);
        }
        counts
    }

    /// The names of the tests that ended so.
    pub fn named(&self, status: Status) -> impl Iterator<Item = &str> {
        self.tests
            .iter()
            .filter(move |(_, test)| test.status == status)
            .map(|(name, _)| name.as_str())
    }

    /// Takes in another part of the same report.
    pub fn absorb(&mut self, other: Self) {
        for (name, test) in other.tests {
            self.add(&name, test.status, test.message.as_deref());
        }
        self.unnamed.passed = self.unnamed.passed.saturating_add(other.unnamed.passed);
        self.unnamed.failed = self.unnamed.failed.saturating_add(other.unnamed.failed);
        self.unnamed.skipped = self.unnamed.skipped.saturating_add(other.unnamed.skipped);
        if let Some(why) = other.cut_short {
            self.cut(why);
        }
    }

    /// Makes names that begin with a directory relative to it.
    pub fn relative_to(&mut self, directory: &str) {
        let prefix = format!("{}/", directory.trim_end_matches('/'));
        let tests = std::mem::take(&mut self.tests);
        for (name, test) in tests {
            let name = match name.strip_prefix(&prefix) {
                Some(rest) => rest.to_owned(),
                None => name,
            };
            self.tests.insert(name, test);
        }
    }

    /// Adds a test. Of two with one name the worse stays: nothing hides behind a namesake.
    fn add(&mut self, name: &str, status: Status, message: Option<&str>) {
        let name = text::clip(name.trim(), NAME_CHARS_MAX);
        let message = message
            .map(str::trim)
            .filter(|message| !message.is_empty())
            .map(|message| text::clip(message, MESSAGE_CHARS_MAX));
        if let Some(known) = self.tests.get_mut(&name) {
            if status > known.status {
                known.status = status;
            }
            if known.message.is_none() {
                known.message = message;
            }
            return;
        }
        if self.tests.len() >= TESTS_MAX {
            self.unnamed.add(status);
            return;
        }
        self.tests.insert(name, TestResult { status, message });
    }

    /// Gives a test that is known to have failed something to say.
    fn explain(&mut self, name: &str, message: &str) {
        let name = text::clip(name.trim(), NAME_CHARS_MAX);
        let message = message.trim();
        if let Some(test) = self.tests.get_mut(&name)
            && test.message.is_none()
            && !message.is_empty()
        {
            test.message = Some(text::clip(message, MESSAGE_CHARS_MAX));
        }
    }

    /// Says that something is missing; the first reason stays.
    fn cut(&mut self, why: impl Into<String>) {
        self.cut_short.get_or_insert_with(|| why.into());
    }

    /// Takes out tests that only gather others, where those say all there is to say. `start` is
    /// where in a name the path of the test begins.
    fn drop_parents(&mut self, separator: &str, start: fn(&str) -> usize) {
        let mut failing = BTreeSet::new();
        let mut parents = BTreeSet::new();
        for (name, test) in &self.tests {
            let from = start(name);
            let ends = name[from..].match_indices(separator);
            let above = ends.map(|(at, _)| name[..from + at].to_owned());
            parents.extend(above.clone());
            if test.status == Status::Failed {
                failing.extend(above);
            }
        }
        self.tests.retain(|name, test| {
            let told = test.status != Status::Failed || failing.contains(name);
            !(parents.contains(name) && told)
        });
    }
}
