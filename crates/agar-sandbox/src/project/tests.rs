//! Which directory is the project, and what is known of it.

use super::*;
use std::os::unix::fs::symlink;

/// A directory outside the home, with a made-up home next to it.
fn world() -> (tempfile::TempDir, PathBuf, Surroundings) {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    let home = real.join("home");
    let work = real.join("work");
    fs_err::create_dir_all(&home).unwrap();
    fs_err::create_dir_all(&work).unwrap();
    let uid = real.metadata().unwrap().uid();
    let around = Surroundings {
        home: Some(home),
        uid,
        ..Surroundings::default()
    };
    (dir, work, around)
}

fn repository(at: &Path) {
    fs_err::create_dir_all(at.join(".git")).unwrap();
    fs_err::write(at.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
}

#[test]
fn the_nearest_settings_file_wins_over_the_repository() {
    let (_dir, work, around) = world();
    repository(&work);
    fs_err::create_dir_all(work.join("part/deep")).unwrap();
    fs_err::write(work.join("part/agar.toml"), "").unwrap();
    let project = discover(&work.join("part/deep"), &around).unwrap();
    assert_eq!(project.root, work.join("part"));
    assert_eq!(project.found_by, FoundBy::Settings);
    assert_eq!(
        project.git.unwrap().top,
        work,
        "the repository around it is known"
    );
}

#[test]
fn without_settings_the_git_top_level_is_the_project() {
    let (_dir, work, around) = world();
    repository(&work);
    fs_err::create_dir_all(work.join("a/b")).unwrap();
    let project = discover(&work.join("a/b"), &around).unwrap();
    assert_eq!(
        (project.root.as_path(), project.found_by),
        (work.as_path(), FoundBy::Git)
    );
    assert_eq!(project.git.unwrap().kind, GitKind::Plain);
}

#[test]
fn without_any_mark_it_is_the_directory_itself() {
    let (_dir, work, around) = world();
    fs_err::create_dir_all(work.join("a")).unwrap();
    let project = discover(&work.join("a"), &around).unwrap();
    assert_eq!(
        (project.root, project.found_by),
        (work.join("a"), FoundBy::Directory)
    );
    assert_eq!(project.git, None);
}

#[test]
fn a_symbolic_link_leads_to_the_same_project() {
    let (_dir, work, around) = world();
    fs_err::create_dir_all(work.join("real")).unwrap();
    symlink(work.join("real"), work.join("link")).unwrap();
    let by_link = discover(&work.join("link"), &around).unwrap();
    assert_eq!(by_link, discover(&work.join("real"), &around).unwrap());
}

#[test]
fn a_mark_in_the_home_does_not_make_a_project_of_it() {
    let (_dir, _, around) = world();
    let home = around.home.clone().unwrap();
    repository(&home);
    fs_err::write(home.join("agar.toml"), "").unwrap();
    fs_err::create_dir_all(home.join("code/new")).unwrap();
    let project = discover(&home.join("code/new"), &around).unwrap();
    assert_eq!(project.root, home.join("code/new"));
    assert_eq!(project.home, HomeRelation::Inside);
    let refused = discover(&home, &around).unwrap_err();
    assert_eq!(refused.kind(), Kind::Refused);
    assert!(refused.remedy().is_some());
}

#[test]
fn a_linked_worktree_knows_its_repository() {
    let (_dir, work, around) = world();
    let main = work.join("main");
    repository(&main);
    let linked = work.join("linked");
    let own = main.join(".git/worktrees/linked");
    fs_err::create_dir_all(&own).unwrap();
    fs_err::create_dir_all(&linked).unwrap();
    fs_err::write(own.join("commondir"), "../..\n").unwrap();
    fs_err::write(linked.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
    let git = discover(&linked, &around).unwrap().git.unwrap();
    assert_eq!(git.kind, GitKind::LinkedWorktree);
    assert_eq!(
        (git.dir.as_path(), git.common_dir),
        (own.as_path(), main.join(".git"))
    );
    assert!(
        !Git {
            common_dir: own.clone(),
            ..git
        }
        .is_within(&linked)
    );
}

#[test]
fn a_submodule_is_told_from_a_worktree() {
    let (_dir, work, around) = world();
    repository(&work);
    let modules = work.join(".git/modules/sub");
    fs_err::create_dir_all(&modules).unwrap();
    fs_err::create_dir_all(work.join("sub")).unwrap();
    fs_err::write(work.join("sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
    let project = discover(&work.join("sub"), &around).unwrap();
    assert_eq!(project.root, work.join("sub"));
    let git = project.git.unwrap();
    assert_eq!((git.kind, git.dir), (GitKind::Submodule, modules));
}

#[test]
fn a_missing_place_and_a_file_are_said_apart() {
    let (_dir, work, around) = world();
    assert_eq!(
        discover(&work.join("no"), &around).unwrap_err().kind(),
        Kind::NotFound
    );
    fs_err::write(work.join("file"), "").unwrap();
    assert_eq!(
        discover(&work.join("file"), &around).unwrap_err().kind(),
        Kind::Invalid
    );
}

#[test]
fn mounts_below_the_project_are_named() {
    let (_dir, work, mut around) = world();
    let line = format!(
        "1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 / {0}/data rw - xfs b rw\n",
        work.display()
    );
    around.mounts = MountTable::parse(line.as_bytes());
    let project = discover(&work, &around).unwrap();
    assert_eq!(project.filesystem(), "ext4");
    assert_eq!(project.nested_mounts.len(), 1);
    assert_eq!(project.nested_mounts[0].point, work.join("data"));
}
