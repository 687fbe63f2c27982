//! Commits that were made inside.

use super::{environment, git, project, repository};
use crate::play::Stage;
use agar_sandbox::change::git::{RefChange, Repository};
use agar_sandbox::git::{Checkout, carry};
use std::path::PathBuf;

/// What a sandbox that committed looks like: a copy of the repository with more in it.
fn sandbox_with_commits(stage: &Stage) -> (PathBuf, Repository) {
    let inside = stage.path("inside");
    git(
        &stage.mine_dir(),
        &[
            "clone",
            "-q",
            "--no-hardlinks",
            ".",
            inside.to_str().unwrap(),
        ],
    );
    let before = git(&inside, &["rev-parse", "HEAD"]);
    fs_err::write(inside.join("a"), "committed inside\n").unwrap();
    git(&inside, &["commit", "-qam", "inside"]);
    git(&inside, &["tag", "v1"]);
    git(&inside, &["config", "core.fsmonitor", "/bin/false"]);
    let after = git(&inside, &["rev-parse", "HEAD"]);
    let reference = |name: &str, before: Option<&String>| RefChange {
        name: name.to_owned(),
        before: before.cloned(),
        after: Some(after.clone()),
    };
    let made = Repository {
        directory: stage.mine_dir().join(".git"),
        outside: false,
        deleted: false,
        refs: vec![
            reference("refs/heads/main", Some(&before)),
            reference("refs/tags/v1", None),
            RefChange {
                name: "HEAD".to_owned(),
                before: None,
                after: Some("ref: refs/heads/main".to_owned()),
            },
            RefChange {
                name: "refs/heads/../../evil".to_owned(),
                before: None,
                after: Some(after.clone()),
            },
        ],
        commits: Vec::new(),
        incomplete: None,
        kept_back: Vec::new(),
        objects: vec![inside.join(".git/objects")],
    };
    (inside, made)
}

#[test]
fn commits_made_inside_cross_as_objects_and_refs_only() {
    let stage = project();
    let root = stage.mine_dir();
    let (inside, made) = sandbox_with_commits(&stage);
    let (repository, environment) = (repository(&root), environment());
    let checkout = Checkout {
        git: &repository,
        root: &root,
        environment: &environment,
    };
    let config = fs_err::read(root.join(".git/config")).unwrap();
    let head = git(&root, &["rev-parse", "HEAD"]);
    let carried = carry(&checkout, &made, "calm-fern").unwrap();
    let names: Vec<&str> = carried
        .iter()
        .map(|reference| reference.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "refs/agar/calm-fern/heads/main",
            "refs/agar/calm-fern/tags/v1"
        ]
    );
    fs_err::remove_dir_all(inside).unwrap();
    assert_eq!(
        git(&root, &["show", "refs/agar/calm-fern/heads/main:a"]),
        "committed inside"
    );
    assert_eq!(git(&root, &["rev-parse", "HEAD"]), head);
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
    assert_eq!(config, fs_err::read(root.join(".git/config")).unwrap());
    assert_eq!(git(&root, &["fsck", "--strict"]), "");
    assert_eq!(carry(&checkout, &made, "calm-fern").unwrap(), carried);
}

#[test]
fn a_history_with_holes_is_not_carried() {
    let stage = project();
    let root = stage.mine_dir();
    let (inside, made) = sandbox_with_commits(&stage);
    let tree = git(&inside, &["rev-parse", "HEAD^{tree}"]);
    let object = inside
        .join(".git/objects")
        .join(&tree[..2])
        .join(&tree[2..]);
    fs_err::remove_file(object).unwrap();
    let (repository, environment) = (repository(&root), environment());
    let checkout = Checkout {
        git: &repository,
        root: &root,
        environment: &environment,
    };
    assert!(carry(&checkout, &made, "calm-fern").is_err());
    assert_eq!(git(&root, &["for-each-ref", "refs/agar"]), "");
}
