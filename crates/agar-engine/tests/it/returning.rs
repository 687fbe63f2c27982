//! Returns, forks and removals beside what happens meanwhile: nothing that was there is lost.

use crate::travelling::Yard;
use agar_core::fault::{Fault as _, Kind};
use agar_engine::remove::{RemoveRequest, remove};
use agar_engine::upkeep::{UpkeepRequest, upkeep};
use agar_testkit::wait;
use rustix::fs::{FlockOperation, flock};
use std::os::unix::fs::MetadataExt as _;

/// A sandbox whose last snapshot was removed, and which shows what only that one held.
fn without_its_last_snapshot() -> Yard {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.say("calm-fern", "echo a > a");
    yard.snapshot("calm-fern", "first");
    yard.say("calm-fern", "echo b > b");
    yard.snapshot("calm-fern", "second");
    yard.remove("calm-fern@second");
    assert_eq!(yard.say("calm-fern", "cat a b"), "a\nb\n");
    yard
}

#[test]
fn what_only_a_removed_snapshot_held_is_kept_before_a_return() {
    let yard = without_its_last_snapshot();
    let left = yard.restore("calm-fern@first").left.unwrap();
    assert_eq!(yard.say("calm-fern", "ls"), "a\nfile\nsrc\n");
    upkeep(&yard.engine, &UpkeepRequest::default()).unwrap();
    yard.restore(&left.reference);
    assert_eq!(yard.say("calm-fern", "cat a b"), "a\nb\n");
}

#[test]
fn a_fork_of_a_sandbox_as_it_is_has_what_only_a_removed_snapshot_held() {
    let yard = without_its_last_snapshot();
    yard.fork("calm-fern", "brave-otter");
    assert_eq!(yard.say("brave-otter", "cat a b"), "a\nb\n");
}

#[test]
fn a_fork_descends_from_what_the_removed_snapshot_that_it_was_made_from_descended_from() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.say("calm-fern", "echo a > a");
    yard.snapshot("calm-fern", "first");
    yard.say("calm-fern", "echo b > b");
    yard.snapshot("calm-fern", "second");
    yard.fork("calm-fern@second", "brave-otter");
    yard.remove("calm-fern@second");
    let back = yard.restore("brave-otter");
    assert_eq!(back.snapshot.reference, "calm-fern@first");
    assert_eq!(yard.say("brave-otter", "ls"), "a\nfile\nsrc\n");
    yard.restore(&back.left.unwrap().reference);
    assert_eq!(yard.say("brave-otter", "cat a b"), "a\nb\n");
}

#[test]
fn where_something_runs_everything_is_kept_before_a_return() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.say("calm-fern", "echo a > a");
    yard.snapshot("calm-fern", "first");
    // It has written nothing yet, and may at any moment until it is ended.
    yard.say("calm-fern", "sleep 1000 >/dev/null 2>&1 &");
    let back = yard.restore("calm-fern@first");
    assert!(back.left.is_some() && back.ended > 0, "{back:?}");
    assert!(
        yard.restore("calm-fern@first").left.is_none(),
        "nothing runs"
    );
}

/// The turn at a sandbox, which somebody else has.
pub(crate) struct OthersTurn {
    lock: fs_err::File,
}

impl OthersTurn {
    pub(crate) fn take(yard: &Yard, alias: &str) -> Self {
        let sandboxes = yard.desk.home().join(".local/state/agar/sandboxes");
        let lock = fs_err::OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(sandboxes.join(yard.id(alias)).join("turn"))
            .unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        Self { lock }
    }

    /// Waits until the next one waits for it.
    pub(crate) fn await_next(&self, what: &str) {
        let inode = format!(":{} ", self.lock.metadata().unwrap().ino());
        wait::until(what, || {
            let locks = fs_err::read_to_string("/proc/locks").unwrap();
            locks
                .lines()
                .any(|line| line.contains("->") && line.contains(&inode))
        });
    }

    pub(crate) fn give_up(&self) {
        flock(&self.lock, FlockOperation::Unlock).unwrap();
    }
}

#[test]
fn what_was_started_while_others_were_removed_is_not_ended_without_force() {
    let yard = Yard::new();
    yard.create("calm-fern");
    let turn = OthersTurn::take(&yard, "calm-fern");
    std::thread::scope(|scope| {
        let removal = scope.spawn(|| {
            let request = RemoveRequest {
                sandboxes: vec!["calm-fern".to_owned()],
                ..RemoveRequest::default()
            };
            remove(&yard.desk.engine(), &request)
        });
        turn.await_next("it has looked, and waits for its turn");
        yard.say("calm-fern", "sleep 1000 >/dev/null 2>&1 &");
        turn.give_up();
        let refused = removal.join().unwrap().unwrap_err();
        assert_eq!(refused.kind(), Kind::Conflict, "{refused}");
    });
    assert_eq!(yard.say("calm-fern", "ls"), "file\nsrc\n");
}
