//! Snapshots, restores, forks and pauses.

use crate::desk::{Desk, capture};
use agar_core::fault::{Fault as _, Kind};
use agar_core::snapshot::{SnapshotKind, Taken};
use agar_core::state::State;
use agar_engine::apply::{ApplyRequest, apply};
use agar_engine::create::{CreateRequest, create};
use agar_engine::diff::{DiffRequest, diff};
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::fork::{ForkAnswer, ForkRequest, fork};
use agar_engine::list::{ListRequest, list};
use agar_engine::pause::{PauseRequest, ResumeRequest, pause, resume};
use agar_engine::remove::{RemoveRequest, remove};
use agar_engine::restore::{RestoreAnswer, RestoreRequest, restore};
use agar_engine::snapshot::{SnapshotAnswer, SnapshotRequest, snapshot};
use agar_engine::snapshots::{SnapshotsRequest, snapshots};
use agar_engine::take_back::{TakeBackRequest, take_back};
use agar_engine::tree::{TreeRequest, tree};
use agar_engine::upkeep::{UpkeepRequest, upkeep};
use agar_engine::{Command, Engine, SandboxOptions};

/// A project with sandboxes, and one engine that drives them all.
pub(crate) struct Yard {
    pub(crate) desk: Desk,
    pub(crate) engine: Engine,
}

impl Yard {
    pub(crate) fn new() -> Self {
        let desk = Desk::new();
        desk.write("file", "base\n");
        fs_err::create_dir(desk.project().join("src")).unwrap();
        desk.write("src/lib.rs", "fn main() {}\n");
        let engine = desk.engine();
        Self { desk, engine }
    }

    pub(crate) fn create(&self, alias: &str) {
        self.create_with(alias, SandboxOptions::default());
    }

    pub(crate) fn create_with(&self, alias: &str, options: SandboxOptions) {
        let request = CreateRequest {
            alias: Some(alias.to_owned()),
            options,
        };
        create(&self.engine, &request).unwrap();
    }

    pub(crate) fn say(&self, sandbox: &str, script: &str) -> String {
        let request = ExecRequest {
            sandbox: Some(sandbox.to_owned()),
            command: Command::new(["sh", "-c", script]),
            ..ExecRequest::default()
        };
        let mut output = Vec::new();
        exec(&self.engine, &request, capture(&mut output)).unwrap();
        String::from_utf8(output).unwrap()
    }

    pub(crate) fn snapshot(&self, sandbox: &str, name: &str) -> SnapshotAnswer {
        let request = SnapshotRequest {
            sandbox: Some(sandbox.to_owned()),
            name: Some(name.to_owned()),
            note: None,
        };
        snapshot(&self.engine, &request).unwrap()
    }

    pub(crate) fn restore(&self, name: &str) -> RestoreAnswer {
        let request = RestoreRequest {
            snapshot: Some(name.to_owned()),
        };
        restore(&self.engine, &request).unwrap()
    }

    pub(crate) fn fork(&self, source: &str, alias: &str) -> ForkAnswer {
        let request = ForkRequest {
            source: Some(source.to_owned()),
            alias: Some(alias.to_owned()),
            ..ForkRequest::default()
        };
        fork(&self.engine, &request).unwrap()
    }

    pub(crate) fn state(&self, alias: &str) -> State {
        let all = list(&self.engine, &ListRequest::default()).unwrap();
        let found = all.sandboxes.iter().find(|it| it.sandbox.alias == alias);
        found.unwrap().sandbox.state
    }

    pub(crate) fn id(&self, alias: &str) -> String {
        let all = list(&self.engine, &ListRequest::default()).unwrap();
        let found = all.sandboxes.iter().find(|it| it.sandbox.alias == alias);
        found.unwrap().sandbox.id.to_string()
    }

    pub(crate) fn remove(&self, name: &str) {
        let request = RemoveRequest {
            sandboxes: vec![name.to_owned()],
            force: true,
            ..RemoveRequest::default()
        };
        remove(&self.engine, &request).unwrap();
    }

    fn names(&self, sandbox: &str) -> Vec<String> {
        let request = SnapshotsRequest {
            sandbox: Some(sandbox.to_owned()),
        };
        let all = snapshots(&self.engine, &request).unwrap().snapshots;
        all.into_iter().map(|it| it.snapshot.name).collect()
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        let request = RemoveRequest {
            all: true,
            force: true,
            ..RemoveRequest::default()
        };
        drop(remove(&self.engine, &request));
    }
}

#[test]
fn an_idle_sandbox_returns_to_a_snapshot_and_from_there_to_what_it_left() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.say("calm-fern", "echo one > made; echo more >> file");
    let taken = yard.snapshot("calm-fern", "first");
    assert_eq!(taken.snapshot.taken, Taken::Idle);
    assert_eq!(taken.snapshot.reference, "calm-fern@first");
    assert!(!taken.jail_ended);
    yard.say(
        "calm-fern",
        "rm made; echo two > other; rm -r src; mkdir src; echo x > src/x",
    );
    let back = yard.restore("calm-fern@first");
    assert_eq!((back.ended, back.jail_ended), (0, false));
    let left = back.left.unwrap();
    assert_eq!(left.kind, SnapshotKind::BeforeRestore);
    assert_eq!(yard.state("calm-fern"), State::Running);
    let all = yard.say("calm-fern", "cat made file; find . | sort");
    assert_eq!(
        all,
        "one\nbase\nmore\n.\n./file\n./made\n./src\n./src/lib.rs\n"
    );
    yard.restore(&left.reference);
    let all = yard.say("calm-fern", "cat other; find . | sort");
    assert_eq!(all, "two\n.\n./file\n./other\n./src\n./src/x\n");
    assert_eq!(yard.desk.read("file"), "base\n");
}

impl Yard {
    /// Applies everything, and ends what runs.
    fn apply(&self, alias: &str) {
        let request = ApplyRequest {
            sandbox: Some(alias.to_owned()),
            stop: true,
            ..ApplyRequest::default()
        };
        assert!(apply(&self.engine, &request).unwrap().applied);
        assert_eq!(self.state(alias), State::Promoted);
    }

    /// Removes a sandbox. Whether it went to the trash.
    fn is_trashed(&self, alias: &str) -> bool {
        let request = RemoveRequest {
            sandboxes: vec![alias.to_owned()],
            force: true,
            ..RemoveRequest::default()
        };
        remove(&self.engine, &request).unwrap().removed[0].in_trash
    }
}

#[test]
fn work_that_only_a_snapshot_holds_goes_to_the_trash_with_its_sandbox() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.snapshot("calm-fern", "clean");
    yard.say("calm-fern", "echo w > w.txt");
    let left = yard.restore("calm-fern@clean").left.unwrap();
    assert!(yard.is_trashed("calm-fern"));
    let back = TakeBackRequest {
        sandbox: Some("calm-fern".to_owned()),
    };
    take_back(&yard.engine, &back).unwrap();
    yard.restore(&left.reference);
    assert_eq!(yard.say("calm-fern", "cat w.txt"), "w\n");
    yard.create("brave-otter");
    yard.snapshot("brave-otter", "clean");
    assert!(!yard.is_trashed("brave-otter"), "nothing is in it");
}

#[test]
fn snapshots_on_the_way_to_what_was_applied_are_no_work_of_their_own() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.snapshot("calm-fern", "clean");
    yard.say("calm-fern", "echo one > one");
    yard.snapshot("calm-fern", "half");
    yard.say("calm-fern", "echo two > two");
    yard.snapshot("calm-fern", "whole");
    yard.apply("calm-fern");
    assert!(!yard.is_trashed("calm-fern"));
    yard.create("brave-otter");
    yard.say("brave-otter", "echo three > three; echo 4 > four");
    yard.snapshot("brave-otter", "first");
    yard.say("brave-otter", "rm three; echo four > four");
    yard.apply("brave-otter");
    assert!(yard.is_trashed("brave-otter"), "three was never applied");
}

#[test]
fn a_sandbox_that_returned_to_a_snapshot_is_no_longer_what_was_applied() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.say("calm-fern", "echo one > one");
    yard.snapshot("calm-fern", "first");
    yard.say("calm-fern", "echo two > two");
    let left = yard.restore("calm-fern@first").left.unwrap();
    yard.apply("calm-fern");
    yard.restore(&left.reference);
    assert_eq!(yard.state("calm-fern"), State::Finished);
    assert!(yard.is_trashed("calm-fern"));
}

#[test]
fn a_sandbox_without_a_jail_has_snapshots_too() {
    let yard = Yard::new();
    let (answer, _) = yard.desk.run("echo one > made");
    let alias = answer.sandbox.alias;
    let taken = yard.snapshot(&alias, "first");
    assert_eq!(taken.snapshot.taken, Taken::Stopped);
    yard.say(&alias, "rm made file");
    let back = yard.restore(&format!("{alias}@first"));
    assert_eq!(back.ended, 0);
    assert_eq!(yard.say(&alias, "cat made file"), "one\nbase\n");
}

#[test]
fn live_bulk_below_the_project_does_not_keep_a_snapshot_from_taking_no_time() {
    let yard = Yard::new();
    fs_err::create_dir(yard.desk.project().join("node_modules")).unwrap();
    for number in 0..1200 {
        yard.desk.write(&format!("node_modules/f{number}"), "x");
    }
    yard.desk.write(".gitignore", "node_modules/\n");
    yard.create("calm-fern");
    yard.say("calm-fern", "echo one > made");
    let idle = yard.snapshot("calm-fern", "one").snapshot;
    assert_eq!(idle.taken, Taken::Idle, "only the project was written to");
    yard.say(
        "calm-fern",
        "echo two > made; echo b > node_modules/mine; rm node_modules/f0",
    );
    let both = yard.snapshot("calm-fern", "two").snapshot;
    assert_eq!(both.taken, Taken::Idle, "both were written to");
    let seen = "cat made; cat node_modules/mine node_modules/f0 2>&1 | sed s/.*://; ls node_modules | wc -l";
    assert_eq!(
        yard.say("calm-fern", seen),
        "two\nb\n No such file or directory\n1200\n"
    );
    yard.restore("calm-fern@one");
    assert_eq!(
        yard.say(
            "calm-fern",
            "cat made; ls node_modules | wc -l; ls node_modules | grep -c mine"
        ),
        "one\n1200\n0\n"
    );
    yard.restore("calm-fern@two");
    assert_eq!(
        yard.say("calm-fern", "cat made node_modules/mine"),
        "two\nb\n"
    );
}

#[test]
fn what_runs_stands_still_for_a_snapshot_and_is_ended_by_a_restore() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.say("calm-fern", "echo one > made; sleep 1000 & ");
    let taken = yard.snapshot("calm-fern", "first");
    assert_eq!(taken.snapshot.taken, Taken::Running);
    assert!(taken.snapshot.frozen_us.is_some());
    yard.say("calm-fern", "echo two > made");
    let back = yard.restore("calm-fern@first");
    assert_eq!(back.ended, 1);
    assert_eq!(yard.say("calm-fern", "cat made"), "one\n");
}

#[test]
fn a_change_set_is_the_difference_to_the_base_whatever_snapshots_lie_between() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.say(
        "calm-fern",
        "echo one > made; echo more >> file; rm src/lib.rs",
    );
    yard.snapshot("calm-fern", "first");
    yard.say(
        "calm-fern",
        "echo two >> made; git init -q . 2>/dev/null; rm -rf .git",
    );
    yard.snapshot("calm-fern", "second");
    yard.say(
        "calm-fern",
        "rm made; echo fn > src/lib.rs; mkdir d; echo x > d/x",
    );
    let request = DiffRequest {
        sandbox: Some("calm-fern".to_owned()),
        ..DiffRequest::default()
    };
    let answer = diff(&yard.engine, &request).unwrap();
    let files: Vec<&str> = answer
        .changes
        .files
        .iter()
        .filter(|file| file.what == "file")
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(files, ["d/x", "file", "src/lib.rs"]);
}

#[test]
fn a_paused_sandbox_takes_no_command_until_it_is_resumed() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.say("calm-fern", "sleep 1000 &");
    let sandbox = Some("calm-fern".to_owned());
    let answer = pause(
        &yard.engine,
        &PauseRequest {
            sandbox: sandbox.clone(),
        },
    )
    .unwrap();
    assert_eq!((answer.sandbox.state, answer.processes), (State::Paused, 1));
    let request = ExecRequest {
        sandbox: sandbox.clone(),
        command: Command::new(["true"]),
        ..ExecRequest::default()
    };
    let error = exec(&yard.engine, &request, capture(&mut Vec::new())).unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict);
    assert_eq!(
        yard.snapshot("calm-fern", "still").snapshot.taken,
        Taken::Running
    );
    let answer = resume(&yard.engine, &ResumeRequest { sandbox }).unwrap();
    assert_eq!(
        (answer.sandbox.state, answer.processes),
        (State::Running, 1)
    );
    assert_eq!(yard.say("calm-fern", "echo on"), "on\n");
    let error = resume(&yard.engine, &ResumeRequest::default()).unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict);
}

#[test]
fn many_snapshots_become_few_layers_and_all_of_them_can_be_returned_to() {
    let yard = Yard::new();
    yard.create("calm-fern");
    for number in 0..40 {
        yard.say(
            "calm-fern",
            &format!(
                "echo {number} > n; echo {number} > n{number}; rm -f n{}",
                number - 3
            ),
        );
        yard.snapshot("calm-fern", &format!("at{number}"));
        if number == 20 {
            assert!(
                upkeep(&yard.engine, &UpkeepRequest::default())
                    .unwrap()
                    .joined
                    > 0
            );
        }
    }
    let joined = || {
        let done = upkeep(&yard.engine, &UpkeepRequest::default());
        done.unwrap().joined
    };
    assert!(joined() > 0);
    assert_eq!(joined(), 0, "what was joined is not joined again");
    for number in [0, 7, 15, 16, 20, 31, 39] {
        yard.restore(&format!("calm-fern@at{number}"));
        let want = (0..3)
            .rev()
            .filter(|back| number >= *back)
            .map(|back| format!("n{}\n", number - back));
        let mut want: Vec<String> = want.collect();
        want.sort();
        let seen = yard.say("calm-fern", "cat n; ls -d n?*");
        assert_eq!(seen, format!("{number}\n{}", want.concat()), "{number}");
    }
    let mounted = yard.say(
        "calm-fern",
        "grep -o 'lowerdir+\\?=' /proc/self/mountinfo | wc -l",
    );
    assert!(mounted.trim().parse::<u32>().unwrap() < 60, "{mounted}");
}

#[test]
fn names_that_were_deleted_between_snapshots_are_not_listed_once_their_layers_are_one() {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard.say("calm-fern", "mkdir made; echo a > made/a; echo b > made/b");
    yard.snapshot("calm-fern", "both");
    yard.say("calm-fern", "rm made/a src/*");
    for number in 0..10 {
        yard.say("calm-fern", &format!("echo {number} > other"));
        yard.snapshot("calm-fern", &format!("at{number}"));
    }
    let done = upkeep(&yard.engine, &UpkeepRequest::default()).unwrap();
    assert!(done.joined > 0);
    // A fork has no layer of its own with these directories.
    yard.fork("calm-fern@at9", "look");
    assert_eq!(yard.say("look", "ls made src"), "made:\nb\n\nsrc:\n");
    yard.fork("calm-fern@both", "before");
    assert_eq!(yard.say("before", "ls made"), "a\nb\n");
}

#[test]
fn a_snapshot_can_be_removed_and_takes_only_its_own_layers() {
    let yard = Yard::new();
    yard.create("calm-fern");
    for name in ["a", "b", "c"] {
        yard.say("calm-fern", &format!("echo {name} > {name}"));
        yard.snapshot("calm-fern", name);
    }
    yard.remove("calm-fern@b");
    assert_eq!(yard.names("calm-fern"), ["a", "c"]);
    yard.restore("calm-fern@c");
    assert_eq!(yard.say("calm-fern", "cat a b c"), "a\nb\nc\n");
    let drawn = tree(&yard.engine, &TreeRequest::default()).unwrap();
    let points = &drawn.roots[0].snapshots;
    assert_eq!(points[1].snapshot.parent, Some(points[0].snapshot.id));
    let request = RestoreRequest {
        snapshot: Some("calm-fern@d".to_owned()),
    };
    assert_eq!(
        restore(&yard.engine, &request).unwrap_err().kind(),
        Kind::NotFound
    );
}

#[test]
fn what_is_outside_the_project_travels_too() {
    let yard = Yard::new();
    let home = yard.desk.home();
    let home = home.display();
    yard.create("calm-fern");
    yard.say("calm-fern", &format!("echo one > {home}/note"));
    yard.snapshot("calm-fern", "first");
    yard.say(
        "calm-fern",
        &format!("echo two > {home}/note; echo x > made"),
    );
    let back = yard.restore("calm-fern@first");
    assert!(back.jail_ended);
    assert_eq!(
        yard.say("calm-fern", &format!("cat {home}/note; ls")),
        "one\nfile\nsrc\n"
    );
    yard.fork("calm-fern@first", "dim-reed");
    assert_eq!(
        yard.say(
            "dim-reed",
            &format!("cat {home}/note; echo f > {home}/note")
        ),
        "one\n"
    );
    assert_eq!(yard.say("calm-fern", &format!("cat {home}/note")), "one\n");
}
