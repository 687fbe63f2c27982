//! Whole jails on the real kernel, raised through the client as agar raises them.

use agar_core::limits::{Limits, Resource};
use agar_core::size::Bytes;
use agar_core::walls::{Identity, Monitor, Network, Tier};
use agar_jail::client::{
    self, Ahead, Keeper, KeeperConfig, Lifetime, RunRequest, Running, WindowSize,
};
use agar_jail::machine::Machine;
use agar_jail::plan::plan;
use agar_jail::policy::{Nested, OldWay, Overlay, Policy};
use agar_jail::report::{End, RunReport};
use agar_jail::wire::Raw;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A home, a project and a state directory of their own.
pub(crate) struct World {
    directory: tempfile::TempDir,
    pub(crate) policy: Policy,
    pub(crate) config_limits: Limits,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| -> PathBuf {
            let path = directory.path().join(name);
            fs_err::create_dir_all(&path).unwrap();
            path
        };
        let (home, project) = (at("home"), at("home/project"));
        fs_err::write(project.join("file"), "base\n").unwrap();
        fs_err::create_dir_all(home.join(".ssh")).unwrap();
        fs_err::write(home.join(".ssh/id_rsa"), "secret\n").unwrap();
        let overlay = |target: &Path, name: &str| Overlay {
            target: target.into(),
            upper: at(&format!("sandbox/{name}/upper")).into(),
            work: at(&format!("sandbox/{name}/work")).into(),
            lowers: vec![target.into()],
        };
        let mut overlays = vec![overlay(&home, "home"), overlay(&project, "project")];
        if rustix::process::getuid().is_root() {
            overlays.push(overlay(Path::new("/"), "whole"));
        }
        at("sandbox/mask");
        let policy = Policy {
            tier: Tier::Full,
            network: Network::None,
            identity: Identity::Caller,
            nested: Nested::Refused,
            monitor: Monitor::Executions,
            overlays,
            copies: Vec::new(),
            masks: vec![home.join(".ssh").into()],
            home: home.into(),
            staging: at("sandbox/root").into(),
            layer_homes: Vec::new(),
            limits: Limits::person(),
            old_ways: Vec::new(),
        };
        Self {
            directory,
            policy,
            config_limits: Limits::person(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("home/project")
    }

    pub(crate) fn start(&self, lifetime: Lifetime) -> Keeper {
        self.try_start(lifetime).unwrap()
    }

    fn try_start(&self, lifetime: Lifetime) -> Result<Keeper, client::StartError> {
        client::start(&self.path("program"), &self.config(lifetime))
    }

    fn config(&self, lifetime: Lifetime) -> KeeperConfig {
        KeeperConfig {
            plan: plan(&self.policy, &Machine::read().unwrap()).unwrap(),
            limits: self.config_limits,
            directory: self.path("sandbox").into(),
            socket: self.path("socket").into(),
            layers: vec![self.path("sandbox/project/upper").into()],
            name: self
                .directory
                .path()
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned(),
            lifetime,
        }
    }

    pub(crate) fn request(&self, number: u32, script: &str) -> RunRequest {
        RunRequest {
            number,
            argv: ["sh", "-c", script].map(Raw::from).to_vec(),
            env: vec![
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("HOME".into(), self.path("home").into()),
            ],
            cwd: self.project().into(),
            terminal: None,
            timeout_ms: None,
        }
    }

    /// Runs a script in a jail of its own: what it printed, and the report.
    fn run(&self, script: &str) -> (String, RunReport) {
        let keeper = self.start(Lifetime::OneRun);
        let running = keeper.run(&self.request(1, script)).unwrap();
        let answer = finish(running);
        keeper.bury();
        answer
    }
}

impl Drop for World {
    fn drop(&mut self) {
        assert!(agar_jail::keeper::sweep(&self.path("sandbox")).is_empty());
        agar_testkit::leaks::remove_tree(self.directory.path());
    }
}

/// What a jail looks like from inside, raised with or without a beginning made before its plan.
fn seen_inside(ahead: bool, change: impl Fn(&mut Policy)) -> String {
    let mut world = World::new();
    // The machine's root has a tree of its own, which cannot be begun.
    world.policy.overlays.truncate(2);
    change(&mut world.policy);
    let staging = world.policy.staging.as_path();
    let ahead = if ahead {
        Ahead::Usual(staging)
    } else {
        Ahead::Nothing
    };
    let waiting = client::prepare(&world.path("program"), ahead).unwrap();
    let raising = waiting.raise(&world.config(Lifetime::OneRun)).unwrap();
    let script = "cut -d' ' -f5,6 /proc/self/mountinfo | sort; ls -A ~ / /dev; id -u; \
                  cat /proc/sys/user/max_user_namespaces; cat /proc/net/dev | wc -l; cat file";
    let order = raising.order(&world.request(1, script)).unwrap();
    let keeper = raising.ready().unwrap();
    let (printed, report) = finish(order.started(&keeper).unwrap());
    assert_eq!(report.end, End::Exited { code: 0 }, "{printed}");
    keeper.bury();
    printed.replace(&world.directory.path().display().to_string(), "WORLD")
}

#[test]
fn a_jail_begun_before_its_plan_is_the_jail_of_its_plan() {
    let usual = seen_inside(false, |_| {});
    assert!(usual.contains("WORLD/home/project"), "{usual}");
    assert_eq!(seen_inside(true, |_| {}), usual);
}

#[test]
fn a_plan_that_cannot_use_what_was_begun_is_raised_from_nothing() {
    let changes: [fn(&mut Policy); 2] = [
        |policy| policy.nested = Nested::Allowed,
        |policy| policy.network = Network::Host,
    ];
    for change in changes {
        assert_eq!(seen_inside(true, change), seen_inside(false, change));
    }
}

#[test]
fn a_keeper_without_a_plan_ends_with_its_client() {
    let world = World::new();
    let staging = world.policy.staging.as_path();
    let program = world.path("program");
    drop(client::prepare(&program, Ahead::Usual(staging)).unwrap());
    let is_gone = || agar_testkit::leaks::processes_in(&program).is_empty();
    agar_testkit::wait::until("the keeper to end", is_gone);
}

/// Reads everything a run prints, then waits for it.
pub(crate) fn finish(mut running: Running) -> (String, RunReport) {
    drop(running.stdin.take());
    let mut text = String::new();
    let streams = [
        running.stdout.take(),
        running.stderr.take(),
        running.terminal.take(),
    ];
    for stream in streams.into_iter().flatten() {
        let mut bytes = Vec::new();
        // A terminal whose far end is gone gives an error instead of an end.
        drop(File::from(stream).read_to_end(&mut bytes));
        text.push_str(&String::from_utf8_lossy(&bytes));
    }
    (text, running.wait().unwrap())
}

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
fn a_run_out_of_time_is_stopped_by_name() {
    let world = World::new();
    let keeper = world.start(Lifetime::OneRun);
    let mut request = world.request(1, "sleep 1000");
    request.timeout_ms = Some(50);
    let (_, report) = finish(keeper.run(&request).unwrap());
    let End::Stopped { breach } = report.end else {
        panic!("{:?}", report.end)
    };
    assert_eq!((breach.resource, breach.limit), (Resource::Time, 50));
    assert!(breach.seen >= 50);
    keeper.bury();
}

#[test]
fn a_memory_bomb_is_stopped_by_name() {
    let mut world = World::new();
    world.config_limits.memory_bytes = Some(Bytes::mib(64));
    world.policy.limits = world.config_limits;
    let (_, report) = world.run("a=0123456789abcdef; while :; do a=$a$a; done");
    let End::Stopped { breach } = report.end else {
        panic!("{report:?}")
    };
    assert_eq!(
        (breach.resource, breach.limit),
        (Resource::Memory, 64 << 20)
    );
}

#[test]
fn a_sandbox_that_stays_takes_one_command_after_another() {
    let world = World::new();
    let keeper = world.start(Lifetime::UntilStopped);
    let (text, _) = finish(
        keeper
            .run(&world.request(1, "echo one > seen; cat seen"))
            .unwrap(),
    );
    assert_eq!(text, "one\n");
    let again = Keeper::connect(&world.path("socket"), &world.path("sandbox")).unwrap();
    let (text, _) = finish(
        again
            .run(&world.request(2, "cat seen; sleep 1000 >/dev/null 2>&1 &"))
            .unwrap(),
    );
    assert_eq!(text, "one\n");
    let status = again.status().unwrap();
    assert_eq!((status.runs, status.processes), (Vec::new(), 1));
    drop(keeper);
    again.stop().unwrap();
    assert!(!world.path("socket").exists());
}

#[test]
fn a_one_run_jail_ends_when_its_client_goes_away() {
    let world = World::new();
    let keeper = world.start(Lifetime::OneRun);
    let running = keeper.run(&world.request(1, "sleep 1000")).unwrap();
    drop((running, keeper));
    agar_testkit::leaks::assert_gone(world.directory.path());
}

#[test]
fn killing_the_keeper_ends_everything_inside() {
    let world = World::new();
    let keeper = world.start(Lifetime::UntilStopped);
    let running = keeper.run(&world.request(1, "sleep 1000")).unwrap();
    let status = Keeper::connect(&world.path("socket"), &world.path("sandbox"))
        .unwrap()
        .status();
    let pid = rustix::process::Pid::from_raw(status.unwrap().keeper.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    keeper.bury();
    assert!(running.wait().is_err());
    agar_testkit::leaks::assert_gone(world.directory.path());
}

#[test]
fn two_keepers_cannot_have_one_sandbox() {
    let world = World::new();
    let keeper = world.start(Lifetime::UntilStopped);
    let refused = world.try_start(Lifetime::UntilStopped).unwrap_err();
    assert_eq!(refused.step, "lock the sandbox");
    keeper.stop().unwrap();
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

/// The same world in a tier that works on copies.
fn copying(tier: Tier) -> World {
    let mut world = World::new();
    let copied = |target: PathBuf, name: &str| {
        let copy = world.path(name);
        fs_err::create_dir_all(&copy).unwrap();
        agar_jail::policy::Copied {
            target: target.into(),
            copy: copy.into(),
        }
    };
    world.policy.copies = vec![
        copied("/tmp".into(), "sandbox/tmp"),
        copied(world.project(), "sandbox/copy"),
    ];
    fs_err::write(world.path("sandbox/copy/file"), "base\n").unwrap();
    world.policy.overlays.clear();
    world.policy.tier = tier;
    world
}

#[test]
fn without_namespaces_landlock_keeps_a_command_in_its_copy() {
    let world = copying(Tier::Landlock);
    let keeper = world.start(Lifetime::OneRun);
    let script = format!(
        "echo new > file; cat file; echo x > {0}/file; cat {1}/.ssh/id_rsa; setsid sleep 1000 &",
        world.project().display(),
        world.path("home").display(),
    );
    let mut request = world.request(1, &script);
    request.cwd = world.path("sandbox/copy").into();
    let (text, report) = finish(keeper.run(&request).unwrap());
    keeper.bury();
    assert_eq!(report.end, End::Exited { code: 0 }, "{text}");
    assert!(
        text.starts_with("new\n") && !text.contains("secret"),
        "{text}"
    );
    assert_eq!(
        fs_err::read_to_string(world.project().join("file")).unwrap(),
        "base\n"
    );
    assert_eq!(
        fs_err::read_to_string(world.path("sandbox/copy/file")).unwrap(),
        "new\n"
    );
    agar_testkit::leaks::assert_gone(world.directory.path());
}

#[test]
fn without_a_network_namespace_the_filter_keeps_the_network_off() {
    let world = copying(Tier::Landlock);
    let keeper = world.start(Lifetime::OneRun);
    let script = "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) and print \"open\"; \
                  socket(U, PF_UNIX, SOCK_STREAM, 0) and print \"unix\"'";
    let (text, _) = finish(keeper.run(&world.request(1, script)).unwrap());
    keeper.bury();
    assert_eq!(text, "unix");
}

#[test]
fn bubblewrap_can_do_the_privileged_part() {
    if !Path::new("/usr/bin/bwrap").exists() {
        agar_testkit::skip!("helper-tier", "bubblewrap is not installed");
    }
    let world = copying(Tier::Helper);
    let (text, report) =
        world.run("pwd; echo new > file; cat file; ls ~/.ssh; touch /usr/x; echo $$");
    assert!(report.end == End::Exited { code: 0 }, "{text} {report:?}");
    assert!(
        text.starts_with(&format!("{}\nnew\n", world.project().display())),
        "{text}"
    );
    assert!(!text.contains("id_rsa"), "{text}");
    assert_eq!(
        fs_err::read_to_string(world.project().join("file")).unwrap(),
        "base\n"
    );
    assert_eq!(
        fs_err::read_to_string(world.path("sandbox/copy/file")).unwrap(),
        "new\n"
    );
    agar_testkit::leaks::assert_gone(world.directory.path());
}

#[test]
fn the_weakest_tier_is_a_copy_and_says_so() {
    let world = copying(Tier::None);
    let keeper = world.start(Lifetime::OneRun);
    assert!(
        keeper.notes.iter().any(|note| note.contains("no walls")),
        "{:?}",
        keeper.notes
    );
    let mut request = world.request(1, "echo new > file");
    request.cwd = world.path("sandbox/copy").into();
    assert_eq!(
        finish(keeper.run(&request).unwrap()).1.end,
        End::Exited { code: 0 }
    );
    keeper.bury();
    assert_eq!(
        fs_err::read_to_string(world.project().join("file")).unwrap(),
        "base\n"
    );
}

/// The limit that ended a script which is given a second chance to go on after each refusal.
fn stopped_by(limits: Limits, script: &str) -> agar_core::limits::Breach {
    let mut world = World::new();
    world.config_limits = limits;
    world.policy.limits = limits;
    let (text, report) = world.run(script);
    let End::Stopped { breach } = report.end else {
        panic!("{text} {report:?}")
    };
    agar_testkit::leaks::assert_gone(world.directory.path());
    breach
}

#[test]
fn a_fork_bomb_is_stopped_by_name() {
    let limits = Limits {
        processes: Some(64),
        ..Limits::default()
    };
    let breach = stopped_by(
        limits,
        "while :; do sleep 1000 & done 2>/dev/null; sleep 1000",
    );
    assert_eq!((breach.resource, breach.limit), (Resource::Processes, 64));
}

#[test]
fn a_disk_filler_is_stopped_by_name() {
    let limits = Limits {
        disk_bytes: Some(Bytes::mib(8)),
        ..Limits::default()
    };
    let script = "i=0; while :; do i=$((i+1)); head -c 1048576 /dev/zero > f$i; done; sleep 1000";
    let breach = stopped_by(limits, script);
    assert_eq!((breach.resource, breach.limit), (Resource::Disk, 8 << 20));
}

#[test]
fn without_control_groups_memory_is_watched_and_that_is_said() {
    let mut world = World::new();
    world.config_limits.memory_bytes = Some(Bytes::mib(64));
    world.policy.limits = world.config_limits;
    world.policy.old_ways = vec![OldWay::NoCgroups];
    let (_, report) = world.run("a=0123456789abcdef; while :; do a=$a$a; done");
    let End::Stopped { breach } = report.end else {
        panic!("{report:?}")
    };
    assert_eq!(breach.resource, Resource::Memory);
    assert!(
        breach
            .culprit
            .is_some_and(|culprit| culprit.starts_with("sh (pid "))
    );
    assert!(
        report.notes.iter().any(|note| note.contains("watched")),
        "{:?}",
        report.notes
    );
}

#[test]
fn a_single_file_past_the_limit_is_named_too() {
    let limits = Limits {
        disk_bytes: Some(Bytes::mib(4)),
        ..Limits::default()
    };
    let breach = stopped_by(limits, "head -c 8388608 /dev/zero > big; echo done");
    assert_eq!((breach.resource, breach.limit), (Resource::Disk, 4 << 20));
}

#[test]
fn memory_that_nobody_maps_counts() {
    let limits = Limits {
        memory_bytes: Some(Bytes::mib(64)),
        ..Limits::default()
    };
    let fill = "perl -e 'my @f; my $m = \"m\\0\"; for (1..40) { my $n = syscall(319, $m, 0); \
                open(my $h, \">&=\", $n); syswrite($h, \"x\" x (4<<20)); push @f, $h } sleep 1000'";
    let breach = stopped_by(limits, fill);
    assert_eq!(
        (breach.resource, breach.limit),
        (Resource::Memory, 64 << 20)
    );
}

#[test]
fn a_deleted_file_that_is_open_counts() {
    let limits = Limits {
        disk_bytes: Some(Bytes::mib(8)),
        ..Limits::default()
    };
    let script = "exec 3> gone; rm gone; head -c 33554432 /dev/zero >&3; sleep 1000";
    let breach = stopped_by(limits, script);
    assert_eq!((breach.resource, breach.limit), (Resource::Disk, 8 << 20));
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

#[test]
fn shared_memory_that_nobody_attached_counts() {
    let limits = Limits {
        memory_bytes: Some(Bytes::mib(64)),
        ..Limits::default()
    };
    let fill = "perl -e 'my $x = \"x\" x (4<<20); for (1..40) { my $id = shmget(0, 4<<20, 0600); \
                shmwrite($id, $x, 0, 4<<20) or die }'";
    let breach = stopped_by(limits, fill);
    assert_eq!(
        (breach.resource, breach.limit),
        (Resource::Memory, 64 << 20)
    );
}
