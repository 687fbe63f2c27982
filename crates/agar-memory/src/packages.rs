//! Which packages moved, read from manifests, lock files and commands.

use crate::experiment::PackageMove;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The packages whose version differs between two texts of one file. Knows `Cargo.lock`,
/// `Cargo.toml`, `package.json`, `package-lock.json`, `requirements*`, `go.mod`, `poetry.lock`
/// and `uv.lock`; of other files, none.
pub fn moved(path: &str, before: &str, after: &str) -> Vec<PackageMove> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (before, after) = (versions(name, before), versions(name, after));
    let mut moves = Vec::new();
    for package in before.keys().chain(after.keys()) {
        let (from, to) = (before.get(package), after.get(package));
        if from != to && moves.iter().all(|it: &PackageMove| it.name != *package) {
            moves.push(PackageMove {
                name: package.clone(),
                from: from.cloned(),
                to: to.cloned(),
            });
        }
    }
    moves.sort();
    moves
}

fn versions(name: &str, text: &str) -> BTreeMap<String, String> {
    match name {
        "Cargo.lock" | "poetry.lock" | "uv.lock" => locked_toml(text),
        "Cargo.toml" | "pyproject.toml" => plain_toml(text),
        "package.json" | "package-lock.json" => json(text),
        "go.mod" => go(text),
        _ if name.starts_with("requirements") => requirements(text),
        _ => BTreeMap::new(),
    }
}

/// `[[package]]` with `name = "…"` and `version = "…"`.
fn locked_toml(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut name: Option<String> = None;
    for line in text.lines() {
        if line.starts_with("[[package]]") {
            name = None;
        } else if let Some(value) = quoted_value(line, "name") {
            name = Some(value);
        } else if let (Some(value), Some(package)) = (quoted_value(line, "version"), &name) {
            found.insert(package.clone(), value);
        }
    }
    found
}

/// `serde = "1.0"` and `serde = { version = "1.0" }` in a table of dependencies.
fn plain_toml(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with('[') {
            inside = line.contains("dependencies");
        } else if let Some((name, value)) = line.split_once('=').filter(|_| inside) {
            let version = match value.split_once("version") {
                Some((_, rest)) => first_quoted(rest),
                None => first_quoted(value).filter(|_| !value.contains('{')),
            };
            if let Some(version) = version {
                found.insert(name.trim().trim_matches('"').to_owned(), version);
            }
        }
    }
    found
}

fn json(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let Ok(Value::Object(root)) = serde_json::from_str(text) else {
        return found;
    };
    for key in [
        "dependencies",
        "devDependencies",
        "peerDependencies",
        "packages",
    ] {
        let Some(Value::Object(table)) = root.get(key) else {
            continue;
        };
        for (name, value) in table {
            let name = name.rsplit("node_modules/").next().unwrap_or(name);
            let version = match value {
                Value::String(version) => Some(version.as_str()),
                Value::Object(entry) => entry.get("version").and_then(Value::as_str),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
            };
            if let Some(version) = version.filter(|_| !name.is_empty()) {
                found
                    .entry(name.to_owned())
                    .or_insert_with(|| version.to_owned());
            }
        }
    }
    found
}

fn go(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .map(|line| line.trim().trim_start_matches("require "))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (name, version) = (words.next()?, words.next()?);
            let is_module = name.contains('/') || name.contains('.');
            (is_module && version.starts_with('v')).then(|| (name.to_owned(), version.to_owned()))
        })
        .collect()
}

fn requirements(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .map(|line| line.split(['#', ';']).next().unwrap_or("").trim())
        .filter_map(|line| {
            let at = line.find(['=', '<', '>', '~', '!'])?;
            let name = line[..at].split('[').next().unwrap_or("").trim();
            let version = line[at..].trim_start_matches(['=', '<', '>', '~', '!', ' ']);
            (!name.is_empty()).then(|| (name.to_lowercase(), version.to_owned()))
        })
        .collect()
}

fn quoted_value(line: &str, key: &str) -> Option<String> {
    let rest = line.strip_prefix(key)?.trim_start().strip_prefix('=')?;
    first_quoted(rest)
}

fn first_quoted(text: &str) -> Option<String> {
    let mut parts = text.split(['"', '\'']);
    parts.next()?;
    parts.next().map(str::to_owned)
}

/// The packages that a command names with a version: `npm i axum@3`, `pip install x==2`,
/// `cargo update -p x --precise 1.2`.
pub(crate) fn named(command: &[String]) -> Vec<PackageMove> {
    let mut moves = Vec::new();
    for simple in crate::command::simple_commands(command) {
        let mut words = simple.iter().map(String::as_str);
        let program = words.next().unwrap_or("");
        let program = program.rsplit('/').next().unwrap_or(program);
        let known = [
            "npm", "pnpm", "yarn", "bun", "cargo", "pip", "pip3", "go", "poetry", "uv",
        ];
        if !known.contains(&program) {
            continue;
        }
        let rest: Vec<&str> = words.collect();
        for word in &rest {
            let split = match word.strip_prefix('@') {
                Some(scoped) => scoped
                    .split_once('@')
                    .map(|(name, version)| (format!("@{name}"), version)),
                None => word
                    .split_once("==")
                    .or_else(|| word.split_once('@'))
                    .map(|(name, version)| (name.to_owned(), version)),
            };
            if let Some((name, version)) = split
                && !name.is_empty()
                && !name.starts_with('-')
            {
                moves.push(to(&name, version));
            }
        }
        if let Some(name) = after(&rest, &["-p", "--package"])
            && let Some(version) = after(&rest, &["--precise"])
        {
            moves.push(to(name, version));
        }
    }
    moves
}

fn to(name: &str, version: &str) -> PackageMove {
    PackageMove {
        name: name.to_owned(),
        from: None,
        to: Some(version.to_owned()),
    }
}

fn after<'a>(words: &[&'a str], flags: &[&str]) -> Option<&'a str> {
    let at = words.iter().position(|word| flags.contains(word))?;
    words.get(at + 1).copied()
}

/// Which of two versions is later: number by number, a release after its pre-releases.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let numbers = |version: &str| -> Vec<u64> {
        version
            .trim_start_matches(|c: char| !c.is_ascii_digit())
            .split(['-', '+', ' '])
            .next()
            .unwrap_or("")
            .split('.')
            .map(|part| {
                let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
                digits.parse().unwrap_or(0)
            })
            .collect()
    };
    let (mut left, mut right) = (numbers(a), numbers(b));
    let length = left.len().max(right.len());
    left.resize(length, 0);
    right.resize(length, 0);
    left.cmp(&right)
        .then_with(|| b.contains('-').cmp(&a.contains('-')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(moves: &[PackageMove]) -> Vec<String> {
        moves
            .iter()
            .map(|it| {
                let or = |version: &Option<String>| version.clone().unwrap_or("-".to_owned());
                format!("{} {}→{}", it.name, or(&it.from), or(&it.to))
            })
            .collect()
    }

    #[test]
    fn each_kind_of_manifest_says_what_moved() {
        let lock =
            |version: &str| format!("[[package]]\nname = \"axum\"\nversion = \"{version}\"\n");
        assert_eq!(
            names(&moved("Cargo.lock", &lock("0.8.1"), &lock("0.9.0"))),
            ["axum 0.8.1→0.9.0"]
        );
        assert_eq!(
            names(&moved(
                "Cargo.toml",
                "[dependencies]\nserde = \"1\"\n",
                "[dependencies]\nserde = { version = \"2\" }\n"
            )),
            ["serde 1→2"]
        );
        assert_eq!(
            names(&moved(
                "web/package.json",
                r#"{"dependencies":{"react":"17"}}"#,
                r#"{"dependencies":{"react":"18","vite":"5"}}"#
            )),
            ["react 17→18", "vite -→5"]
        );
        assert_eq!(
            names(&moved(
                "requirements.txt",
                "Django==3.2\n",
                "Django>=4.0 # new\n"
            )),
            ["django 3.2→4.0"]
        );
        assert_eq!(
            names(&moved(
                "go.mod",
                "require a.b/c v1.0.0",
                "require a.b/c v1.1.0"
            )),
            ["a.b/c v1.0.0→v1.1.0"]
        );
        assert!(moved("main.c", "a", "b").is_empty());
    }

    #[test]
    fn commands_name_versions() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            names(&named(&words("npm i react@18 @types/node@20"))),
            ["react -→18", "@types/node -→20"]
        );
        assert_eq!(names(&named(&words("pip install x==2.1"))), ["x -→2.1"]);
        assert_eq!(
            names(&named(&words("cargo update -p serde --precise 1.0.9"))),
            ["serde -→1.0.9"]
        );
        assert!(named(&words("git clone git@host")).is_empty());
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(compare("0.9.30", "0.9.4"), Ordering::Greater);
        assert_eq!(compare("v1.2", "1.2.0"), Ordering::Equal);
        assert_eq!(compare("2.0.0-rc1", "2.0.0"), Ordering::Less);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(before: String, after: String) {
            for name in ["Cargo.lock", "Cargo.toml", "package.json", "requirements.txt", "go.mod"] {
                drop(moved(name, &before, &after));
            }
            drop(named(&[before.clone(), after.clone()]));
            compare(&before, &after);
        }
    }
}
