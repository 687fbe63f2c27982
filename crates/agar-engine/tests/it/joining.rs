//! Joining layers: one at a time, and nothing that somebody else is at.

use crate::travelling::Yard;
use agar_engine::upkeep::{UpkeepRequest, upkeep};
use agar_testkit::wait;
use rustix::fs::{FlockOperation, flock};
use std::path::PathBuf;

impl Yard {
    fn directory(&self, alias: &str) -> PathBuf {
        let state = self.desk.home().join(".local/state/agar");
        state.join("sandboxes").join(self.id(alias))
    }

    /// What was joined of a sandbox's layers, half-made or whole.
    fn joined(&self, alias: &str) -> Vec<String> {
        let names = self
            .desk
            .names_in_state(&format!("sandboxes/{}", self.id(alias)));
        let mut names: Vec<String> = names
            .into_iter()
            .filter(|name| name.starts_with("joined-"))
            .collect();
        names.sort();
        names
    }

    /// Joins layers and clears away. Answers how many layers were made.
    fn upkeep(&self) -> u64 {
        let done = upkeep(&self.engine, &UpkeepRequest::default());
        done.unwrap().joined
    }

    /// So many snapshots, each with a layer of its own.
    fn snapshots(&self, alias: &str, count: u32) {
        for number in 0..count {
            self.say(alias, &format!("echo {number} > n{number}"));
            self.snapshot(alias, &format!("at{number}"));
        }
    }
}

/// Somebody who joins the layers of a sandbox, as long as he likes.
struct Joiner(fs_err::File);

impl Joiner {
    fn begin(yard: &Yard, alias: &str) -> Self {
        let lock = fs_err::File::open(yard.directory(alias)).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        Self(lock)
    }

    /// Said aloud: a process that is just being started elsewhere may have the file open as well.
    fn end(self) {
        flock(&self.0, FlockOperation::Unlock).unwrap();
    }
}

#[test]
fn layers_are_left_to_whoever_joins_them_already() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.snapshots("calm-fern", 8);
    let joiner = Joiner::begin(&yard, "calm-fern");
    assert_eq!(yard.upkeep(), 0);
    assert_eq!(yard.joined("calm-fern"), [""; 0]);
    joiner.end();
    assert!(yard.upkeep() > 0);
    assert!(!yard.joined("calm-fern").is_empty());
    yard.restore("calm-fern@at5");
    assert_eq!(yard.say("calm-fern", "cat n*"), "0\n1\n2\n3\n4\n5\n");
}

#[test]
fn a_joined_layer_that_is_half_made_goes_once_nobody_works_on_it() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.snapshots("calm-fern", 1);
    let draft = yard.directory("calm-fern").join("joined-1-mine.part");
    fs_err::create_dir(&draft).unwrap();
    fs_err::write(draft.join("n0"), "half").unwrap();
    let joiner = Joiner::begin(&yard, "calm-fern");
    yard.upkeep();
    assert!(draft.join("n0").exists());
    joiner.end();
    wait::until("the draft to be cleared away", || {
        yard.upkeep();
        !draft.exists()
    });
    assert_eq!(yard.joined("calm-fern"), [""; 0]);
}

#[test]
fn removing_a_snapshot_takes_no_joined_layer_from_whoever_is_about_to_record_it() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.snapshots("calm-fern", 3);
    let unrecorded = ["joined-1-mine", "joined-1-next.part"];
    for name in unrecorded {
        fs_err::create_dir(yard.directory("calm-fern").join(name)).unwrap();
    }
    let joiner = Joiner::begin(&yard, "calm-fern");
    yard.remove("calm-fern@at0");
    assert_eq!(yard.joined("calm-fern"), unrecorded);
    joiner.end();
    yard.remove("calm-fern@at1");
    assert_eq!(yard.joined("calm-fern"), [""; 0]);
    assert_eq!(yard.say("calm-fern", "cat n*"), "0\n1\n2\n");
}

#[test]
fn two_who_join_the_same_layers_lose_no_file_of_them() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.snapshots("calm-fern", 12);
    let desk = &yard.desk;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| upkeep(&desk.engine(), &UpkeepRequest::default()).unwrap());
        }
    });
    yard.restore("calm-fern@at11");
    assert_eq!(yard.say("calm-fern", "ls n* | wc -l"), "12\n");
}
