//! Finding the processes behind sandboxes, to kill them at a bad moment.

use rustix::process::Pid;
use std::path::Path;

/// A keeper whose program lies in this state directory. Its parent is not another of its kind, as the
/// init's is.
pub fn any(state: &Path) -> Option<Pid> {
    all(state).next()
}

/// The keeper of the sandbox whose files lie in this directory: whoever has its lock open.
pub fn of_sandbox(state: &Path, directory: &Path) -> Option<Pid> {
    let lock = directory.join("lock");
    let has_lock = |pid: &Pid| {
        let open = fs_err::read_dir(format!("/proc/{}/fd", pid.as_raw_pid()));
        let mut open = open.into_iter().flatten().flatten();
        open.any(|entry| fs_err::read_link(entry.path()).is_ok_and(|path| path == lock))
    };
    all(state).find(has_lock)
}

fn all(state: &Path) -> impl Iterator<Item = Pid> {
    processes().filter(move |pid| {
        let is_ours = |pid: Pid| {
            let program = format!("/proc/{}/exe", pid.as_raw_pid());
            fs_err::read_link(program).is_ok_and(|program| program.starts_with(state))
        };
        is_ours(*pid) && !parent(*pid).is_some_and(is_ours)
    })
}

/// The process that the keeper forked.
pub fn first_child(of: Pid) -> Option<Pid> {
    processes().find(|pid| parent(*pid) == Some(of))
}

/// Kills a process and waits until it is gone.
#[track_caller]
pub fn kill(pid: Pid) {
    // Gone already is as good.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    crate::wait::until("the killed process to be gone", || !is_there(pid));
}

/// Whether a process is there, and not only waiting to be buried.
pub fn is_there(pid: Pid) -> bool {
    let stat = fs_err::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid()));
    stat.is_ok_and(|stat| {
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        !state.starts_with(['Z', 'X'])
    })
}

fn processes() -> impl Iterator<Item = Pid> {
    let list = fs_err::read_dir("/proc").into_iter().flatten();
    list.filter_map(Result::ok)
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

fn parent(of: Pid) -> Option<Pid> {
    let stat = fs_err::read_to_string(format!("/proc/{}/stat", of.as_raw_pid())).ok()?;
    let parent = stat.rsplit(')').next()?.split_whitespace().nth(1)?;
    Pid::from_raw(parent.parse().ok()?)
}
