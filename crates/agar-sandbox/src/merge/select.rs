//! What the person asked for: which paths, and which side where both cannot be had.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Which side wins a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The project as it stands.
    Mine,
    /// The sandbox.
    Theirs,
    /// Both, between conflict markers, for the person to edit.
    Markers,
}

/// A path, a directory with all below it, or a glob.
///
/// `*` and `?` stop at a slash, `**` does not, `[a-z]` is one character. A pattern without a slash
/// matches a name at any depth, as in `.gitignore`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern as a person types it.
    pub fn new(text: &str) -> Self {
        let text = text.strip_prefix("./").unwrap_or(text);
        Self(text.trim_end_matches('/').to_owned())
    }

    /// Whether the path, relative to the project, is meant.
    pub fn matches(&self, path: &Path) -> bool {
        let (pattern, path) = (self.0.as_bytes(), path.as_os_str().as_bytes());
        if pattern.is_empty() || pattern == b"." {
            return true;
        }
        if !is_glob(pattern) {
            return is_within(path, pattern);
        }
        // A directory that matches brings what is below it.
        let starts =
            std::iter::once(0).chain(after_slashes(path).filter(|_| !pattern.contains(&b'/')));
        starts
            .flat_map(|start| ends(&path[start..]))
            .any(|candidate| glob(pattern, candidate))
    }

    /// Whether the pattern names this exact path or a directory above it, not merely some like it.
    pub fn names(&self, path: &Path) -> bool {
        !is_glob(self.0.as_bytes()) && !self.0.is_empty() && self.0 != "." && self.matches(path)
    }
}

fn is_glob(pattern: &[u8]) -> bool {
    pattern
        .iter()
        .any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

fn is_within(path: &[u8], prefix: &[u8]) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// The places where a component of the path begins, but the first.
fn after_slashes(path: &[u8]) -> impl Iterator<Item = usize> + '_ {
    path.iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'/')
        .map(|(index, _)| index + 1)
}

/// The path and each directory above it.
fn ends(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes
        .map(|(index, _)| &path[..index])
        .chain(std::iter::once(path))
}

/// Matches with one remembered place to return to for each sort of star, so that no pattern takes
/// more than the product of the two lengths.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where in the pattern and in the text to go on when the star is given one more byte.
    let mut star: Option<(usize, usize)> = None;
    let mut double: Option<(usize, usize)> = None;
    loop {
        if t == text.len() && pattern[p..].iter().all(|&byte| byte == b'*') {
            return true;
        }
        if pattern[p..].starts_with(b"**") {
            p += 2;
            // `**/` also matches no directory at all.
            double = Some((p, t));
            star = None;
            if pattern[p..].starts_with(b"/") && (t == 0 || text.get(t - 1) == Some(&b'/')) {
                p += 1;
            }
            continue;
        }
        if pattern.get(p) == Some(&b'*') {
            p += 1;
            star = Some((p, t));
            continue;
        }
        if let Some(width) = text.get(t).and_then(|&byte| one(&pattern[p..], byte)) {
            p += width;
            t += 1;
            continue;
        }
        match (star, double) {
            (Some((back, from)), _) if text.get(from).is_some_and(|&byte| byte != b'/') => {
                star = Some((back, from + 1));
                (p, t) = (back, from + 1);
            }
            (_, Some((back, from))) if from < text.len() => {
                star = None;
                double = Some((back, from + 1));
                (p, t) = (back, from + 1);
            }
            _ => return false,
        }
    }
}

/// How much of the pattern one byte of text uses up, if it matches.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match *pattern.first()? {
        b'?' => (byte != b'/').then_some(1),
        b'[' => class(pattern, byte),
        b'\\' if pattern.len() > 1 => (pattern[1] == byte).then_some(2),
        literal => (literal == byte).then_some(1),
    }
}

fn class(pattern: &[u8], byte: u8) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some(b'!' | b'^'));
    let first = if negated { 2 } else { 1 };
    // A bracket right after the opening one is meant literally.
    let Some(length) = pattern.iter().skip(first + 1).position(|&c| c == b']') else {
        return (byte == b'[').then_some(1);
    };
    let end = first + 1 + length;
    let members = &pattern[first..end];
    let mut found = false;
    let mut index = 0;
    while index < members.len() {
        if index + 2 < members.len() && members[index + 1] == b'-' {
            found |= (members[index]..=members[index + 2]).contains(&byte);
            index += 3;
        } else {
            found |= members[index] == byte;
            index += 1;
        }
    }
    (found != negated && byte != b'/').then_some(end + 1)
}

/// Everything a person can ask of an apply.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only these paths; all where there are none.
    pub only: Vec<Pattern>,
    /// The side that wins a conflict where no rule says otherwise.
    pub otherwise: Option<Choice>,
    /// The side that wins for some paths; the last rule that matches counts.
    pub rules: Vec<(Pattern, Choice)>,
    /// Only these hunks of these paths, by their numbers from 1. Other paths are whole.
    pub hunks: BTreeMap<PathBuf, Vec<usize>>,
}

impl Selection {
    /// Whether the path is asked for.
    pub fn includes(&self, path: &Path) -> bool {
        self.only.is_empty() || self.only.iter().any(|pattern| pattern.matches(path))
    }

    /// Whether the path is asked for by its own name: the only way to get what is withheld otherwise.
    pub fn names(&self, path: &Path) -> bool {
        self.only.iter().any(|pattern| pattern.names(path))
    }

    /// Which side wins a conflict at the path.
    pub fn choice(&self, path: &Path) -> Option<Choice> {
        let rule = self
            .rules
            .iter()
            .rev()
            .find(|(pattern, _)| pattern.matches(path));
        rule.map(|(_, choice)| *choice).or(self.otherwise)
    }

    /// The hunks of a path that were picked, if they were picked one by one.
    pub fn picked(&self, path: &Path) -> Option<&[usize]> {
        self.hunks.get(path).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, path: &str) -> bool {
        Pattern::new(pattern).matches(Path::new(path))
    }

    #[test]
    fn a_plain_pattern_is_a_path_and_what_is_below_it() {
        assert!(matches("src", "src"));
        assert!(matches("./src/", "src/a/b.rs"));
        assert!(matches("src/a", "src/a/b.rs"));
        assert!(!matches("src/a", "src/ab"));
        assert!(!matches("a", "src/a"));
    }

    #[test]
    fn a_star_stops_at_a_slash_and_two_do_not() {
        assert!(matches("*.rs", "src/deep/a.rs"));
        assert!(matches("src/*.rs", "src/a.rs"));
        assert!(!matches("src/*.rs", "src/deep/a.rs"));
        assert!(matches("src/**/*.rs", "src/deep/er/a.rs"));
        assert!(matches("src/**/*.rs", "src/a.rs"));
        assert!(matches("**", "a/b/c"));
        assert!(matches("**/c", "a/b/c"));
        assert!(matches("**/c", "c"));
        assert!(!matches("**/c", "a/bc"));
        assert!(matches("a/**", "a/b/c"));
        assert!(matches("t?st[0-9].[!c]", "test7.h"));
        assert!(!matches("t?st[0-9].[!c]", "test7.c"));
        assert!(matches("[]x]", "]"));
        assert!(matches("node_*", "a/node_modules/x/y.js"));
    }

    #[test]
    fn a_glob_never_names_a_path() {
        assert!(Pattern::new(".env").names(Path::new(".env")));
        assert!(!Pattern::new(".e*").names(Path::new(".env")));
        assert!(!Pattern::new(".").names(Path::new(".env")));
    }

    #[test]
    fn the_last_rule_that_matches_counts() {
        let selection = Selection {
            otherwise: Some(Choice::Mine),
            rules: vec![
                (Pattern::new("src"), Choice::Theirs),
                (Pattern::new("*.md"), Choice::Markers),
            ],
            ..Selection::default()
        };
        assert_eq!(selection.choice(Path::new("a")), Some(Choice::Mine));
        assert_eq!(selection.choice(Path::new("src/a")), Some(Choice::Theirs));
        assert_eq!(
            selection.choice(Path::new("src/a.md")),
            Some(Choice::Markers)
        );
    }

    proptest! {
        #[test]
        fn no_pattern_makes_the_matcher_panic(pattern in "[a*?\\[\\]!/\\\\-]{0,12}", path in "[a/b\\]]{0,12}") {
            matches(&pattern, &path);
        }

        #[test]
        fn a_path_matches_itself(path in "[a-z]{1,4}(/[a-z]{1,4}){0,3}") {
            prop_assert!(matches(&path, &path));
        }
    }
}
