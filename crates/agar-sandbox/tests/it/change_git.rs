//! What a sandbox does to repositories is told as refs and commits.

use crate::overlay::{self, World};
use agar_sandbox::change::git::Repository;

/// A shell prelude: git with nobody's settings.
const GIT: &str = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=a@b.c
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
git() { command git -c safe.directory='*' -c init.defaultBranch=main -c gc.auto=0 \"$@\" >/dev/null 2>&1; }
";

const BASE: &str = "git init; echo one > f; git add .; git commit -m first
git branch other; git pack-refs --all; git repack -ad";

fn world(work: &str) -> World {
    let world = World::new();
    world.script("base", format!("{GIT}{BASE}").as_bytes());
    world.work(format!("{GIT}{work}").as_bytes());
    world
}

fn only(world: &World) -> Repository {
    let mut repositories = world.changes(true).repositories;
    assert_eq!(repositories.len(), 1);
    repositories.remove(0)
}

fn ref_names(repository: &Repository) -> Vec<&str> {
    let name = |change: &'_ agar_sandbox::change::git::RefChange| change.name.clone();
    let names: Vec<String> = repository.refs.iter().map(name).collect();
    names.leak().iter().map(String::as_str).collect()
}

fn subjects(repository: &Repository) -> Vec<String> {
    let commits = repository.commits.iter();
    commits.map(|commit| commit.subject.clone()).collect()
}

macro_rules! need_overlay {
    () => {
        if !overlay::works() {
            agar_testkit::skip!("overlay", "no overlay in a user namespace here");
        }
    };
}

#[test]
fn commits_and_branches_made_inside_are_listed_and_git_files_are_not() {
    need_overlay!();
    let world = world(
        "echo two >> f; git commit -am second; git checkout -b topic
         echo three >> f; git commit -am third; git branch -D other",
    );
    let set = world.changes(true);
    let paths: Vec<_> = set
        .project
        .iter()
        .map(|change| change.path.clone())
        .collect();
    assert_eq!(paths, [std::path::PathBuf::from("f")]);
    let repository = only(&world);
    assert!(!repository.outside && !repository.deleted);
    assert_eq!(repository.incomplete, None);
    assert_eq!(subjects(&repository), ["third", "second"]);
    assert_eq!(repository.commits[0].author, "Ann");
    assert_eq!(repository.commits[0].time, 1_700_000_000);
    assert_eq!(
        repository.commits[0].parents,
        [repository.commits[1].id.clone()]
    );
    assert_eq!(
        ref_names(&repository),
        [
            "HEAD",
            "refs/heads/main",
            "refs/heads/other",
            "refs/heads/topic"
        ]
    );
    assert_eq!(repository.refs[2].after, None);
    assert_eq!(repository.refs[3].before, None);
    assert_eq!(repository.objects.len(), 2);
}

#[test]
fn looking_is_not_a_change() {
    need_overlay!();
    let world = world("touch f; git status; git update-index --refresh; git diff");
    assert!(world.changes(true).is_empty());
}

#[test]
fn hooks_and_configuration_are_named_as_kept_back() {
    need_overlay!();
    let world = world("git config core.fsmonitor evil; echo evil > .git/hooks/post-checkout");
    let repository = only(&world);
    assert_eq!(repository.refs, []);
    let kept: Vec<_> = repository
        .kept_back
        .iter()
        .map(|path| path.to_str())
        .collect();
    assert_eq!(kept, [Some("config"), Some("hooks/post-checkout")]);
}

#[test]
fn history_rewritten_and_repacked_inside_is_read_through_the_layers() {
    need_overlay!();
    let world = world(
        "echo two > g; git add g; git commit --amend -m 'first, amended'
         git reflog expire --expire=now --all; git gc --prune=now; git pack-refs --all",
    );
    let repository = only(&world);
    assert_eq!(repository.incomplete, None);
    assert_eq!(subjects(&repository), ["first, amended"]);
}

#[test]
fn a_repository_made_inside_is_new_and_one_removed_is_gone() {
    need_overlay!();
    let made = world(
        "rm -rf .git; mkdir -p sub; cd sub; git init; echo x > y; git add y; git commit -m inner; cd ..",
    );
    let repositories = made.changes(true).repositories;
    let told: Vec<_> = repositories
        .iter()
        .map(|repository| (repository.directory.to_str().unwrap(), repository.deleted))
        .collect();
    assert_eq!(
        told,
        [("/project/.git", true), ("/project/sub/.git", false)]
    );
    assert_eq!(subjects(&repositories[1]), ["inner"]);
    assert!(made.changes(true).get("sub/y".as_ref()).is_some());
}

#[test]
fn objects_that_are_not_plain_files_are_not_handed_to_git() {
    need_overlay!();
    let world = world("echo two >> f; git commit -am second; mkfifo .git/objects/pack/trap.idx");
    let repository = only(&world);
    assert_eq!(subjects(&repository), [""; 0]);
    assert_eq!(
        repository.incomplete.as_deref(),
        Some("the sandbox's objects are not plain files")
    );
}

#[test]
fn a_linked_worktree_made_inside_has_its_head_told() {
    need_overlay!();
    let world = world("git worktree add ../wt -b side; true");
    let repository = only(&world);
    assert_eq!(
        ref_names(&repository),
        ["refs/heads/side", "worktrees/wt/HEAD"]
    );
}

#[test]
fn a_repository_of_the_longer_hash_and_a_shallow_one_are_read() {
    need_overlay!();
    let wide = World::new();
    let base = "git init --object-format=sha256; echo one > f; git add f; git commit -m first";
    wide.script("base", format!("{GIT}{base}").as_bytes());
    wide.work(format!("{GIT}echo two >> f; git commit -am second").as_bytes());
    let repository = only(&wide);
    assert_eq!(repository.commits[0].id.len(), 64);
    assert_eq!(subjects(&repository), ["second"]);

    let shallow = World::new();
    let base =
        "git init ../source; cd ../source; for n in 1 2 3; do git commit --allow-empty -m $n; done
        cd ../base; git clone --depth 1 file://$PWD/../source .; rm -rf ../source";
    shallow.script("base", format!("{GIT}{base}").as_bytes());
    shallow.work(format!("{GIT}git commit --allow-empty -m four").as_bytes());
    let repository = only(&shallow);
    assert_eq!(
        (subjects(&repository), repository.incomplete),
        (vec!["four".to_owned()], None)
    );
}

#[test]
fn a_commit_in_a_submodule_belongs_to_the_submodule() {
    need_overlay!();
    let world = World::new();
    let base = "git init ../inner; cd ../inner; git commit --allow-empty -m inner; cd ../base
        git init; git -c protocol.file.allow=always submodule add ../inner sub; git commit -m outer";
    world.script("base", format!("{GIT}{base}").as_bytes());
    world.work(format!("{GIT}cd sub; git commit --allow-empty -m deep; cd ..").as_bytes());
    let repository = only(&world);
    assert_eq!(
        repository.directory.to_str(),
        Some("/project/.git/modules/sub")
    );
    assert_eq!(subjects(&repository), ["deep"]);
}
