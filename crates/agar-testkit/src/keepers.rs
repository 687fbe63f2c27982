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

/// The first of the processes that the keeper forked.
pub fn first_child(of: Pid) -> Option<Pid> {
    children(of).next()
}

fn children(of: Pid) -> impl Iterator<Item = Pid> {
    processes().filter(move |pid| parent(*pid) == Some(of))
}

/// Kills a keeper; gives it and all who die of its death, a moment later: until then they may hold
/// what it held. Nobody if it was gone already.
pub fn kill_with_children(keeper: Pid) -> Vec<Pid> {
    use rustix::process::{Signal, kill_process};
    // One that stands still forks nobody between the look and the blow.
    let halted = kill_process(keeper, Signal::STOP);
    while halted.is_ok() && !is_in(keeper, &['T', 'Z', 'X']) {
        std::thread::yield_now();
    }
    let dying = std::iter::once(keeper).chain(children(keeper)).collect();
    match kill_process(keeper, Signal::KILL) {
        Ok(()) => dying,
        Err(_) => Vec::new(),
    }
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
    !is_in(pid, &['Z', 'X'])
}

/// Whether a process is in one of the kernel's states. One that is not there is in all of them.
fn is_in(pid: Pid, states: &[char]) -> bool {
    let stat = fs_err::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid()));
    stat.map_or(true, |stat| {
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        state.starts_with(states)
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
