//! What happens to the project or the sandbox while a promotion is under way.

use super::propose;
use crate::play::{Stage, label, sides};
use agar_sandbox::merge::{Clash, Selection};
use agar_sandbox::promote::{ApplyError, Fate, Faults, Outcome};
use agar_testkit::Tree;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Does something to the person's tree just before the renames.
struct Meanwhile<F: Fn()>(&'static str, F);

impl<F: Fn()> Faults for Meanwhile<F> {
    fn after(&self, effect: &'static str) -> Fate {
        if effect == self.0 {
            (self.1)();
        }
        Fate::Go
    }
}

#[test]
fn an_edit_made_while_applying_stops_it_and_is_kept() {
    for (path, content) in [("b", "edited\n"), ("new", "mine\n"), ("gone", "edited\n")] {
        let stage = Stage::new();
        stage
            .base("a", "a\n")
            .base("b", "b\n")
            .base("gone", "g\n")
            .start();
        stage
            .theirs("a", "A\n")
            .theirs("b", "B\n")
            .theirs("new", "n\n")
            .delete_theirs("gone");
        let proposal = propose(&stage, &Selection::default());
        let edit = Meanwhile("first barrier", || {
            stage.mine(path, content);
        });
        let stopped = stage.promotions().apply_with(&proposal, &label(1), &edit);
        assert!(matches!(stopped, Err(ApplyError::Moved { path: at }) if at == Path::new(path)));
        assert_eq!(stage.read(path), content);
        for (path, was) in [("a", "a\n"), ("b", "b\n"), ("gone", "g\n")] {
            if path != "new" && stage.read(path) != content {
                assert_eq!(stage.read(path), was);
            }
        }
        assert_eq!(sides(&stage.promotions_dir()), ["lock"]);
    }
}

#[test]
fn a_parent_swapped_for_a_link_leads_nowhere() {
    let stage = Stage::new();
    stage.base("d/a", "a\n").base("d/b", "b\n").start();
    stage
        .theirs("d/a", "A\n")
        .theirs("d/new", "n\n")
        .delete_theirs("d/b");
    let outside = stage.path("outside");
    fs_err::create_dir(&outside).unwrap();
    fs_err::write(outside.join("a"), "a\n").unwrap();
    fs_err::write(outside.join("b"), "b\n").unwrap();
    let picture = Tree::read(&outside);
    let proposal = propose(&stage, &Selection::default());
    let swap = Meanwhile("first barrier", || {
        fs_err::rename(stage.mine_dir().join("d"), stage.path("d-away")).unwrap();
        symlink(&outside, stage.mine_dir().join("d")).unwrap();
    });
    assert!(
        stage
            .promotions()
            .apply_with(&proposal, &label(1), &swap)
            .is_err()
    );
    picture.assert_unchanged(&outside, "an apply through a link");
    // Planning anew sees the link for what it is.
    let proposal = propose(&stage, &Selection::default());
    let clash = Outcome::Conflict(Clash::DirectoryInTheWay);
    assert_eq!(proposal.files()[0].outcome, clash);
}

#[test]
fn two_at_once_are_one_after_the_other() {
    let stage = Stage::new();
    stage.base("a", "a\n").start();
    stage.theirs("a", "A\n");
    let proposal = propose(&stage, &Selection::default());
    let second = Meanwhile("first barrier", || {
        let other = propose(&stage, &Selection::default());
        let busy = stage.promotions().apply(&other, &label(2));
        assert!(matches!(busy, Err(ApplyError::Busy)));
        assert_eq!(stage.promotions().recover(None).unwrap(), []);
    });
    stage
        .promotions()
        .apply_with(&proposal, &label(1), &second)
        .unwrap();
    assert_eq!(stage.read("a"), "A\n");
}

#[test]
fn a_sandbox_that_moves_under_the_proposal_is_not_applied() {
    let stage = Stage::new();
    stage.base("a", "a\n").start();
    stage.theirs("a", "A\n");
    let proposal = propose(&stage, &Selection::default());
    stage.theirs("a", "something else\n");
    let stopped = stage.promotions().apply(&proposal, &label(1));
    assert!(matches!(stopped, Err(ApplyError::SandboxMoved { .. })));
    assert_eq!(stage.read("a"), "a\n");
    assert_eq!(sides(&stage.promotions_dir()), ["lock"]);
}
