//! Promotions that go to a branch and leave the work tree alone.

use super::{environment, git, project, repository};
use crate::play::label;
use agar_sandbox::git::{Checkout, GitError, Hooks, branch, commit};
use agar_sandbox::merge::{Choice, Pattern, Selection};
use agar_sandbox::promote::Proposal;
use std::path::{Path, PathBuf};

#[test]
fn a_branch_is_made_without_touching_work_tree_or_index() {
    let stage = project();
    let root = stage.mine_dir();
    stage
        .theirs("a", "one\n2\n3\n4\n5\n")
        .delete_theirs("gone")
        .theirs("new", "n\n");
    stage.mine("b", "mine\n");
    git(&root, &["add", "b"]);
    let before = agar_testkit::Tree::read_without(&root, &[Path::new(".git")]);
    let index = fs_err::read(root.join(".git/index")).unwrap();
    let (repository, environment) = (repository(&root), environment());
    let checkout = Checkout {
        git: &repository,
        root: &root,
        environment: &environment,
    };
    let everything = Selection::default();
    let made = branch(&checkout, "try/it", &stage.items(), "message", &everything).unwrap();
    assert_eq!(made.branch.as_deref(), Some("refs/heads/try/it"));
    assert_eq!(
        git(&root, &["diff", "--name-status", "HEAD", "try/it"]),
        "M\ta\nD\tgone\nA\tnew"
    );
    assert_eq!(
        git(&root, &["log", "--format=%s", "try/it"]),
        "message\nbase"
    );
    let after = agar_testkit::Tree::read_without(&root, &[Path::new(".git")]);
    assert_eq!(before.difference(&after), "");
    assert_eq!(index, fs_err::read(root.join(".git/index")).unwrap());
    // Again, on its tip: everything is there already.
    let again = branch(&checkout, "try/it", &stage.items(), "message", &everything);
    assert!(matches!(again, Err(GitError::Nothing)));
    // Some of it, merged onto a tip that moved on.
    stage.theirs("a", "one\n2\n3\n4\nfive\n");
    let some = Selection {
        only: vec![Pattern::new("a")],
        hunks: [(PathBuf::from("a"), vec![2])].into(),
        ..Selection::default()
    };
    branch(&checkout, "other", &stage.items(), "half", &some).unwrap();
    assert_eq!(git(&root, &["show", "other:a"]), "1\n2\n3\n4\nfive");
}

#[test]
fn a_branch_that_cannot_be_made_says_why() {
    let stage = project();
    let root = stage.mine_dir();
    stage.theirs("a", "theirs\n2\n3\n4\n5\n");
    let (repository, environment) = (repository(&root), environment());
    let checkout = Checkout {
        git: &repository,
        root: &root,
        environment: &environment,
    };
    let put = |name: &str, selection: &Selection| {
        branch(&checkout, name, &stage.items(), "message", selection)
    };
    let everything = Selection::default();
    assert!(matches!(
        put("main", &everything),
        Err(GitError::CheckedOut { .. })
    ));
    for name in ["-f", "a..b", "x y", "", "@{-1}"] {
        assert!(
            matches!(put(name, &everything), Err(GitError::BadName { .. })),
            "{name}"
        );
    }
    git(&root, &["checkout", "-q", "-b", "moved"]);
    stage.mine("a", "committed\n2\n3\n4\n5\n");
    git(&root, &["commit", "-qam", "moved on"]);
    git(&root, &["checkout", "-q", "main"]);
    let refused = put("moved", &everything);
    assert!(matches!(refused, Err(GitError::Conflicts { paths, .. }) if paths == [Path::new("a")]));
    let theirs = Selection {
        otherwise: Some(Choice::Theirs),
        ..Selection::default()
    };
    put("moved", &theirs).unwrap();
    assert_eq!(git(&root, &["show", "moved:a"]), "theirs\n2\n3\n4\n5");
}

#[test]
fn without_a_name_git_is_asked_for_one() {
    let stage = project();
    stage.theirs("a", "changed\n");
    let root = stage.mine_dir();
    git(&root, &["config", "user.useConfigOnly", "true"]);
    let proposal = Proposal::prepare(&root, stage.items(), &Selection::default()).unwrap();
    stage.promotions().apply(&proposal, &label(1)).unwrap();
    let repository = repository(&root);
    let environment: Vec<_> = environment()
        .into_iter()
        .filter(|(name, _)| name == "PATH" || name == "HOME")
        .collect();
    let checkout = Checkout {
        git: &repository,
        root: &root,
        environment: &environment,
    };
    let items = stage.promotions().changes(label(1).id).unwrap();
    let refused = commit(&checkout, &items, "change", Hooks::Off);
    assert!(matches!(refused, Err(GitError::Identity)), "{refused:?}");
}
