//! What a sandbox may leave behind, and how to notice.
//!
//! Everything agar starts for a test has that test's directory in its program, its working
//! directory or the mounts it sees, so that two worlds on one machine never blame each other.

use crate::wait::holds_within;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A process found in a directory's care.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process id, as seen from here.
    pub pid: i32,
    /// Its command line.
    pub words: String,
    /// What ties it to the directory.
    pub because: String,
}

impl Holder {
    /// Ends it at once.
    pub fn kill(&self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.pid) {
            // Gone already is as good.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// The processes, other than this one and those above it, whose program, working directory,
/// arguments or mounts lie in the directory.
pub fn processes_in(directory: &Path) -> Vec<Holder> {
    let ours = ancestors();
    let Ok(list) = fs_err::read_dir("/proc") else {
        return Vec::new();
    };
    list.filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| !ours.contains(pid))
        .filter_map(|pid| holder(pid, directory))
        .collect()
}

fn holder(pid: i32, directory: &Path) -> Option<Holder> {
    let proc = PathBuf::from(format!("/proc/{pid}"));
    // A zombie holds nothing and goes when its parent looks.
    let state = fs_err::read_to_string(proc.join("stat")).ok()?;
    if state
        .rsplit(')')
        .next()?
        .trim_start()
        .starts_with(['Z', 'X'])
    {
        return None;
    }
    let words = fs_err::read(proc.join("cmdline")).unwrap_or_default();
    let words = String::from_utf8_lossy(&words)
        .replace('\0', " ")
        .trim()
        .to_owned();
    let text = directory.to_string_lossy();
    let because = ["exe", "cwd"]
        .iter()
        .find(|link| fs_err::read_link(proc.join(link)).is_ok_and(|to| to.starts_with(directory)))
        .map(|link| (*link).to_owned())
        .or_else(|| words.contains(&*text).then(|| "arguments".to_owned()))
        .or_else(|| mount_in(&proc.join("mountinfo"), &text).map(|line| format!("mount {line}")))?;
    Some(Holder {
        pid,
        words,
        because,
    })
}

/// The first mount that a process sees whose changes go into the directory. What it merely shows may be
/// anybody's: a jail of another world covers all of the machine, this world included.
fn mount_in(mountinfo: &Path, directory: &str) -> Option<String> {
    let text = fs_err::read_to_string(mountinfo).ok()?;
    let upper = format!("upperdir={directory}");
    let layer = |line: &&str| line.contains(" overlay ") && line.contains(&upper);
    text.lines().find(layer).map(str::to_owned)
}

fn ancestors() -> Vec<i32> {
    let mut found = Vec::new();
    let mut pid = rustix::process::getpid().as_raw_pid();
    while pid > 1 {
        found.push(pid);
        let parent = fs_err::read_to_string(format!("/proc/{pid}/stat"))
            .ok()
            .and_then(|stat| {
                stat.rsplit(')')
                    .next()?
                    .split_whitespace()
                    .nth(1)?
                    .parse()
                    .ok()
            });
        pid = parent.unwrap_or(0);
    }
    found
}

/// The mounts of this process below the directory.
pub fn mounts_in(directory: &Path) -> Vec<String> {
    let text = directory.to_string_lossy();
    fs_err::read_to_string("/proc/self/mountinfo")
        .unwrap_or_default()
        .lines()
        .filter(|line| line.contains(&*text))
        .map(str::to_owned)
        .collect()
}

/// The control groups that agar made (each below a directory `agar`) and that hold no process.
pub fn abandoned_cgroups() -> Vec<PathBuf> {
    let mut found = cgroups();
    found.retain(|group| is_abandoned(group));
    found
}

/// Every control group that agar made.
pub fn cgroups() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = pending.pop() {
        let Ok(list) = fs_err::read_dir(&directory) else {
            continue;
        };
        for entry in list.filter_map(Result::ok) {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let path = entry.path();
            let named = entry.file_name().to_string_lossy().starts_with("agar-");
            if named || directory.ends_with("agar") {
                found.push(path.clone());
            }
            pending.push(path);
        }
    }
    found.sort();
    found
}

fn is_abandoned(cgroup: &Path) -> bool {
    let empty = |path: &Path| {
        fs_err::read_to_string(path.join("cgroup.procs")).is_ok_and(|text| text.trim().is_empty())
    };
    let children = fs_err::read_dir(cgroup)
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    empty(cgroup)
        && children
            .filter(|child| child.file_type().is_ok_and(|kind| kind.is_dir()))
            .all(|child| empty(&child.path()))
}

/// Panics unless everything tied to the directory is soon gone.
#[track_caller]
pub fn assert_gone(directory: &Path) {
    if holds_within(Duration::from_secs(10), || left_in(directory).is_empty()) {
        return;
    }
    panic!(
        "left behind in {}:\n{}",
        directory.display(),
        left_in(directory)
    );
}

/// A line for each process and mount still tied to the directory.
pub fn left_in(directory: &Path) -> String {
    let mut lines = String::new();
    for holder in processes_in(directory) {
        let _ = writeln!(
            lines,
            "process {}: {} ({})",
            holder.pid, holder.words, holder.because
        );
    }
    for mount in mounts_in(directory) {
        let _ = writeln!(lines, "mount {mount}");
    }
    lines
}

/// Removes the control groups that are written down in agar's state and were not removed, by their
/// keeper or for one that was left alone with it, once nothing is alive in them.
pub fn remove_noted_groups(state: &Path) {
    let listed = |name: &str| fs_err::read_dir(state.join(name)).into_iter().flatten();
    let by_keepers = listed("sandboxes")
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("cgroups.json"));
    let by_others = listed("alive")
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "groups"));
    let notes = by_keepers.chain(by_others);
    for note in notes.filter_map(|path| fs_err::read_to_string(path).ok()) {
        let groups = note.split(['"', '\n']).filter(|path| path.starts_with('/'));
        for group in groups.map(PathBuf::from) {
            let gone = || rustix::fs::rmdir(&group) != Err(rustix::io::Errno::BUSY);
            // What stays is found, and complained about, when all tests are done.
            holds_within(Duration::from_secs(10), gone);
        }
    }
}

/// Removes a tree, also one with directories nobody may enter (an overlay's work directory).
pub fn remove_tree(directory: &Path) {
    if fs_err::remove_dir_all(directory).is_ok() {
        return;
    }
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        drop(fs_err::set_permissions(
            &path,
            std::fs::Permissions::from_mode(0o700),
        ));
        let children = fs_err::read_dir(&path)
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        pending.extend(
            children
                .filter(|child| child.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|child| child.path()),
        );
    }
    drop(fs_err::remove_dir_all(directory));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Invocation;

    #[test]
    fn a_process_that_works_in_the_directory_is_found_until_it_ends() {
        let directory = tempfile::tempdir().unwrap();
        let path = fs_err::canonicalize(directory.path()).unwrap();
        assert_eq!(left_in(&path), "");
        let mut running = Invocation::new("/bin/cat")
            .current_dir(&path)
            .arg("/dev/zero")
            .spawn();
        assert_eq!(processes_in(&path).len(), 1);
        running.kill();
        assert_gone(&path);
    }

    #[test]
    fn only_the_groups_that_a_sandbox_wrote_down_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let groups = ["noted", "left", "other"].map(|name| directory.path().join(name));
        for group in &groups {
            fs_err::create_dir(group).unwrap();
        }
        let sandbox = directory.path().join("sandboxes/x");
        fs_err::create_dir_all(&sandbox).unwrap();
        let note = format!("[\"{}\"]", groups[0].display());
        fs_err::write(sandbox.join("cgroups.json"), note).unwrap();
        let alive = directory.path().join("alive");
        fs_err::create_dir_all(&alive).unwrap();
        fs_err::write(
            alive.join("x.groups"),
            groups[1].as_os_str().as_encoded_bytes(),
        )
        .unwrap();
        remove_noted_groups(directory.path());
        assert_eq!(groups.map(|group| group.exists()), [false, false, true]);
    }

    #[test]
    fn a_tree_with_locked_directories_can_be_removed() {
        let directory = tempfile::tempdir().unwrap().keep();
        fs_err::create_dir_all(directory.join("work/work")).unwrap();
        fs_err::set_permissions(
            directory.join("work/work"),
            std::fs::Permissions::from_mode(0o000),
        )
        .unwrap();
        remove_tree(&directory);
        assert!(!directory.exists());
    }
}
