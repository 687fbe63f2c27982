//! Snapshots that nobody asks for, and what they are for.

use crate::desk::capture;
use crate::travelling::Yard;
use agar_core::limits::Limits;
use agar_core::run::End;
use agar_core::size::Bytes;
use agar_core::snapshot::SnapshotKind;
use agar_engine::exec::{ExecAnswer, ExecRequest, exec};
use agar_engine::prune::{PruneRequest, prune};
use agar_engine::snapshots::{ListedSnapshot, SnapshotsRequest, snapshots};
use agar_engine::stop::{StopRequest, stop};
use agar_engine::upkeep::{UpkeepRequest, upkeep};
use agar_engine::{Caller, Command, SandboxOptions};

/// An agent's command.
fn exec_as_agent(yard: &Yard, script: &str) -> ExecAnswer {
    let request = ExecRequest {
        sandbox: Some("calm-fern".to_owned()),
        command: Command::new(["sh", "-c", script]),
        caller: Caller::Agent {
            name: "claude".to_owned(),
        },
        ..ExecRequest::default()
    };
    exec(&yard.engine, &request, capture(&mut Vec::new())).unwrap()
}

fn listed(yard: &Yard) -> Vec<ListedSnapshot> {
    let request = SnapshotsRequest {
        sandbox: Some("calm-fern".to_owned()),
    };
    snapshots(&yard.engine, &request).unwrap().snapshots
}

fn yard() -> Yard {
    let yard = Yard::new();
    yard.create("calm-fern");
    yard
}

#[test]
fn the_last_command_of_an_agent_can_be_undone() {
    let yard = yard();
    exec_as_agent(&yard, "echo one > made");
    let answer = exec_as_agent(&yard, "rm -r made file src; echo two > other");
    assert_eq!(answer.before.as_deref(), Some("calm-fern@s2"));
    let back = yard.restore("calm-fern");
    assert_eq!(back.snapshot.kind, SnapshotKind::BeforeRun);
    let note = back.snapshot.note.unwrap();
    assert_eq!(note, "before sh -c rm -r made file src; echo two > other");
    assert_eq!(
        yard.say("calm-fern", "cat made; ls"),
        "one\nfile\nmade\nsrc\n"
    );
    // Undoing can be undone.
    yard.restore(&back.left.unwrap().reference);
    assert_eq!(yard.say("calm-fern", "ls"), "other\n");
}

#[test]
fn a_command_of_an_agent_can_be_undone_while_something_runs() {
    let yard = yard();
    yard.say("calm-fern", "echo one > made; sleep 1000 &");
    let answer = exec_as_agent(&yard, "rm made");
    assert_eq!(answer.before.as_deref(), Some("calm-fern@s1"));
    yard.restore("calm-fern");
    assert_eq!(yard.say("calm-fern", "cat made"), "one\n");
}

#[test]
fn commands_that_change_nothing_leave_one_snapshot_and_a_persons_none() {
    let yard = yard();
    yard.say("calm-fern", "echo one > made");
    assert_eq!(listed(&yard).len(), 0);
    let first = exec_as_agent(&yard, "cat made");
    let second = exec_as_agent(&yard, "cat made");
    assert_eq!(first.before, second.before);
    assert_eq!(listed(&yard).len(), 1);
}

#[test]
fn what_is_too_large_to_be_cloned_is_said_and_not_cloned() {
    let yard = yard();
    yard.say(
        "calm-fern",
        "head -c 70000000 /dev/urandom > large; sleep 1000 &",
    );
    let answer = exec_as_agent(&yard, "rm large");
    assert_eq!(answer.before, None);
    let why = "no snapshot was taken before it: too much would have to be copied for it";
    assert!(
        answer.run.notes.contains(&why.to_owned()),
        "{:?}",
        answer.run
    );
    assert_eq!(listed(&yard).len(), 0);
}

#[test]
fn the_settings_say_for_whom_snapshots_are_taken() {
    let yard = yard();
    let config = yard.desk.home().join(".config/agar");
    fs_err::create_dir_all(&config).unwrap();
    fs_err::write(config.join("config.toml"), "snapshots.before_run = true\n").unwrap();
    yard.say("calm-fern", "rm file");
    assert_eq!(listed(&yard).len(), 1);
    fs_err::write(config.join("config.toml"), "snapshots.before_run = false\n").unwrap();
    assert_eq!(exec_as_agent(&yard, "rm -r src").before, None);
    assert_eq!(listed(&yard).len(), 1);
}

#[test]
fn a_sandbox_returns_to_what_it_was_when_its_command_breaks_a_limit() {
    let yard = Yard::new();
    let limits = Limits {
        timeout_ms: Some(500),
        output_bytes: Some(Bytes::mib(1)),
        ..Limits::default()
    };
    let options = SandboxOptions {
        limits,
        ..SandboxOptions::default()
    };
    yard.create_with("calm-fern", options);
    let config = yard.desk.home().join(".config/agar");
    fs_err::create_dir_all(&config).unwrap();
    fs_err::write(config.join("config.toml"), "on_breach = \"restore\"\n").unwrap();
    let fine = exec_as_agent(&yard, "echo one > made");
    assert_eq!(fine.taken_back, None);
    let far = exec_as_agent(&yard, "rm made; echo two > other; sleep 1000");
    assert!(matches!(far.run.end, Some(End::Stopped { .. })));
    assert_eq!(
        yard.say("calm-fern", "ls; cat made"),
        "file\nmade\nsrc\none\n"
    );
    // What it left can be looked at.
    yard.restore(&far.taken_back.unwrap());
    assert_eq!(yard.say("calm-fern", "ls"), "file\nother\nsrc\n");
}

#[test]
fn old_automatic_snapshots_go_with_the_layers_that_only_they_stood_on() {
    let yard = yard();
    fs_err::write(
        yard.desk.project().join("agar.toml"),
        "snapshots.keep_automatic = 2\n",
    )
    .unwrap();
    for number in 0..20 {
        exec_as_agent(&yard, &format!("echo {number} > count; touch f{number}"));
        if number == 3 {
            yard.snapshot("calm-fern", "mine");
        }
    }
    let would = PruneRequest {
        dry_run: true,
        ..PruneRequest::default()
    };
    // Twenty were taken: one of them is the one that was asked for.
    assert_eq!(prune(&yard.engine, &would).unwrap().snapshots, 17);
    assert_eq!(listed(&yard).len(), 20);
    upkeep(&yard.engine, &UpkeepRequest::default()).unwrap();
    let left: Vec<String> = listed(&yard)
        .into_iter()
        .map(|it| it.snapshot.name)
        .collect();
    assert_eq!(left, ["mine", "s19", "s20"]);
    assert_eq!(yard.say("calm-fern", "cat count; ls | wc -l"), "19\n23\n");
    let layers = |yard: &Yard| {
        let sandboxes = yard.desk.home().join(".local/state/agar/sandboxes");
        let all = fs_err::read_dir(sandboxes).unwrap().flatten();
        let all = all.flat_map(|sandbox| fs_err::read_dir(sandbox.path()).unwrap().flatten());
        let names = all.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.starts_with("upper-0")).count()
    };
    // A jail holds what it is made of; the next one is made of fewer layers.
    assert!(layers(&yard) > 18, "{} layers", layers(&yard));
    let request = StopRequest {
        sandboxes: vec!["calm-fern".to_owned()],
        ..StopRequest::default()
    };
    stop(&yard.engine, &request).unwrap();
    upkeep(&yard.engine, &UpkeepRequest::default()).unwrap();
    assert!(layers(&yard) < 9, "{} layers", layers(&yard));
    yard.restore("calm-fern@mine");
    assert_eq!(yard.say("calm-fern", "cat count; ls | wc -l"), "3\n7\n");
    yard.restore("calm-fern@s20");
    assert_eq!(yard.say("calm-fern", "cat count; ls | wc -l"), "18\n22\n");
}
