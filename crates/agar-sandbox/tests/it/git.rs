//! Commits hold exactly what was promoted; branches touch nothing else; commits made inside cross as
//! objects and refs only.

mod branching;
mod carrying;

use crate::play::{Stage, label};
use agar_sandbox::git::{Checkout, Committed, GitError, Hooks, Omitted, commit};
use agar_sandbox::merge::Selection;
use agar_sandbox::project::{Git, GitKind};
use agar_sandbox::promote::Proposal;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn environment() -> Vec<(OsString, OsString)> {
    let mut list: Vec<(OsString, OsString)> = vec![
        ("HOME".into(), "/nonexistent".into()),
        ("GIT_DIR".into(), "/nonexistent".into()),
        ("GIT_INDEX_FILE".into(), "/nonexistent".into()),
    ];
    for role in ["AUTHOR", "COMMITTER"] {
        list.push((format!("GIT_{role}_NAME").into(), "Ann".into()));
        list.push((format!("GIT_{role}_EMAIL").into(), "ann@example.com".into()));
    }
    list.extend(std::env::var_os("PATH").map(|path| ("PATH".into(), path)));
    list
}

/// Runs git as the person would.
fn git(at: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(at)
        .env_clear()
        .envs(
            environment()
                .into_iter()
                .filter(|(name, _)| name != "GIT_DIR" && name != "GIT_INDEX_FILE"),
        )
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args([
            "-c",
            "init.defaultBranch=main",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

fn repository(top: &Path) -> Git {
    let absolute =
        |what: &str| PathBuf::from(git(top, &["rev-parse", "--path-format=absolute", what]));
    Git {
        top: top.to_path_buf(),
        dir: absolute("--absolute-git-dir"),
        common_dir: absolute("--git-common-dir"),
        kind: GitKind::Plain,
    }
}

/// A project with one commit of the base, and the sandbox's copy of it without `.git`.
fn project() -> Stage {
    let stage = Stage::new();
    stage
        .base("a", "1\n2\n3\n4\n5\n")
        .base("b", "b\n")
        .base("gone", "g\n")
        .base(".gitignore", "*.log\n");
    stage.start();
    let root = stage.mine_dir();
    git(&root, &["init", "-q"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "-qm", "base"]);
    stage
}

fn promote_and_commit(stage: &Stage, hooks: Hooks) -> Result<Committed, GitError> {
    let root = stage.mine_dir();
    let proposal = Proposal::prepare(&root, stage.items(), &Selection::default()).unwrap();
    let promotions = stage.promotions();
    promotions.apply(&proposal, &label(1)).unwrap();
    let repository = repository(&root);
    let environment = environment();
    let checkout = Checkout {
        git: &repository,
        root: &root,
        environment: &environment,
    };
    let items = promotions.changes(label(1).id).unwrap();
    commit(&checkout, &items, "agar: try it\n\nbody", hooks)
}

#[test]
fn a_commit_holds_exactly_what_was_promoted() {
    let stage = project();
    let root = stage.mine_dir();
    stage
        .theirs("a", "one\n2\n3\n4\n5\n")
        .theirs("new file", "n\n")
        .delete_theirs("gone");
    stage
        .theirs("build.log", "noise\n")
        .theirs("run", "#!\n")
        .chmod_theirs("run", 0o755);
    stage.link_theirs("link", "a");
    // The person's own work: edited, staged, new.
    stage
        .mine("b", "mine, unstaged\n")
        .mine("staged", "s\n")
        .mine("untracked", "u\n");
    git(&root, &["add", "staged"]);
    let made = promote_and_commit(&stage, Hooks::Off).unwrap();
    assert_eq!(made.branch.as_deref(), Some("refs/heads/main"));
    assert_eq!(made.id, git(&root, &["rev-parse", "HEAD"]));
    assert_eq!(
        made.left_out,
        [(PathBuf::from("build.log"), Omitted::Ignored)]
    );
    assert_eq!(
        git(&root, &["show", "--format=%s|%an", "--name-status", "HEAD"]),
        "agar: try it|Ann\n\nM\ta\nD\tgone\nA\tlink\nA\tnew file\nA\trun"
    );
    assert_eq!(
        git(&root, &["ls-tree", "HEAD", "run", "link"])
            .matches("100755")
            .count(),
        1
    );
    assert_eq!(
        git(&root, &["status", "--porcelain"]),
        " M b\nA  staged\n?? untracked"
    );
    assert_eq!(git(&root, &["fsck", "--strict"]), "");
}

#[test]
fn the_persons_own_edits_of_the_same_file_stay_uncommitted() {
    let stage = project();
    let root = stage.mine_dir();
    stage.theirs("a", "one\n2\n3\n4\n5\n");
    // Staged in the middle, edited at the end.
    stage.mine("a", "1\n2\nthree\n4\n5\n");
    git(&root, &["add", "a"]);
    stage.mine("a", "1\n2\nthree\n4\nfive\n");
    promote_and_commit(&stage, Hooks::Off).unwrap();
    assert_eq!(git(&root, &["show", "HEAD:a"]), "one\n2\n3\n4\n5");
    assert_eq!(git(&root, &["show", ":a"]), "one\n2\nthree\n4\n5");
    assert_eq!(stage.read("a"), "one\n2\nthree\n4\nfive\n");
}

#[test]
fn a_change_that_meets_uncommitted_edits_is_left_to_the_person() {
    let stage = project();
    let root = stage.mine_dir();
    // The sandbox began from a dirty tree and built on the person's own line.
    stage
        .base("a", "mine\n2\n3\n4\n5\n")
        .mine("a", "mine\n2\n3\n4\n5\n");
    stage
        .theirs("a", "mine and theirs\n2\n3\n4\n5\n")
        .theirs("b", "B\n");
    let made = promote_and_commit(&stage, Hooks::Off).unwrap();
    assert_eq!(made.left_out, [(PathBuf::from("a"), Omitted::MeetsYours)]);
    assert_eq!(git(&root, &["show", "HEAD:a"]), "1\n2\n3\n4\n5");
    assert_eq!(stage.read("a"), "mine and theirs\n2\n3\n4\n5\n");
    assert_eq!(git(&root, &["status", "--porcelain"]), " M a");
}

#[test]
fn hooks_run_only_when_asked_for() {
    for (hooks, ran) in [(Hooks::Off, false), (Hooks::On, true)] {
        let stage = project();
        let root = stage.mine_dir();
        for name in [
            "pre-commit",
            "commit-msg",
            "post-commit",
            "reference-transaction",
            "post-index-change",
        ] {
            let hook = root.join(".git/hooks").join(name);
            fs_err::create_dir_all(hook.parent().unwrap()).unwrap();
            fs_err::write(
                &hook,
                format!("#!/bin/sh\ntouch '{}'\n", stage.path("ran").display()),
            )
            .unwrap();
            fs_err::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        stage.theirs("a", "changed\n");
        promote_and_commit(&stage, hooks).unwrap();
        assert_eq!(stage.path("ran").exists(), ran);
    }
}

#[test]
fn the_first_commit_of_a_repository_can_be_made() {
    let stage = Stage::new();
    stage.start();
    git(&stage.mine_dir(), &["init", "-q"]);
    stage.theirs("a", "a\n");
    let made = promote_and_commit(&stage, Hooks::Off).unwrap();
    assert_eq!(git(&stage.mine_dir(), &["log", "--format=%H"]), made.id);
    assert_eq!(git(&stage.mine_dir(), &["status", "--porcelain"]), "");
}

#[test]
fn nothing_is_committed_in_the_middle_of_a_merge() {
    let stage = project();
    fs_err::write(stage.mine_dir().join(".git/MERGE_HEAD"), "0\n").unwrap();
    stage.theirs("a", "changed\n");
    let refused = promote_and_commit(&stage, Hooks::Off);
    assert!(matches!(
        refused,
        Err(GitError::InProgress { operation: "merge" })
    ));
}

#[test]
fn only_ignored_files_make_no_commit() {
    let stage = project();
    stage.theirs("x.log", "noise\n");
    assert!(matches!(
        promote_and_commit(&stage, Hooks::Off),
        Err(GitError::Nothing)
    ));
}

#[test]
fn line_endings_are_committed_as_the_attributes_say() {
    let stage = project();
    let root = stage.mine_dir();
    fs_err::write(root.join(".gitattributes"), "*.txt text eol=crlf\n").unwrap();
    stage.mine("t.txt", "one\r\ntwo\r\n");
    git(&root, &["add", "."]);
    git(&root, &["commit", "-qm", "text"]);
    for side in ["base", "theirs"] {
        fs_err::write(stage.path(side).join("t.txt"), "one\r\ntwo\r\n").unwrap();
    }
    stage.theirs("t.txt", "one\r\nTWO\r\n");
    promote_and_commit(&stage, Hooks::Off).unwrap();
    assert_eq!(git(&root, &["cat-file", "blob", "HEAD:t.txt"]), "one\nTWO");
    assert_eq!(git(&root, &["status", "--porcelain"]), "");
}

#[test]
fn a_project_below_the_top_level_commits_its_own_paths() {
    let stage = Stage::new();
    stage.base("a", "a\n").start();
    let top = stage.path("top");
    fs_err::create_dir(&top).unwrap();
    git(&top, &["init", "-q"]);
    fs_err::rename(stage.mine_dir(), top.join("pkg")).unwrap();
    git(&top, &["add", "."]);
    git(&top, &["commit", "-qm", "base"]);
    stage.theirs("a", "A\n");
    let root = top.join("pkg");
    let proposal = Proposal::prepare(&root, stage.items(), &Selection::default()).unwrap();
    stage.promotions().apply(&proposal, &label(1)).unwrap();
    let (repository, environment) = (repository(&top), environment());
    let checkout = Checkout {
        git: &repository,
        root: &root,
        environment: &environment,
    };
    let items = stage.promotions().changes(label(1).id).unwrap();
    commit(&checkout, &items, "change", Hooks::Off).unwrap();
    assert_eq!(git(&top, &["show", "HEAD:pkg/a"]), "A");
    assert_eq!(git(&top, &["status", "--porcelain"]), "");
}

#[test]
fn linked_worktrees_commit_on_their_own_branch() {
    let stage = project();
    let main = stage.mine_dir();
    let linked = stage.path("linked");
    git(
        &main,
        &[
            "worktree",
            "add",
            "-q",
            "-b",
            "side",
            linked.to_str().unwrap(),
        ],
    );
    stage.theirs("a", "changed\n");
    let proposal = Proposal::prepare(&linked, stage.items(), &Selection::default()).unwrap();
    stage.promotions().apply(&proposal, &label(1)).unwrap();
    let (repository, environment) = (repository(&linked), environment());
    let checkout = Checkout {
        git: &repository,
        root: &linked,
        environment: &environment,
    };
    let items = stage.promotions().changes(label(1).id).unwrap();
    let made = commit(&checkout, &items, "change", Hooks::Off).unwrap();
    assert_eq!(made.branch.as_deref(), Some("refs/heads/side"));
    assert_eq!(git(&main, &["show", "side:a"]), "changed");
    assert_eq!(git(&linked, &["status", "--porcelain"]), "");
    assert_eq!(git(&main, &["status", "--porcelain"]), "");
}

#[test]
fn a_submodule_is_left_to_its_own_commits() {
    let stage = project();
    let root = stage.mine_dir();
    let other = stage.path("other");
    fs_err::create_dir(&other).unwrap();
    git(&other, &["init", "-q"]);
    fs_err::write(other.join("x"), "x\n").unwrap();
    git(&other, &["add", "."]);
    git(&other, &["commit", "-qm", "x"]);
    git(
        &root,
        &["submodule", "add", "-q", other.to_str().unwrap(), "sub"],
    );
    git(&root, &["commit", "-qm", "sub"]);
    stage
        .base("sub/x", "x\n")
        .theirs("sub/x", "X\n")
        .theirs("a", "A\n");
    let made = promote_and_commit(&stage, Hooks::Off).unwrap();
    assert_eq!(
        made.left_out,
        [(PathBuf::from("sub/x"), Omitted::Submodule)]
    );
    assert_eq!(git(&root, &["show", "HEAD:a"]), "A");
    assert!(git(&root, &["ls-tree", "HEAD", "sub"]).starts_with("160000"));
}
