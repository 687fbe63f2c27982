//! The directories in `scenarios/`: a promotion told as four trees.
//!
//! `base`, `mine` and `theirs` are given; `expected.txt` says what becomes of each path, and
//! `expected` is the person's tree afterwards. Without `expected` there is a conflict, and the tree
//! must stay as it is. What a checkout cannot hold, modes and links, is in `options.toml`.

use crate::play::{Stage, label};
use agar_sandbox::merge::{Choice, Pattern, Selection};
use agar_sandbox::promote::{Outcome, Proposal};
use agar_testkit::Tree;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    choice: Option<Choice>,
    only: Vec<String>,
    rules: BTreeMap<String, Choice>,
    hunks: BTreeMap<PathBuf, Vec<usize>>,
    modes: BTreeMap<String, u32>,
    links: BTreeMap<String, String>,
}

impl Options {
    fn selection(&self) -> Selection {
        let rules = self.rules.iter();
        Selection {
            only: self.only.iter().map(|text| Pattern::new(text)).collect(),
            otherwise: self.choice,
            rules: rules
                .map(|(text, choice)| (Pattern::new(text), *choice))
                .collect(),
            hunks: self.hunks.clone(),
        }
    }
}

fn scenarios() -> PathBuf {
    let copied = std::env::var_os(agar_testkit::world::SOURCE_VARIABLE).map(PathBuf::from);
    let source = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    copied.unwrap_or_else(source).join("scenarios")
}

/// Copies a tree with the same modes everywhere: a checkout depends on the person's umask.
fn copy(from: &Path, to: &Path) {
    fs_err::create_dir_all(to).unwrap();
    fs_err::set_permissions(to, std::fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs_err::read_dir(from).into_iter().flatten() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs_err::write(&to, fs_err::read(entry.path()).unwrap()).unwrap();
            fs_err::set_permissions(&to, std::fs::Permissions::from_mode(0o644)).unwrap();
        }
    }
}

fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::Clean => "clean".to_owned(),
        Outcome::Merged => "merged".to_owned(),
        Outcome::AlreadyThere => "already there".to_owned(),
        Outcome::Chosen(Choice::Mine) => "chosen mine".to_owned(),
        Outcome::Chosen(Choice::Theirs) => "chosen theirs".to_owned(),
        Outcome::Chosen(Choice::Markers) => "chosen markers".to_owned(),
        Outcome::Conflict(_) => "conflict".to_owned(),
        Outcome::LeftOut(_) => "left out".to_owned(),
    }
}

fn told(proposal: &Proposal) -> String {
    let mut text = String::new();
    for file in proposal.files() {
        let path = file.path().display();
        let _ = write!(text, "{} {path}", outcome(file.outcome));
        if let Some(explanation) = file.explanation() {
            let _ = write!(text, ": {explanation}");
        }
        text.push('\n');
    }
    text
}

fn play(directory: &Path) {
    let name = directory
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let options: Options = match fs_err::read_to_string(directory.join("options.toml")) {
        Ok(text) => toml::from_str(&text).unwrap(),
        Err(_) => Options::default(),
    };
    let stage = Stage::fast();
    for side in ["base", "mine", "theirs", "expected"] {
        copy(&directory.join(side), &stage.path(side));
    }
    for (path, target) in &options.links {
        symlink(target, stage.path(path)).unwrap();
    }
    for (path, mode) in &options.modes {
        let permissions = std::fs::Permissions::from_mode(*mode);
        fs_err::set_permissions(stage.path(path), permissions).unwrap();
    }
    let before = Tree::read(&stage.mine_dir());
    let proposal =
        Proposal::prepare(&stage.mine_dir(), stage.items(), &options.selection()).unwrap();
    let expected = fs_err::read_to_string(directory.join("expected.txt")).unwrap();
    assert_eq!(told(&proposal), expected, "{name}");
    before.assert_unchanged(&stage.mine_dir(), &format!("{name}: a plan"));
    let promotions = stage.promotions();
    let applied = promotions.apply(&proposal, &label(1));
    if !directory.join("expected").exists() {
        assert!(applied.is_err(), "{name}: a conflict was applied");
        before.assert_unchanged(&stage.mine_dir(), &format!("{name}: a refused apply"));
        return;
    }
    let applied = applied.unwrap();
    let wanted = Tree::read(&stage.path("expected")).without_times();
    let got = Tree::read(&stage.mine_dir()).without_times();
    assert_eq!(wanted.difference(&got), "", "{name}");
    if let Some(id) = applied.promotion {
        let everything = Selection::default();
        let back = promotions.undo(id, &stage.mine_dir(), &everything).unwrap();
        promotions.apply(&back, &label(2)).unwrap();
        let got = Tree::read(&stage.mine_dir()).without_times();
        assert_eq!(before.without_times().difference(&got), "", "{name}: undo");
    }
}

#[test]
fn every_scenario_ends_as_it_says() {
    let mut directories: Vec<PathBuf> = fs_err::read_dir(scenarios())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    directories.sort();
    assert!(directories.len() >= 40, "scenarios are missing");
    for directory in directories {
        play(&directory);
    }
}
