//! Forks: what they share with their parents, and what goes with whom.

use crate::travelling::Yard;
use agar_core::snapshot::SnapshotKind;
use agar_engine::prune::{PruneRequest, prune};

#[test]
fn a_fork_has_everything_of_its_parent_and_nothing_of_its_siblings() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.say("calm-fern", "echo one > made; rm file");
    yard.snapshot("calm-fern", "first");
    yard.say("calm-fern", "echo late > late");
    let here = yard.fork("calm-fern@first", "brave-otter");
    assert_eq!(here.forks[0].lineage.as_ref().unwrap().depth, 1);
    let now = yard.fork("calm-fern", "dim-reed");
    assert_eq!(now.snapshot.kind, SnapshotKind::BeforeFork);
    assert_eq!(yard.say("brave-otter", "ls; echo b > mine"), "made\nsrc\n");
    assert_eq!(
        yard.say("dim-reed", "ls; echo d > mine"),
        "late\nmade\nsrc\n"
    );
    assert_eq!(yard.say("calm-fern", "ls"), "late\nmade\nsrc\n");
    assert_eq!(yard.say("brave-otter", "cat mine"), "b\n");
    // A fork of a fork, after its ancestors are gone for good.
    let deep = yard.fork("brave-otter", "last-moss");
    assert_eq!(deep.forks[0].lineage.as_ref().unwrap().depth, 2);
    for alias in ["calm-fern", "brave-otter"] {
        yard.remove(alias);
    }
    let request = PruneRequest {
        empty_trash: true,
        ..PruneRequest::default()
    };
    prune(&yard.engine, &request).unwrap();
    assert_eq!(
        yard.say("last-moss", "cat made mine; ls"),
        "one\nb\nmade\nmine\nsrc\n"
    );
    yard.remove("last-moss");
    yard.remove("dim-reed");
    prune(&yard.engine, &request).unwrap();
    prune(&yard.engine, &request).unwrap();
    assert_eq!(yard.desk.left_in_state("sandboxes"), 0);
}

#[test]
fn a_fork_outlives_its_parent_and_the_snapshot_that_it_was_made_from() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.say("calm-fern", "echo precious > made");
    let made = yard.fork("calm-fern", "brave-otter");
    yard.say("brave-otter", "echo more > mine");
    let again = yard.fork("brave-otter", "dim-reed");
    for (alias, from) in [("calm-fern", &made), ("brave-otter", &again)] {
        yard.remove(&format!("{alias}@{}", from.snapshot.name));
    }
    let request = PruneRequest {
        empty_trash: true,
        ..PruneRequest::default()
    };
    yard.remove("calm-fern");
    prune(&yard.engine, &request).unwrap();
    assert_eq!(yard.say("brave-otter", "cat made mine"), "precious\nmore\n");
    assert_eq!(yard.say("dim-reed", "cat made mine"), "precious\nmore\n");
    for alias in ["brave-otter", "dim-reed"] {
        yard.remove(alias);
    }
    for _ in 0..3 {
        prune(&yard.engine, &request).unwrap();
    }
    assert_eq!(yard.desk.left_in_state("sandboxes"), 0);
}

#[test]
fn nothing_is_left_of_a_parent_when_its_last_fork_goes_whatever_that_stood_on() {
    let yard = Yard::new();
    let request = PruneRequest {
        empty_trash: true,
        ..PruneRequest::default()
    };
    yard.create("calm-fern");
    yard.snapshot("calm-fern", "empty");
    yard.fork("calm-fern@empty", "dim-reed");
    yard.say("calm-fern", "echo one > made");
    yard.fork("calm-fern", "brave-otter");
    for alias in ["calm-fern", "brave-otter", "dim-reed"] {
        assert_ne!(yard.desk.left_in_state("sandboxes"), 0);
        yard.remove(alias);
        prune(&yard.engine, &request).unwrap();
    }
    assert_eq!(yard.desk.left_in_state("sandboxes"), 0);
}
