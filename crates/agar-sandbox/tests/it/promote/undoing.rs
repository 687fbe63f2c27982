//! Promotions that are taken back.

use super::{apply, outcomes, propose, undo};
use crate::play::{Stage, label, sides};
use agar_sandbox::merge::{Choice, Clash, Selection};
use agar_sandbox::promote::Outcome;
use agar_testkit::Tree;

#[test]
fn undo_of_undo_is_the_promotion_again() {
    let stage = Stage::new();
    stage
        .base("a", "a\n")
        .base("d/gone", "g\n")
        .link_base("l", "a")
        .start();
    stage
        .theirs("a", "A\n")
        .delete_theirs("d")
        .theirs("n/ew", "n\n");
    stage.delete_theirs("l").theirs("l", "file now\n");
    let before = Tree::read(&stage.mine_dir()).without_times();
    apply(&stage);
    let after = Tree::read(&stage.mine_dir()).without_times();
    assert_ne!(before, after);
    undo(&stage, 1, 2);
    assert_eq!(Tree::read(&stage.mine_dir()).without_times(), before);
    undo(&stage, 2, 3);
    assert_eq!(Tree::read(&stage.mine_dir()).without_times(), after);
    undo(&stage, 3, 4);
    assert_eq!(Tree::read(&stage.mine_dir()).without_times(), before);
}

#[test]
fn undo_keeps_what_the_person_did_since() {
    let stage = Stage::new();
    stage
        .base("a", "1\n2\n3\n4\n5\n")
        .base("untouched", "u\n")
        .start();
    stage
        .theirs("a", "one\n2\n3\n4\n5\n")
        .theirs("new/file", "n\n");
    apply(&stage);
    stage
        .mine("a", "one\n2\n3\n4\nfive\n")
        .mine("new/own", "mine\n");
    undo(&stage, 1, 2);
    assert_eq!(stage.read("a"), "1\n2\n3\n4\nfive\n");
    assert_eq!(sides(&stage.mine_dir().join("new")), ["own"]);
}

#[test]
fn undo_shows_what_meets_a_later_edit_and_writes_nothing() {
    let stage = Stage::new();
    stage.base("a", "1\n2\n3\n").start();
    stage.theirs("a", "1\ntwo\n3\n").theirs("new", "n\n");
    apply(&stage);
    stage.mine("a", "1\nzwei\n3\n").mine("new", "edited\n");
    let promotions = stage.promotions();
    let root = stage.mine_dir();
    let proposal = promotions
        .undo(label(1).id, &root, &Selection::default())
        .unwrap();
    assert_eq!(
        outcomes(&proposal),
        [
            ("a".into(), Outcome::Conflict(Clash::Lines)),
            ("new".into(), Outcome::Conflict(Clash::TheyDeleted))
        ]
    );
    assert!(promotions.apply(&proposal, &label(2)).is_err());
    assert_eq!(stage.read("a"), "1\nzwei\n3\n");
    let theirs = Selection {
        otherwise: Some(Choice::Theirs),
        ..Selection::default()
    };
    let proposal = promotions.undo(label(1).id, &root, &theirs).unwrap();
    promotions.apply(&proposal, &label(2)).unwrap();
    assert_eq!(stage.read("a"), "1\n2\n3\n");
    assert_eq!(sides(&root), ["a"]);
}

#[test]
fn the_last_promotion_is_the_last_that_is_not_taken_back() {
    let stage = Stage::new();
    stage.base("a", "a\n").start();
    let promotions = stage.promotions();
    let last = || {
        promotions
            .last()
            .unwrap()
            .map(|promotion| promotion.label.title)
    };
    assert_eq!(last(), None);
    stage.theirs("a", "A\n");
    apply(&stage);
    assert_eq!(last().as_deref(), Some("promotion 1"));
    stage.theirs("b", "b\n");
    promotions
        .apply(&propose(&stage, &Selection::default()), &label(2))
        .unwrap();
    assert_eq!(last().as_deref(), Some("promotion 2"));
    undo(&stage, 2, 3);
    assert_eq!(last().as_deref(), Some("promotion 1"));
    undo(&stage, 1, 4);
    assert_eq!(last(), None);
    undo(&stage, 4, 5);
    assert_eq!(last().as_deref(), Some("promotion 1"));
    assert_eq!(promotions.list().unwrap().len(), 5);
    promotions.forget(label(1).id).unwrap();
    assert_eq!(promotions.list().unwrap().len(), 4);
}
