//! Finding the worlds, tried on pictures of machines made of plain files.

use super::*;
use agar_core::limits::Resource;
use agar_core::size::Bytes;

const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
37 31 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer
40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

struct Picture(tempfile::TempDir);

impl Picture {
    fn new(mountinfo: &str, membership: &str) -> Self {
        let picture = Self(tempfile::tempdir().unwrap());
        picture.file("proc/self/mountinfo", mountinfo);
        picture.file("proc/self/cgroup", membership);
        picture
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn file(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }

    fn group(&self, path: &str, controllers: &str) {
        self.file(&format!("{path}/cgroup.procs"), "");
        self.file(&format!("{path}/cgroup.subtree_control"), "");
        self.file(&format!("{path}/cgroup.controllers"), controllers);
    }

    fn detect(&self) -> Cgroups {
        Cgroups::detect(self.0.path()).unwrap()
    }

    fn read(&self, path: &str) -> String {
        fs_err::read_to_string(self.path(path)).unwrap()
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn limits() -> Limits {
    Limits {
        cpu_percent: Some(50),
        memory_bytes: Some(Bytes(1 << 20)),
        processes: Some(10),
        ..Limits::default()
    }
}

/// The place of our group on a machine with version 2, where the user was given `user.slice`.
fn home() -> &'static str {
    if is_root() {
        "sys/fs/cgroup/agar"
    } else {
        "sys/fs/cgroup/user.slice/agar"
    }
}

fn unified() -> Picture {
    let picture = Picture::new(V2, "0::/user.slice/term.scope\n");
    picture.group("sys/fs/cgroup", "cpu memory pids");
    picture.group("sys/fs/cgroup/user.slice", "cpu memory pids");
    picture.group("sys/fs/cgroup/user.slice/term.scope", "cpu memory pids");
    if !is_root() {
        // What is the system's cannot be written.
        for path in ["sys/fs/cgroup", "sys/fs/cgroup/cgroup.procs"] {
            let mut mode = fs_err::metadata(picture.path(path)).unwrap().permissions();
            mode.set_readonly(true);
            fs_err::set_permissions(picture.path(path), mode).unwrap();
        }
    }
    picture
}

#[test]
fn version_2_is_used_at_the_highest_place_the_user_may_write() {
    let picture = unified();
    let groups = picture.detect();
    let expected = if is_root() {
        Mode::Unified
    } else {
        Mode::Delegated
    };
    assert_eq!(groups.mode(), expected);
    assert_eq!(groups.homes(), [picture.path(home())]);
}

#[test]
fn limits_of_version_2_are_written_as_the_kernel_reads_them() {
    let picture = unified();
    for file in ["memory.max", "memory.swap.max", "cpu.max", "pids.max"] {
        picture.file(&format!("{}/s1/{file}", home()), "max");
    }
    picture.group(home(), "cpu memory pids");
    let group = picture.detect().create("s1", &limits()).unwrap();
    assert_eq!(
        group.enforced(),
        [Resource::Memory, Resource::Cpu, Resource::Processes]
    );
    assert!(group.missing().is_empty());
    let written = |file: &str| picture.read(&format!("{}/s1/{file}", home()));
    assert_eq!(written("memory.max"), "1048576");
    assert_eq!(written("memory.swap.max"), "0");
    assert_eq!(written("cpu.max"), "50000 100000");
    assert_eq!(written("pids.max"), "14");
    let handed_down = picture.read(&format!("{}/cgroup.subtree_control", home()));
    assert_eq!(handed_down, "+pids", "the last of three commands");
}

#[test]
fn a_limit_that_cannot_be_set_is_named_with_its_reason() {
    let picture = unified();
    let group = picture.detect().create("s1", &limits()).unwrap();
    assert!(group.enforced().is_empty());
    let named: Vec<Resource> = group.missing().iter().map(|(what, _)| *what).collect();
    assert_eq!(
        named,
        [Resource::Memory, Resource::Cpu, Resource::Processes]
    );
    assert!(group.missing()[0].1.starts_with("memory.max: "));
}

#[test]
fn a_hybrid_machine_limits_in_version_1_and_freezes_in_version_2() {
    let membership = "4:memory:/session\n3:pids:/\n2:cpu,cpuacct:/\n1:freezer:/\n0::/\n";
    let picture = Picture::new(HYBRID, membership);
    for path in ["memory/session", "pids", "cpu,cpuacct", "freezer"] {
        picture.file(&format!("sys/fs/cgroup/{path}/cgroup.procs"), "");
    }
    picture.group("sys/fs/cgroup/unified", "");
    let groups = picture.detect();
    if !is_root() {
        // Version 2 at its root is never the user's, and the picture says otherwise.
        assert_ne!(groups.mode(), Mode::None);
        return;
    }
    assert_eq!(groups.mode(), Mode::Hybrid);
    let homes: Vec<PathBuf> = [
        "sys/fs/cgroup/cpu,cpuacct/agar",
        "sys/fs/cgroup/memory/session/agar",
        "sys/fs/cgroup/pids/agar",
        "sys/fs/cgroup/unified/agar",
    ]
    .iter()
    .map(|home| picture.path(home))
    .collect();
    assert_eq!(groups.homes(), homes);
}

#[test]
fn version_1_alone_is_enough_for_limits() {
    let mounts: Vec<&str> = HYBRID
        .lines()
        .filter(|line| !line.contains("cgroup2"))
        .collect();
    let picture = Picture::new(&mounts.join("\n"), "4:memory:/\n3:pids:/\n1:freezer:/\n");
    for path in ["memory", "pids", "freezer"] {
        picture.file(&format!("sys/fs/cgroup/{path}/cgroup.procs"), "");
    }
    assert_eq!(picture.detect().mode(), Mode::Legacy);
}

#[test]
fn a_machine_without_groups_says_so() {
    let picture = Picture::new("", "");
    let groups = picture.detect();
    assert_eq!(groups.mode(), Mode::None);
    let refused = groups.create("s1", &limits());
    assert!(matches!(refused, Err(GroupError::NoPlace)));
}

#[test]
fn only_dead_sandboxes_of_ours_are_swept() {
    let picture = unified();
    for name in ["agar-dead", "agar-alive", "other"] {
        fs_err::create_dir_all(picture.path(home()).join(name)).unwrap();
    }
    let removed = picture.detect().sweep("agar-", |name| name == "agar-alive");
    assert_eq!(removed, ["agar-dead"]);
    assert!(picture.path(home()).join("other").exists());
    assert!(picture.path(home()).join("agar-alive").exists());
}

/// A new group of the real version 2, where this user may make one.
fn real_group_of_two() -> Option<PathBuf> {
    let mounts = fs_err::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    let directory =
        Path::new(mount.split(' ').nth(4)?).join(format!("agar-birth-{}", std::process::id()));
    fs_err::create_dir(&directory).ok().map(|()| directory)
}

#[test]
fn a_process_can_be_born_into_a_group_of_version_2() {
    use crate::syscall::{self, Fork};
    let Some(directory) = real_group_of_two() else {
        agar_testkit::skip!("cgroup", "no group of version 2 for this user");
    };
    let cradle = fs_err::File::open(&directory).unwrap().into_file().into();
    let Fork::Parent { pid, handle: _ } = syscall::fork_into(0, Some(&cradle)).unwrap() else {
        loop {
            // Until it is killed; nothing else may be done in a copy of one of several threads.
            rustix::thread::sched_yield();
        }
    };
    let inside = fs_err::read_to_string(directory.join("cgroup.procs")).unwrap();
    syscall::signal_one(pid, libc::SIGKILL);
    syscall::wait_for(pid, rustix::process::WaitOptions::empty()).unwrap();
    assert_eq!(inside, format!("{pid}\n"));
    assert_eq!(remove_recorded(&[directory]), Vec::<PathBuf>::new());
}
