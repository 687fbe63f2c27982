//! Whole jails on the real kernel, raised through the client as agar raises them.

mod hatchery;
mod life;
mod limits;
mod tiers;
mod waiting;
mod world;

use agar_core::walls::{Identity, Monitor};
use agar_jail::client::{Lifetime, WindowSize};
use agar_jail::policy::OldWay;
use agar_jail::report::End;
use agar_jail::wire::Raw;
use std::fs::File;
use std::io::{Read, Write};
pub(crate) use world::{World, finish};

#[test]
fn a_command_runs_in_the_project_and_its_status_comes_back() {
    let world = World::new();
    let (text, report) = world.run("pwd; cat file; exit 7");
    assert_eq!(text, format!("{}\nbase\n", world.project().display()));
    assert_eq!(report.end, End::Exited { code: 7 });
}

#[test]
fn what_is_written_inside_stays_inside() {
    let world = World::new();
    let (_, report) = world.run("echo new > file; echo x > ~/other; rm -rf ~/.ssh ~/project/file");
    assert_eq!(report.end, End::Exited { code: 0 });
    assert_eq!(
        fs_err::read_to_string(world.project().join("file")).unwrap(),
        "base\n"
    );
    assert!(!world.path("home/other").exists());
    assert!(world.path("home/.ssh/id_rsa").exists());
}

#[test]
fn all_of_the_home_can_be_deleted_inside() {
    let world = World::new();
    let (text, _) = world.run("cd /; rm -rf ~/* ~/.[a-z]* 2>/dev/null; ls -A ~; ls ~/project");
    assert_eq!(text, "project\n");
    assert_eq!(
        fs_err::read_to_string(world.project().join("file")).unwrap(),
        "base\n"
    );
}

#[test]
fn a_masked_path_is_not_there_until_it_is_made_inside() {
    let world = World::new();
    let script = "ls ~/.ssh 2>&1; cat /proc/1/root$HOME/.ssh/id_rsa 2>&1; mkdir ~/.ssh && echo mine > ~/.ssh/a && cat ~/.ssh/a";
    let (text, report) = world.run(script);
    assert_eq!(report.end, End::Exited { code: 0 });
    assert!(
        !text.contains("secret") && !text.contains("id_rsa\n"),
        "{text}"
    );
    assert!(text.ends_with("mine\n"), "{text}");
}

#[test]
fn a_program_that_is_missing_or_not_executable_is_told_apart() {
    for (program, end) in [
        ("no-such-program", End::NotFound),
        (
            "./file",
            End::NotExecutable {
                errno: libc::EACCES,
            },
        ),
    ] {
        let world = World::new();
        let keeper = world.start(Lifetime::OneRun);
        let mut request = world.request(1, "");
        request.argv = vec![program.into()];
        let (_, report) = finish(keeper.run(&request).unwrap());
        assert_eq!(report.end, end);
        keeper.bury();
    }
}

#[test]
fn a_directory_that_may_not_be_searched_holds_no_program() {
    let world = World::new();
    fs_err::create_dir(world.project().join("closed")).unwrap();
    let (text, report) = world.run("chmod 0 closed; PATH=$PWD/closed:$PATH no-such-program");
    assert_eq!(report.end, End::Exited { code: 127 }, "{text}");
    let mut request = world.request(1, "");
    request.argv = vec!["no-such-program".into()];
    request.env = vec![("PATH".into(), "/root:/lost+found".into())];
    let other = World::new();
    let keeper = other.start(Lifetime::OneRun);
    request.cwd = other.project().into();
    assert_eq!(finish(keeper.run(&request).unwrap()).1.end, End::NotFound);
    keeper.bury();
}

#[test]
fn nothing_that_a_run_started_outlives_it() {
    let world = World::new();
    let (text, report) = world.run("setsid sleep 1000 & echo started");
    assert_eq!(
        (text.as_str(), report.end),
        ("started\n", End::Exited { code: 0 })
    );
    assert!(agar_testkit::leaks::processes_in(world.directory.path()).is_empty());
}

#[test]
fn the_network_is_a_loopback_and_nothing_else() {
    let world = World::new();
    let (text, _) = world.run("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '");
    assert_eq!(text, "lo\n");
}

#[test]
fn standard_input_reaches_the_command() {
    let world = World::new();
    let keeper = world.start(Lifetime::OneRun);
    let mut running = keeper.run(&world.request(1, "cat")).unwrap();
    File::from(running.stdin.take().unwrap())
        .write_all(b"hello")
        .unwrap();
    let (text, _) = finish(running);
    assert_eq!(text, "hello");
    keeper.bury();
}

#[test]
fn a_terminal_is_the_jails_own() {
    let world = World::new();
    let keeper = world.start(Lifetime::OneRun);
    let mut request = world.request(1, "tty; stty size");
    request.terminal = Some(WindowSize {
        rows: 31,
        columns: 97,
    });
    let (text, report) = finish(keeper.run(&request).unwrap());
    assert_eq!(report.end, End::Exited { code: 0 });
    assert_eq!(text, "/dev/pts/0\r\n31 97\r\n");
    keeper.bury();
}

#[test]
fn a_signal_reaches_the_command_and_ends_it() {
    let world = World::new();
    let keeper = world.start(Lifetime::OneRun);
    let mut running = keeper
        .run(&world.request(1, "echo ready; sleep 1000"))
        .unwrap();
    let mut ready = [0; 6];
    File::from(running.stdout.take().unwrap())
        .read_exact(&mut ready)
        .unwrap();
    running.signal(libc::SIGTERM).unwrap();
    assert_eq!(
        finish(running).1.end,
        End::Signaled {
            signal: libc::SIGTERM
        }
    );
    keeper.bury();
}

#[test]
fn layers_can_be_laid_the_old_way() {
    let mut world = World::new();
    world.policy.old_ways = vec![OldWay::MountOptions, OldWay::NoLandlock];
    let (text, report) = world.run("echo new > file; cat file");
    assert_eq!(
        (text.as_str(), report.end),
        ("new\n", End::Exited { code: 0 })
    );
    assert_eq!(
        fs_err::read_to_string(world.project().join("file")).unwrap(),
        "base\n"
    );
}

#[test]
fn fake_root_is_root_by_name_only() {
    let mut world = World::new();
    world.policy.identity = Identity::FakeRoot;
    let (text, _) = world.run("id -u; echo x > file; stat -c %u file");
    assert_eq!(text, "0\n0\n");
}

#[test]
fn an_ordinary_command_holds_no_capability() {
    let world = World::new();
    let (text, _) = world.run("grep CapEff /proc/self/status");
    if rustix::process::getuid().is_root() {
        assert_eq!(text, "CapEff:\t00000000800005ff\n");
    } else {
        assert_eq!(text, "CapEff:\t0000000000000000\n");
    }
}

#[test]
fn devices_cannot_be_changed_for_the_host() {
    let world = World::new();
    let (text, _) =
        world.run("chmod 600 /dev/null 2>/dev/null; echo x > /dev/null && echo written");
    assert_eq!(text, "written\n");
    let mode = std::os::unix::fs::MetadataExt::mode(&fs_err::metadata("/dev/null").unwrap());
    assert_eq!(mode & 0o777, 0o666);
}

#[test]
fn the_kernels_knobs_cannot_be_turned() {
    let world = World::new();
    let script = "for f in kernel/core_pattern vm/overcommit_memory user/max_user_namespaces; do \
        (echo 1 > /proc/sys/$f) 2>/dev/null && echo wrote $f; done; \
        (echo h > /proc/sysrq-trigger) 2>/dev/null && echo sysrq; unshare -U true 2>/dev/null && echo nested";
    assert_eq!(world.run(script).0, "");
}

#[test]
fn what_was_executed_and_denied_is_on_record() {
    let world = World::new();
    let (_, report) =
        world.run("uname >/dev/null; unshare -n true 2>/dev/null; ls /nowhere 2>/dev/null; true");
    let programs: Vec<String> = report
        .executions
        .iter()
        .map(|execution| execution.program.to_string())
        .collect();
    assert!(
        programs.iter().any(|program| program.ends_with("/uname")),
        "{report:?}"
    );
    assert!(
        report.denied.iter().any(|denied| denied.call == "unshare"),
        "{report:?}"
    );
    assert!(report.files.is_empty());
}

#[test]
fn files_are_on_record_when_that_is_asked_for() {
    let mut world = World::new();
    world.policy.monitor = Monitor::Files;
    let (_, report) = world.run("cat file; echo x > other");
    let seen = |name: &str, write: bool| {
        let path = Raw::from(world.project().join(name));
        report
            .files
            .iter()
            .any(|access| access.path == path && access.write == write)
    };
    assert!(
        seen("file", false) && seen("other", true),
        "{:?}",
        report.files
    );
}

#[test]
fn a_directory_of_the_base_can_be_renamed() {
    let world = World::new();
    fs_err::create_dir_all(world.project().join("old/deep")).unwrap();
    fs_err::write(world.project().join("old/deep/a"), "a\n").unwrap();
    let rename = "perl -e 'rename(\"old\", \"new\") or die $!'";
    let (text, report) = world.run(&format!("{rename} && cat new/deep/a && ls"));
    assert_eq!(
        (text.as_str(), report.end),
        ("a\nfile\nnew\n", End::Exited { code: 0 }),
        "{text}"
    );
    assert!(world.project().join("old/deep/a").exists());
}

#[test]
fn a_lock_inside_is_nobody_elses() {
    let world = World::new();
    let keeper = world.start(Lifetime::UntilStopped);
    let mut request = world.request(1, "flock -n /etc/passwd -c 'echo held; sleep 1000'");
    request.timeout_ms = Some(60_000);
    let mut running = keeper.run(&request).unwrap();
    let mut held = [0; 5];
    File::from(running.stdout.take().unwrap())
        .read_exact(&mut held)
        .unwrap();
    let outside = fs_err::File::open("/etc/passwd").unwrap();
    let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    rustix::fs::flock(outside.file(), lock).unwrap();
    drop(running);
    keeper.stop().unwrap();
}
