//! What one process weighs on the machine, for those who look whether it grows.

use std::path::PathBuf;

/// What a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weight {
    /// Open descriptors.
    pub descriptors: usize,
    /// Its threads.
    pub threads: usize,
    /// Its children, those included that ended and that it has not looked after.
    pub children: usize,
    /// Memory that is its own or that it has looked at, in KiB.
    pub resident_kib: u64,
}

impl Weight {
    /// What this process holds now.
    #[track_caller]
    pub fn of(pid: u32) -> Self {
        let proc = PathBuf::from(format!("/proc/{pid}"));
        let entries = |name: &str| {
            let list = fs_err::read_dir(proc.join(name)).expect("the process is there");
            list.count()
        };
        let status = fs_err::read_to_string(proc.join("status")).expect("the process is there");
        let resident = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        Self {
            descriptors: entries("fd"),
            threads: entries("task"),
            children: children(pid),
            resident_kib: resident.unwrap_or(0),
        }
    }
}

fn children(of: u32) -> usize {
    let list = fs_err::read_dir("/proc").expect("/proc can be read");
    list.filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| parent(*pid) == Some(of))
        .count()
}

/// Nothing for a process that went while everybody was looked at.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_opened_and_started_is_counted() {
        let me = std::process::id();
        let before = Weight::of(me);
        assert!(before.resident_kib > 0 && before.threads > 0, "{before:?}");
        let files: Vec<_> = (0..20)
            .map(|_| fs_err::File::open("/dev/null").expect("a file"))
            .collect();
        let mut child = std::process::Command::new("/bin/true")
            .spawn()
            .expect("a process");
        // Other tests of this program open and start things too, but not so many.
        let after = Weight::of(me);
        assert!(after.descriptors >= before.descriptors + 10, "{after:?}");
        assert!(after.children >= 1, "{after:?}: also once it has ended");
        drop(files);
        child.wait().expect("it ends");
    }
}
