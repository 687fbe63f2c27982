//! Control groups in each world that this machine can offer: made, kept, felt and removed.

use agar_core::limits::{Limits, Resource};
use agar_core::size::Bytes;
use agar_jail::cgroup::{Cgroups, Group, Mode};
use agar_testkit::skip;
use agar_testkit::wait::until;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A group that is taken away at the end, whatever happened.
struct Held(Option<Group>);

impl Held {
    fn make(limits: &Limits) -> Option<Self> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let groups = Cgroups::detect(Path::new("/")).unwrap();
        if groups.mode() == Mode::None {
            return None;
        }
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("test-{}-{number}", std::process::id());
        Some(Self(Some(groups.create(&name, limits).unwrap())))
    }

    fn group(&self) -> &Group {
        self.0.as_ref().unwrap()
    }

    fn remove(mut self) -> Vec<PathBuf> {
        self.0.take().unwrap().remove()
    }

    fn enforces(&self, resource: Resource) -> bool {
        self.group().enforced().contains(&resource)
    }

    /// Starts a shell that waits for a line, puts it into the group and lets it go on.
    fn shell(&self, script: &str) -> Child {
        let mut child = Command::new("sh")
            .args(["-c", &format!("read line; {script}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.group().attach(child.id()).unwrap();
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"\n").unwrap();
        child
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(group) = self.0.take() {
            group.remove();
        }
    }
}

fn limits() -> Limits {
    Limits {
        cpu_percent: Some(50),
        memory_bytes: Some(Bytes::mib(32)),
        processes: Some(8),
        ..Limits::default()
    }
}

#[test]
fn a_group_says_of_every_limit_whether_it_holds() {
    let Some(held) = Held::make(&limits()) else {
        skip!("cgroup", "no control groups for this user");
    };
    let mut named: Vec<Resource> = held.group().enforced().to_vec();
    named.extend(held.group().missing().iter().map(|(what, _)| *what));
    named.sort();
    assert_eq!(
        named,
        [Resource::Cpu, Resource::Memory, Resource::Processes]
    );
}

#[test]
fn too_much_memory_is_noticed_by_the_kernel() {
    let Some(held) = Held::make(&limits()) else {
        skip!("cgroup", "no control groups for this user");
    };
    if !held.enforces(Resource::Memory) {
        skip!("cgroup", "no memory controller");
    }
    assert_eq!(held.group().refusals().oom_kills, 0);
    let mut child = held.shell("head -c 200000000 /dev/zero | tail");
    child.wait().unwrap();
    assert!(held.group().refusals().oom_kills > 0);
    if let Some(peak) = held.group().memory_peak_bytes() {
        assert!(peak <= 32 << 20 && peak > 16 << 20, "{peak}");
    }
}

#[test]
fn too_many_processes_are_refused_by_the_kernel() {
    let Some(held) = Held::make(&limits()) else {
        skip!("cgroup", "no control groups for this user");
    };
    if !held.enforces(Resource::Processes) {
        skip!("cgroup", "no pids controller");
    }
    assert_eq!(held.group().refusals().processes, 0);
    let mut child = held.shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 100 & done");
    child.wait().unwrap();
    assert!(held.group().refusals().processes > 0);
    held.group().kill_all();
    assert!(held.remove().is_empty());
}

#[test]
fn everyone_in_a_group_that_limits_is_frozen_with_it() {
    let Some(held) = Held::make(&limits()) else {
        skip!("cgroup", "no control groups for this user");
    };
    let mut child = held.shell("sleep 100 & sleep 100 & wait");
    let pid = child.id();
    let below = || {
        let list = format!("/proc/{pid}/task/{pid}/children");
        let list = fs_err::read_to_string(list).unwrap();
        let pids = list.split_whitespace().map(str::to_owned);
        pids.chain([pid.to_string()]).collect::<Vec<String>>()
    };
    until("both to be started", || below().len() == 3);
    held.group().freeze().unwrap();
    until("the group to stand still", || held.group().is_frozen());
    for process in below() {
        let places = fs_err::read_to_string(format!("/proc/{process}/cgroup")).unwrap();
        let mut freezing = places
            .lines()
            .filter(|line| line.starts_with("0::") || line.contains(":freezer:"));
        assert!(
            freezing.any(|line| line.contains("/agar/test-")),
            "{places}"
        );
    }
    held.group().kill_all();
    assert!(held.remove().is_empty());
    assert!(!child.wait().unwrap().success());
}

#[test]
fn a_frozen_group_stands_still_and_can_be_thawed_or_killed() {
    let Some(held) = Held::make(&Limits::default()) else {
        skip!("cgroup", "no control groups for this user");
    };
    let mut child = held.shell("while :; do :; done");
    held.group().freeze().unwrap();
    until("the group to stand still", || held.group().is_frozen());
    held.group().thaw().unwrap();
    until("the group to go on", || !held.group().is_frozen());
    held.group().freeze().unwrap();
    until("the group to stand still", || held.group().is_frozen());
    // The frozen are killed too.
    let directories: Vec<PathBuf> = held.group().directories().map(Path::to_owned).collect();
    assert!(held.remove().is_empty());
    assert!(directories.iter().all(|directory| !directory.exists()));
    assert!(!child.wait().unwrap().success());
}

#[test]
fn a_processor_quota_slows_the_group_down() {
    let Some(held) = Held::make(&Limits {
        cpu_percent: Some(10),
        ..Limits::default()
    }) else {
        skip!("cgroup", "no control groups for this user");
    };
    if !held.enforces(Resource::Cpu) {
        skip!("cgroup", "no cpu controller");
    }
    let mut child = held.shell("while :; do :; done");
    let stat: Vec<PathBuf> = held
        .group()
        .directories()
        .map(|directory| directory.join("cpu.stat"))
        .filter(|path| path.exists())
        .collect();
    until("the kernel to hold it back", || {
        stat.iter().any(|path| {
            fs_err::read_to_string(path)
                .unwrap()
                .lines()
                .any(|line| line.starts_with("nr_throttled ") && line != "nr_throttled 0")
        })
    });
    assert!(held.remove().is_empty());
    child.wait().unwrap();
}

#[test]
fn what_a_dead_keeper_left_is_swept_with_its_processes() {
    let groups = Cgroups::detect(Path::new("/")).unwrap();
    if groups.mode() == Mode::None {
        skip!("cgroup", "no control groups for this user");
    }
    let prefix = format!("left-{}-", std::process::id());
    let name = format!("{prefix}1");
    let held = Held(Some(groups.create(&name, &Limits::default()).unwrap()));
    let mut child = held.shell("sleep 1000");
    assert!(groups.sweep(&prefix, |_| true).is_empty());
    assert_eq!(groups.sweep(&prefix, |_| false), [name]);
    assert!(!child.wait().unwrap().success());
    let left: Vec<&Path> = held
        .group()
        .directories()
        .filter(|directory| directory.exists())
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
