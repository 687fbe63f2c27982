//! One line of the rules: a path or a name in which `*` stands for anything but a slash.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Where a pattern is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// A path from the home directory.
    Home,
    /// A path from the project.
    Project,
    /// A path from the root of the machine.
    Machine,
    /// A name, in the home directory and in the project.
    Name,
    /// The name of a key file, or a path of software that is no key, outside the project.
    KeyName,
    /// A name in a project whose network is open.
    EnvName,
}

/// A path or a name in which `*` stands for anything but a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    pub(super) reach: Reach,
    pub(super) parts: Vec<String>,
}

/// The text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a mask; write `~/path`, `/path`, `path/in/project` or a file name")]
pub struct NotAPattern(pub String);

impl Pattern {
    pub(super) fn new(reach: Reach, text: &str) -> Self {
        Self {
            reach,
            parts: text.split('/').map(str::to_owned).collect(),
        }
    }

    /// Reads a pattern as people write it in settings.
    pub fn parse(text: &str) -> Result<Self, NotAPattern> {
        let wrong = || NotAPattern(text.chars().take(200).collect());
        let (reach, rest) = if let Some(rest) = text.strip_prefix("~/") {
            (Reach::Home, rest)
        } else if let Some(rest) = text.strip_prefix("**/") {
            (Reach::Name, rest)
        } else if let Some(rest) = text.strip_prefix('/') {
            (Reach::Machine, rest)
        } else if let Some(rest) = text.strip_prefix("./") {
            (Reach::Project, rest)
        } else if text.trim_end_matches('/').contains('/') {
            (Reach::Project, text)
        } else {
            (Reach::Name, text)
        };
        let pattern = Self::new(reach, rest.trim_end_matches('/'));
        let fine = |part: &String| {
            !matches!(part.as_str(), "" | "." | ".." | "~" | "**") && !part.contains('\0')
        };
        let one_name = reach != Reach::Name || pattern.parts.len() == 1;
        // A lone star would hide everything there is.
        let whole = pattern.parts == ["*"] && reach != Reach::Project;
        if pattern.parts.iter().all(fine) && one_name && !whole {
            Ok(pattern)
        } else {
            Err(wrong())
        }
    }

    /// The pattern as a path, stars and all.
    pub(super) fn as_path(&self) -> PathBuf {
        self.parts.iter().collect()
    }

    /// Whether the pattern names this path or something above it.
    pub(super) fn covers(&self, path: &Path) -> bool {
        let parts = parts_of(path);
        match self.reach {
            Reach::Name | Reach::EnvName => self.names_one_of(&parts),
            Reach::KeyName if self.parts.len() == 1 && !self.is_directory() => {
                self.names_one_of(&parts)
            }
            Reach::KeyName | Reach::Home | Reach::Project | Reach::Machine => {
                self.parts.len() <= parts.len() && self.fits(&parts)
            }
        }
    }

    /// Software is listed by its directories, keys by what they are called.
    fn is_directory(&self) -> bool {
        self.parts
            .iter()
            .any(|part| !part.starts_with("*.") && !part.starts_with("id_"))
    }

    fn names_one_of(&self, parts: &[&OsStr]) -> bool {
        let [name] = self.parts.as_slice() else {
            return false;
        };
        parts.iter().any(|part| matches(name, part.as_bytes()))
    }

    /// Whether the pattern names something below this path.
    pub(super) fn lies_below(&self, path: &Path) -> bool {
        let parts = parts_of(path);
        match self.reach {
            // A name may occur below any directory; hiding the directory hides it, too.
            Reach::Name | Reach::EnvName | Reach::KeyName => false,
            Reach::Home | Reach::Project | Reach::Machine => {
                parts.len() < self.parts.len() && self.fits(&parts)
            }
        }
    }

    /// Whether as many parts as both have agree.
    fn fits(&self, parts: &[&OsStr]) -> bool {
        self.parts
            .iter()
            .zip(parts)
            .all(|(pattern, part)| matches(pattern, part.as_bytes()))
    }
}

/// The names that make up a relative path.
fn parts_of(path: &Path) -> Vec<&OsStr> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part),
            Component::Prefix(_)
            | Component::RootDir
            | Component::CurDir
            | Component::ParentDir => None,
        })
        .collect()
}

/// Whether a name fits a pattern with stars.
pub(super) fn matches(pattern: &str, name: &[u8]) -> bool {
    let pattern = pattern.as_bytes();
    // Nearly every pair differs in its first or last characters.
    let ends = [
        (pattern.first(), name.first()),
        (pattern.last(), name.last()),
    ];
    if ends
        .iter()
        .any(|(pattern, name)| *pattern != Some(&b'*') && pattern != name)
    {
        return false;
    }
    let mut pieces = pattern.split(|&byte| byte == b'*');
    let Some(mut rest) = pieces.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let Some(mut piece) = pieces.next() else {
        return rest.is_empty();
    };
    for next in pieces {
        let found = (0..=rest.len()).find(|&at| rest[at..].starts_with(piece));
        match found {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
        piece = next;
    }
    rest.ends_with(piece)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_star_stands_for_any_part_of_a_name() {
        for (pattern, name, fits) in [
            ("*.key", "a.key", true),
            ("*.key", ".key", true),
            ("*.key", "a.keys", false),
            (".env*", ".env", true),
            (".env*", "x.env", false),
            ("a*b*c", "abbc", true),
            ("a*b*c", "acb", false),
            ("*", "", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(pattern, name.as_bytes()), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn what_could_hide_everything_is_refused() {
        for text in [
            "", "*", "/", "~/", "~/..", "a/../b", "**", "/*", "~/*", "a//b",
        ] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_pattern_without_stars_fits_only_itself(a in "[a-c.]{0,6}", b in "[a-c.]{0,6}") {
            prop_assert_eq!(matches(&a, b.as_bytes()), a == b);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text: String, path: String) {
            if let Ok(pattern) = Pattern::parse(&text) {
                pattern.covers(Path::new(&path));
            }
        }
    }
}
