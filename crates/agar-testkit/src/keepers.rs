//! Finding the processes behind sandboxes, to kill them at a bad moment.

use rustix::process::Pid;
use std::path::Path;

/// A keeper whose program lies in this state directory, of a command that makes one sandbox. Its parent
/// is not another of its kind, as the init's is, or that of a keeper from a hatchery.
pub fn any(state: &Path) -> Option<Pid> {
    let is_ours = |pid: Pid| runs(pid, state);
    all(state).find(|pid| !parent(*pid).is_some_and(is_ours))
}

/// The keeper of the sandbox whose files lie in this directory: whoever has its lock open, which its
/// init has not.
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
    processes().filter(move |pid| runs(*pid, state))
}

/// Whether the program of a process lies in this directory.
fn runs(pid: Pid, state: &Path) -> bool {
    let program = format!("/proc/{}/exe", pid.as_raw_pid());
    fs_err::read_link(program).is_ok_and(|program| program.starts_with(state))
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
    while halted.is_ok() && !is_halted(keeper) {
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

/// Whether a process is there, and not only waiting to be buried. The first thread of one that dies may
/// wait for the others, and while one of them is left so is all that it holds.
pub fn is_there(pid: Pid) -> bool {
    let threads = |stat: &Stat| stat.get(17).and_then(|count| count.parse().ok());
    stat(pid).is_some_and(|stat| !is_dead(&stat) || threads(&stat).unwrap_or(1) > 1)
}

/// Whether a process does nothing until it is told to.
fn is_halted(pid: Pid) -> bool {
    stat(pid).is_none_or(|stat| is_dead(&stat) || stat.first().is_some_and(|state| state == "T"))
}

/// What the kernel says of a process, beginning with its state.
type Stat = Vec<String>;

fn stat(pid: Pid) -> Option<Stat> {
    let text = fs_err::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    let fields = text.rsplit(')').next()?.split_whitespace();
    Some(fields.map(str::to_owned).collect())
}

fn is_dead(stat: &Stat) -> bool {
    stat.first()
        .is_none_or(|state| state == "Z" || state == "X")
}

fn processes() -> impl Iterator<Item = Pid> {
    let list = fs_err::read_dir("/proc").into_iter().flatten();
    list.filter_map(Result::ok)
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

fn parent(of: Pid) -> Option<Pid> {
    Pid::from_raw(stat(of)?.get(1)?.parse().ok()?)
}
