//! `prune`, `rm`, and what is found after a crash.

use crate::desk::{Desk, capture};
use agar_core::fault::{Fault as _, Kind};
use agar_core::state::State;
use agar_engine::Command;
use agar_engine::create::{CreateRequest, create};
use agar_engine::exec::{ExecRequest, exec};
use agar_engine::list::{ListRequest, list};
use agar_engine::prune::{PruneRequest, prune};
use agar_engine::remove::{RemoveRequest, remove};
use agar_engine::upkeep::{Due, UpkeepAnswer, UpkeepRequest, upkeep};
use agar_testkit::{Caller, SmallDisk, skip};

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
    assert_eq!(desk.left_in_state("sandboxes"), 0);
    assert_eq!(desk.left_in_state("trash"), 0);
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
