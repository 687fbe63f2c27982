//! Files of other tools that say how to prepare a copy of the project.
//!
//! They are read for what agar can use and for nothing else; a file that is not as expected is no
//! error of the person who runs agar, so it is left out and named. Their commands and what they
//! would uncover count as the project's word, below its own `agar.toml`.

use super::jsonc;
use agar_core::mask::{MaskRules, Pattern};
use agar_core::settings::{Key, Layer, Origin, Raw, Source};
use agar_core::walls::Network;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Takes what agar can use from the text of a file; nothing if it is not as expected.
type Understand = fn(&str) -> Option<Hint>;

/// The files, from the project, weakest first.
const FILES: [(&str, Understand); 4] = [
    (".worktreeinclude", |text| Some(worktree_include(text))),
    (".devcontainer.json", devcontainer),
    (".devcontainer/devcontainer.json", devcontainer),
    (".cursor/worktrees.json", cursor),
];

/// Files larger than this are not settings.
const BYTES_MAX: u64 = 1 << 20;

/// What one file says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hint {
    setup: Vec<String>,
    unmask: Vec<String>,
    env: Vec<String>,
}

/// What the files say together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hints {
    pub(super) layers: Vec<Layer>,
    /// The files that said something.
    pub(super) used: Vec<PathBuf>,
    /// The files that could not be understood.
    pub(super) unreadable: Vec<PathBuf>,
}

/// Reads the files of other tools in a project.
pub(super) fn read(project: &Path) -> Hints {
    let mut hints = Hints {
        layers: Vec::new(),
        used: Vec::new(),
        unreadable: Vec::new(),
    };
    for (name, understand) in FILES {
        let path = project.join(name);
        let Some(text) = content(&path) else {
            continue;
        };
        match understand(&text) {
            Some(hint) if hint == Hint::default() => {}
            Some(hint) => {
                hints.layers.push(layer(hint, &path));
                hints.used.push(path);
            }
            None => hints.unreadable.push(path),
        }
    }
    hints
}

/// The text of a plain file of reasonable size. A link may lead out of the project: it is not read.
fn content(path: &Path) -> Option<String> {
    let about = path.symlink_metadata().ok()?;
    if !about.is_file() || about.len() > BYTES_MAX {
        return None;
    }
    fs_err::read_to_string(path).ok()
}

fn layer(hint: Hint, path: &Path) -> Layer {
    let mut layer = Layer::new(Source::Project);
    for (key, names) in [
        (Key::Setup, hint.setup),
        (Key::Unmask, hint.unmask),
        (Key::Env, hint.env),
    ] {
        let origin = Origin::Hint {
            path: path.to_owned(),
        };
        if !names.is_empty() {
            // What does not fit is not ours to complain about.
            drop(layer.set(key, &Raw::List(names), origin));
        }
    }
    layer
}

/// Ignored files that a new worktree should have. All of them are in a sandbox anyway; what the
/// file adds is that secrets of the project are meant to be there.
fn worktree_include(text: &str) -> Hint {
    let rules = MaskRules::default();
    let lines = text.lines().map(str::trim);
    let unmask = lines
        .filter(|line| !line.is_empty() && !line.starts_with(['#', '!']))
        .map(|line| line.trim_start_matches('/'))
        .filter(|line| rules.applies_in_project(Path::new(line), &Network::Host))
        .filter(|line| Pattern::parse(line).is_ok())
        .map(str::to_owned);
    Hint {
        unmask: unmask.collect(),
        ..Hint::default()
    }
}

fn devcontainer(text: &str) -> Option<Hint> {
    let file: Value = serde_json::from_str(&jsonc::to_json(text)).ok()?;
    let file = file.as_object()?;
    let mut hint = Hint::default();
    for name in [
        "onCreateCommand",
        "updateContentCommand",
        "postCreateCommand",
    ] {
        hint.setup
            .extend(file.get(name).map(commands).unwrap_or_default());
    }
    for name in ["containerEnv", "remoteEnv"] {
        let variables = file.get(name).and_then(Value::as_object);
        let variables = variables.into_iter().flatten();
        let passed = variables
            .filter(|(name, value)| value.as_str() == Some(&format!("${{localEnv:{name}}}")));
        hint.env.extend(passed.map(|(name, _)| name.clone()));
    }
    Some(hint)
}

fn cursor(text: &str) -> Option<Hint> {
    let file: Value = serde_json::from_str(&jsonc::to_json(text)).ok()?;
    let file = file.as_object()?;
    let unix = file.get("setup-worktree-unix");
    let setup = unix.or_else(|| file.get("setup-worktree"));
    Some(Hint {
        setup: setup.map(list).unwrap_or_default(),
        ..Hint::default()
    })
}

/// A list of shell commands, or a single one.
fn list(value: &Value) -> Vec<String> {
    match value {
        Value::String(command) => vec![command.clone()],
        Value::Array(items) => items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// One command, or several with names.
fn commands(value: &Value) -> Vec<String> {
    match value.as_object() {
        Some(named) => named.values().filter_map(one_command).collect(),
        None => one_command(value).into_iter().collect(),
    }
}

/// A text is a shell command; an array is a program with its arguments.
fn one_command(value: &Value) -> Option<String> {
    match value {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map(|words| {
                words
                    .iter()
                    .map(|word| quoted(word))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// A word that the shell reads as one word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_devcontainer_gives_its_commands_and_the_variables_it_passes() {
        let text = r#"{
            // comment
            "postCreateCommand": ["npm", "run", "it's"],
            "onCreateCommand": { "a": "make deps", "b": ["pip", "install", "."] },
            "remoteEnv": { "NPM_TOKEN": "${localEnv:NPM_TOKEN}", "X": "y" },
        }"#;
        let hint = devcontainer(text).unwrap();
        assert_eq!(
            hint.setup,
            ["make deps", "pip install .", "npm run 'it'\\''s'"]
        );
        assert_eq!(hint.env, ["NPM_TOKEN"]);
    }

    #[test]
    fn cursor_gives_its_commands() {
        let text = r#"{ "setup-worktree": ["npm ci", "cp $ROOT_WORKTREE_PATH/.env .env"] }"#;
        let setup = cursor(text).unwrap().setup;
        assert_eq!(setup, ["npm ci", "cp $ROOT_WORKTREE_PATH/.env .env"]);
        let text = r#"{ "setup-worktree": ["x"], "setup-worktree-unix": "./setup.sh" }"#;
        assert_eq!(cursor(text).unwrap().setup, ["./setup.sh"]);
    }

    #[test]
    fn worktreeinclude_shows_only_what_would_be_hidden() {
        let text = "# comment\n.env\n/.env.local\nnode_modules/\n!.envrc\nconfig/.env.test\n";
        let unmask = worktree_include(text).unmask;
        assert_eq!(unmask, [".env", ".env.local", "config/.env.test"]);
    }

    #[test]
    fn a_file_that_is_not_as_expected_is_named_and_left_out() {
        let project = tempfile::tempdir().unwrap();
        fs_err::create_dir(project.path().join(".cursor")).unwrap();
        let cursor = project.path().join(".cursor/worktrees.json");
        fs_err::write(&cursor, "[").unwrap();
        let hints = read(project.path());
        assert_eq!(hints.unreadable, [cursor]);
        assert_eq!(hints.layers, []);
    }

    #[test]
    fn a_link_out_of_the_project_is_not_followed() {
        let project = tempfile::tempdir().unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        fs_err::write(outside.path(), ".env\n").unwrap();
        let link = project.path().join(".worktreeinclude");
        std::os::unix::fs::symlink(outside.path(), link).unwrap();
        assert_eq!(read(project.path()).layers, []);
    }
}
