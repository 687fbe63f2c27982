//! What is thrown away, and what never is.

use super::*;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

fn world() -> (tempfile::TempDir, StateDir, Trash) {
    let dir = tempfile::tempdir().unwrap();
    let uid = dir.path().metadata().unwrap().uid();
    let state = StateDir::open(&dir.path().join("state"), uid).unwrap();
    let trash = Trash::new(&state);
    (dir, state, trash)
}

fn empty_wholly(trash: &Trash) -> u64 {
    let mut removed = 0;
    loop {
        let portion = trash.empty(1000).unwrap();
        assert_eq!(portion.stuck, Vec::<PathBuf>::new());
        removed += portion.removed;
        if !portion.more {
            return removed;
        }
    }
}

#[test]
fn what_is_discarded_is_gone_from_its_place_at_once() {
    let (_dir, state, trash) = world();
    let sandbox = state.sandboxes().join("a");
    fs_err::create_dir_all(sandbox.join("upper/src")).unwrap();
    trash.discard(&sandbox).unwrap();
    assert!(!sandbox.exists() && !trash.is_empty());
    trash.discard(&sandbox).unwrap();
    assert_eq!(empty_wholly(&trash), 3);
    assert!(trash.is_empty());
}

#[test]
fn nothing_outside_the_state_is_ever_moved() {
    let (dir, state, trash) = world();
    let thesis = dir.path().join("thesis");
    fs_err::write(&thesis, "").unwrap();
    symlink(dir.path(), state.sandboxes().join("link")).unwrap();
    let sneaky = state.path().join("sandboxes/link/thesis");
    for path in [
        thesis.as_path(),
        &sneaky,
        state.path(),
        &state.sandboxes(),
        &state.trash(),
    ] {
        assert_eq!(
            trash.discard(path).unwrap_err().kind(),
            Kind::Refused,
            "{}",
            path.display()
        );
    }
    fs_err::remove_file(state.path().join(".agar-state")).unwrap();
    fs_err::create_dir_all(state.sandboxes().join("x")).unwrap();
    assert!(trash.discard(&state.sandboxes().join("x")).is_err());
    assert!(trash.empty(10).is_err());
}

#[test]
fn a_link_is_thrown_away_and_what_it_names_is_kept() {
    let (dir, state, trash) = world();
    fs_err::create_dir_all(dir.path().join("kept/deep")).unwrap();
    let sandbox = state.sandboxes().join("a");
    fs_err::create_dir_all(&sandbox).unwrap();
    symlink(dir.path().join("kept"), sandbox.join("link")).unwrap();
    trash.discard(&sandbox).unwrap();
    empty_wholly(&trash);
    assert!(dir.path().join("kept/deep").is_dir());
}

#[test]
fn directories_without_permissions_are_removed_and_files_keep_their_mode() {
    let (dir, state, trash) = world();
    let sandbox = state.sandboxes().join("a");
    fs_err::create_dir_all(sandbox.join("work/work/x")).unwrap();
    let outside = dir.path().join("shared");
    fs_err::write(&outside, "").unwrap();
    std::fs::set_permissions(&outside, std::fs::Permissions::from_mode(0o444)).unwrap();
    std::fs::hard_link(&outside, sandbox.join("work/shared")).unwrap();
    std::fs::set_permissions(
        sandbox.join("work/work"),
        std::fs::Permissions::from_mode(0o000),
    )
    .unwrap();
    trash.discard(&sandbox).unwrap();
    empty_wholly(&trash);
    assert_eq!(outside.metadata().unwrap().mode() & 0o777, 0o444);
    assert!(trash.is_empty());
}

#[test]
fn emptying_stops_at_its_budget_and_goes_on_next_time() {
    let (_dir, state, trash) = world();
    let sandbox = state.sandboxes().join("a");
    fs_err::create_dir_all(&sandbox).unwrap();
    for number in 0..25 {
        fs_err::write(sandbox.join(number.to_string()), "").unwrap();
    }
    trash.discard(&sandbox).unwrap();
    let first = trash.empty(10).unwrap();
    assert_eq!((first.removed, first.more), (10, true));
    assert_eq!(empty_wholly(&trash), 16);
}

#[test]
fn a_tree_deeper_than_the_stack_is_removed_all_the_same() {
    let (_dir, state, trash) = world();
    let sandbox = state.sandboxes().join("a");
    let mut deep = sandbox.clone();
    for _ in 0..700 {
        deep.push("d");
    }
    fs_err::create_dir_all(&deep).unwrap();
    trash.discard(&sandbox).unwrap();
    for _ in 0..20 {
        trash.empty(10_000).unwrap();
    }
    assert!(trash.is_empty());
}
