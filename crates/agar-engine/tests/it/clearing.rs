//! `prune`, `rm`, and what is found after a crash.

use crate::desk::{Desk, capture};
use agar_core::fault::{Fault as _, Kind};
use agar_core::size::Bytes;
use agar_core::state::State;
use agar_engine::Command;
use agar_engine::apply::{ApplyRequest, Side, apply};
use agar_engine::create::{CreateRequest, create};
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::list::{ListRequest, list};
use agar_engine::prune::{PruneRequest, prune};
use agar_engine::remove::{RemoveRequest, remove};
use agar_engine::stop::{StopRequest, stop};
use agar_engine::take_back::{TakeBackRequest, take_back};
use agar_engine::upkeep::{Due, UpkeepAnswer, UpkeepRequest, upkeep};
use agar_testkit::{Caller, SmallDisk, leaks, skip};

#[test]
fn changes_that_were_never_applied_go_to_the_trash_first() {
    let desk = Desk::new();
    desk.run("echo x > x");
    let removed = remove(&desk.engine(), &RemoveRequest::default()).unwrap();
    assert!(removed.removed[0].in_trash);
    assert_eq!(desk.left_in_state("sandboxes"), 1);
    let nothing = prune(&desk.engine(), &PruneRequest::default()).unwrap();
    assert_eq!(nothing.removed, []);
    let request = PruneRequest {
        empty_trash: true,
        ..PruneRequest::default()
    };
    let emptied = prune(&desk.engine(), &request).unwrap();
    assert_eq!(emptied.removed.len(), 1);
    assert_eq!(emptied.removed[0].why, "trash emptied");
    assert_eq!(desk.left_in_state("sandboxes"), 0);
    assert_eq!(desk.left_in_state("trash"), 0);
}

/// Asks for these to be removed, whatever runs in them.
fn named(aliases: &[&str]) -> RemoveRequest {
    RemoveRequest {
        sandboxes: aliases.iter().map(|&alias| alias.to_owned()).collect(),
        force: true,
        ..RemoveRequest::default()
    }
}

#[test]
fn removing_what_is_in_the_trash_answers_the_same_and_deletes_nothing() {
    let desk = Desk::new();
    let (made, _) = desk.run("echo x > x");
    let alias = made.sandbox.alias.as_str();
    let first = remove(&desk.engine(), &named(&[alias, alias])).unwrap();
    assert_eq!(first.removed.len(), 1);
    assert!(first.removed[0].in_trash);
    let id = made.sandbox.id.to_string();
    for name in [alias, &id] {
        assert_eq!(remove(&desk.engine(), &named(&[name])).unwrap(), first);
    }
    let all = RemoveRequest {
        all: true,
        force: true,
        ..RemoveRequest::default()
    };
    assert_eq!(remove(&desk.engine(), &all).unwrap().removed, []);
    assert_eq!(desk.left_in_state("sandboxes"), 1);
}

#[test]
fn of_two_that_remove_the_same_at_once_neither_deletes() {
    let desk = Desk::new();
    for round in 0..10 {
        let (made, _) = desk.run("echo x > x");
        let request = named(&[made.sandbox.alias.as_str()]);
        let removed = std::thread::scope(|scope| {
            let removals = [(); 3].map(|()| scope.spawn(|| remove(&desk.engine(), &request)));
            removals.map(|removal| removal.join().unwrap().unwrap())
        });
        for answer in removed {
            assert!(answer.removed[0].in_trash, "round {round}: {answer:?}");
        }
        assert_eq!(desk.left_in_state("sandboxes"), round + 1);
    }
}

/// Applies these paths of the only sandbox, or everything.
fn apply_only(desk: &Desk, paths: &[&str]) {
    let request = ApplyRequest {
        paths: paths.iter().map(|&path| path.to_owned()).collect(),
        ..ApplyRequest::default()
    };
    assert!(apply(&desk.engine(), &request).unwrap().applied);
}

/// Whether cleaning would put the only sandbox into the trash, and removing it does.
fn is_trashed(desk: &Desk) -> bool {
    let request = PruneRequest {
        idle_ms: Some(0),
        keep_last: Some(0),
        dry_run: true,
        ..PruneRequest::default()
    };
    let pruned = prune(&desk.engine(), &request).unwrap();
    let removed = remove(&desk.engine(), &RemoveRequest::default()).unwrap();
    assert_eq!(pruned.removed[0].in_trash, removed.removed[0].in_trash);
    removed.removed[0].in_trash
}

#[test]
fn what_an_application_left_out_is_not_lost_with_the_rest() {
    let desk = Desk::new();
    desk.run("echo a > a; echo b > b");
    apply_only(&desk, &["a"]);
    assert!(is_trashed(&desk));
    take_back(&desk.engine(), &TakeBackRequest::default()).unwrap();
    apply_only(&desk, &[]);
    assert_eq!(desk.read("b"), "b\n");
    assert!(!is_trashed(&desk));
}

#[test]
fn an_application_of_nothing_that_was_asked_for_is_none() {
    let desk = Desk::new();
    desk.run("echo a > a");
    apply_only(&desk, &["elsewhere"]);
    assert!(is_trashed(&desk));
}

#[test]
fn what_lost_to_the_projects_side_and_hunks_that_nobody_picked_go_to_the_trash() {
    let desk = Desk::new();
    let lines: Vec<String> = (0..40).map(|line| format!("{line}\n")).collect();
    desk.write("f", &lines.concat());
    let mine = ApplyRequest {
        side: Some(Side::Mine),
        ..ApplyRequest::default()
    };
    let first = ApplyRequest {
        hunks: [("f".to_owned(), vec![1])].into(),
        ..ApplyRequest::default()
    };
    for (request, edit) in [(mine, true), (first, false)] {
        desk.run("sed -i '1s/.*/x/; 40s/.*/y/' f");
        if edit {
            desk.write("f", &lines.concat().replacen("0\n", "mine\n", 1));
        }
        assert!(apply(&desk.engine(), &request).unwrap().applied);
        assert!(is_trashed(&desk), "{request:?}");
    }
}

#[test]
fn changes_outside_the_project_alone_go_to_the_trash() {
    let desk = Desk::new();
    create(&desk.engine(), &CreateRequest::default()).unwrap();
    let say = |script: &str| {
        let request = ExecRequest {
            command: Command::new(["sh", "-c", script]),
            ..ExecRequest::default()
        };
        exec(&desk.engine(), &request, capture(&mut Vec::new())).unwrap();
    };
    say("ls / ~ > /dev/null; echo x > /tmp/x; cat ~/none");
    assert!(
        !remove(&desk.engine(), &RemoveRequest::default())
            .unwrap()
            .removed[0]
            .in_trash
    );
    create(&desk.engine(), &CreateRequest::default()).unwrap();
    say("echo w > ~/w.txt");
    stop(&desk.engine(), &StopRequest::default()).unwrap();
    assert!(is_trashed(&desk));
    take_back(&desk.engine(), &TakeBackRequest::default()).unwrap();
    // In the project there is nothing to apply, and what is outside was not named.
    apply_only(&desk, &[]);
    assert!(is_trashed(&desk));
    take_back(&desk.engine(), &TakeBackRequest::default()).unwrap();
    let named = ApplyRequest {
        outside: vec![desk.home().join("w.txt").to_string_lossy().into_owned()],
        ..ApplyRequest::default()
    };
    assert!(apply(&desk.engine(), &named).unwrap().applied);
    assert_eq!(
        fs_err::read_to_string(desk.home().join("w.txt")).unwrap(),
        "w\n"
    );
    assert!(!is_trashed(&desk));
}

#[test]
fn a_sandbox_whose_directory_somebody_deleted_can_be_removed() {
    let desk = Desk::new();
    for collect in ["rm", "prune"] {
        let (made, _) = desk.run("echo x > x");
        let sandboxes = desk.home().join(".local/state/agar/sandboxes");
        let directory = sandboxes.join(made.sandbox.id.to_string());
        leaks::remove_tree(&directory);
        assert!(!directory.exists());
        if collect == "rm" {
            let removed = remove(&desk.engine(), &named(&[made.sandbox.alias.as_str()])).unwrap();
            assert!(!removed.removed[0].in_trash);
        } else {
            let request = PruneRequest {
                idle_ms: Some(0),
                keep_last: Some(0),
                ..PruneRequest::default()
            };
            let removed = prune(&desk.engine(), &request).unwrap();
            assert_eq!(removed.removed.len(), 1);
        }
        let listed = list(&desk.engine(), &ListRequest::default()).unwrap();
        assert_eq!(listed.sandboxes, [], "{collect}");
    }
}

#[test]
fn a_dry_run_says_what_would_go_and_removes_nothing() {
    let desk = Desk::new();
    desk.run("echo x > x");
    let request = PruneRequest {
        idle_ms: Some(0),
        keep_last: Some(0),
        dry_run: true,
        ..PruneRequest::default()
    };
    let answer = prune(&desk.engine(), &request).unwrap();
    assert_eq!(answer.removed.len(), 1);
    assert!(answer.removed[0].in_trash && answer.dry_run);
    let listed = list(&desk.engine(), &ListRequest::default()).unwrap();
    assert_eq!(listed.sandboxes[0].sandbox.state, State::Finished);
}

#[test]
fn the_newest_are_kept() {
    let desk = Desk::new();
    desk.run("echo x > x");
    let (newest, _) = desk.run("echo y > y");
    let request = PruneRequest {
        idle_ms: Some(0),
        keep_last: Some(1),
        ..PruneRequest::default()
    };
    let answer = prune(&desk.engine(), &request).unwrap();
    assert_eq!(answer.removed.len(), 1);
    let listed = list(&desk.engine(), &ListRequest::default()).unwrap();
    let left: Vec<&str> = listed
        .sandboxes
        .iter()
        .map(|it| it.sandbox.alias.as_str())
        .collect();
    assert_eq!(left, [newest.sandbox.alias.as_str()]);
}

#[test]
fn a_size_that_is_asked_for_is_reached_unless_the_newest_are_to_be_kept() {
    let desk = Desk::new();
    desk.run("echo x > x");
    desk.run("echo y > y");
    let request = |keep_last| PruneRequest {
        disk_budget: Some(Bytes(0)),
        keep_last,
        dry_run: true,
        ..PruneRequest::default()
    };
    let count = |keep_last| {
        prune(&desk.engine(), &request(keep_last))
            .unwrap()
            .removed
            .len()
    };
    assert_eq!([None, Some(1), Some(10)].map(count), [2, 1, 0]);
}

#[test]
fn a_long_log_is_a_reason_to_fold_it_and_for_nothing_else() {
    /// Longer than this is long.
    const LONG: u64 = 160 * 4096;
    let desk = Desk::new();
    let config = desk.home().join(".config/agar");
    fs_err::create_dir_all(&config).unwrap();
    let cleanup = "[cleanup]\nidle_s = 0\nkeep_last = 0\n";
    fs_err::write(config.join("config.toml"), cleanup).unwrap();
    let log = || {
        fs_err::metadata(desk.home().join(".local/state/agar/store.db-wal"))
            .map_or(0, |it| it.len())
    };
    let runs = (0..500).take_while(|_| log() <= LONG);
    runs.for_each(|_| drop(desk.run("echo x > x")));
    assert!(log() > LONG);
    let ask = |due| upkeep(&desk.engine(), &UpkeepRequest { due }).unwrap();
    assert_eq!(ask(Due::Log), UpkeepAnswer::default());
    assert!(log() <= LONG);
    assert_ne!(ask(Due::Everything).removed, 0);
}

/// Set in the process that is to be killed; names its desk.
const VICTIM: &str = "AGAR_TEST_VICTIM";

#[test]
fn the_next_command_clears_away_after_a_crash() {
    if let Some(root) = std::env::var_os(VICTIM) {
        let desk = Desk::at(root.into());
        desk.write("started", "");
        desk.run_into(
            "echo x > x; echo inside; sleep 300",
            capture(&mut Vec::new()),
        );
        return;
    }
    let desk = Desk::new();
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "clearing::the_next_command_clears_away_after_a_crash",
        ])
        .env(VICTIM, desk.root())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    agar_testkit::wait::until("the command runs", || {
        let listed = list(&desk.engine(), &ListRequest::default()).unwrap();
        let running =
            |it: &agar_engine::list::Listed| it.last_run.is_some() && it.changed_files == Some(1);
        listed.sandboxes.iter().any(running)
    });
    victim.kill().unwrap();
    victim.wait().unwrap();
    let listed = list(&desk.engine(), &ListRequest::default()).unwrap();
    assert_eq!(listed.sandboxes.len(), 1);
    let left = &listed.sandboxes[0];
    assert_eq!(left.sandbox.state, State::Finished);
    assert!(left.last_run.as_ref().unwrap().end.is_some());
    assert_eq!(desk.left_in_state("alive"), 0);
}

#[test]
fn on_a_full_disk_something_can_still_be_removed() {
    if Caller::current() != Caller::Root {
        skip!("full-disk", "mounting a small disk needs root");
    }
    let desk = Desk::new();
    let small = SmallDisk::over(&desk.home(), c"size=32m,mode=0755");
    fs_err::create_dir_all(desk.project()).unwrap();
    let reserve = desk.home().join(".local/state/agar/reserve");
    for script in ["echo x > x", "echo y > y"] {
        desk.run(script);
    }
    assert!(reserve.exists());
    let filler = small.fill();
    let one = |number: usize| {
        let listed = list(&desk.engine(), &ListRequest::default()).unwrap();
        RemoveRequest {
            sandboxes: vec![listed.sandboxes[number].sandbox.alias.clone()],
            ..RemoveRequest::default()
        }
    };
    let removed = remove(&desk.engine(), &one(0)).unwrap();
    assert!(removed.removed[0].in_trash);
    assert!(!reserve.exists());
    // Without it, this is what would have been said.
    small.fill();
    let refused = remove(&desk.engine(), &one(0)).unwrap_err();
    assert_eq!(refused.kind(), Kind::Limit, "{refused}");
    fs_err::remove_file(filler).unwrap();
    upkeep(&desk.engine(), &UpkeepRequest::default()).unwrap();
    assert!(reserve.exists());
    remove(&desk.engine(), &one(0)).unwrap();
}

#[test]
fn a_sandbox_that_goes_on_filling_the_disk_can_be_removed() {
    if Caller::current() != Caller::Root {
        skip!("full-disk", "mounting a small disk needs root");
    }
    let desk = Desk::new();
    let small = SmallDisk::over(&desk.home(), c"size=32m,mode=0755");
    fs_err::create_dir_all(desk.project()).unwrap();
    create(&desk.engine(), &CreateRequest::default()).unwrap();
    let filling = ExecRequest {
        command: Command::new([
            "sh",
            "-c",
            "(while :; do cat /dev/zero >>big; done) >/dev/null 2>&1 &",
        ]),
        ..ExecRequest::default()
    };
    exec(&desk.engine(), &filling, capture(&mut Vec::new())).unwrap();
    let is_full = || rustix::fs::statvfs(small.path()).unwrap().f_bavail == 0;
    agar_testkit::wait::until("the disk to be full", is_full);
    let removal = RemoveRequest {
        force: true,
        ..RemoveRequest::default()
    };
    let removed = remove(&desk.engine(), &removal).unwrap();
    assert!(removed.removed[0].in_trash);
}
