//! What sort of change a suggestion is: a closed list, declared or inferred.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What sort of change a suggestion is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ChangeType {
    /// Something broken is mended.
    Fix,
    /// Something new can be done.
    Feature,
    /// The same, in another shape.
    Refactor,
    /// Words for people.
    Docs,
    /// Tests only.
    Tests,
    /// Packages of others.
    Dependency,
    /// Settings and build files.
    Configuration,
    /// Data or an interface moves to another form.
    Migration,
    /// The same, faster or smaller.
    Performance,
    /// Something is made safer.
    Security,
    /// None of these, or it cannot be told.
    #[default]
    Other,
}

impl ChangeType {
    /// Every one, in the order of the documents.
    pub const ALL: [Self; 11] = [
        Self::Fix,
        Self::Feature,
        Self::Refactor,
        Self::Docs,
        Self::Tests,
        Self::Dependency,
        Self::Configuration,
        Self::Migration,
        Self::Performance,
        Self::Security,
        Self::Other,
    ];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fix => "fix",
            Self::Feature => "feature",
            Self::Refactor => "refactor",
            Self::Docs => "docs",
            Self::Tests => "tests",
            Self::Dependency => "dependency",
            Self::Configuration => "configuration",
            Self::Migration => "migration",
            Self::Performance => "performance",
            Self::Security => "security",
            Self::Other => "other",
        }
    }

    /// What the words and the files make of it. The first rule that fits wins, so the more telling
    /// ones stand first.
    pub fn infer(text: &str, commands: &[Vec<String>], files: &[String]) -> Self {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        if let Some(declared) = conventional(&lower) {
            return declared;
        }
        for (change, clues) in CLUES {
            if words.iter().any(|word| clues.contains(word)) {
                return *change;
            }
        }
        if commands.iter().any(|command| moves_packages(command)) {
            return Self::Dependency;
        }
        by_files(files)
    }
}

/// Words that tell, the more telling sorts first.
const CLUES: &[(ChangeType, &[&str])] = &[
    (
        ChangeType::Security,
        &[
            "security",
            "vulnerability",
            "cve",
            "xss",
            "csrf",
            "injection",
            "sanitize",
            "sanitise",
        ],
    ),
    (
        ChangeType::Migration,
        &["migrate", "migrating", "migration", "migrations", "schema"],
    ),
    (
        ChangeType::Dependency,
        &[
            "upgrade",
            "upgrading",
            "bump",
            "bumps",
            "dependency",
            "dependencies",
            "deps",
            "lockfile",
        ],
    ),
    (
        ChangeType::Performance,
        &[
            "performance",
            "optimize",
            "optimise",
            "optimization",
            "faster",
            "speed",
            "cache",
            "latency",
            "perf",
        ],
    ),
    (
        ChangeType::Fix,
        &[
            "fix",
            "fixes",
            "fixed",
            "bug",
            "bugfix",
            "crash",
            "regression",
            "repair",
            "broken",
            "hotfix",
            "mend",
        ],
    ),
    (
        ChangeType::Refactor,
        &[
            "refactor",
            "refactoring",
            "rename",
            "renames",
            "extract",
            "simplify",
            "cleanup",
            "restructure",
            "deduplicate",
        ],
    ),
    (
        ChangeType::Tests,
        &["test", "tests", "testing", "coverage", "spec", "specs"],
    ),
    (
        ChangeType::Docs,
        &[
            "docs",
            "doc",
            "documentation",
            "readme",
            "typo",
            "changelog",
            "comment",
            "comments",
        ],
    ),
    (
        ChangeType::Configuration,
        &[
            "config",
            "configuration",
            "configure",
            "ci",
            "workflow",
            "dockerfile",
            "lint",
            "eslint",
            "settings",
        ],
    ),
    (
        ChangeType::Feature,
        &[
            "feature",
            "add",
            "adds",
            "implement",
            "implements",
            "support",
            "introduce",
            "new",
            "create",
            "allow",
        ],
    ),
];

/// The prefix of a conventional commit, such as `feat(cart):`.
fn conventional(lower: &str) -> Option<ChangeType> {
    let (head, _) = lower.split_once(':')?;
    let head = head.trim_end_matches('!');
    let word = head.split_once('(').map_or(head, |(word, _)| word).trim();
    match word {
        "fix" | "bugfix" | "hotfix" => Some(ChangeType::Fix),
        "feat" | "feature" => Some(ChangeType::Feature),
        "refactor" | "style" => Some(ChangeType::Refactor),
        "docs" | "doc" => Some(ChangeType::Docs),
        "test" | "tests" => Some(ChangeType::Tests),
        "deps" | "dep" => Some(ChangeType::Dependency),
        "build" | "ci" | "config" | "chore" => Some(if lower.contains("bump") {
            ChangeType::Dependency
        } else {
            ChangeType::Configuration
        }),
        "perf" => Some(ChangeType::Performance),
        "security" | "sec" => Some(ChangeType::Security),
        "migration" => Some(ChangeType::Migration),
        _ => None,
    }
}

/// Whether the command changes which packages of others are used.
fn moves_packages(command: &[String]) -> bool {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let program = words
        .first()
        .map(|word| word.rsplit('/').next().unwrap_or(word));
    let verb = words.get(1).copied().unwrap_or("");
    match program {
        Some("cargo") => matches!(verb, "update" | "add" | "remove" | "upgrade"),
        Some("npm" | "pnpm" | "yarn" | "bun") => matches!(
            verb,
            "update" | "upgrade" | "add" | "remove" | "uninstall" | "install" | "i" | "up"
        ),
        Some("pip" | "pip3" | "poetry" | "uv" | "bundle" | "composer") => {
            matches!(
                verb,
                "install" | "update" | "add" | "remove" | "upgrade" | "lock" | "require"
            )
        }
        Some("go") => verb == "get",
        _ => false,
    }
}

fn by_files(files: &[String]) -> ChangeType {
    let all = |fits: fn(&str) -> bool| !files.is_empty() && files.iter().all(|file| fits(file));
    let docs = |file: &str| {
        [".md", ".rst", ".adoc", ".txt"]
            .iter()
            .any(|end| file.to_lowercase().ends_with(end))
    };
    let tests = |file: &str| file.contains("test") || file.contains("spec");
    let settings = |file: &str| {
        [
            ".toml",
            ".yml",
            ".yaml",
            ".ini",
            ".cfg",
            "Dockerfile",
            "Makefile",
        ]
        .iter()
        .any(|end| file.ends_with(end))
    };
    if all(docs) {
        ChangeType::Docs
    } else if all(tests) {
        ChangeType::Tests
    } else if all(settings) {
        ChangeType::Configuration
    } else {
        ChangeType::Other
    }
}

impl fmt::Display for ChangeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The word is no sort of change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no sort of change")]
pub struct NotAChangeType(pub String);

impl FromStr for ChangeType {
    type Err = NotAChangeType;

    fn from_str(text: &str) -> Result<Self, NotAChangeType> {
        Self::ALL
            .into_iter()
            .find(|change| change.word() == text)
            .ok_or_else(|| NotAChangeType(text.chars().take(64).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn infer(text: &str) -> ChangeType {
        ChangeType::infer(text, &[], &[])
    }

    #[test]
    fn the_words_of_a_suggestion_tell_its_sort() {
        for (text, change) in [
            ("upgrade axum to 0.9", ChangeType::Dependency),
            ("feat(cart): add vouchers", ChangeType::Feature),
            ("chore: bump serde", ChangeType::Dependency),
            (
                "Help me migrate from MongoDB to PostgreSQL",
                ChangeType::Migration,
            ),
            ("fix crash on empty cart", ChangeType::Fix),
            ("patch CVE-2026-1 in the parser", ChangeType::Security),
            ("make it so", ChangeType::Other),
        ] {
            assert_eq!(infer(text), change, "{text}");
        }
    }

    #[test]
    fn commands_and_files_tell_where_words_do_not() {
        let update = vec!["npm".to_owned(), "update".to_owned()];
        assert_eq!(
            ChangeType::infer("go", &[update], &[]),
            ChangeType::Dependency
        );
        let files = ["README.md".to_owned(), "docs/a.md".to_owned()];
        assert_eq!(ChangeType::infer("go", &[], &files), ChangeType::Docs);
    }

    #[test]
    fn each_word_reads_back() {
        for change in ChangeType::ALL {
            assert_eq!(change.word().parse(), Ok(change));
        }
        assert!("chaos".parse::<ChangeType>().is_err());
    }
}
