//! A frozen git project is as clean inside as outside, and git need not read it to know.

use crate::desk::{Desk, tree};
use agar_sandbox::base::{Bases, Choice, Silent};
use agar_sandbox::project;
use agar_testkit::Tree;
use std::path::Path;

#[test]
fn git_finds_the_picture_as_clean_as_the_project_without_reading_it() {
    let desk = Desk::new();
    for number in 0..200 {
        desk.write(&format!("src/f{number}"), &number.to_string());
    }
    desk.git(&["init", "-q"]);
    desk.git(&["add", "."]);
    desk.git(&["commit", "-qm", "one"]);
    desk.write("src/f7", "modified");
    desk.write("untracked", "");
    let picture = desk.freeze();
    assert!(!picture.minimal_git_stat);
    let outside = desk.git(&["status", "--porcelain"]);
    let layer = picture.lowers[0].to_str().unwrap().to_owned();
    assert_eq!(desk.git(&["-C", &layer, "status", "--porcelain"]), outside);
    assert_eq!(outside, " M src/f7\n?? untracked\n");
    desk.git(&["-C", &layer, "fsck", "--strict"]);
    // What git would have to read again: only what it would outside.
    let stale = desk.git(&["-C", &layer, "diff-files", "--name-only"]);
    assert_eq!(stale, "src/f7\n");
    let objects = |root: &Path| Tree::read(&root.join(".git/objects")).len();
    assert_eq!(objects(&picture.lowers[0]), objects(&desk.shop()));
}

#[test]
fn the_index_fits_after_a_checkout_and_after_joining_layers() {
    let desk = Desk::new();
    desk.git(&["init", "-q"]);
    for number in 0..30 {
        desk.write(&format!("f{number}"), &number.to_string());
    }
    desk.git(&["add", "."]);
    desk.git(&["commit", "-qm", "one"]);
    for round in 0..18 {
        desk.freeze();
        desk.write(&format!("f{round}"), "again");
        desk.git(&["commit", "-qam", "more"]);
    }
    desk.git(&["checkout", "-q", "HEAD~3"]);
    let many = desk.freeze();
    assert!(many.lowers.len() > 16 && many.freeze_later);
    let number = desk
        .with_bases(|bases| bases.freeze(&Silent).unwrap())
        .unwrap();
    let joined = desk.freeze();
    assert_eq!((joined.generation, joined.lowers.len()), (Some(number), 1));
    assert_eq!(desk.merged(&joined).difference(&tree(&desk.shop())), "");
    assert_eq!(desk.merged(&many).difference(&tree(&desk.shop())), "");
    let layer = joined.lowers[0].to_str().unwrap().to_owned();
    assert_eq!(desk.git(&["-C", &layer, "diff-files", "--name-only"]), "");
    assert_eq!(desk.git(&["-C", &layer, "status", "--porcelain"]), "");
}

#[test]
fn an_index_written_just_before_the_picture_is_not_taken_for_another_one_after_it() {
    let desk = Desk::new();
    desk.git(&["init", "-q"]);
    desk.write("a", "a");
    desk.git(&["add", "."]);
    let (index, fresh) = (desk.shop().join(".git/index"), desk.top.join("fresh"));
    for _ in 0..4 {
        fs_err::copy(&index, &fresh).unwrap();
        fs_err::rename(&fresh, &index).unwrap();
        let first = desk.freeze().generation;
        assert_eq!(desk.freeze().generation, first);
    }
}

#[test]
fn a_linked_worktree_is_named_as_having_its_index_elsewhere() {
    let desk = Desk::new();
    desk.git(&["init", "-q"]);
    desk.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    let linked = desk.top.join("linked");
    desk.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let project = project::discover(&linked, &desk.around).unwrap();
    let id = Desk::id();
    let bases = Bases::new(&project, &desk.state, id);
    let prepared = bases.prepare(Choice::Frozen, &Silent).unwrap();
    assert!(prepared.minimal_git_stat);
    let main = desk.project();
    assert_ne!(
        bases.directory(),
        Bases::new(&main, &desk.state, id).directory()
    );
}

#[test]
fn tracked_files_are_never_bulk() {
    let desk = Desk::new();
    desk.git(&["init", "-q"]);
    for number in 0..1100 {
        desk.write(&format!("vendor/p{number}"), "");
        desk.write(&format!("build/p{number}"), "");
    }
    desk.git(&["add", "vendor"]);
    let prepared = desk.freeze();
    let bulk: Vec<_> = prepared
        .bulk
        .iter()
        .map(|bulk| bulk.path.as_path())
        .collect();
    assert_eq!(bulk, [Path::new("build")]);
}
